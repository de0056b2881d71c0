// @ts-check
// npm run test:asan [-- --long | --build | ROOM/FILE …]: tests on an addon with the address and undefined behaviour
// sanitizers. Node itself is not instrumented, so the runtime is preloaded; leaks can't be told from V8's own and are
// not looked for here: the core without Node does that, which runs beside (test-core.mjs), except for named files.
// --build: builds, and runs nothing.
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join, relative } from 'node:path'
import { argv } from 'node:process'
import { addonPath, buildAddon, buildAll } from './build.mjs'
import { buildFakes } from './fakes.mjs'
import { runFiles } from './runner.mjs'
import { compilerLibrary, Failure, filesUnder, main, root } from './support.mjs'
import { buildCore, noCore } from './test-core.mjs'

/** What crosses into native memory, and one file of each kind of end: `.ci/run` has these. */
const crossing = [
  ...[
    'infer',
    'batching',
    'device-tensors',
    'misuse',
    'misuse-native',
    'host-memory',
    'pinned-memory',
    'sharing',
    'plan-files',
  ].map((name) => `lanes/${name}`),
  ...['into', 'tensor', 'masks', 'native-masks', 'candidates', 'blur', 'draw', 'painting', 'misuse', 'hostile'].map(
    (name) => `vision/${name}`,
  ),
  ...[
    'layers/engine',
    'benchmark/engine',
    'builder/calibration',
    'cache/engine',
    'engine/life',
    'native/plan',
    'onnxruntime/in-flight',
    'onnxruntime/mistakes',
    'refit/life',
    'refit/refit',
  ],
]

/**
 * Folders of dist/test, or files in them, that `--long` has: those that do not need the real TensorRT-RTX, or processes
 * that are killed again and again.
 */
const all = [
  ...[
    'fake',
    'native',
    'engine',
    'lanes',
    'file-lock',
    'layers/engine',
    'benchmark/engine',
    'cache/engine',
    'plan/fit',
  ],
  // what the addon does to pixels
  ...[
    'into',
    'tensor',
    'pil',
    'turned',
    'native-masks',
    'masks',
    'instance-masks',
    'components',
    'polygons',
    'candidates',
  ].map((name) => `vision/${name}`),
  ...['blur', 'deep', 'draw', 'overlay', 'painting', 'misuse', 'hostile', 'threads'].map((name) => `vision/${name}`),
  ...[
    'builder/calibration',
    'builder/options',
    'builder/timing-cache',
    'onnxruntime/in-flight',
    'onnxruntime/mistakes',
    'refit/build',
    'refit/engine',
    'refit/life',
    'refit/refit',
  ],
]
const long = argv.includes('--long')
const wanted = argv.slice(2).filter((word) => !word.startsWith('--'))
const parts = wanted.length > 0 ? wanted : long ? all : crossing
const reports = join(root, 'build', 'asan', 'reports')

await main(async () => {
  if (process.platform !== 'linux') throw new Failure('npm run test:asan works on Linux only')
  await buildAll()
  const fakes = await buildFakes()
  await buildAddon('address')
  const core = wanted.length > 0 ? noCore : await buildCore('address', { long })
  if (argv.includes('--build')) return
  rmSync(reports, { recursive: true, force: true })
  mkdirSync(reports, { recursive: true })
  const tests = filesUnder(join(root, 'dist', 'test')).map((path) => relative(root, path))
  const missing = parts.filter((part) => !tests.some((path) => isOf(path, part)))
  if (missing.length > 0) throw new Failure(`there are no tests ${missing.join(', ')}`)
  const files = tests
    .filter((path) => path.endsWith('.test.js') && parts.some((part) => isOf(path, part)))
    .filter((path) => !/lanes\/(cpu-)?memory\.slow\.test\.js$/.test(path)) // what is freed stays in quarantine, so memory grows
    .filter((path) => !/lanes\/no-thread\.test\.js$/.test(path)) // it limits the address space, of which the sanitizer needs more
    .filter((path) => !/native\/(core|cpu)\.long\.test\.js$/.test(path)) // the programs of the core are these; the preloaded runtime ends a process whose allocation fails
  const totals = await runFiles(files, {
    // children of an instrumented addon begin slowly, and more so on a busy machine: only what hangs is to be ended
    timeoutSeconds: 900,
    env: { ...environment(), NODE_TENSORRT_FAKES: fakes },
    programs: core.programs,
  })
  const failedPrograms = core.end()
  // Also those of processes whose death a test expects.
  const found = filesUnder(reports)
  for (const path of found) console.log(readFileSync(path, 'utf8'))
  if (found.length > 0) console.log(`${found.length} reports of the sanitizers`)
  const failed = totals.failed + failedPrograms + found.length
  console.log(`${totals.passed} passed, ${failed} failed, ${totals.skipped} skipped`)
  process.exitCode = failed > 0 || totals.passed === 0 ? 1 : 0
})

function isOf(/** @type {string} */ path, /** @type {string} */ part) {
  return new RegExp(`^dist/test/${part}[/.]`).test(path)
}

function environment() {
  const log = `log_path=${join(reports, 'report')}`
  return {
    NODE_TENSORRT_ADDON: addonPath('address'),
    // libstdc++ too: the runtime looks up what it intercepts there when it starts.
    LD_PRELOAD: ['libasan.so', 'libstdc++.so.6'].map(compilerLibrary).join(' '),
    // glibc's count of an arena's threads was wrong now and then without it: see test-core.mjs
    ASAN_OPTIONS: `detect_leaks=0:handle_segv=1:allocator_may_return_null=1:intercept_tls_get_addr=0:${log}`,
    UBSAN_OPTIONS: `print_stacktrace=1:halt_on_error=1:${log}`,
    // V8's cache of compiled code and the preloaded runtime don't go together.
    NODE_DISABLE_COMPILE_CACHE: '1',
  }
}
