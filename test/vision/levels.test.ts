// What the processor's lowest level gives is what the oracles say, too: the same tests, in processes that are told to use it.
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'

const run = promisify(execFile)

for (const name of ['oracles', 'into', 'tensor', 'candidates']) {
  t.test(`${name} at the baseline`, async (t) => {
    const file = fileURLToPath(new URL(`${name}.test.js`, import.meta.url))
    const env = { ...process.env, NODE_TENSORRT_CPU: 'baseline', TAP_CHILD_ID: undefined, TAP: undefined }
    const { stdout } = await run(process.execPath, [file], { env, maxBuffer: 2 ** 26 })
    t.match(stdout, /^# \{ total: \d+, pass: \d+ \}$/m)
    t.notMatch(stdout, /^\s*not ok/m)
  })
}
