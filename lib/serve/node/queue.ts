// Requests that wait for an instance, and which of them leave together.
import type { BatchingOptions } from '../../engine/lane-options.js'
import type { ModelConfig } from '../../kserve/messages/model_config_pb.js'
import { batchingOf, takesTimeout } from '../config/batching.js'
import type { Cut } from '../../base/cancellation.js'
import { Fault } from '../faults.js'
import type { CountedRun, FailureKind } from '../models/counters.js'
import { requestText } from '../models/request-checks.js'

/** What a queue knows of a request. */
export interface Queued {
  readonly rows: number
  /** When it came: process.hrtime.bigint(). */
  readonly arrived: bigint
}

/** How requests are merged; of a model that merges none, one request is a batch. */
export type Merging = Pick<BatchingOptions, 'maxBatch' | 'maxDelayMs' | 'preferred'>

/** Requests that leave now; or in how many milliseconds to ask again; or nothing where none waits. */
export type Next<T> = { readonly batch: readonly T[] } | { readonly waitMs: number } | undefined

export class BatchQueue<T extends Queued> {
  readonly #merging: Merging | undefined
  #waiting: T[] = []
  /** Those that waited too long, and whose policy lets them wait on behind all others. */
  #late: T[] = []

  constructor(merging: Merging | undefined) {
    this.#merging = merging
  }

  get length(): number {
    return this.#waiting.length + this.#late.length
  }

  push(request: T): void {
    this.#waiting.push(request)
  }

  /** Whether it was there. */
  remove(request: T): boolean {
    return without(this.#waiting, request) || without(this.#late, request)
  }

  /** Behind all others, and behind those that come. */
  delay(request: T): void {
    if (without(this.#waiting, request)) this.#late.push(request)
  }

  /** Takes all. */
  clear(): readonly T[] {
    const all = [...this.#waiting, ...this.#late]
    this.#waiting = []
    this.#late = []
    return all
  }

  /** What an instance that has nothing to do takes. */
  next(now: bigint): Next<T> {
    const first = this.#waiting[0] ?? this.#late[0]
    if (first === undefined) return undefined
    if (this.#merging === undefined) return { batch: this.#take(1) }
    const { maxBatch, maxDelayMs = 0, preferred = [] } = this.#merging
    const fitting = this.#fitting(maxBatch)
    const waited = Number(now - first.arrived) / 1e6
    const isDue = maxDelayMs === 0 || waited >= maxDelayMs
    if (!isDue || maxDelayMs === 0) {
      const best = fitting.findLastIndex((rows) => preferred.includes(rows))
      if (best >= 0) return { batch: this.#take(best + 1) }
    }
    const isFull = fitting.length < this.length || fitting.at(-1) === maxBatch
    if (isFull || isDue) return { batch: this.#take(fitting.length) }
    return { waitMs: maxDelayMs - waited }
  }

  /** The rows of the first request, of the first two, and so on, as long as they fit. */
  #fitting(most: number): readonly number[] {
    const sums: number[] = []
    let rows = 0
    for (const list of [this.#waiting, this.#late])
      for (const request of list) {
        rows += request.rows
        if (rows > most) return sums
        sums.push(rows)
      }
    return sums
  }

  #take(count: number): readonly T[] {
    const batch = this.#waiting.splice(0, count)
    return batch.length < count ? [...batch, ...this.#late.splice(0, count - batch.length)] : batch
  }
}

function without<T>(list: T[], item: T): boolean {
  const at = list.indexOf(item)
  if (at < 0) return false
  list.splice(at, 1)
  return true
}

// How long requests may wait for a module, and how many: what the configuration says, as plain data, which goes to
// threads as well.

export interface QueueLimits {
  /** How many may wait; nothing without a limit. */
  readonly maxQueue: number | undefined
  /** How long each may; nothing without a limit. */
  readonly queueTimeoutMs: number | undefined
  /** Whoever waited too long waits on, behind all others; else it is rejected. */
  readonly isDelayed: boolean
  /** Whether a request's own `timeout` counts as well. */
  readonly takesTimeout: boolean
}

export function queueLimitsOf(config: ModelConfig): QueueLimits {
  const { maxQueue, queueTimeoutMs, onQueueTimeout } = batchingOf(config)?.queue ?? {}
  return { maxQueue, queueTimeoutMs, isDelayed: onQueueTimeout === 'delay', takesTimeout: takesTimeout(config) }
}

const longestTimeout = 2 ** 31 - 1

/** @returns milliseconds that a request may wait; nothing without a limit */
export function waitLimit(limits: QueueLimits, timeoutUs = 0): number | undefined {
  const own = timeoutUs > 0 && limits.takesTimeout ? timeoutUs / 1000 : Infinity
  const timeout = Math.min(own, limits.queueTimeoutMs ?? Infinity)
  return timeout === Infinity ? undefined : Math.min(timeout, longestTimeout)
}

/** A request that waits for a module, or for what it answers. */
export interface Waiting extends Queued {
  readonly cut: Cut
  readonly reject: (reason: unknown) => void
  /** Tells the module that nobody waits any more. */
  cancel?: (() => void) | undefined
  /** Of its wait in the queue. */
  timer?: NodeJS.Timeout | undefined
  /** It was answered, or rejected. */
  isOver?: boolean | undefined
}

/** What runs the batches of a queue. */
export interface BatchRunner<T, Place extends object> {
  /** Where a batch may run now. */
  free(): Place | undefined
  run(place: Place, batch: readonly T[]): void
  failed(kind: FailureKind): void
  /** Nobody waits any more for a request that is running. */
  left(request: T): void
}

/** Requests for a module within the limits of its configuration, which leave as soon as there is a place. */
export class ModuleQueue<T extends Waiting, Place extends object> {
  readonly #queue: BatchQueue<T>
  readonly #limits: QueueLimits
  readonly #runner: BatchRunner<T, Place>
  #isPumping = false
  #timer: NodeJS.Timeout | undefined

  constructor(merging: Merging | undefined, limits: QueueLimits, runner: BatchRunner<T, Place>) {
    this.#queue = new BatchQueue(merging)
    this.#limits = limits
    this.#runner = runner
  }

  get length(): number {
    return this.#queue.length
  }

  /** @param timeoutUs how long it may wait by itself, in microseconds */
  push(request: T, id: string | undefined, timeoutUs: number | undefined): void {
    const { maxQueue = Infinity } = this.#limits
    if (this.length >= maxQueue) this.pump()
    if (this.length >= maxQueue)
      return this.#refuse(request, 'rejected', `${requestText(id)}Exceeds maximum queue size`)
    this.#queue.push(request)
    request.cut.onCut(() => this.#onCut(request))
    if (request.isOver) return
    const timeout = waitLimit(this.#limits, timeoutUs)
    if (timeout !== undefined) request.timer = setTimeout(() => this.#onTimeout(request), timeout)
    this.#pumpLater()
  }

  #refuse(request: T, kind: FailureKind, text: string): void {
    this.#runner.failed(kind)
    ended(request).reject(new Fault('UNAVAILABLE', text))
  }

  #onTimeout(request: T): void {
    if (request.isOver) return
    if (this.#limits.isDelayed) this.#queue.delay(request)
    else if (this.#queue.remove(request)) this.#refuse(request, 'queueTimeout', 'Request timeout expired')
  }

  #onCut(request: T): void {
    if (request.isOver) return
    const isWaiting = this.#queue.remove(request)
    clearTimeout(request.timer)
    this.#runner.failed(isWaiting ? 'cancelledWaiting' : 'cancelledRunning')
    request.cancel?.()
    if (isWaiting) ended(request).reject(request.cut.reason)
    else this.#runner.left(request)
  }

  /** After what else comes in this turn of the event loop, so that it may leave together. */
  #pumpLater(): void {
    if (this.#isPumping) return
    this.#isPumping = true
    queueMicrotask(() => {
      this.#isPumping = false
      this.pump()
    })
  }

  /** There may be a place now. */
  pump(): void {
    clearTimeout(this.#timer)
    for (;;) {
      const place = this.#runner.free()
      if (place === undefined) return
      const next = this.#queue.next(process.hrtime.bigint())
      if (next === undefined) return
      if ('waitMs' in next) {
        this.#timer = setTimeout(() => this.pump(), Math.ceil(next.waitMs))
        return
      }
      this.#runner.run(place, next.batch)
    }
  }

  /** Takes all that waits. */
  clear(): readonly T[] {
    clearTimeout(this.#timer)
    return this.#queue.clear()
  }
}

/** It is answered, or rejected, now. */
export function ended<T extends Waiting>(request: T): T {
  request.isOver = true
  clearTimeout(request.timer)
  return request
}

/** Times of a batch, by process.hrtime.bigint(). */
interface BatchTimes {
  readonly left: bigint
  readonly begun: bigint
  readonly ended: bigint
  readonly back: bigint
}

export function countedRun(
  batch: readonly Queued[],
  answered: readonly Queued[],
  { left, begun, ended, back }: BatchTimes,
): CountedRun {
  return {
    rows: rowsOf(batch),
    requests: answered.length,
    answeredRows: rowsOf(answered),
    queueNs: answered.reduce((sum, { arrived }) => sum + Number(left - arrived), 0),
    inputNs: Number(begun - left),
    computeNs: Number(ended - begun),
    outputNs: Number(back - ended),
  }
}

function rowsOf(batch: readonly Queued[]): number {
  return batch.reduce((sum, { rows }) => sum + rows, 0)
}
