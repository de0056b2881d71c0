import { rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { TensorRTError } from '../errors.js'
import { withFileLock } from '../backend/file-lock.js'
import { isMissing, onFile, replaceFile, syncFolder, writeSynced, writeTarget } from '../base/files.js'
import { sweepTemporaries, temporaryOf, withTemporary } from '../base/temporary.js'
import { chunkSize, newHash } from './hash.js'
import type { PlanInfo } from './info.js'
import { planLock } from './lock.js'
import { foreign, isPlan, readPlan, readSidecarText } from './read.js'
import { formatSidecar, newEntry, parseSidecar, type PlanEntry, type Sidecar, sidecarPath } from './sidecar.js'

interface PlanToWrite {
  readonly bytes: Uint8Array
  readonly sha256: string
  readonly info: PlanInfo
}

/**
 * Writes a plan and its sidecar. Two files cannot be renamed at once, so the sidecar lists both plans while one
 * replaces the other: at every moment, and after a kill or a loss of power at any, the plan that is there is whole, and
 * listed.
 * @throws TensorRTError ERR_TRT_FILE
 */
export async function writePlan(path: string, plan: PlanToWrite, signal: AbortSignal | undefined): Promise<void> {
  await onFile('save the plan as', path, async () => {
    const target = await writeTarget(path)
    // one saver at a time
    await withFileLock(await planLock(target), { signal }, () => replacePlan(target, plan, signal))
  })
}

async function replacePlan(target: string, plan: PlanToWrite, signal: AbortSignal | undefined): Promise<void> {
  await sweepTemporaries(dirname(target))
  const temporary = temporaryOf(target)
  await withTemporary(temporary, async () => {
    const before = await readBefore(target, signal)
    await writeSynced(temporary, planChunks(plan, signal), target)
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

interface Before {
  /** The sidecar as it was; absent where there was none. */
  readonly text: string | undefined
  /** The entries that the plan that is there may have: those of its size. */
  readonly plans: Sidecar
}

async function readBefore(target: string, signal: AbortSignal | undefined): Promise<Before> {
  const path = sidecarPath(target)
  const text = await readSidecarText(path)
  if (text === foreign) throw foreignSidecar(path)
  const size = await sizeOf(target)
  if (size === undefined) return { text, plans: new Map() }
  if (text === undefined) return { text, plans: await bareEntry(target, signal) }
  return { text, plans: new Map([...listedBefore(text, path)].filter(([, entry]) => entry.size === size)) }
}

function foreignSidecar(path: string): TensorRTError {
  const message = `${path} is where the plan's sidecar goes, and it is something else: move it away, or save the plan under another name`
  return new TensorRTError('ERR_TRT_FILE', message, { details: { path } })
}

/**
 * Whether a plan can have its sidecar, told before it is built.
 * @throws TensorRTError ERR_TRT_FILE where somebody else's file is there
 */
export async function refuseForeignSidecar(plan: string): Promise<void> {
  const path = sidecarPath(await writeTarget(plan))
  const text = await onFile('read', path, () => readSidecarText(path))
  if (text === foreign) throw foreignSidecar(path)
}

async function sizeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

/**
 * A damaged sidecar, or one of a newer format, lists nothing for this version: its plan cannot be opened, but it can be
 * replaced.
 */
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
  await replaceFile(sidecarPath(target), [Buffer.from(text)])
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
    throw new TensorRTError('ERR_TRT_PLAN', 'The bytes of the plan were changed since it was made', {
      details: { sha256 },
    })
}
