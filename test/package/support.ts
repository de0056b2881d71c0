import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** The project's folder, seen from dist/test/package. */
export const root = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))))

export const readText = (path: string): string => readFileSync(join(root, path), 'utf8')

/**
 * Runs a command without tap's hooks and without the settings that the npm around this test hands down; tells what it
 * printed.
 */
export const run = async (
  command: string,
  args: string[],
  cwd: string,
  env: NodeJS.ProcessEnv = {},
): Promise<string> => {
  const inherited = Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) =>
        !/^(npm_(package|lifecycle)|TAP|_TAPJS|NODE_OPTIONS|INIT_CWD|TENSORRT|NODE_TENSORRT_ADDON)/i.test(name),
    ),
  )
  const { stdout } = await promisify(execFile)(command, args, {
    cwd,
    env: { ...inherited, ...env },
    maxBuffer: 1 << 26,
  })
  return stdout
}
