// @ts-check
// npm run test:tsan [-- --long | --build | ROOM/FILE …]: the execution core with the thread sanitizer, without Node
// (except for named files) and as the addon in Node. Node itself is not instrumented: what it does by itself is
// suppressed, by name and with the reason. --build: builds, and runs nothing.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { argv } from 'node:process'
import { addonPath, buildAddon, buildAll } from './build.mjs'
import { buildFakes } from './fakes.mjs'
import { runFiles } from './runner.mjs'
import { compilerLibrary, Failure, filesUnder, main, root } from './support.mjs'
import { buildCore, glibcRaces, noCore } from './test-core.mjs'

/**
 * Those that start no processes: under this sanitizer Node can't. `.ci/run` has the first. Without engine/life: what
 * onnxruntime does in Node's own thread takes ten minutes here and is reported as races of onnxruntime with itself;
 * lanes/cpu has our threads over it.
 */
const few = ['native/plan', 'vision/threads', 'lanes/infer', 'lanes/batching', 'lanes/sharing']
const more = [
  ...[
    // its 1,062 assertions take ten times as long here; the core on trt10 has the queue's cases
    'sharing-queue',
    'cpu',
    'device',
    'device-tensors',
    'host-memory',
    'infer-trt11',
    'misuse',
    'misuse-native',
    'pinned-memory',
    'profiles',
    'sharing-workers',
    'telling',
  ].map((name) => `lanes/${name}`),
  ...['layers/engine', 'benchmark/engine', 'cancellation/calls', 'cancellation/stream', 'refit/engine', 'refit/refit'],
  ...['blur', 'candidates', 'draw', 'into', 'many', 'native-masks', 'overlay', 'painting', 'tensor'].map(
    (name) => `vision/${name}`,
  ),
]
const long = argv.includes('--long')
const wanted = argv.slice(2).filter((word) => !word.startsWith('--'))
const files = wanted.length > 0 ? wanted : long ? [...few, ...more] : few

const suppressions = [
  // Node and V8 are not instrumented: their own locks are not seen.
  'race:v8::',
  'race:^node::',
  'race:^uv_',
  // Nor is libstdc++, which counts the owners of an exception.
  'race:std::__exception_ptr::exception_ptr',
  // Nor is libvips, by whose threads sharp reads pictures.
  'race:libvips-cpp.so',
  ...glibcRaces,
]

const reports = join(root, 'build', 'tsan', 'reports')

await main(async () => {
  await buildAll()
  // the addon's lists of files need them, too
  await buildFakes('thread')
  await buildAddon('thread')
  const core = wanted.length > 0 ? noCore : await buildCore('thread', { long })
  if (argv.includes('--build')) return
  rmSync(reports, { recursive: true, force: true })
  mkdirSync(reports, { recursive: true })
  const totals = await runFiles(
    testFiles(),
    // each takes some ten times as long
    { timeoutSeconds: 1200, env: environment(), programs: core.programs },
  )
  const failedPrograms = core.end()
  const found = filesUnder(reports).filter((report) => !report.endsWith('suppressions'))
  for (const report of found) console.log(readFileSync(report, 'utf8').slice(0, 8000))
  if (found.length > 0) console.log(`${found.length} reports of the thread sanitizer`)
  const failed = totals.failed + failedPrograms + found.length
  console.log(`${totals.passed} passed, ${failed} failed, ${totals.skipped} skipped`)
  process.exitCode = failed > 0 || totals.passed === 0 ? 1 : 0
})

/** @returns {string[]} the compiled files of these names, of whatever tier */
function testFiles() {
  const tests = filesUnder(join(root, 'dist', 'test')).map((path) => relative(root, path))
  return files.map((name) => {
    const path = tests.find((path) => path.startsWith(`dist/test/${name}.`) && path.endsWith('.test.js'))
    if (path === undefined) throw new Failure(`there is no test file ${name}`)
    return path
  })
}

function environment() {
  const list = join(reports, 'suppressions')
  writeFileSync(list, suppressions.join('\n'))
  return {
    NODE_TENSORRT_ADDON: addonPath('thread'),
    NODE_TENSORRT_FAKES: join(root, 'build', 'fake-thread'),
    LD_PRELOAD: ['libtsan.so', 'libstdc++.so.6'].map(compilerLibrary).join(' '),
    // as in test-core.mjs; the history is what a report's second stack comes from
    TSAN_OPTIONS: `intercept_tls_get_addr=0:allocator_may_return_null=1:history_size=4:suppressions=${list}:log_path=${join(reports, 'report')}`,
    NODE_DISABLE_COMPILE_CACHE: '1',
  }
}
