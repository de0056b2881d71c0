// @ts-check
// npm run bench -- NAME [PART ...] [--json] [--quick]   builds what is missing, then runs bench/NAME.ts
// npm run bench -- NAME [...] --against COMMIT          compares the rows with those of a commit
// npm run bench                                         lists the benches
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { argv, execPath } from 'node:process'
import { runAgainst } from './bench-against.mjs'
import { buildAll } from './build.mjs'
import { ensureCenterFace } from './centerface.mjs'
import { ensurePythonQuantization } from './onnxruntime.mjs'
import { ensureOcrApps } from './ocr-app.mjs'
import { linkerForOlderSystems } from './older-glibc.mjs'
import { buildWithGyp } from './prebuilds.mjs'
import { Failure, main, modified, root, runHere, runQuietly, say, withLock } from './support.mjs'
import { ensureBindings, ensureTensorRT } from './tensorrt.mjs'
import { ensureDefacePython, ensureVisionPython } from './vision-python.mjs'
import { pythonWithPip } from './wheels.mjs'

const had = (/** @type {{ path?: string, reason?: string }} */ { path, reason }) => {
  if (path) return path
  throw new Failure(reason ?? 'nothing was fetched')
}

/** Whether one of these parts of the bench is wanted: they are named, or no part is. */
const isWanted = (/** @type {string[]} */ ...parts) => {
  const named = argv.slice(3).filter((word) => !word.startsWith('-'))
  return named.length === 0 || named.some((word) => parts.includes(word))
}

/**
 * A peer of some parts: without it, those fail, and the others run.
 *
 * @param {Promise<{ path?: string, reason?: string }>} had
 */
const optional = async (had) => {
  const { path, reason } = await had
  if (path) return { TRT_BENCH_PYTHON: path }
  say(`${reason}\nThe parts that need it will fail.`)
  return {}
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
    ...(isWanted('classification', 'faces') && !argv.includes('--dry') && (await optional(ensureDefacePython()))),
    TRT_BENCH_CENTERFACE: had(await ensureCenterFace()),
  }),
  video: async () => ({
    ...(isWanted('decoding', 'blur') && (await optional(ensureDefacePython()))),
    TRT_BENCH_CENTERFACE: had(await ensureCenterFace()),
  }),
  vision: () => optional(ensureVisionPython()),
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

/** The benches, each with the first sentence of its comment. */
const listing = () => {
  const files = readdirSync(join(root, 'bench')).filter((name) => name.endsWith('.ts'))
  const lines = files.map((file) => {
    const [, text = ''] = /^\/\*\*(.*?)\*\//s.exec(readFileSync(join(root, 'bench', file), 'utf8')) ?? []
    const [sentence] = text
      .replaceAll(/\s+(\* )?/g, ' ')
      .trim()
      .split(/(?<=\.) /)
    return `  ${basename(file, '.ts').padEnd(8)} ${sentence}`
  })
  const usage = [
    'npm run bench -- NAME [PART ...]',
    '  --json            print lines of JSON: the bench and the machine, then each row as it is measured',
    '  --quick           one round with few calls; only counts are judged',
    '  --against COMMIT  build the commit, run both in turns, and compare their rows; exit code 1 if one is worse or unclear',
  ]
  return [...usage, ...lines].join('\n')
}

await main(async () => {
  const [name, ...args] = argv.slice(2)
  if (name === undefined || name.startsWith('-')) return console.log(listing())
  if (!existsSync(join(root, 'bench', `${name}.ts`))) throw new Failure(`There is no bench ${name}.\n${listing()}`)
  const at = args.indexOf('--against')
  if (at >= 0) {
    const rest = args.toSpliced(at, 2)
    process.exitCode = await runAgainst(name, args[at + 1] ?? '', rest)
    return
  }
  await buildAll()
  const env = (await needs[name]?.()) ?? {}
  const code = await runHere(execPath, [join(root, 'dist', 'bench', `${name}.js`), ...args], { env })
  if (code !== 0) say(`the bench ${name} failed (${code})`)
  process.exitCode = code === 0 ? 0 : 1
})
