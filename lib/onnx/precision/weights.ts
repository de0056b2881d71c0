import { Tensor } from '../../tensor.js'
import { elementTypeNumber } from '../element-type.js'
import type { TensorProto } from '../onnx_pb.js'
import { tensorToProto } from '../tensors.js'
import { type HalfPrecision, halfTypes } from './options.js'

/** What a type makes of small numbers: up to `zero` they round to 0, below `normal` digits are lost. */
const smallest = {
  fp16: { zero: 2 ** -25, normal: 2 ** -14 },
  bf16: { zero: 2 ** -134, normal: 2 ** -126 },
} as const satisfies Record<HalfPrecision, object>

/** The largest finite number of a type; its lowest is the same below zero. */
export const finiteMost = { fp16: 65504, bf16: 2 ** 128 - 2 ** 120 } as const satisfies Record<HalfPrecision, number>

/** What is to be known of stored numbers before they lose half of their bits. */
export interface Numbers {
  /** The largest magnitude; infinite ones count, NaN does not. */
  readonly largest: number
  /** The largest magnitude that is finite. */
  readonly largestFinite: number
  /** How many are not 0 and would become 0. */
  readonly flushed: number
  /** How many are not 0, and would keep all digits that the type has. */
  readonly normal: number
  /** How many are not 0. */
  readonly nonZero: number
}

export function numbersOf(data: Float32Array, precision: HalfPrecision): Numbers {
  const { zero, normal: least } = smallest[precision]
  let [largest, largestFinite, flushed, normal, zeros] = [0, 0, 0, 0, 0]
  for (let i = 0; i < data.length; i++) {
    const size = Math.abs(data[i] as number)
    if (size > largest) largest = size
    if (size > largestFinite && size < Infinity) largestFinite = size
    if (size >= least) normal++
    else if (size === 0) zeros++
    else if (size <= zero) flushed++
  }
  return { largest, largestFinite, flushed, normal, nonZero: data.length - zeros }
}

export function halved(tensor: Tensor<'float32'>, precision: HalfPrecision): Tensor {
  return Tensor.fromFloat32(halfTypes[precision], tensor.data, tensor.shape)
}

/** Gives a stored tensor other elements, under its name. */
export function store(proto: TensorProto, tensor: Tensor): void {
  proto.dataType = elementTypeNumber(tensor.dtype)
  proto.rawData = tensorToProto(tensor).rawData
  proto.floatData = []
}
