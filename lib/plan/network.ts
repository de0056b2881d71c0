import type { NetworkTensor } from '../backend/facts.js'
import type { TensorRTDType } from '../tensor.js'

/** Layers that convert to or from a quantized type. */
export interface QuantizingLayers {
  /** How many layers there are. */
  readonly layers: number
  /** How many there are of each quantized type. */
  readonly types: Readonly<Partial<Record<TensorRTDType | 'unknown', number>>>
}

/** What a network is made of as TensorRT's parser made it, before anything is fused or chosen. Plain data, frozen. */
export interface NetworkInfo {
  /** How many layers the network has. */
  readonly layers: number
  /**
   * How many layers there are of each type, the most frequent first: TensorRT's own names, `convolution`,
   * `matrix_multiply`; `unknown` for one that this package does not know yet.
   * @see https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/c-api/namespacenvinfer1.html LayerType
   */
  readonly layerTypes: Readonly<Partial<Record<string, number>>>
  /** How many layers have a first output of each data type; `none` counts those without outputs. */
  readonly outputTypes: Readonly<Partial<Record<TensorRTDType | 'unknown' | 'none', number>>>
  /** The QuantizeLinear layers. */
  readonly quantize: QuantizingLayers
  /** The DequantizeLinear layers. */
  readonly dequantize: QuantizingLayers
  /**
   * Bytes of the weights that convolutions, deconvolutions, scales and constants hold; what several hold is counted
   * once.
   */
  readonly weightBytes: number
  /** The inputs of the network; a dynamic dimension is -1. */
  readonly inputs: readonly NetworkTensor[]
  /** The outputs of the network; a dynamic dimension is -1. */
  readonly outputs: readonly NetworkTensor[]
}
