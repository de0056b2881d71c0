// What the rules of completion have to know of a model.
import type { ProfileShapes } from '../../backend/backend.js'
import type { DType } from '../../tensor.js'

/** An input or output as its model has it. */
export interface ModelTensorFacts {
  readonly name: string
  readonly dtype: DType
  /** With the rows of a batch, where it has them; -1 for a size that is not fixed. */
  readonly shape: readonly number[]
  /** Of an input of a plan, for each optimization profile. */
  readonly profiles: readonly ProfileShapes[]
  readonly isShapeTensor: boolean
}

/** What a model says of itself: by a plan's sidecar, an engine or ONNX. */
export interface ModelFacts {
  readonly format: 'plan' | 'onnx'
  readonly inputs: readonly ModelTensorFacts[]
  readonly outputs: readonly ModelTensorFacts[]
  /** Inputs and outputs that no Tensor holds, or the runtime has not, as TensorRT texts. */
  readonly unsupported: readonly { readonly name: string; readonly type: string }[]
  /** The model is one file without a folder, for which there is no answer of Triton's to follow. */
  readonly isSingleFile?: boolean | undefined
}
