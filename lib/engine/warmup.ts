import { describe, TensorRTError } from '../errors.js'
import { Tensor } from '../tensor.js'
import type { TensorInfos, TensorRecord } from './declaration.js'

/** Zeros in the best shape of each profile. */
export function* warmupInputs(inputs: TensorInfos): Generator<TensorRecord> {
  const infos = Object.values(inputs)
  const profiles = Math.max(1, ...infos.map((info) => info.profiles.length))
  for (let i = 0; i < profiles; i++) {
    const zeros = Object.create(null) as TensorRecord
    for (const { name, dtype, shape, profiles } of infos) {
      const best = shape.includes(-1) ? profiles[i]?.opt : shape
      if (best === undefined)
        throw new TensorRTError(
          'ERR_TRT_SHAPES_REQUIRED',
          `Input ${describe(name)} is dynamic, and no profile says which shape to warm up with`,
        )
      zeros[name] = Tensor.zeros(dtype, best)
    }
    yield zeros
  }
}
