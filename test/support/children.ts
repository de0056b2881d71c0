// Node in processes of its own.
import { execFile } from 'node:child_process'

/** How a child ended, and what it printed. */
export interface Ended {
  readonly code: number | string | null
  readonly signal: string | null
  readonly stdout: string
  readonly stderr: string
}

/**
 * The environment of a child without tap's hooks, and without coverage, which would write its report while the child
 * ends.
 */
export function childEnvironment(more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  return { ...process.env, NODE_OPTIONS: '', NODE_V8_COVERAGE: '', ...more }
}

/**
 * Runs Node to its end, in such an environment. Who hangs is ended, with SIGTERM, before scripts/runner.mjs ends the
 * test file.
 */
export function runNode(
  args: readonly string[],
  cwd = process.cwd(),
  timeout = 500_000,
  more: NodeJS.ProcessEnv = {},
): Promise<Ended> {
  const env = childEnvironment(more)
  // tap's hooks put NODE_OPTIONS back into whatever is spawned
  const command = ['-u', 'NODE_OPTIONS', process.execPath, ...args]
  return new Promise((resolve) => {
    execFile('env', command, { cwd, env, timeout }, (error, stdout, stderr) =>
      resolve({ code: error ? (error.code ?? null) : 0, signal: error?.signal ?? null, stdout, stderr }),
    )
  })
}
