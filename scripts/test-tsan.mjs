// @ts-check
// npm run test:tsan: the execution core with the thread sanitizer, first without Node, then as the addon in Node. Node itself is not instrumented: what it
// does by itself is suppressed, by name and with the reason.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { execPath } from 'node:process'
import { addonPath, buildAddon, buildAll } from './build.mjs'
import { atOnce, collect, compilerLibrary, Failure, filesUnder, main, root } from './support.mjs'
import { glibcRaces, testCore } from './test-core.mjs'

/** Those that start no processes: under this sanitizer Node can't. */
const files = ['native/plan', 'vision/threads', 'lanes/infer', 'lanes/batching', 'lanes/sharing', 'lanes/sharing-queue']

const suppressions = [
  // Node and V8 are not instrumented: their own locks are not seen.
  'race:v8::',
  'race:^node::',
  'race:^uv_',
  // Nor is libstdc++, which counts the owners of an exception.
  'race:std::__exception_ptr::exception_ptr',
  ...glibcRaces,
]

const reports = join(root, 'build', 'tsan', 'reports')

await main(async () => {
  await testCore('thread')
  await buildAll()
  await buildAddon('thread')
  rmSync(reports, { recursive: true, force: true })
  mkdirSync(reports, { recursive: true })
  const env = environment()
  let passed = 0
  let failed = 0
  await atOnce(files, async (file) => {
    const path = join(root, 'dist', 'test', `${file}.test.js`)
    if (!existsSync(path)) throw new Failure(`there is no ${path}`)
    const { output, code } = await collect(execPath, [path], { env, timeout: 600_000 })
    const totals = /^# \{ total: \d+, pass: (\d+)(?:, fail: (\d+))?.*\}$/m.exec(output)
    const fine = code === 0 && totals !== null && totals[2] === undefined
    passed += Number(totals?.[1] ?? 0)
    failed += Number(totals?.[2] ?? 0) || (fine ? 0 : 1)
    console.log(`${fine ? 'ok    ' : 'FAILED'} ${file}`)
    if (!fine) console.log(failures(output), output.slice(-4000))
  })
  const found = filesUnder(reports).filter((report) => !report.endsWith('suppressions'))
  for (const report of found) console.log(readFileSync(report, 'utf8').slice(0, 8000))
  if (found.length > 0) console.log(`${found.length} reports of the thread sanitizer`)
  console.log(`${passed} passed, ${failed + found.length} failed`)
  process.exitCode = failed + found.length > 0 || passed === 0 ? 1 : 0
})

/** What failed, each with the lines that say why. */
function failures(/** @type {string} */ tap) {
  const lines = tap.split('\n')
  return lines.flatMap((line, i) => (/^ *not ok/.test(line) ? lines.slice(i, i + 24) : [])).join('\n')
}

function environment() {
  const list = join(reports, 'suppressions')
  writeFileSync(list, suppressions.join('\n'))
  return {
    NODE_TENSORRT_ADDON: addonPath('thread'),
    NODE_TENSORRT_FAKES: join(root, 'build', 'fake-thread'),
    LD_PRELOAD: ['libtsan.so', 'libstdc++.so.6'].map(compilerLibrary).join(' '),
    // of a whole file, in seconds: here each takes some ten times as long, and the runner's own limit is 30
    TAP_TIMEOUT: '600',
    // as in test-core.mjs; the history is what a report's second stack comes from
    TSAN_OPTIONS: `intercept_tls_get_addr=0:allocator_may_return_null=1:history_size=4:suppressions=${list}:log_path=${join(reports, 'report')}`,
    NODE_DISABLE_COMPILE_CACHE: '1',
  }
}
