import type { InputSize } from '../../tasks/index.js'
import type { TensorFormat } from '../../tensor-files/index.js'
import type { EngineGiven } from '../options/engine.js'
import type { ShapesGiven } from '../options/builder.js'
import type { ForceGiven } from '../output/writable.js'
import type { TaskName } from './tasks.js'

/** The options of `trt run`, as commander finds them. */
export interface RunGiven extends EngineGiven, ShapesGiven, ForceGiven {
  readonly input?: readonly string[] | undefined
  readonly random?: true | undefined
  readonly seed: number
  readonly batch?: number | undefined
  readonly preset?: string | undefined
  readonly task?: TaskName | undefined
  readonly size?: InputSize | undefined
  readonly labels?: string | undefined
  readonly top?: number | undefined
  readonly activation?: 'softmax' | 'sigmoid' | 'none' | undefined
  readonly threshold?: number | undefined
  readonly maxSide?: number | undefined
  readonly limitPixels?: number | undefined
  readonly draw?: 'overlay' | 'mask' | 'cutout' | undefined
  readonly method?: 'blur' | 'pixelate' | 'fill' | undefined
  readonly grow?: number | undefined
  readonly strength?: number | undefined
  readonly requireFound?: true | undefined
  readonly output?: string | undefined
  readonly format?: TensorFormat | undefined
}
