import type { ModelTensor } from '../backend/backend.js'
import { elementCount, Tensor } from '../tensor.js'

/**
 * The values of an input that the CPU reads (a shape tensor) which a profile names as its best; nothing where none are
 * known.
 */
export function bestValues({ dtype, shape, values }: ModelTensor, profile: number): Tensor | undefined {
  const best = values?.[profile]?.opt
  if (best?.length !== elementCount(shape)) return undefined
  if (dtype === 'int64') return new Tensor('int64', BigInt64Array.from(best, BigInt), shape)
  return dtype === 'int32' ? new Tensor('int32', Int32Array.from(best), shape) : undefined
}
