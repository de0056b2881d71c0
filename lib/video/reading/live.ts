import { TensorRTError } from '../../errors.js'
import type { VideoFrame } from '../frame.js'
import type { FedFrame } from '../nut/fed.js'
import type { Decoding } from './arguments.js'
import { decodedOf, type FrameStream, type VideoStats } from './decoded.js'
import { Decoder } from './decoder.js'
import type { FrameMaker } from './frame-maker.js'
import type { VideoGap } from './options.js'
import { backoff, pause, type Reconnect, unlessLate } from './reconnect.js'
import { Timeline } from './timeline.js'

/**
 * How long the first frame of a connection is waited for at least, where nobody has to come: a camera may send a key
 * frame each ten seconds.
 */
const connectMs = 10_000

/** What is known of a live source beside how it is decoded. */
export interface LiveSource {
  readonly decoding: Decoding
  /** Undefined: when the connection ends, so does the source. */
  readonly reconnect: Reconnect | undefined
  /** Whether somebody connects to this process, who is waited for. */
  readonly listens: boolean
  readonly onGap: ((gap: VideoGap) => void) | undefined
}

/** Why there is no frame. */
interface Loss {
  readonly reason: 'ended' | 'failed' | 'stalled'
  readonly error: Error | undefined
}

/** Frames of a camera: of one run of ffmpeg after the other, since each of them has one connection. */
export class LiveFrames implements FrameStream {
  readonly #source: LiveSource
  readonly #maker: FrameMaker
  readonly #timeline: Timeline
  readonly #closed = new AbortController()
  #decoder: Decoder | undefined
  #last: Promise<unknown> = Promise.resolve()
  #closing: Promise<void> | undefined
  /** Of connections that are gone. */
  #before = { delivered: 0, dropped: 0 }
  #size: string | undefined
  #loss: Loss | undefined
  #attempts = 0
  #reconnects = 0

  /** @param first the first connection, whose header is there */
  constructor(source: LiveSource, first: Decoder, maker: FrameMaker) {
    this.#source = source
    this.#decoder = first
    this.#maker = maker
    this.#timeline = new Timeline(maker.timeBase)
  }

  stats(): VideoStats {
    const { delivered, dropped } = this.#counts()
    return { decoded: decodedOf(delivered + dropped, this.#every), delivered, dropped, reconnects: this.#reconnects }
  }

  #counts(): { readonly delivered: number; readonly dropped: number } {
    const { delivered = 0, dropped = 0 } = this.#decoder ?? {}
    return { delivered: this.#before.delivered + delivered, dropped: this.#before.dropped + dropped }
  }

  get #every(): number {
    return this.#source.decoding.reading.every
  }

  /** One after the other: who asks for several has them in order. */
  next(): Promise<VideoFrame | undefined> {
    const next = this.#last.then(() => this.#next())
    this.#last = next.catch(() => undefined)
    return next
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close())
  }

  async #close(): Promise<void> {
    this.#closed.abort()
    await this.#decoder?.close()
    await this.#last // a connection that is just made sees to its own end
  }

  async #next(): Promise<VideoFrame | undefined> {
    for (;;) {
      const decoder = this.#decoder ?? (await this.#connected())
      if (decoder === undefined || this.#closed.signal.aborted) return undefined
      const taken = await this.#taken(decoder)
      if ('ticks' in taken) return this.#frame(taken)
      if (this.#closed.signal.aborted) return undefined
      if (this.#source.reconnect === undefined) {
        if (taken.error !== undefined) throw taken.error
        return undefined
      }
      await this.#lose(decoder, taken)
    }
  }

  /** The next frame of a connection, or why there is none. */
  async #taken(decoder: Decoder): Promise<FedFrame | Loss> {
    try {
      const next = decoder.next()
      const limit = this.#patience(decoder)
      const came = limit === undefined ? { value: await next } : await unlessLate(next, limit)
      if (came === undefined) return { reason: 'stalled', error: undefined }
      return came.value ?? { reason: 'ended', error: undefined }
    } catch (error) {
      return { reason: 'failed', error: error as Error }
    }
  }

  /** Milliseconds; undefined: for ever, since somebody has yet to come. */
  #patience(decoder: Decoder): number | undefined {
    const { reconnect, listens } = this.#source
    if (reconnect === undefined) return undefined
    if (decoder.delivered > 0) return reconnect.afterMs
    return listens ? undefined : Math.max(reconnect.afterMs, connectMs)
  }

  async #lose(decoder: Decoder, loss: Loss): Promise<void> {
    await decoder.close()
    this.#before = this.#counts()
    this.#decoder = undefined
    const isNew = this.#loss === undefined
    this.#loss = loss
    if (isNew) this.#tell({ kind: 'lost', ...loss, to: undefined })
  }

  /**
   * A new connection, once its time has come; undefined where all is closed meanwhile. @throws TensorRTError
   * ERR_TRT_VIDEO_DATA where there were enough
   */
  async #connected(): Promise<Decoder | undefined> {
    const { reconnect, decoding } = this.#source
    const { signal } = this.#closed
    if (signal.aborted || reconnect === undefined) return undefined
    if (this.#attempts >= reconnect.attempts) throw this.#gone()
    await pause(backoff(reconnect.backoffMs, this.#attempts), signal)
    if (signal.aborted) return undefined
    this.#attempts++
    const decoder = await Decoder.start(decoding)
    if (signal.aborted) {
      await decoder.close()
      return undefined
    }
    return (this.#decoder = decoder)
  }

  #gone(): TensorRTError {
    const { reason, error } = this.#loss!
    const why = error === undefined ? `it ${reason}` : error.message
    const often = this.#attempts === 1 ? 'one attempt' : `${this.#attempts} attempts`
    const message = `${this.#source.decoding.input.name} did not come back in ${often}: ${why}`
    return new TensorRTError('ERR_TRT_VIDEO_DATA', message, {
      cause: error,
      details: { attempts: this.#attempts, reason },
    })
  }

  #frame(fed: FedFrame): VideoFrame {
    const from = this.#timeline.last
    const { ticks, isJump } = this.#timeline.place(this.#maker.ticksOf(fed), fed.arrived, this.#loss !== undefined)
    const size = `${fed.width} x ${fed.height}`
    const hasChanged = this.#size !== undefined && this.#size !== size
    this.#size = size
    const number = (this.#before.delivered + this.#before.dropped + fed.number) * this.#every
    const frame = this.#maker.frame(fed, ticks, number)
    if (this.#loss !== undefined) this.#back(frame.pts, from, hasChanged)
    else if (isJump) this.#tell({ kind: 'jump', reason: 'times', error: undefined, to: frame.pts }, from)
    return frame
  }

  #back(to: number, from: bigint | undefined, hasChanged: boolean): void {
    const { reason, error } = this.#loss!
    this.#reconnects++
    this.#tell({ kind: 'back', reason: hasChanged ? 'size' : reason, error, to }, from)
    this.#loss = undefined
    this.#attempts = 0
  }

  #tell(gap: Pick<VideoGap, 'kind' | 'reason' | 'error' | 'to'>, last = this.#timeline.last): void {
    const from = last === undefined ? undefined : this.#maker.secondsOf(last)
    const seconds = from === undefined || gap.to === undefined ? undefined : gap.to - from
    this.#source.onGap?.({ ...gap, from, seconds, attempts: this.#attempts })
  }
}
