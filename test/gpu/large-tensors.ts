// Tensors too large for a reference: made by a formula, compared by their digests.
import { createHash } from 'node:crypto'
import { Tensor } from '../../lib/tensor.js'
import { bytesOf } from '../support/values.js'

/** 100 MiB of float32. */
export const largeCount = 25 * 2 ** 20

/** Numbers from -0.5 to 0.5 that differ from their neighbors; exact in float32. */
export function largeInput(seed: number): Tensor<'float32'> {
  const data = new Float32Array(largeCount)
  for (let i = 0; i < largeCount; i++) data[i] = (Math.imul(i + seed, 0x9e3779b1) >>> 8) / 2 ** 24 - 0.5
  return new Tensor('float32', data, [largeCount])
}

/** The shape and SHA-256 of a tensor; the digest itself of a tensor that stores one. */
export function digestOf(tensor: Tensor | undefined): string {
  if (tensor?.dtype === 'uint8') return Buffer.from(bytesOf(tensor)).toString()
  return `[${tensor?.shape.join(', ')}] ${createHash('sha256').update(bytesOf(tensor)).digest('hex')}`
}
