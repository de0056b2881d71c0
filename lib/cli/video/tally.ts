import { Shown } from '../../tasks/video/progress.js'
import type { VideoFrame, VideoInfo, WriteVideoOptions } from '../../video/index.js'
import type { Item } from './job.js'
import type { FrameAnswer, Named } from './worker.js'

/** How often a class was found. */
export interface ClassCount extends Named {
  readonly count: number
}

/** What `--json` prints of a video. */
export interface VideoSummary {
  readonly source: string
  readonly frames: number
  /** Seconds that are shown. */
  readonly duration: number
  /** Seconds that it took. */
  readonly seconds: number
  readonly fps: number
  /** What was found or hidden, of all frames together. */
  readonly regions: number
  readonly framesWithRegions: number
  /** The same by class, the most frequent first. */
  readonly found: readonly ClassCount[]
  /** How many sounds were copied; undefined where nothing was written. */
  readonly sounds?: number | undefined
  readonly written?: string | undefined
}

/** Counts what is found in a video. */
export class Tally {
  readonly #item: Item
  readonly #shown = new Shown()
  readonly #classes = new Map<number | undefined, ClassCount>()
  readonly #begunAt = performance.now()
  #regions = 0
  #framesWithRegions = 0

  constructor(item: Item) {
    this.#item = item
  }

  get frames(): number {
    return this.#shown.frames
  }

  add(frame: VideoFrame, { things }: FrameAnswer): void {
    this.#shown.add(frame)
    this.#regions += things.length
    this.#framesWithRegions += Number(things.length > 0)
    for (const { classIndex, label } of things) {
      const { count = 0 } = this.#classes.get(classIndex) ?? {}
      this.#classes.set(classIndex, { classIndex, label, count: count + 1 })
    }
  }

  end({ audio }: VideoInfo, { writing }: { readonly writing: WriteVideoOptions }): VideoSummary {
    const { name, path } = this.#item
    const seconds = (performance.now() - this.#begunAt) / 1000
    return {
      source: name,
      frames: this.frames,
      duration: this.#shown.duration,
      seconds,
      fps: this.frames / seconds,
      regions: this.#regions,
      framesWithRegions: this.#framesWithRegions,
      found: [...this.#classes.values()].sort((a, b) => b.count - a.count),
      sounds: path === undefined ? undefined : writing.audio === false ? 0 : audio.length,
      written: path,
    }
  }
}
