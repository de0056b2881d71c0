// Programs of C++ cases, each an assertion here.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { root } from '../fake/build.js'

const run = promisify(execFile)
const options = { maxBuffer: 1 << 26 }

/** Compiles the programs of test/native, and gives the path of one. */
export async function buildCases(name: 'core' | 'cpu'): Promise<string> {
  const { stdout } = await run(process.execPath, [join(root, 'scripts', 'build.mjs'), '--cases'], options)
  return join(stdout.trim(), `${name}_test`)
}

/** Runs a program, and says of each of its cases whether it passed. */
export async function runCases(
  t: Test,
  program: string,
  args: string[],
  env: Record<string, string> = {},
): Promise<void> {
  const { stdout } = await run(program, args, { ...options, env: { ...process.env, ...env } }).catch(
    (error: unknown) => error as { stdout: string },
  )
  const lines = stdout.split('\n')
  for (const [index, line] of lines.entries()) {
    const found = /^(ok|not ok) (?:\d+ - )?(.*)$/.exec(line)
    if (!found) continue
    const rest = lines.slice(index + 1)
    const end = rest.findIndex((each) => !each.startsWith('  # '))
    t.ok(found[1] === 'ok', found[2] ?? '', { reasons: rest.slice(0, end) })
  }
  t.match(stdout, /^# \d+ cases, \d+ checks, 0 failed$/m, 'it came to its end')
}
