import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { replaceFile } from '../base/files.js'
import { withFileLock } from '../backend/file-lock.js'
import type { Plan } from '../plan.js'
import { TensorRTError } from '../errors.js'
import { keyOfRuntimeCache, listEntries, namesIn, removeIfFree, sizeOf } from './entries.js'
import type { CachePlace } from './options.js'

/**
 * Keeps a plan as an entry, once enough of those that were not used for longest are gone, so that all have `maxBytes`
 * at most. One saver at a time in a folder: a temporary file that another left there is a dead one's, and so is what
 * belongs to a plan that is not there.
 * @throws TensorRTError ERR_TRT_FILE
 */
export async function store(place: CachePlace, path: string, plan: Plan, signal: AbortSignal): Promise<void> {
  await withFileLock(join(place.folder, 'engines'), { signal }, async () => {
    await sweep(place.folder)
    await makeRoom(place, plan.bytes.length)
    await plan.save(path, { signal })
  })
}

/**
 * Keeps a file beside an entry, in the place of the one that may be there, for who holds the entry's lock. It counts
 * with the entry, and goes with it.
 * @throws TensorRTError ERR_TRT_FILE where the entry is gone, or would be larger than the cache
 */
export async function storeBeside(
  place: CachePlace,
  entry: string,
  path: string,
  chunks: readonly Uint8Array[],
  timeoutMs: number,
): Promise<void> {
  await withFileLock(join(place.folder, 'engines'), { timeoutMs }, async () => {
    await sweep(place.folder)
    const own = (await listEntries(place.folder)).find((each) => each.path === entry)
    if (own === undefined) throw new TensorRTError('ERR_TRT_FILE', `${entry} is not there any more`)
    const wanted = chunks.reduce((sum, { length }) => sum + length, 0) - (await sizeOf(path))
    if (own.bytes + wanted > place.maxBytes)
      throw new TensorRTError(
        'ERR_TRT_FILE',
        `with ${wanted} bytes more it is larger than the cache may be (${place.maxBytes})`,
      )
    await makeRoom(place, wanted, entry)
    await replaceFile(path, chunks, `${join(place.folder, `.${own.key}`)}.plan.runtime.tmp`)
  })
}

/** `kept`: an entry that stays. */
async function makeRoom({ folder, maxBytes }: CachePlace, wanted: number, kept?: string): Promise<void> {
  const entries = await listEntries(folder)
  let total = entries.reduce((sum, { bytes }) => sum + bytes, wanted)
  for (const entry of entries) {
    if (total <= maxBytes) return
    if (entry.path !== kept && (await removeIfFree(entry))) total -= entry.bytes
  }
}

async function sweep(folder: string): Promise<void> {
  const names = await namesIn(folder)
  const plans = new Set(names)
  const hasNoPlan = (key: string | undefined): boolean => key !== undefined && !plans.has(`${key}.plan`)
  const isStale = (name: string): boolean =>
    /^\.[0-9a-f]{64}\.plan\..*\.tmp$/.test(name) ||
    hasNoPlan(/^([0-9a-f]{64})\.plan\.json$/.exec(name)?.[1] ?? keyOfRuntimeCache(name))
  await Promise.all(names.filter(isStale).map((name) => rm(join(folder, name), { force: true })))
}
