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
  readonly preset?: string | undefined
  readonly task?: VideoTask | undefined
  readonly output?: string | undefined
  readonly jsonl?: true | undefined
  readonly json?: true | undefined
  readonly size?: InputSize | undefined
  readonly maxSide?: number | undefined
  readonly batch?: number | undefined
  readonly lanes?: number | undefined
  readonly parallel?: number | undefined
  readonly labels?: string | undefined
  readonly threshold?: number | undefined
  readonly method?: 'blur' | 'pixelate' | 'fill' | undefined
  readonly grow?: number | undefined
  readonly strength?: number | undefined
  readonly requireFound?: true | undefined
  readonly start?: number | undefined
  readonly end?: number | undefined
  readonly every?: number | undefined
  readonly hardware?: 'none' | 'cuda' | undefined
  readonly codec?: VideoCodec | undefined
  readonly encoderPreset?: string | undefined
  readonly quality?: number | undefined
  readonly odd?: 'refuse' | 'crop' | 'pad' | undefined
  /** False with `--no-audio`. */
  readonly audio: boolean
  readonly ffmpeg?: string | undefined
}
