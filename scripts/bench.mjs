// @ts-check
// npm run bench -- NAME [--json ...]   builds what is missing, then runs bench/NAME.ts; without NAME: what there is
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { argv, execPath } from 'node:process'
import { buildAll } from './build.mjs'
import { ensureCenterFace } from './centerface.mjs'
import { ensurePythonQuantization } from './onnxruntime.mjs'
import { ensureOcrApps } from './ocr-app.mjs'
import { linkerForOlderSystems } from './older-glibc.mjs'
import { buildWithGyp } from './prebuilds.mjs'
import { Failure, main, modified, root, runHere, runQuietly, say, withLock } from './support.mjs'
import { ensureBindings, ensureTensorRT } from './tensorrt.mjs'
import { ensureVisionPython } from './vision-python.mjs'
import { pythonWithPip } from './wheels.mjs'

const had = (/** @type {{ path?: string, reason?: string }} */ { path, reason }) => {
  if (path) return path
  throw new Failure(reason ?? 'nothing was fetched')
}

/** What a bench needs beyond the addon and dist/: environment variables for it. */
const needs = /** @type {Record<string, () => Promise<Record<string, string>>>} */ ({
  builder: async () => {
    return {
      TENSORRT_PATH: had(await ensureTensorRT()),
      TRT_TEST_CENTERFACE: had(await ensureCenterFace()),
      TRT_BENCH_BINDINGS: had(await ensureBindings()),
      TRT_BENCH_PYTHON: pythonWithPip() ?? 'python3',
    }
  },
  ort: async () => {
    const { ours, theirs } = await ensureOcrApps()
    return { TRT_BENCH_OCR_OURS: ours, TRT_BENCH_OCR_THEIRS: theirs }
  },
  quantize: async () => ({
    TRT_BENCH_PYTHONPATH: had(await ensurePythonQuantization()),
    TRT_BENCH_PYTHON: pythonWithPip() ?? 'python3',
  }),
  tasks: async () => ({
    TRT_BENCH_PYTHON: had(await ensureVisionPython()),
    TRT_BENCH_CENTERFACE: had(await ensureCenterFace()),
  }),
  video: async () => ({
    TRT_BENCH_PYTHON: had(await ensureVisionPython()),
    TRT_BENCH_CENTERFACE: had(await ensureCenterFace()),
  }),
  vision: async () => ({ TRT_BENCH_PYTHON: had(await ensureVisionPython()) }),
  trt: async () => {
    await buildBare('trtexec_loop')
    return {}
  },
  core: async () => {
    for (const name of ['roundtrip', 'driver_loop']) await buildBare(name)
    return {}
  },
  builds: async () => {
    const names = argv
      .slice(3)
      .map((word) => word.split(':')[0] ?? '')
      .filter((name) => ['core', 'cpu', 'vision'].includes(name))
    const vision = names.length === 0 || names.includes('vision') ? await needs['vision']?.() : {}
    await needs['core']?.()
    const [ours, peer] = argv.includes('--older')
      ? [
          await buildWithGyp('older', await linkerForOlderSystems()),
          await buildWithGyp('own', { NODE_TENSORRT_ONE_LEVEL: '1', CXXFLAGS: '-O3' }),
        ]
      : [await buildWithGyp('shipped'), await buildWithGyp('separate', { NODE_TENSORRT_SEPARATE: '1' })]
    return { TRT_BENCH_OURS: ours, TRT_BENCH_PEER: peer, ...vision }
  },
})

/**
 * A bare addon that something of ours is held against.
 * @param {string} name
 */
const buildBare = (name) =>
  withLock('bench', async () => {
    const source = join(root, 'bench', 'native', `${name}.cc`)
    const addon = join(root, 'build', 'bench', `${name}.node`)
    if (modified(addon) > Math.max(modified(source), modified(join(root, 'bench', 'native', 'driver_addon.h')))) return
    mkdirSync(dirname(addon), { recursive: true })
    const { include_dir: headers } = createRequire(import.meta.url)('node-api-headers')
    const args = [
      '-std=c++20',
      '-O2',
      '-shared',
      '-fPIC',
      '-pthread',
      '-Wall',
      '-Wextra',
      '-isystem',
      headers,
      '-o',
      addon,
      source,
    ]
    await runQuietly(process.env['CXX'] || 'g++', args, { what: `building the bare addon ${name}` })
  })

/** The benches, each with the first line of its comment. */
const listing = () => {
  const files = readdirSync(join(root, 'bench')).filter((name) => name.endsWith('.ts'))
  const lines = files.map((file) => {
    const [, text = ''] = /^\/\*\* (.*?)(?: \*\/)?$/m.exec(readFileSync(join(root, 'bench', file), 'utf8')) ?? []
    return `  ${basename(file, '.ts').padEnd(8)} ${text}`
  })
  return `npm run bench -- NAME [--json]\n${lines.join('\n')}`
}

await main(async () => {
  const [name, ...args] = argv.slice(2)
  if (name === undefined || name.startsWith('-')) return console.log(listing())
  if (!existsSync(join(root, 'bench', `${name}.ts`))) throw new Failure(`There is no bench ${name}.\n${listing()}`)
  await buildAll()
  const env = (await needs[name]?.()) ?? {}
  const code = await runHere(execPath, [join(root, 'dist', 'bench', `${name}.js`), ...args], { env })
  if (code !== 0) say(`the bench ${name} failed (${code})`)
  process.exitCode = code === 0 ? 0 : 1
})
