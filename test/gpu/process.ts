// Runs a program as a process with a time limit.
import { spawn } from 'node:child_process'

/** How a process ended. */
export interface End {
  readonly code: number | null
  readonly signal: string | null
  /** Whether the time limit killed it. */
  readonly killed: boolean
}

/** Runs a file with Node. Over the limit, the process and all that it started are killed. */
export function runLimited(args: readonly string[], limitSeconds: number): Promise<End> {
  // a group of its own, so that its children are killed too
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'], detached: true })
  let killed = false
  const timer = setTimeout(() => {
    killed = true
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
  }, limitSeconds * 1000)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => {
      clearTimeout(timer)
      resolve({ code, signal, killed })
    })
  })
}
