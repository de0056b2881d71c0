/**
 * Made frames that tell who they are: their number and their source are painted into Y, and each counts its close().
 */
import { setImmediate } from 'node:timers/promises'
import type { GivenFrame, StreamItem, Streams, VideoFrame } from '../../lib/video/index.js'
import type { Random } from '../support/random.js'

const [width, height] = [32, 2]
const [dark, light] = [16, 235]

/** The bits of both, a pixel each. */
export function painted(source: number, number: number): Uint8Array {
  const data = new Uint8Array((width * height * 3) / 2).fill(128)
  for (let bit = 0; bit < width; bit++) data[bit] = (bit < 24 ? number >> bit : source >> (bit - 24)) & 1 ? light : dark
  return data
}

export function read({ data }: Pick<VideoFrame, 'data'>): { source: number; number: number } {
  let bits = 0
  for (let bit = 0; bit < width; bit++) if (data[bit]! > 128) bits |= 1 << bit
  return { source: bits >>> 24, number: bits & 0xffffff }
}

/** What has become of all made frames of a test. */
export class Made {
  made = 0
  closed = 0

  get left(): number {
    return this.made - this.closed
  }

  frame(source: number, number: number): GivenFrame {
    this.made++
    const image = { format: 'i420', width, height, data: painted(source, number) } as const
    return { image, pts: number / 25, close: () => this.closed++ }
  }

  /** So many frames; `then` comes after them. */
  async *frames(source: number, count: number, then?: () => Promise<unknown>): AsyncGenerator<GivenFrame> {
    for (let number = 0; number < count; number++) yield this.frame(source, number)
    await then?.()
  }
}

/** Never. */
export const stalled = (): Promise<never> => new Promise<never>(() => undefined)

/** Some turns of the event loop. */
export async function pause(random: Random, most = 4): Promise<void> {
  for (let turns = random.below(most); turns > 0; turns--) await setImmediate()
}

/** Calls that end when the test says so. */
export class Gate<R> {
  readonly calls: {
    readonly frame: VideoFrame
    readonly signal: AbortSignal
    readonly open: (answer: R) => void
    readonly fail: (error: unknown) => void
  }[] = []

  readonly task = (frame: VideoFrame, { signal }: { signal: AbortSignal }): Promise<R> =>
    new Promise((open, fail) => this.calls.push({ frame, signal, open, fail }))
}

/** All that comes, by source; each frame is closed. */
export async function collected<R>(
  run: Streams<R>,
): Promise<Map<number, Pick<StreamItem<R>, 'result' | 'inferred'>[]>> {
  const all = new Map<number, Pick<StreamItem<R>, 'result' | 'inferred'>[]>()
  for await (const { source, frame, result, inferred } of run) {
    const those = all.get(source.index) ?? []
    those.push({ result, inferred })
    all.set(source.index, those)
    frame.close()
  }
  return all
}
