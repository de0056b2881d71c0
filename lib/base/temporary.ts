/**
 * Files and folders under temporary names: gone in the end, or, where their process was killed, once another process
 * writes into the folder that has them.
 */
import { createHash, randomBytes } from 'node:crypto'
import { readFileSync, readlinkSync, rmSync } from 'node:fs'
import { lstat, readdir, rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { basename, dirname, join } from 'node:path'

/** Of a target's name so much stands in a temporary one, whose own part then fits: a name has 255 bytes at most. */
const mostNameBytes = 200

/** A name beside a file that nobody else uses. It says which process uses it, so that others know when that is dead. */
export function temporaryOf(target: string): string {
  const owner = `${process.pid.toString(36)}-${processSpace()}`
  return join(dirname(target), `.${shortened(basename(target))}.${randomBytes(4).toString('hex')}.${owner}.tmp`)
}

function shortened(name: string): string {
  const bytes = Buffer.from(name)
  return bytes.length <= mostNameBytes
    ? name
    : bytes
        .subarray(0, mostNameBytes)
        .toString()
        .replace(/\uFFFD$/, '')
}

let space: string | undefined

/**
 * Which processes a number tells apart: those of this start of the system and this PID namespace (a container has one
 * of its own).
 */
function processSpace(): string {
  return (space ??= createHash('sha256').update(spaceText()).digest('hex').slice(0, 8))
}

function spaceText(): string {
  try {
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8')} ${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    return hostname() // of systems without /proc
  }
}

const temporaryName = /^\..+\.[0-9a-f]{8}\.([0-9a-z]{1,8})-([0-9a-f]{8})\.tmp$/

/**
 * Whether a name is a temporary one whose process is dead. Of processes of other systems and containers nobody can
 * tell.
 */
function isLeft(name: string): boolean {
  const [, pid, where] = temporaryName.exec(name) ?? []
  return pid !== undefined && where === processSpace() && !isAlive(Number.parseInt(pid, 36))
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

/**
 * Removes the temporary files and folders that dead processes left in a folder; what cannot be looked at or removed
 * stays.
 */
export async function sweepTemporaries(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => [])
  await Promise.all(names.filter(isLeft).map((name) => removeLeft(join(folder, name)).catch(() => {})))
}

/** Folders of this user alone: in /tmp anyone makes folders, and may change what is in theirs while it is removed. */
async function removeLeft(path: string): Promise<void> {
  const found = await lstat(path)
  const isOurs = found.uid === process.geteuid?.()
  await rm(path, { force: true, recursive: found.isDirectory() && isOurs })
}

const sweptAt = new Map<string, number>()
const sweepEveryMs = 600_000

/** The same now and then: whoever writes thousands of files into a folder does not list it each time. */
export async function sweepNowAndThen(folder: string): Promise<void> {
  const now = performance.now()
  if (now - (sweptAt.get(folder) ?? -Infinity) < sweepEveryMs) return
  sweptAt.set(folder, now)
  await sweepTemporaries(folder)
}

/** Files under temporary names that are being written. */
const unfinished = new Set<string>()

/** Who calls process.exit() waits for nothing. */
function removeUnfinished(): void {
  for (const path of unfinished) {
    try {
      rmSync(path, { force: true })
    } catch {
      // nobody is there to be told
    }
  }
}

/**
 * Work with a file under a temporary name, which is gone in the end, whatever ends the work but a signal that kills.
 */
export async function withTemporary<T>(temporary: string, work: () => Promise<T>): Promise<T> {
  if (unfinished.size === 0) process.on('exit', removeUnfinished)
  unfinished.add(temporary)
  try {
    return await work()
  } finally {
    await rm(temporary, { force: true })
    unfinished.delete(temporary)
    if (unfinished.size === 0) process.off('exit', removeUnfinished)
  }
}
