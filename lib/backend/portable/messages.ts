import type { WireError } from '../../base/wire.js'
import type { DType } from '../../tensor.js'
import type { ModelTensor, UnsupportedTensor } from '../backend.js'
import type { FreeDimensions } from '../../onnx/free-dimensions.js'
import type { Optimization } from '../cpu-options.js'

/** What the worker is started with. */
export interface Start {
  /** The resolved entry file of onnxruntime-node. */
  readonly runtime: string
  readonly model: Uint8Array | string
  readonly options: SessionOptions
}

/** How onnxruntime runs a model. */
export interface SessionOptions {
  readonly threads: number
  readonly optimization: Optimization
  /** Entries of its session configuration. */
  readonly config: Readonly<Record<string, string>>
  /** Sizes for open dimensions of the model. */
  readonly freeDimensions: FreeDimensions | undefined
}

/** A tensor on its way between threads. Its buffer is transferred. */
export interface WireTensor {
  readonly name: string
  readonly dtype: DType
  readonly shape: readonly number[]
  readonly bytes: ArrayBuffer
}

export type Request =
  | {
      readonly type: 'run'
      readonly id: number
      readonly inputs: readonly WireTensor[]
      readonly wanted: readonly string[]
    }
  | { readonly type: 'close' }

/** The model is loaded, and what it is. */
export interface Ready {
  readonly type: 'ready'
  readonly description: string
  readonly inputs: ModelTensor[]
  readonly outputs: ModelTensor[]
  readonly unsupported: UnsupportedTensor[]
}

export type Reply =
  | Ready
  | { readonly type: 'failed'; readonly error: WireError }
  | { readonly type: 'result'; readonly id: number; readonly outputs: WireTensor[] }
  | { readonly type: 'error'; readonly id: number; readonly error: WireError }
