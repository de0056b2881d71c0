import { createHash } from 'node:crypto'
import { loadAddon, native, tensorrtPath } from '../backend/native.js'
import { withFileLock } from '../backend/file-lock.js'
import type { NativeBuilderChoice } from '../backend/native-types.js'
import { isMissing, onFile, readOrdinary } from '../base/files.js'
import { isSystemError, messageOf } from '../base/kinds.js'
import { warnNotKept } from '../base/warnings.js'
import { TensorRTError } from '../errors.js'
import { runtimeCachePath } from './entries.js'
import { storeBeside } from './eviction.js'
import { chunksOfBytes, hashOf } from './hash.js'
import type { CachePlace } from './options.js'

/**
 * What TensorRT-RTX compiled for an engine on this GPU: it is kept beside the engine's plan. Nothing here is ever an
 * error of the engine: the log reports it, and a process warning (TRT_CACHE_NOT_KEPT) if the disk is full.
 */
export interface RuntimeCache {
  /** What was compiled another time; absent where there is nothing that is whole. */
  readonly bytes: Uint8Array | undefined
  /** Keeps these in the place of what is there. Never rejected. */
  readonly keep: (bytes: Uint8Array) => Promise<void>
}

/** How long to wait, in all, for whoever has the entry and the folder: an engine that is closed waits for it. */
const patienceMs = 500

/**
 * A file is this line, with the hash of what follows it. What is compiled is code, which TensorRT is given only when it
 * is whole.
 */
const headOf = (hash: string): string => `node-tensorrt runtime cache 1 ${hash}\n`

/** Of an entry of the cache that TensorRT-RTX runs; nothing where it has no GPU here. `entry`: the path of its plan. */
export async function openRuntimeCache(
  place: CachePlace,
  entry: string,
  { device, tensorrt }: { readonly device: number; readonly tensorrt?: string | undefined },
): Promise<RuntimeCache | undefined> {
  return unlessItFails('read', async () => {
    const choice = await native(() => loadAddon().chooseBuilder({ tensorrt: tensorrtPath(tensorrt), device }))
    if (choice.gpu === undefined) return undefined
    const path = runtimeCachePath(entry, idOf(choice))
    return {
      bytes: await unlessItFails('read', () => read(path)),
      keep: (bytes) => unlessItFails('kept', () => keep(place, entry, path, bytes)),
    }
  })
}

/**
 * What it was compiled by and for. The driver is not among it: TensorRT takes what an older one of the same major
 * version had compiled.
 */
function idOf({ version, gpu }: NativeBuilderChoice): string {
  const parts = [version, gpu?.name, gpu?.computeCapability, gpu?.multiprocessors]
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 16)
}

/** @throws TensorRTError ERR_TRT_FILE */
async function read(path: string): Promise<Uint8Array | undefined> {
  const file = await onFile('read', path, () =>
    readOrdinary(path).catch((error: unknown) => {
      if (isMissing(error)) return undefined
      throw error
    }),
  )
  if (file === undefined) return undefined
  const start = headOf('0'.repeat(64)).length
  const bytes = file.subarray(start)
  if (file.toString('latin1', 0, start) === headOf(await hashOf(chunksOfBytes(bytes), undefined))) return bytes
  throw new TensorRTError('ERR_TRT_FILE', `${path} is damaged`, { details: { path } })
}

/** @throws TensorRTError ERR_TRT_FILE, ERR_TRT_TIMEOUT */
async function keep(place: CachePlace, entry: string, path: string, bytes: Uint8Array): Promise<void> {
  const head = Buffer.from(headOf(await hashOf(chunksOfBytes(bytes), undefined)))
  const until = performance.now() + patienceMs
  await onFile('write', path, () =>
    withFileLock(entry, { timeoutMs: patienceMs }, () => {
      const left = Math.max(1, Math.floor(until - performance.now()))
      return storeBeside(place, entry, path, [head, bytes], left)
    }),
  )
}

async function unlessItFails<T>(what: 'read' | 'kept', body: () => Promise<T>): Promise<T | undefined> {
  try {
    return await body()
  } catch (error) {
    tell(`what TensorRT-RTX compiled cannot be ${what}: ${messageOf(error)}`)
    // a change of the entry by another process is normal: only the log reports it
    if (what === 'kept' && error instanceof TensorRTError && isSystemError(error.cause))
      warnNotKept('The code that TensorRT-RTX compiled', error)
    return undefined
  }
}

const warning = 2

function tell(text: string): void {
  loadAddon().tellLog(warning, `node-tensorrt: ${text}`)
}
