import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Test } from 'tap'

const run = promisify(execFile)

/** That a file of tests passes in a process of its own, in which these variables of the environment are set. */
export async function passesWith(t: Test, file: URL, env: Readonly<Record<string, string>>): Promise<void> {
  const { stdout } = await run(process.execPath, [fileURLToPath(file)], {
    env: { ...process.env, ...env, TAP_CHILD_ID: undefined, TAP: undefined },
    maxBuffer: 2 ** 26,
  })
  t.match(stdout, /^# \{ total: \d+, pass: \d+ \}$/m)
  t.notMatch(stdout, /^\s*not ok/m)
}
