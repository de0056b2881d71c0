import { readdir, rm, stat, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { TensorRTError } from '../errors.js'
import { withFileLock } from '../backend/file-lock.js'
import { Plan } from '../plan.js'
import { lockBeside } from '../plan/lock.js'
import { sidecarPath } from '../plan/sidecar.js'
import { isError } from '../base/kinds.js'

/** A plan that is kept. */
export interface CacheEntry {
  /** The key of the plan: 64 hexadecimal digits. */
  readonly key: string
  /** The plan's file. */
  readonly path: string
  /** The bytes of the plan, and of what TensorRT-RTX compiled for it. */
  readonly bytes: number
  /** When it was built or last loaded. */
  readonly usedAt: Date
}

const planName = /^([0-9a-f]{64})\.plan$/
const runtimeCacheName = /^([0-9a-f]{64})\.[0-9a-f]{16}\.runtime$/

export function entryPath(folder: string, key: string): string {
  return join(folder, `${key}.plan`)
}

/** Where is kept what TensorRT-RTX compiled for the plan of an entry; `id`: 16 hexadecimal digits, by and for what. */
export function runtimeCachePath(entry: string, id: string): string {
  return `${entry.slice(0, -'.plan'.length)}.${id}.runtime`
}

/** The key of the entry to which a file of that name belongs, where it is a runtime cache. */
export function keyOfRuntimeCache(name: string): string | undefined {
  return runtimeCacheName.exec(name)?.[1]
}

/** What became of reading an entry: the plan, or why there is none. */
export type Reading = { readonly plan: Plan } | { readonly plan: undefined; readonly damage: TensorRTError | undefined }

/**
 * Reads an entry: all of it, and held against its SHA-256. @throws TensorRTError ERR_TRT_FILE where it is there and
 * cannot be read
 */
export async function readEntry(path: string, signal: AbortSignal): Promise<Reading> {
  try {
    const plan = await Plan.load(path, { signal })
    if ('inputs' in plan.info) return { plan }
    return { plan: undefined, damage: new TensorRTError('ERR_TRT_PLAN', `${path} has no sidecar`) }
  } catch (error) {
    if (!(error instanceof TensorRTError)) throw error
    if (error.code === 'ERR_TRT_PLAN') return { plan: undefined, damage: error }
    if (isAbsent(error.cause)) return { plan: undefined, damage: undefined }
    throw error
  }
}

function isAbsent(error: unknown): boolean {
  return isError(error) && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')
}

/**
 * Makes an entry the last that is evicted, by the time of its sidecar: the plan's own tells who opens it whether
 * somebody writes to it meanwhile. A cache that may only be read has no such
 * order.
 */
export async function touch(path: string): Promise<void> {
  const now = new Date()
  await utimes(sidecarPath(path), now, now).catch(() => {})
}

/** All entries of a folder, the one that was not used for longest first; none where there is no such folder. */
export async function listEntries(folder: string): Promise<CacheEntry[]> {
  const entries: CacheEntry[] = []
  const names = await namesIn(folder)
  const beside = await sizesBeside(folder, names)
  for (const name of names) {
    const key = planName.exec(name)?.[1]
    if (key === undefined) continue
    const path = join(folder, name)
    // gone meanwhile: somebody evicted it
    const facts = await stat(path).catch(() => undefined)
    if (facts === undefined) continue
    const used = (await stat(sidecarPath(path)).catch(() => undefined))?.mtime ?? facts.mtime
    entries.push({ key, path, bytes: facts.size + (beside.get(key) ?? 0), usedAt: used })
  }
  return entries.sort((a, b) => a.usedAt.getTime() - b.usedAt.getTime() || (a.key < b.key ? -1 : 1))
}

/** The bytes of runtime caches, by the keys of their entries. */
async function sizesBeside(folder: string, names: readonly string[]): Promise<Map<string, number>> {
  const sizes = new Map<string, number>()
  for (const name of names) {
    const key = keyOfRuntimeCache(name)
    if (key === undefined) continue
    const size = await sizeOf(join(folder, name))
    sizes.set(key, (sizes.get(key) ?? 0) + size)
  }
  return sizes
}

/** 0 where there is no such file. */
export async function sizeOf(path: string): Promise<number> {
  return (await stat(path).catch(() => undefined))?.size ?? 0
}

export async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if (isAbsent(error)) return []
    throw error
  }
}

/**
 * Removes what there is of an entry but its lock; the plan goes first, so that none is ever there without its sidecar.
 * For who holds the lock.
 */
export async function removeEntry(path: string): Promise<void> {
  await rm(path, { force: true })
  await rm(sidecarPath(path), { force: true })
  const folder = dirname(path)
  const belongs = (name: string): boolean => entryPath(folder, keyOfRuntimeCache(name) ?? '') === path
  for (const name of (await namesIn(folder)).filter(belongs)) await rm(join(folder, name), { force: true })
}

/** How long to wait for the lock of an entry that is to go: one that is in use is taken at once or not at all. */
const patienceMs = 100

/**
 * Removes an entry and its locks, unless somebody is building or reading it: then it stays, and the answer is false.
 */
export async function removeIfFree({ path }: CacheEntry): Promise<boolean> {
  try {
    await withFileLock(path, { timeoutMs: patienceMs }, async () => {
      await removeEntry(path)
      await rm(`${lockBeside(path)}.lock`, { force: true })
      // last: whoever waits for it sees that it is gone, and makes another
      await rm(`${path}.lock`, { force: true })
    })
    return true
  } catch (error) {
    if (error instanceof TensorRTError && error.code === 'ERR_TRT_TIMEOUT') return false
    throw error
  }
}
