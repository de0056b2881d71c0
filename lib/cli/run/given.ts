import type { InputSize } from '../../tasks/index.js'
import type { TensorFormat } from '../../tensor-files/index.js'
import type { EngineGiven } from '../options/engine.js'
import type { ShapesGiven } from '../options/builder.js'
import type { ForceGiven } from '../output/writable.js'
import type { TaskName } from './tasks.js'

/** The options of `trt run`, as commander finds them. */
export interface RunGiven extends EngineGiven, ShapesGiven, ForceGiven {
  readonly input?: readonly string[]
  readonly random?: true
  readonly seed: number
  readonly batch?: number
  readonly preset?: string
  readonly task?: TaskName
  readonly size?: InputSize
  readonly labels?: string
  readonly top?: number
  readonly activation?: 'softmax' | 'sigmoid' | 'none'
  readonly threshold?: number
  readonly maxSide?: number
  readonly limitPixels?: number
  readonly draw?: 'overlay' | 'mask' | 'cutout'
  readonly method?: 'blur' | 'pixelate' | 'fill'
  readonly grow?: number
  readonly strength?: number
  readonly requireFound?: true
  readonly output?: string
  readonly format?: TensorFormat
}
