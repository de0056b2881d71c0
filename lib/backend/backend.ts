import type { DType, Tensor } from '../tensor.js'

/** The shapes that an optimization profile allows for one input. */
export interface ProfileShapes {
  readonly min: readonly number[]
  readonly opt: readonly number[]
  readonly max: readonly number[]
}

/** What a model says of one of its inputs or outputs. */
export interface TensorInfo {
  readonly name: string
  readonly dtype: DType
  /** -1 where the size is known only at run time. */
  readonly shape: readonly number[]
  /** One entry per optimization profile; empty for outputs, for static inputs and on the CPU backend. */
  readonly profiles: readonly ProfileShapes[]
  /** TensorRT's description of the memory layout, `linear` for row-major. */
  readonly format: string
}

export interface RunOptions {
  readonly signal?: AbortSignal | undefined
}

/**
 * What runs a model: the seam between {@link Engine} and the addon or onnxruntime-node. A backend gets inputs that are checked already
 * (all there, none unknown, right data type, shape that fits `inputs`), and may read their data until `run` settles.
 */
export interface Backend {
  readonly kind: 'tensorrt' | 'cpu'
  /** A line for people: the library and its version, and the device. */
  readonly description: string
  readonly inputs: readonly TensorInfo[]
  readonly outputs: readonly TensorInfo[]
  run(inputs: Readonly<Record<string, Tensor>>, options: RunOptions): Promise<Record<string, Tensor>>
  /** Lets running work end, then frees everything. Twice without harm. */
  close(): Promise<void>
}
