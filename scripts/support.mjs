// @ts-check
// What the scripts share: the root, a quiet way to run a command, and a lock between processes.
import { execFileSync, spawn } from 'node:child_process'
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, isAbsolute, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

export const root = dirname(dirname(fileURLToPath(import.meta.url)))

/** Says something to the person who waits; never on stdout, which belongs to what a script was asked for. */
export const say = (/** @type {string} */ text) => void process.stderr.write(text + '\n')

/** A failure that is told by its message alone. */
export class Failure extends Error {}

/** Runs a script's main function; a failure is printed without its stack, and sets the exit code. */
export const main = async (/** @type {() => Promise<void>} */ body) => {
  try {
    await body()
  } catch (error) {
    say(error instanceof Failure ? error.message : error instanceof Error ? String(error.stack) : String(error))
    process.exitCode ||= 1
  }
}

/**
 * Runs a command and waits for it. Its output is kept back and told only if it fails; while it takes long, a line says
 * that it goes on.
 *
 * @param {string} command
 * @param {string[]} args
 * @param {{ what: string, cwd?: string, env?: Record<string, string | undefined>, progress?: () => string }} options
 * @returns {Promise<string>} what it printed
 */
export const runQuietly = async (command, args, { what, cwd = root, env = {}, progress = () => '' }) => {
  const begun = Date.now()
  const timer = setInterval(() => say(`${what} … ${Math.round((Date.now() - begun) / 1000)} s${progress()}`), 5000)
  try {
    const { code, output } = await collect(command, args, { cwd, env })
    if (code !== 0) throw new Failure(`${output.trimEnd()}\n${what} failed (${code}): ${command} ${args.join(' ')}`)
    return output
  } finally {
    clearInterval(timer)
  }
}

/**
 * Runs a command on this terminal; stdout stays stdout unless `quiet` sends it to stderr.
 *
 * @param {string} command
 * @param {string[]} args
 * @param {{ env?: Record<string, string | undefined>, cwd?: string, stdoutToStderr?: boolean }} [options]
 * @returns {Promise<number>} its exit code
 */
export const runHere = async (command, args, { env = {}, cwd = root, stdoutToStderr = false } = {}) => {
  const child = spawn(command, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['inherit', stdoutToStderr ? 2 : 'inherit', 'inherit'],
  })
  const pass = (/** @type {NodeJS.Signals} */ signal) => void child.kill(signal)
  const signals = /** @type {const} */ (['SIGINT', 'SIGTERM'])
  for (const signal of signals) process.on(signal, pass)
  const code = await exited(child)
  for (const signal of signals) process.off(signal, pass)
  return typeof code === 'number' ? code : 1
}

/**
 * Runs a command to its end, and gives what it printed to either.
 *
 * @param {string} command
 * @param {string[]} args
 * @param {{ cwd?: string, env?: Record<string, string | undefined>, timeout?: number, killSignal?: NodeJS.Signals }}
 * [options] `timeout`: milliseconds, after which it is ended, by SIGKILL or that signal
 */
export const collect = async (command, args, { cwd = root, env = {}, timeout, killSignal = 'SIGKILL' } = {}) => {
  const child = spawn(command, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout,
    killSignal,
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text))
  return { code: await exited(child), output }
}

/**
 * Does a list two at a time, as many as CI has processors.
 *
 * @template T, R
 * @param {T[]} list
 * @param {(each: T) => Promise<R>} body
 * @param {number} [width] another number than two
 * @returns {Promise<R[]>} in the list's order
 */
export const atOnce = async (list, body, width = 2) => {
  /** @type {R[]} */
  const results = []
  const rest = list.entries()
  const worker = async () => {
    for (const [index, each] of rest) results[index] = await body(each)
  }
  await Promise.all(Array.from({ length: width }, worker))
  return results
}

/**
 * Waits for all of what runs at the same time, so that none goes on unheard of once another has failed; then it throws
 * what failed.
 *
 * @param {Promise<unknown>[]} jobs
 */
export const together = async (...jobs) => {
  const outcomes = await Promise.allSettled(jobs)
  /** @type {unknown[]} */
  const failed = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []))
  if (failed.length > 1 && failed.every((each) => each instanceof Failure))
    throw new Failure(failed.map((each) => each.message).join('\n\n'))
  if (failed.length > 0) throw failed.find((each) => !(each instanceof Failure)) ?? failed[0]
}

/** @returns {Promise<number | string>} the exit code, or the name of the signal or the error that ended it */
const exited = (/** @type {import('node:child_process').ChildProcess} */ child) =>
  new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('close', (code, signal) => resolve(code ?? signal ?? 1))
  })

/** The program of a development dependency, started by this Node. */
export const bin = (/** @type {string} */ name) => {
  const path = join(root, 'node_modules', '.bin', name)
  if (!existsSync(path)) throw new Failure(`node_modules lacks ${name}: run npm ci`)
  return path
}

/** TypeScript 7, which is native code; its elder is there for typescript-eslint, and has the same command. */
export const tsc = join(root, 'node_modules', 'typescript-native', 'bin', 'tsc')

/**
 * Holds a lock, a folder with its owner's process id, while `body` runs: several processes may build or fetch the same
 * thing at once.
 *
 * @template T
 * @param {string} name
 * @param {() => Promise<T>} body
 * @param {string} [folder] where it lies: beside what others share, too
 * @returns {Promise<T>}
 */
export const withLock = async (name, body, folder = join(root, '.cache')) => {
  const lock = join(folder, 'locks', name)
  mkdirSync(dirname(lock), { recursive: true })
  for (let waits = 0; !take(lock); waits++) {
    if (waits === 50) say(`waiting for another process that holds ${name} …`)
    if (abandoned(lock)) rmSync(lock, { recursive: true, force: true })
    else await sleep(100)
  }
  const release = () => rmSync(lock, { recursive: true, force: true })
  process.on('exit', release)
  try {
    return await body()
  } finally {
    process.off('exit', release)
    release()
  }
}

const take = (/** @type {string} */ lock) => {
  try {
    mkdirSync(lock)
  } catch {
    return false
  }
  writeFileSync(join(lock, 'pid'), processMark(process.pid))
  return true
}

const abandoned = (/** @type {string} */ lock) => {
  const mark = readIfThere(join(lock, 'pid'))
  // Without a process id yet: its owner is just taking it, or died while it did.
  return mark === '' ? Date.now() - modified(lock) > 2000 : !isAlive(mark)
}

/** A process id with the time of its start, so that a later process with the same id is another one. */
const processMark = (/** @type {number} */ pid) => {
  const stat = readIfThere(`/proc/${pid}/stat`)
  // the second field is a name, which may have blanks and parentheses in it; the start is the 22nd
  return `${pid} ${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? ''}`
}

const isAlive = (/** @type {string} */ mark) => {
  const pid = Number(mark.split(' ')[0])
  try {
    process.kill(pid, 0)
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EPERM') return false
  }
  return mark === processMark(pid)
}

const readIfThere = (/** @type {string} */ path) => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

/** One file for each process whose tests use dist/ of this checkout: see {@link useDist}. */
const distUsers = join(root, '.cache', 'locks', 'dist.users')
/** Set for the processes that a user of dist/ starts. */
const distInUse = 'NODE_TENSORRT_DIST_IN_USE'

/**
 * Marks dist/ as in use while `body` runs: another process that wants to compile it waits until then. The processes
 * that this one starts do not compile it either, and do not wait: they use what is there.
 *
 * @template T
 * @param {() => Promise<T>} body
 * @returns {Promise<T>}
 */
export const useDist = async (body) => {
  if (isWithinDistUser()) return await body()
  const mark = join(distUsers, String(process.pid))
  // not amid a compilation
  await withLock('lib', async () => {
    mkdirSync(distUsers, { recursive: true })
    writeFileSync(mark, processMark(process.pid))
  })
  const release = () => rmSync(mark, { force: true })
  process.on('exit', release)
  const before = process.env[distInUse]
  process.env[distInUse] = root
  try {
    return await body()
  } finally {
    if (before === undefined) delete process.env[distInUse]
    else process.env[distInUse] = before
    process.off('exit', release)
    release()
  }
}

/** Whether this process was started by a user of dist/. */
export const isWithinDistUser = () => process.env[distInUse] === root

/** Waits until no other process uses dist/. To be called with the lock `lib`, so that no user is added meanwhile. */
export const untilDistIsFree = async () => {
  for (let waits = 0; ; waits++) {
    const marks = existsSync(distUsers) ? readdirSync(distUsers).map((name) => join(distUsers, name)) : []
    const others = marks.filter((path) => {
      if (isAlive(readIfThere(path))) return true
      rmSync(path, { force: true })
      return false
    })
    if (others.length === 0) return
    if (waits === 20)
      say(`waiting for the tests of process ${others.map((path) => basename(path)).join(', ')}, which use dist/ …`)
    await sleep(100)
  }
}

/** @type {string | undefined} */
let sharedCache

/**
 * Where what is fetched once for all checkouts lies: in the user's cache, or where that can't be written in this
 * checkout's own.
 *
 * @returns {string}
 */
export const cacheFolder = () => (sharedCache ??= usersCache() ?? join(root, '.cache'))

const usersCache = () => {
  const given = process.env['XDG_CACHE_HOME'] ?? ''
  try {
    const folder = join(isAbsolute(given) ? given : join(homedir(), '.cache'), 'node-tensorrt-dev')
    mkdirSync(folder, { recursive: true })
    accessSync(folder, constants.W_OK | constants.X_OK)
    return folder
  } catch (error) {
    say(
      `what is fetched lies in .cache of this checkout: the user's cache cannot be written (${/** @type {Error} */ (error).message})`,
    )
    return undefined
  }
}

/** When a file or folder was last changed, in ms; 0 where it is not. */
export const modified = (/** @type {string} */ path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0

/** All files under a folder, with their paths; none where the folder is not. */
export const filesUnder = (/** @type {string} */ folder) =>
  existsSync(folder)
    ? readdirSync(folder, { withFileTypes: true, recursive: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    : []

/** Where the compiler has a library of its own, such as a sanitizer's runtime. */
export function compilerLibrary(/** @type {string} */ name) {
  const path = execFileSync('c++', [`-print-file-name=${name}`], { encoding: 'utf8' }).trim()
  if (!path.startsWith('/')) throw new Failure(`the compiler has no ${name}; g++ of Debian brings it`)
  return path
}
