import type { VideoFrame } from '../frame.js'
import { OpeningSource, type StreamInput, type StreamSource } from './source.js'
import { type Meter, SourceCounts, type SourceRows } from './statistics.js'
import { messageOf } from '../../base/kinds.js'

/** A frame, and what the task has made of it. */
export interface StreamItem<R> {
  /** Whose frame it is. */
  readonly source: StreamSource
  /** The frame; whoever got it closes it. */
  readonly frame: VideoFrame
  /**
   * What the task made of it; with `inferEvery`, where `inferred` is false, what it made of the last frame of this
   * source that it got.
   */
  readonly result: R
  /** Whether `result` is of this frame. */
  readonly inferred: boolean
}

/** A frame between its source and the consumer. */
export class Entry<R> {
  readonly frame: VideoFrame
  readonly inferred: boolean
  /** Aborted when nobody wants it any more. */
  readonly cancel = new AbortController()
  state: 'waiting' | 'running' | 'ready' | 'dropped'
  /** When it came into this state. */
  since = performance.now()
  result: R | undefined

  constructor(frame: VideoFrame, inferred: boolean) {
    this.frame = frame
    this.inferred = inferred
    this.state = inferred ? 'waiting' : 'ready'
  }
}

/** A source, and those of its frames that were read and not given, in their order. */
export class Line<R> {
  readonly opening: OpeningSource
  readonly #meter: Meter
  readonly #counts = new SourceCounts()
  #entries: Entry<R>[] = []
  #underWay = 0
  #read = 0
  #last: R | undefined
  #end: { readonly error: unknown } | undefined
  #stopped = false
  #room: ((isWanted: boolean) => void) | undefined

  constructor(input: StreamInput, index: number, meter: Meter) {
    this.opening = new OpeningSource(input, index)
    this.#meter = meter
  }

  get source(): StreamSource {
    return this.opening.handle
  }

  /** Frames in the task. */
  get underWay(): number {
    return this.#underWay
  }

  /** Frames that were read and not given. */
  get held(): number {
    return this.#entries.length
  }

  /** The next one for the task. */
  get waiting(): Entry<R> | undefined {
    return this.#entries.find(({ state }) => state === 'waiting')
  }

  /** Whether the next one for the consumer is there. */
  get isReady(): boolean {
    return this.#entries[0]?.state === 'ready'
  }

  /** What ended it, once all that came before was given. */
  get end(): { readonly error: unknown } | undefined {
    return this.#entries.length === 0 ? this.#end : undefined
  }

  /** Whether no more frames are wanted of it. */
  get isStopped(): boolean {
    return this.#stopped
  }

  get rows(): SourceRows {
    const { index, name, video } = this.source
    const error = this.#end?.error
    const open = this.#end === undefined && !this.#stopped
    return this.#counts.rows(
      { index, name, open, error: error === undefined ? undefined : messageOf(error) },
      video?.stats(),
    )
  }

  push(frame: VideoFrame, inferEvery: number): void {
    this.#entries.push(new Entry<R>(frame, this.#read++ % inferEvery === 0))
  }

  /** The entry goes into the task. */
  begin(entry: Entry<R>): void {
    this.#counts.add('queue', this.#turnTo(entry, 'running'))
    this.#underWay++
    this.#meter.change(1)
  }

  /** The task has answered. */
  answer(entry: Entry<R>, result: R): void {
    this.#leave()
    entry.result = result
    this.#counts.inferred++
    this.#counts.add('infer', this.#turnTo(entry, 'ready'))
  }

  /** The task has refused a frame: those before it are given, it and those behind it never. */
  fail(entry: Entry<R>, error: unknown): void {
    this.finish(error)
    this.#drop(this.#entries.indexOf(entry))
  }

  /** No more frames come; the first reason stands. */
  finish(error?: unknown): void {
    this.#end ??= { error }
    this.#stop()
  }

  /** The consumer gets the next one. */
  take(): StreamItem<R> {
    const entry = this.#entries.shift()!
    const { frame, inferred, result } = entry
    if (inferred) this.#last = result
    const now = performance.now()
    this.#counts.add('wait', now - entry.since)
    this.#counts.add('total', frame.age * 1000)
    this.#counts.deliver(now)
    return { source: this.source, frame, result: this.#last as R, inferred }
  }

  /** Nobody wants anything of it any more; is settled when its video is closed. */
  close(): Promise<void> {
    this.#stop()
    this.#drop(0)
    return this.opening.close()
  }

  /** Fulfilled when it may be read on: false when it is not to be. One call at a time. */
  room(): Promise<boolean> {
    return this.#stopped ? Promise.resolve(false) : new Promise((resolve) => (this.#room = resolve))
  }

  /** Lets it be read on, where it waits for that and holds fewer than this. */
  makeRoom(window: number): void {
    if (this.#room === undefined || this.held >= window) return
    const give = this.#room
    this.#room = undefined
    give(true)
  }

  #stop(): void {
    this.#stopped = true
    this.#room?.(false)
    this.#room = undefined
  }

  /** @returns milliseconds that it was in its last state */
  #turnTo(entry: Entry<R>, state: Entry<R>['state']): number {
    const now = performance.now()
    const spent = now - entry.since
    entry.state = state
    entry.since = now
    return spent
  }

  #leave(): void {
    this.#underWay--
    this.#meter.change(-1)
  }

  /** Those from this place on. A task that goes on all the same finds its frame closed. */
  #drop(from: number): void {
    const dropped = this.#entries.slice(from)
    this.#entries = this.#entries.slice(0, from)
    for (const entry of dropped) {
      if (entry.state === 'running') this.#leave()
      entry.state = 'dropped'
      this.#counts.drop()
    }
    // the user's listeners find all in order
    for (const entry of dropped) {
      entry.cancel.abort()
      entry.frame.close()
    }
  }
}
