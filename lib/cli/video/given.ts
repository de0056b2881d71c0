import type { InputSize } from '../../tasks/index.js'
import type { VideoCodec } from '../../video/index.js'
import type { ShapesGiven } from '../options/builder.js'
import type { EngineGiven } from '../options/engine.js'
import type { ForceGiven } from '../output/writable.js'

/** What is done with the frames of videos. */
export const videoTasks = ['detect', 'blur', 'segment'] as const

export type VideoTask = (typeof videoTasks)[number]

/** The options of `trt video`, as commander finds them. */
export interface VideoGiven extends EngineGiven, ShapesGiven, ForceGiven {
  readonly model: string
  readonly preset?: string
  readonly task?: VideoTask
  readonly output?: string
  readonly jsonl?: true
  readonly json?: true
  readonly size?: InputSize
  readonly maxSide?: number
  readonly batch?: number
  readonly lanes?: number
  readonly parallel?: number
  readonly labels?: string
  readonly threshold?: number
  readonly method?: 'blur' | 'pixelate' | 'fill'
  readonly grow?: number
  readonly strength?: number
  readonly requireFound?: true
  readonly start?: number
  readonly end?: number
  readonly every?: number
  readonly hardware?: 'none' | 'cuda'
  readonly codec?: VideoCodec
  readonly encoderPreset?: string
  readonly quality?: number
  readonly odd?: 'refuse' | 'crop' | 'pad'
  /** False with `--no-audio`. */
  readonly audio: boolean
  readonly ffmpeg?: string
}
