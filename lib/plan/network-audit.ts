import type { NetworkTensor } from '../backend/facts.js'
import type { TensorRTDType } from '../tensor.js'

type Counts<K extends string> = Readonly<Partial<Record<K, number>>>

/** Layers that convert to or from a quantized type. */
export interface QuantizingLayers {
  readonly layers: number
  /** How many there are of each quantized type. */
  readonly types: Counts<TensorRTDType | 'unknown'>
}

/** What a network is made of as TensorRT's parser made it, before anything is fused or chosen. Plain data, frozen. */
export interface NetworkAudit {
  readonly kind: 'network'
  readonly layers: number
  /**
   * How many layers there are of each type, the most frequent first: TensorRT's own names, `convolution`, `matrix_multiply`; `unknown` for one that this
   * package does not know yet.
   * @see https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/c-api/namespacenvinfer1.html LayerType
   */
  readonly layerTypes: Counts<string>
  /** How many layers have a first output of each data type; `none` counts those without outputs. */
  readonly outputTypes: Counts<TensorRTDType | 'unknown' | 'none'>
  readonly quantize: QuantizingLayers
  readonly dequantize: QuantizingLayers
  /** Bytes of the weights that convolutions, deconvolutions, scales and constants hold; what several hold is counted once. */
  readonly weightBytes: number
  /** -1 where a dimension is dynamic. */
  readonly inputs: readonly NetworkTensor[]
  readonly outputs: readonly NetworkTensor[]
}
