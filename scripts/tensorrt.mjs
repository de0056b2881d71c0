// @ts-check
// The one set-up step of demo and tests: TensorRT-RTX from its Python wheel, once, into the user's cache. Its builder
// works without a GPU. Benches also get NVIDIA's own Python bindings of the same version.
import { argv, env } from 'node:process'
import { fileURLToPath } from 'node:url'
import { Failure, main } from './support.mjs'
import { ensureWheel } from './wheels.mjs'

const version = '1.7.1.116'

/** The wheels that are known, by Node's names of the architectures. */
const libraries = {
  x64: { megabytes: 95, sha256: ['e3fd45fed001240d63304e77a2d4006319b839994237cb294b6e7ad72acaabcd'] },
  arm64: { megabytes: 91, sha256: ['ec8b6cb95a8ea61e31d544dbc5039d35219b311999f92c518a3889aaae74359c'] },
}

/** The same, of each for Python 3.10 to 3.13, and 3.14 where there is one. */
const bindings = {
  x64: {
    megabytes: 2,
    sha256: [
      'f357cebfed83af6cbd1d3b172632cd9c6bb06a39e8296a8d3c11a9edd2fae357',
      '6a4d2bf39a98b71238046b9a9dd22d0e6b146be90cd56ac09f1e068933e4e18d',
      '52fb62cb86b922637848f5971b53153bf2e091c33948fa89efd215abaa52b044',
      'f15cdb560cf2d926405789985509f5496e378ba457a7fb657592ce7f7311c0ff',
      '675881105d3fa967cc4b3a1258d2bd29545de92e19a7058c0c8a17afa62290cd',
    ],
  },
  arm64: {
    megabytes: 2,
    sha256: [
      'f85276879d8245e98a51addea3f706d9edf13ed0cd80042019c793696985c5d6',
      '556a8d88162ec9c2fb86bf9cd9860779f67813b4e71c6c5a3c8733ad2610634d',
      '5a0e27f6153a3a8c99999ff68976ed88c8faa118be31512b5da00b67720a53b9',
      '5dcafb765948f44edf087670472200fa56dc860ad194d5a6f7b6137278c8dc18',
    ],
  },
}

/** @type {<T>(of: { x64: T, arm64: T }) => T | undefined} */
const ofThisMachine = (of) =>
  process.platform === 'linux' ? of[/** @type {keyof typeof of} */ (process.arch)] : undefined

const noWheel = { reason: `TensorRT-RTX ${version} has no wheel for ${process.platform} ${process.arch}` }

/**
 * Sees to a TensorRT: the one that `TENSORRT_PATH` names, or the cached one, which is fetched first where it has to be.
 * Where it can't be had, the reason is told instead, and callers go on.
 *
 * @param {{ quiet?: boolean }} [options]
 * @returns {Promise<{ path?: string, reason?: string }>}
 */
export const ensureTensorRT = async (options) => {
  if (env['TENSORRT_PATH']) return { path: env['TENSORRT_PATH'] }
  const wheel = ofThisMachine(libraries)
  if (!wheel) return noWheel
  return await ensureWheel(
    {
      what: 'TensorRT-RTX',
      name: 'tensorrt-rtx-cu13-libs',
      version,
      folder: 'tensorrt_rtx_libs',
      files: ['libtensorrt_rtx.so.1', 'libtensorrt_onnxparser_rtx.so.1'],
      ...wheel,
    },
    options,
  )
}

/**
 * Sees to NVIDIA's Python bindings of that version; `path` is for Python's module path. They find the libraries by
 * LD_LIBRARY_PATH.
 *
 * @returns {Promise<{ path?: string, reason?: string }>}
 */
export const ensureBindings = async () => {
  const wheel = ofThisMachine(bindings)
  if (!wheel) return noWheel
  const name = 'tensorrt-rtx-cu13-bindings'
  const files = ['tensorrt_rtx_bindings/__init__.py', 'tensorrt_rtx_bindings/tensorrt_rtx.so']
  return await ensureWheel({ what: "TensorRT-RTX's Python bindings", name, version, folder: '.', files, ...wheel })
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  await main(async () => {
    const { path, reason } = await ensureTensorRT()
    if (!path) throw new Failure(reason ?? 'no TensorRT')
    console.log(path)
  })
}
