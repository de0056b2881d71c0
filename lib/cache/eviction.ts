import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { withFileLock } from '../backend/file-lock.js'
import type { Plan } from '../plan.js'
import { listEntries, namesIn, removeIfFree } from './entries.js'
import type { CachePlace } from './options.js'

/**
 * Keeps a plan as an entry, once enough of those that were not used for longest are gone, so that all have `maxBytes` at most. One saver at a time in a folder: a
 * temporary file that another left there is a dead one's, and so is a sidecar without a plan.
 * @throws TensorRTError ERR_TRT_FILE
 */
export async function store(place: CachePlace, path: string, plan: Plan, signal: AbortSignal): Promise<void> {
  await withFileLock(join(place.folder, 'engines'), { signal }, async () => {
    await sweep(place.folder)
    await makeRoom(place, plan.bytes.length)
    await plan.save(path, { signal })
  })
}

async function makeRoom({ folder, maxBytes }: CachePlace, wanted: number): Promise<void> {
  const entries = await listEntries(folder)
  let total = entries.reduce((sum, { bytes }) => sum + bytes, wanted)
  for (const entry of entries) {
    if (total <= maxBytes) return
    if (await removeIfFree(entry, folder)) total -= entry.bytes
  }
}

async function sweep(folder: string): Promise<void> {
  const names = await namesIn(folder)
  const plans = new Set(names)
  const isStale = (name: string): boolean =>
    /^\.[0-9a-f]{64}\.plan\..*\.tmp$/.test(name) || (/^[0-9a-f]{64}\.plan\.json$/.test(name) && !plans.has(name.slice(0, -'.json'.length)))
  await Promise.all(names.filter(isStale).map((name) => rm(join(folder, name), { force: true })))
}
