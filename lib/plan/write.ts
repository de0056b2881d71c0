import { readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { TensorRTError } from '../errors.js'
import { withFileLock } from '../backend/file-lock.js'
import { isMissing, onFile, replaceFile, syncFolder, temporaryOf, withTemporary, writeSynced, writeTarget } from '../base/files.js'
import { chunkSize, newHash } from './hash.js'
import type { PlanInfo } from './info.js'
import { foreign, isPlan, readPlan, readSidecarText } from './read.js'
import { formatSidecar, newEntry, parseSidecar, type PlanEntry, type Sidecar, sidecarPath } from './sidecar.js'

interface PlanToWrite {
  readonly bytes: Uint8Array
  readonly sha256: string
  readonly info: PlanInfo
}

/**
 * Writes a plan and its sidecar. Two files cannot be renamed at once, so the sidecar lists both plans while one replaces the other: at every moment, and after a
 * kill or a loss of power at any, the plan that is there is whole, and listed.
 * @throws TensorRTError ERR_TRT_FILE
 */
export async function writePlan(path: string, plan: PlanToWrite, signal: AbortSignal | undefined): Promise<void> {
  await onFile('save the plan as', path, async () => {
    const target = await writeTarget(path)
    // one saver at a time; a name of its own, so that whoever holds `<path>.lock` can save
    await withFileLock(join(dirname(target), `.${basename(target)}`), { signal }, () => replacePlan(target, plan, signal))
  })
}

async function replacePlan(target: string, plan: PlanToWrite, signal: AbortSignal | undefined): Promise<void> {
  await removeStale(target)
  const temporary = temporaryOf(target)
  await withTemporary(temporary, async () => {
    const before = await readBefore(target, signal)
    await writeSynced(temporary, planChunks(plan, signal))
    const after = new Map([[plan.sha256, newEntry(plan.bytes.length, plan.info)]])
    const both = new Map([...before.plans, ...after])
    await writeSidecar(target, both)
    try {
      signal?.throwIfAborted()
      await rename(temporary, target)
    } catch (error) {
      await restoreSidecar(target, before.text)
      throw error
    }
    await syncFolder(dirname(target))
    if (both.size > after.size) await writeSidecar(target, after)
  })
}

/** Only a saver of the target uses a temporary name of it, one at a time: any other file of such a name is a dead one's. */
async function removeStale(target: string): Promise<void> {
  const [folder, prefix] = [dirname(target), `.${basename(target)}.`]
  const isTemporary = (name: string): boolean => name.startsWith(prefix) && /^[0-9a-f]{8}\.tmp$/.test(name.slice(prefix.length))
  const stale = (await readdir(folder)).filter(isTemporary)
  await Promise.all(stale.map((name) => rm(join(folder, name), { force: true })))
}

interface Before {
  /** The sidecar as it was; absent where there was none. */
  readonly text: string | undefined
  /** The entries that the plan that is there may have: those of its size. */
  readonly plans: Sidecar
}

async function readBefore(target: string, signal: AbortSignal | undefined): Promise<Before> {
  const path = sidecarPath(target)
  const text = await readSidecarText(path)
  if (text === foreign) {
    const message = `${path} is where the plan's sidecar goes, and it is something else: move it away, or save the plan under another name`
    throw new TensorRTError('ERR_TRT_FILE', message, { details: { path } })
  }
  const size = await sizeOf(target)
  if (size === undefined) return { text, plans: new Map() }
  if (text === undefined) return { text, plans: await bareEntry(target, signal) }
  return { text, plans: new Map([...listedBefore(text, path)].filter(([, entry]) => entry.size === size)) }
}

async function sizeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

/** A damaged sidecar, or one of a newer format, lists nothing for this version: its plan cannot be opened, but it can be replaced. */
function listedBefore(text: string, path: string): Sidecar {
  try {
    return parseSidecar(text, path)
  } catch (error) {
    if (error instanceof TensorRTError) return new Map()
    throw error
  }
}

/** A plan without a sidecar stays one that can be opened until it is replaced. */
async function bareEntry(target: string, signal: AbortSignal | undefined): Promise<Sidecar> {
  const read = await readPlan(target, { keep: false, hash: true, signal }).catch((error: unknown) => {
    // a truncated one cannot be opened anyway
    if (error instanceof TensorRTError && error.code === 'ERR_TRT_PLAN') return undefined
    throw error
  })
  return new Map(read !== undefined && isPlan(read) ? [[read.sha256, newEntry(read.size, read.info)]] : [])
}

async function writeSidecar(target: string, plans: ReadonlyMap<string, PlanEntry>): Promise<void> {
  await replaceText(target, formatSidecar(plans))
}

async function restoreSidecar(target: string, text: string | undefined): Promise<void> {
  if (text === undefined) await rm(sidecarPath(target), { force: true })
  else await replaceText(target, text)
}

async function replaceText(target: string, text: string): Promise<void> {
  await replaceFile(sidecarPath(target), temporaryOf(target), [Buffer.from(text)])
}

/** The bytes, hashed as they go: whoever changed them since the build would save a plan that nobody can open. */
function* planChunks({ bytes, sha256 }: PlanToWrite, signal: AbortSignal | undefined): Generator<Uint8Array> {
  const hash = newHash()
  for (let at = 0; at < bytes.length; at += chunkSize) {
    signal?.throwIfAborted()
    const chunk = bytes.subarray(at, at + chunkSize)
    hash.update(chunk)
    yield chunk
  }
  if (hash.digest('hex') !== sha256)
    throw new TensorRTError('ERR_TRT_PLAN', 'The bytes of the plan were changed since it was made', { details: { sha256 } })
}
