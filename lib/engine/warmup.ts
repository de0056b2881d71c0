import type { Backend, ModelTensor } from '../backend/backend.js'
import { shapeText } from '../base/dims.js'
import { TensorRTError } from '../errors.js'
import { Tensor } from '../tensor.js'
import { bestValues } from './best-values.js'
import type { TensorRecord } from './declaration.js'

type Room = Pick<Backend, 'inputs' | 'concurrency' | 'batches' | 'maxBatch' | 'maxQueueBytes' | 'calls'>

/**
 * Runs something for each profile, `iterations` times as many at once as the lanes have memory for: in rounds, so that
 * no more of it is ever taken. The last round comes once the contexts are there that the others had made: it captures
 * their graphs.
 */
export async function warmUp(
  room: Room,
  iterations: number,
  run: (inputs: TensorRecord) => Promise<unknown>,
): Promise<void> {
  for (const inputs of warmupInputs(room)) {
    const inFlight = Array.from({ length: inFlightOf(inputs, room) })
    for (let i = 0; i < iterations; i++) {
      if (i > 0 && i === iterations - 1) await room.calls?.prepared()
      await Promise.all(inFlight.map(() => run(inputs)))
    }
  }
}

/** As many requests as fill the batches that the lanes have memory for, and the queue has room for. */
function inFlightOf(
  inputs: TensorRecord,
  { concurrency = 1, batches = 1, maxBatch, maxQueueBytes = Infinity }: Room,
): number {
  const rows = Object.values(inputs)[0]?.shape[0]
  const bytes = Object.values(inputs).reduce((sum, { byteLength }) => sum + byteLength, 0)
  const merged = maxBatch === undefined || rows === undefined ? 1 : Math.max(1, Math.floor(maxBatch / rows))
  return Math.min(batches * merged, concurrency, Math.max(1, Math.floor(maxQueueBytes / bytes)))
}

/** The best values of each profile for what decides shapes, and zeros in its best shape for all else. */
function* warmupInputs({ inputs, maxBatch }: Room): Generator<TensorRecord> {
  const profiles = Math.max(1, ...inputs.map(({ profiles, values = [] }) => Math.max(profiles.length, values.length)))
  for (let profile = 0; profile < profiles; profile++) {
    const record = Object.create(null) as TensorRecord
    for (const info of inputs) record[info.name] = bestValues(info, profile) ?? zeros(info, profile, maxBatch)
    yield record
  }
}

/** Where requests are merged, of no more rows than a batch may have. */
function zeros({ name, dtype, shape, profiles }: ModelTensor, profile: number, maxBatch: number | undefined): Tensor {
  const best = shape.includes(-1) ? profiles[profile]?.opt : shape
  if (best === undefined)
    throw new TensorRTError(
      'ERR_TRT_SHAPES_REQUIRED',
      `Input '${name}' ${shapeText(shape)} is dynamic, and no profile says which shape to warm up with: give shapes`,
    )
  const [rows = 0, ...rest] = best
  return Tensor.zeros(dtype, maxBatch !== undefined && rows > maxBatch ? [maxBatch, ...rest] : best)
}
