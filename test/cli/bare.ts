import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { packageRoot } from '../../lib/base/package.js'
import type { Capabilities } from '../../lib/index.js'
import { processFolder } from '../support/folders.js'

const home = processFolder()

type Printed = Readonly<Record<'stdout' | 'stderr', string>>

/** The command in a process with no CUDA driver to be found, and with nothing else in the environment than `env`. */
export async function bareTrt(args: readonly string[], env: Readonly<Record<string, string>>): Promise<Printed> {
  const bare = { PATH: process.env['PATH'] ?? '', HOME: home, NODE_TENSORRT_LIBCUDA: '/nonexistent/libcuda.so.1' }
  return promisify(execFile)(process.execPath, [join(packageRoot(), 'dist/lib/cli/trt.js'), ...args], {
    env: { ...bare, ...env },
  })
}

/** How `doctor --require run` ends there, and what it found. */
export async function health(
  env: Readonly<Record<string, string>>,
  ...args: string[]
): Promise<{ readonly code: number; readonly stderr: string } & Capabilities> {
  const ended = await bareTrt(['doctor', '--require', 'run', '--json', ...args], env).then(
    (printed) => ({ ...printed, code: 0 }),
    (error: unknown) => error as Printed & { readonly code: number },
  )
  return { ...(JSON.parse(ended.stdout) as Capabilities), code: ended.code, stderr: ended.stderr }
}
