import { Tensor } from '../tensor.js'

/** Weights in INT8: `weights ≈ values · scale`, for each channel or as a whole. */
export interface QuantizedWeights {
  readonly values: Tensor<'int8'>
  readonly scales: Tensor<'float32'>
  readonly zeroPoints: Tensor<'int8'>
}

const largest = 127

/** The smallest normal float32: what is divided by less would lose its digits. */
const least = 2 ** -126

/**
 * Weights in INT8, symmetric, -127 to 127, rounded half to even as ONNX rounds: each channel's largest magnitude is 127
 * steps.
 * @param axis The dimension that has the channels; nothing: one scale for all.
 */
export function quantizedWeights(weights: Tensor<'float32'>, axis: number | undefined): QuantizedWeights {
  const channels = axis === undefined ? 1 : (weights.shape[axis] as number)
  const inner =
    axis === undefined
      ? Math.max(weights.size, 1)
      : weights.shape.slice(axis + 1).reduce((product, size) => product * size, 1)
  const scales = scalesOf(weights.data, channels, inner)
  const shape = axis === undefined ? [] : [channels]
  return {
    values: new Tensor('int8', stepsOf(weights.data, scales, inner), weights.shape),
    scales: new Tensor('float32', scales, shape),
    zeroPoints: Tensor.zeros('int8', shape),
  }
}

/** What a step stands for in each channel; `inner` elements of one follow each other. */
function scalesOf(data: Float32Array, channels: number, inner: number): Float32Array {
  const scales = new Float32Array(channels)
  for (let begin = 0, channel = 0; begin < data.length; begin += inner, channel = (channel + 1) % channels) {
    let most = scales[channel]!
    for (let i = begin; i < begin + inner; i++) most = Math.max(most, Math.abs(data[i]!))
    scales[channel] = most
  }
  return scales.map((most) => (most === 0 ? 1 : Math.max(most / largest, least)))
}

/**
 * Added to a number and taken away again it leaves the nearest whole one, of two as near the even one: doubles have no
 * digits for more.
 */
const rounding = 1.5 * 2 ** 52

function stepsOf(data: Float32Array, scales: Float32Array, inner: number): Int8Array {
  const values = new Int8Array(data.length)
  for (let begin = 0, channel = 0; begin < data.length; begin += inner, channel = (channel + 1) % scales.length) {
    const scale = scales[channel]!
    for (let i = begin; i < begin + inner; i++)
      values[i] = Math.max(-largest, Math.min(largest, data[i]! / scale + rounding - rounding))
  }
  return values
}
