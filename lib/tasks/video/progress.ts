import type { OpenVideoOptions, VideoFrame, VideoInfo } from '../../video/index.js'
import type { VideoProgress } from './options.js'

/** Counts frames, and tells how far they are. */
export class Counter {
  readonly #of: number | undefined
  #begunAt: number | undefined
  #frames = 0
  #found = 0

  constructor(info: VideoInfo, reading: OpenVideoOptions) {
    this.#of = aboutHowMany(info, reading)
  }

  /** Once the first frame is asked for. */
  begin(): void {
    this.#begunAt = performance.now()
  }

  /** A frame is done, in which so many things were found. */
  add(found: number): VideoProgress {
    this.#frames++
    this.#found += found
    const seconds = (performance.now() - (this.#begunAt ?? 0)) / 1000
    const fps = seconds > 0 ? this.#frames / seconds : 0
    const of = this.#of === undefined ? undefined : Math.max(this.#of, this.#frames)
    const secondsLeft = of === undefined || fps === 0 ? undefined : (of - this.#frames) / fps
    return { frames: this.#frames, of, fps, secondsLeft, regions: this.#found }
  }
}

/** By the duration and the rate that the file tells. */
function aboutHowMany(
  { frames, duration, averageFrameRate, frameRate, start = 0 }: VideoInfo,
  reading: OpenVideoOptions,
): number | undefined {
  const rate = averageFrameRate ?? frameRate
  if (reading.decode !== undefined && reading.decode !== 'all') return undefined
  if (frames === undefined && (duration === undefined || rate === undefined)) return undefined
  const whole = frames ?? Math.round(duration! * rate!)
  const { start: from = start, end: to = Infinity, every = 1 } = reading
  if (duration === undefined || rate === undefined) return Math.ceil(whole / every)
  const seconds = Math.max(0, Math.min(to, start + duration) - Math.max(from, start))
  return Math.ceil(Math.min(whole, Math.round(seconds * rate)) / every)
}

/** How long what was shown lasts. */
export class Shown {
  #frames = 0
  #first = 0
  #last = 0
  #step = 0

  get frames(): number {
    return this.#frames
  }

  /**
   * In seconds, to the end of the last frame; where nothing says how long that one is shown, as long as the one before.
   */
  get duration(): number {
    return this.#last - this.#first + this.#step
  }

  add({ pts, duration }: Pick<VideoFrame, 'pts' | 'duration'>): void {
    if (this.#frames++ === 0) this.#first = pts
    else this.#step = pts - this.#last
    this.#step = duration ?? this.#step
    this.#last = pts
  }
}
