// What a model takes and gives, as a server tells it.
import type { Datatype } from './tensor.js'

/** An input or output, as a client has it. */
export interface TensorMetadata {
  /** In requests and answers. */
  readonly name: string
  /** KServe's name of its type. */
  readonly datatype: Datatype
  /** The dimensions, with the rows of a batch first where the model has batches; -1: any size. */
  readonly shape: readonly number[]
}

/** What a model takes and gives. */
export interface ModelMetadata {
  /** Of the model. */
  readonly name: string
  /** Those that are ready. */
  readonly versions?: readonly string[] | undefined
  /** Such as `tensorrt_plan` or `onnxruntime_onnx`. */
  readonly platform: string
  /** In the order of the model. */
  readonly inputs: readonly TensorMetadata[]
  /** In the order of the model. */
  readonly outputs: readonly TensorMetadata[]
}
