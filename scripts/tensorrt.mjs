// @ts-check
// The one set-up step of demo and tests: TensorRT-RTX from its Python wheel, once, into an ignored cache. Its builder works without a GPU.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { argv, env } from 'node:process'
import { fileURLToPath } from 'node:url'
import { Failure, filesUnder, main, root, runQuietly, say, withLock } from './support.mjs'

const name = 'tensorrt-rtx-cu13-libs'
const version = '1.7.1.116'
const libraries = ['libtensorrt_rtx.so.1', 'libtensorrt_onnxparser_rtx.so.1']

/** The wheels that are known, by Node's names of the architectures: pip checks the hash, the size is for the progress. */
const wheels = {
  x64: { megabytes: 95, sha256: 'e3fd45fed001240d63304e77a2d4006319b839994237cb294b6e7ad72acaabcd' },
  arm64: { megabytes: 91, sha256: 'ec8b6cb95a8ea61e31d544dbc5039d35219b311999f92c518a3889aaae74359c' },
}

const complete = (/** @type {string} */ folder) => libraries.every((library) => existsSync(join(folder, library)))

/**
 * Sees to a TensorRT: the one that `TENSORRT_PATH` names, or the cached one, which is fetched first where it has to be. Where it can't be had, the
 * reason is told instead, and callers go on.
 *
 * @param {{ quiet?: boolean }} [options]
 * @returns {Promise<{ path?: string, reason?: string }>}
 */
export const ensureTensorRT = async ({ quiet = false } = {}) => {
  if (env['TENSORRT_PATH']) return { path: env['TENSORRT_PATH'] }
  const folder = join(root, '.cache', 'tensorrt-rtx', version)
  if (complete(folder)) return { path: folder }
  const wheel = process.platform === 'linux' ? wheels[/** @type {keyof typeof wheels} */ (process.arch)] : undefined
  if (!wheel) return { reason: `TensorRT-RTX ${version} has no wheel for ${process.platform} ${process.arch}` }
  const python = ['python3', 'python'].find(hasPip)
  if (!python) return { reason: 'fetching TensorRT-RTX needs Python 3 with pip (Debian: apt-get install python3-pip)' }
  try {
    await withLock('tensorrt-rtx', async () => {
      if (!complete(folder)) await fetchWheel(python, wheel, folder, quiet)
    })
    return { path: folder }
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return { reason: `TensorRT-RTX ${version} could not be fetched: ${error.message}` }
  }
}

const hasPip = (/** @type {string} */ python) => {
  try {
    execFileSync(python, ['-m', 'pip', '--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/**
 * @param {string} python
 * @param {{ megabytes: number, sha256: string }} wheel
 * @param {string} folder
 * @param {boolean} quiet
 */
const fetchWheel = async (python, { megabytes, sha256 }, folder, quiet) => {
  const temporary = `${folder}.${process.pid}.tmp`
  rmSync(temporary, { recursive: true, force: true })
  mkdirSync(temporary, { recursive: true })
  try {
    if (!quiet) say(`fetching TensorRT-RTX ${version} (${megabytes} MB, once) …`)
    const requirements = join(temporary, 'requirements.txt')
    writeFileSync(requirements, `${name}==${version} --hash=sha256:${sha256}\n`)
    const args = ['-m', 'pip', 'download', '--no-deps', '--no-cache-dir', '--no-input', '--only-binary=:all:', '--dest', temporary]
    await runQuietly(python, [...args, '--require-hashes', '-r', requirements], {
      what: 'fetching TensorRT-RTX',
      // pip downloads into this folder, where its progress can be seen.
      env: { TMPDIR: temporary },
      progress: () => `, ${bytesUnder(temporary)} of ${megabytes} MB`,
    })
    const [file] = filesUnder(temporary).filter((path) => path.endsWith('.whl'))
    if (!file) throw new Failure('pip brought no wheel')
    await runQuietly(python, ['-m', 'zipfile', '-e', file, temporary], { what: 'unpacking TensorRT-RTX' })
    const unpacked = join(temporary, 'tensorrt_rtx_libs')
    if (!complete(unpacked)) throw new Failure(`its wheel lacks ${libraries.join(' or ')}`)
    const [license] = filesUnder(temporary).filter((path) => path.endsWith('LICENSE.txt'))
    if (license) renameSync(license, join(unpacked, 'LICENSE.txt'))
    rmSync(folder, { recursive: true, force: true })
    renameSync(unpacked, folder)
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
}

const bytesUnder = (/** @type {string} */ folder) =>
  Math.round(filesUnder(folder).reduce((sum, path) => sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0), 0) / 1e6)

if (argv[1] === fileURLToPath(import.meta.url)) {
  await main(async () => {
    const { path, reason } = await ensureTensorRT()
    if (!path) throw new Failure(reason ?? 'no TensorRT')
    console.log(path)
  })
}
