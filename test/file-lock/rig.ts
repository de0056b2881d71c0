// Programs that take the lock in threads and processes of their own.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { readdirSync, readlinkSync, realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { childEnvironment } from '../support/children.js'
import { temporaryFolder } from '../support/folders.js'

const env = childEnvironment()
const url = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href)

const prelude = (file: string): string => `
  import { readFile, writeFile } from 'node:fs/promises'
  import { setTimeout as sleep } from 'node:timers/promises'
  import { withFileLock } from ${url('../../lib/backend/file-lock.js')}
  const file = ${JSON.stringify(file)}
`

/** Adds 1 to the number in the file, so slowly that two at once would lose one. */
export const increments = (times: number): string => `
  for (let i = 0; i < ${times}; i++) await withFileLock(file, {}, async () => {
    const value = Number(await readFile(file, 'utf8'))
    await sleep(1)
    await writeFile(file, String(value + 1))
  })
`

/** Takes the lock, says so with what `also` gives, and keeps it. */
export const holding = (also = "''"): string => `
  await withFileLock(file, {}, async () => {
    process.stdout.write(\`held \${${also}}\\n\`)
    await sleep(600_000)
  })
`

export const startWorker = (program: string, file: string): Worker =>
  new Worker(new URL(`data:text/javascript,${encodeURIComponent(prelude(file) + program)}`), {
    execArgv: [],
    env,
    stdout: true,
  })

export const startNode = (program: string, file: string, flags: readonly string[] = []): ChildProcess =>
  spawn(process.execPath, [...flags, '--input-type=module', '-e', prelude(file) + program], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })

/** The reason why tests with python3 are skipped. */
export const skipPython = spawnSync('python3', ['-c', 'import fcntl']).status === 0 ? false : 'no python3'

/** python3 with `fd` open on the lock's own file; a line on its stdin ends its `sys.stdin.readline()`. */
export const startPython = (program: string, file: string): ChildProcess =>
  spawn('python3', ['-c', `import fcntl, sys, time\nfd = open(sys.argv[1] + '.lock', 'w+')\n${program}`, file], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })

/** The first text that it prints. */
export const said = (child: ChildProcess | Worker): Promise<string> =>
  new Promise((resolve, reject) => {
    child.stdout?.once('data', (data) => resolve(String(data).trim()))
    child
      .once('error', reject)
      .once('exit', (code: number | null) => reject(new Error(`ended with ${String(code)}, having said nothing`)))
  })

export const ended = (child: ChildProcess | Worker): Promise<unknown> =>
  new Promise((resolve, reject) => void child.once('error', reject).once('exit', resolve))

/** Returns how many holders and waiters of a file's lock this process has: each of them has the lock's file open. */
export function openLocks(file: string): number {
  const lock = join(realpathSync(dirname(file)), `${basename(file)}.lock`)
  return readdirSync('/proc/self/fd').filter((descriptor) => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`) === lock
    } catch {
      return false // it was closed after the listing
    }
  }).length
}

/** A path in a folder of the test's own, which goes with it. */
export const scratchFile = (t: Parameters<typeof temporaryFolder>[0], name = 'file'): string =>
  join(temporaryFolder(t), name)
