import { channel } from 'node:diagnostics_channel'
import { failRestacked } from '../base/stacks.js'
import { type AnyTensor, deviceTensor } from '../device-tensor.js'
import { arrayOf, type DTypeArrays, elementCount, trustedTensor, numberDTypes, type NumberDType } from '../tensor.js'
import type { ModelTensor, Results, RunOptions } from './backend.js'
import { AddonMemory } from './device-memory.js'
import { fromNative, loadAddon } from './native.js'
import type { NativeTensor } from './native-types.js'
import { stillPacked, textsOf } from '../tensor/texts.js'

/**
 * How what became of inferences comes back from native threads: as numbers in one shared array, so that a thousand
 * small results cost one call. native/node/completions.h is the other side, and says what stands where.
 */
const dims = new Float64Array(16_384)
const meta = new Float64Array(16_384)
const scratch = new ArrayBuffer(2 ** 20)

/** The bytes of the shared memory. */
export const sharedBytes = dims.byteLength + meta.byteLength + scratch.byteLength

/** A place of the result's bytes, as native/node/completions.h numbers them. */
const notWanted = 0
const small = 1
const buffer = 2
const target = 3
const resident = 4

/** Views of the whole scratch memory, to take slices of. */
const scratchViews = Object.fromEntries(
  numberDTypes.map((dtype) => [dtype, new (arrayOf(dtype))(scratch)]),
) as unknown as {
  readonly [D in NumberDType]: DTypeArrays[D]
}

const scratchBytes = new Uint8Array(scratch)

/** An inference that was submitted and has not completed. */
export interface Pending {
  readonly outputs: readonly ModelTensor[]
  readonly into: readonly (AnyTensor | undefined)[] | undefined
  /** Texts of outputs stay bytes. */
  readonly packed: boolean | undefined
  readonly description: string
  readonly settle: (results: Results) => void
  /** With a promise that is rejected, so that whoever waits stands in the error's stack. */
  readonly fail: (failure: Promise<never>) => void
}

/**
 * What is published on the diagnostics channel for each inference. Times in milliseconds; negative where this one was
 * not measured.
 */
export interface InferMessage {
  /** What runs the model, as {@link Engine.description} says it. */
  readonly engine: string
  /** From the call until a lane took it. */
  readonly queueMs: number
  /** Copying the inputs to the GPU. */
  readonly copyInMs: number
  /** The computation. */
  readonly computeMs: number
  /** Copying the outputs from the GPU. */
  readonly copyOutMs: number
  /** Why it failed, where it did. */
  readonly error?: unknown
}

/** Subscribe with `diagnostics_channel.subscribe('node-tensorrt:infer', …)`. */
export const inferChannel = channel('node-tensorrt:infer')

/** By number. */
const pending = new Map<number, Pending>()
let lastRequest = 0
let connected = false

/** Before the first engine of a thread is opened. */
export function connect(): void {
  if (connected) return
  loadAddon().connect(dims, meta, scratch, settleAll)
  connected = true
}

/**
 * Writes what a call is, and the shapes of its inputs, to where native code reads them. 0: the queue's own; -1: the
 * limits of its level do not hold.
 */
export function writeCall(
  inputs: readonly AnyTensor[],
  options?: Pick<RunOptions, 'priority' | 'unlimited' | 'queueTimeoutMs' | 'optionalInputs'>,
): void {
  dims[0] = options?.priority ?? 0
  dims[1] = options?.unlimited === true ? -1 : (options?.queueTimeoutMs ?? 0)
  let at = 2
  for (const { shape } of inputs) {
    dims[at++] = shape.length
    for (const dim of shape) dims[at++] = dim
  }
  writeOptional(options?.optionalInputs, at)
}

/** Beside the inputs that every call has: how many more there are, and of each its place, rank and dimensions. */
function writeOptional(tensors: RunOptions['optionalInputs'], at: number): void {
  const count = at++
  dims[count] = 0
  tensors?.forEach((tensor, place) => {
    if (tensor === undefined) return
    dims[count]!++
    dims[at++] = place
    dims[at++] = tensor.shape.length
    for (const dim of tensor.shape) dims[at++] = dim
  })
}

/** The ticket of the request that was submitted last, by which it is cancelled. */
export const lastTicket = (): number => dims[0] ?? 0

export function register(entry: Pending): number {
  pending.set(++lastRequest, entry)
  return lastRequest
}

/** Nobody waits any more; a completion that still comes is dropped. */
export function forget(request: number): void {
  pending.delete(request)
}

/** A completion that was read, and whom it is told to. */
interface KnownFacts {
  readonly entry: Pending
  readonly results: Results | undefined
  readonly error: unknown
  readonly message: InferMessage | undefined
}

/**
 * Called by native code: `count` completions stand in `meta`. All are read before any is told, since whoever hears of
 * one at once (a subscriber, a getter named `then`) may call inferSync, which writes there too.
 */
function settleAll(count: number, objects: unknown[]): void {
  const told: KnownFacts[] = []
  let at = 0
  let object = 0
  for (let i = 0; i < count; i++) {
    const request = meta[at] ?? 0
    const entry = pending.get(request)
    if (entry !== undefined) {
      pending.delete(request)
      told[told.length] = read(entry, at, objects, object)
    }
    const skipped = skip(at)
    at = skipped.end
    object += skipped.objects
  }
  for (let i = 0; i < told.length; i++) tell(told[i] as KnownFacts)
}

function read(entry: Pending, at: number, objects: unknown[], object: number): KnownFacts {
  let results: Results | undefined
  let error: unknown
  try {
    if (meta[at + 1] === 1) error = fromNative(objects[object])
    else results = readResults(entry, at, objects)
  } catch (failure) {
    error = failure // no memory for the results
  }
  return { entry, results, error, message: inferChannel.hasSubscribers ? messageOf(entry, at, error) : undefined }
}

function tell({ entry, results, error, message }: KnownFacts): void {
  if (message !== undefined) inferChannel.publish(message)
  if (results === undefined) return entry.fail(failRestacked(error))
  try {
    entry.settle(results)
  } catch (failure) {
    entry.fail(failRestacked(failure)) // a tensor given for an output does not fit it
  }
}

function messageOf({ description }: Pending, at: number, error: unknown): InferMessage {
  const time = (i: number): number => meta[at + 3 + i] ?? -1
  return {
    engine: description,
    queueMs: time(0),
    copyInMs: time(1),
    computeMs: time(2),
    copyOutMs: time(3),
    ...(error !== undefined && { error }),
  }
}

/** The end of the completion at `at`, and how many objects belong to it. */
function skip(at: number): { end: number; objects: number } {
  let end = at + 7
  let objects = meta[at + 1] ?? 0 // a failure is one
  for (let left = meta[at + 2] ?? 0; left > 0; left--) {
    const place = meta[end]
    if (place === notWanted) {
      end++
      continue
    }
    if (place === buffer || place === resident) objects++
    end += 4 + (meta[end + 3] ?? 0)
  }
  return { end, objects }
}

/** The completion that runSync left. */
export function readSync(outputs: readonly ModelTensor[], into: Pending['into'], objects: unknown[]): Results {
  return readResults({ outputs, into, packed: false }, 0, objects)
}

type Wanted = Pick<Pending, 'outputs' | 'into' | 'packed'>

function readResults({ outputs, into, packed }: Wanted, start: number, objects: unknown[]): Results {
  let at = start + 7
  const results: (AnyTensor | undefined)[] = []
  for (let i = 0; i < outputs.length; i++) {
    const place = meta[at]
    if (place === notWanted) {
      at++
      results.push(undefined)
      continue
    }
    const where = meta[at + 1] ?? 0
    const bytes = meta[at + 2] ?? 0
    const rank = meta[at + 3] ?? 0
    const shape = readShape(at + 4, rank, i)
    at += 4 + rank
    const { dtype } = outputs[i] as ModelTensor
    if (place === target) {
      results.push(into?.[i])
      continue
    }
    if (place === resident) {
      results.push(deviceTensor(dtype, shape, bytes, new AddonMemory(objects[where] as NativeTensor)))
      continue
    }
    if (dtype === 'string') {
      const found =
        place === small ? scratchBytes.subarray(where, where + bytes) : new Uint8Array(objects[where] as ArrayBuffer)
      const kept = packed === true && place === small ? found.slice() : found // the scratch memory is used again
      const texts = packed === true ? stillPacked(kept, elementCount(shape)) : textsOf(found)
      results.push(trustedTensor(dtype, texts, shape))
      continue
    }
    const array = arrayOf(dtype)
    const begin = where / array.BYTES_PER_ELEMENT
    const data =
      place === small
        ? scratchViews[dtype].slice(begin, begin + bytes / array.BYTES_PER_ELEMENT)
        : new array(objects[where] as ArrayBuffer)
    results.push(trustedTensor(dtype, data, shape))
  }
  return results
}

/** The shapes that were read last, by output: most results look like the ones before, and share their shape. */
const lastShapes: (readonly number[])[] = []

function readShape(at: number, rank: number, output: number): readonly number[] {
  const last = lastShapes[output]
  if (last?.length === rank && last.every((dim, k) => dim === meta[at + k])) return last
  const dims: number[] = []
  for (let k = 0; k < rank; k++) dims.push(meta[at + k] as number)
  return (lastShapes[output] = Object.freeze(dims))
}
