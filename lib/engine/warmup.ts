import type { Backend } from '../backend/backend.js'
import { shapeText } from '../base/dims.js'
import { TensorRTError } from '../errors.js'
import { Tensor } from '../tensor.js'
import type { TensorInfos, TensorRecord } from './declaration.js'

type Room = Pick<Backend, 'concurrency' | 'batches' | 'maxBatch' | 'maxQueueBytes' | 'prepared'>

/**
 * Runs zeros for each profile, `iterations` times as many at once as the lanes have memory for: in rounds, so that no more of it is ever taken. The last round comes
 * once the contexts are there that the others had made: it captures their graphs.
 */
export async function warmUp(
  inputs: TensorInfos,
  room: Room,
  iterations: number,
  run: (zeros: TensorRecord) => Promise<unknown>,
): Promise<void> {
  for (const zeros of warmupInputs(inputs, room.maxBatch)) {
    const inFlight = Array.from({ length: inFlightOf(zeros, room) })
    for (let i = 0; i < iterations; i++) {
      if (i > 0 && i === iterations - 1) await room.prepared?.()
      await Promise.all(inFlight.map(() => run(zeros)))
    }
  }
}

/** As many requests as fill the batches that the lanes have memory for, and the queue has room for. */
function inFlightOf(zeros: TensorRecord, { concurrency = 1, batches = 1, maxBatch, maxQueueBytes = Infinity }: Room): number {
  const rows = Object.values(zeros)[0]?.shape[0]
  const bytes = Object.values(zeros).reduce((sum, { byteLength }) => sum + byteLength, 0)
  const merged = maxBatch === undefined || rows === undefined ? 1 : Math.max(1, Math.floor(maxBatch / rows))
  return Math.min(batches * merged, concurrency, Math.max(1, Math.floor(maxQueueBytes / bytes)))
}

/** Zeros in the best shape of each profile; where requests are merged, of no more rows than a batch may have. */
function* warmupInputs(inputs: TensorInfos, maxBatch: number | undefined): Generator<TensorRecord> {
  const infos = Object.values(inputs)
  const profiles = Math.max(1, ...infos.map((info) => info.profiles.length))
  for (let i = 0; i < profiles; i++) {
    const zeros = Object.create(null) as TensorRecord
    for (const { name, dtype, shape, profiles } of infos) {
      const best = shape.includes(-1) ? profiles[i]?.opt : shape
      if (best === undefined)
        throw new TensorRTError(
          'ERR_TRT_SHAPES_REQUIRED',
          `Input '${name}' ${shapeText(shape)} is dynamic, and no profile says which shape to warm up with: give shapes`,
        )
      const [rows = 0, ...rest] = best
      zeros[name] = Tensor.zeros(dtype, maxBatch !== undefined && rows > maxBatch ? [maxBatch, ...rest] : best)
    }
    yield zeros
  }
}
