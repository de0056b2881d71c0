import type { Backend, ModelTensor } from '../backend/backend.js'
import { fitsDims, isWithinRange, shapeText } from '../base/dims.js'
import { type Checked, is, option, type OptionTable, signalOption } from '../base/option-table.js'
import type { AnyTensor } from '../device-tensor.js'
import { TensorRTError } from '../errors.js'
import { Tensor } from '../tensor.js'
import { isTensor } from './arguments.js'
import { bestValues } from './best-values.js'
import type { InputRecord, TensorName, TensorTypes } from './declaration.js'
import type { AnyTensorRecord } from './forms.js'
import { checkedInputs, checkedShapes, type GivenInputs, refuseWrongNames } from './given-inputs.js'

/** Options of {@link Engine.warmup}. */
export interface WarmupOptions<I extends TensorTypes = TensorTypes> {
  /**
   * How often each shape runs, 1 to 10000; default 4. It comes again where a lane has not met its CUDA graph in these.
   */
  readonly iterations?: number | undefined
  /**
   * The shapes of inputs, by name, as `infer` will have them: their numbers are zeros. The others have what the first
   * profile that takes these says. A shape tensor has the profile's best values.
   */
  readonly shapes?: { readonly [N in TensorName<I>]?: readonly number[] | undefined } | undefined
  /**
   * Tensors for inputs, by name: where the numbers matter, as those of a shape tensor do. Data on the host is copied.
   */
  readonly inputs?: Partial<InputRecord<I>> | undefined
  /** Rejects the call with its reason. */
  readonly signal?: AbortSignal | undefined
}

export const warmupRows = {
  iterations: option(is.whole(1, 10_000), 4),
  shapes: option(checkedShapes, new Map<string, readonly number[]>()),
  inputs: option((inputs) => checkedInputs(inputs, 'Tensor', isTensor), new Map<string, AnyTensor>()),
  signal: signalOption,
} satisfies OptionTable<WarmupOptions>

/** Rounds beyond `iterations`: on a busy machine one lane may take all of a round. */
const mostMore = 16

type Room = Pick<Backend, 'inputs' | 'concurrency' | 'batches' | 'maxBatch' | 'maxQueueBytes' | 'calls'>

/**
 * Runs something for each profile, or for what was given, `iterations` times as many at once as the lanes have memory
 * for: in rounds, so that no more of it is ever taken. The last round comes once the contexts are there that the others
 * had made: it captures their graphs, and comes again while its requests went where another lane's context is.
 */
export async function warmUp(
  room: Room,
  { iterations, ...given }: Omit<Checked<typeof warmupRows>, 'signal'>,
  run: (inputs: AnyTensorRecord) => Promise<unknown>,
): Promise<void> {
  refuseWrongNames(given, room.inputs)
  for (const inputs of warmupInputs(room, given)) {
    const inFlight = Array.from({ length: inFlightOf(inputs, room) })
    for (let i = 0; i < iterations; i++) {
      if (i > 0 && i === iterations - 1) await room.calls?.prepared()
      await Promise.all(inFlight.map(() => run(inputs)))
    }
    for (let i = 0; i < mostMore && iterations > 1 && ((await room.calls?.prepared()) ?? 0) > 0; i++)
      await Promise.all(inFlight.map(() => run(inputs)))
  }
}

/** As many requests as fill the batches that the lanes have memory for, and the queue has room for. */
function inFlightOf(
  inputs: AnyTensorRecord,
  { concurrency = 1, batches = 1, maxBatch, maxQueueBytes = Infinity }: Room,
): number {
  const rows = Object.values(inputs)[0]?.shape[0]
  const bytes = Object.values(inputs).reduce((sum, { byteLength }) => sum + byteLength, 0)
  const merged = maxBatch === undefined || rows === undefined ? 1 : Math.max(1, Math.floor(maxBatch / rows))
  return Math.min(batches * merged, concurrency, Math.max(1, Math.floor(maxQueueBytes / bytes)))
}

/** What was given; else the profile's best values for what decides shapes, and zeros in its best shape for the rest. */
function* warmupInputs({ inputs, maxBatch }: Room, given: GivenInputs): Generator<AnyTensorRecord> {
  for (const profile of profilesFor(inputs, given)) {
    const record = Object.create(null) as AnyTensorRecord
    for (const info of inputs) {
      const shape = given.shapes.get(info.name)
      const best = shape === undefined || fitsDims(shape, info.shape) ? bestValues(info, profile) : undefined
      record[info.name] =
        given.inputs.get(info.name) ?? best ?? Tensor.zeros(info.dtype, shape ?? bestShape(info, profile, maxBatch))
    }
    yield record
  }
}

/** All profiles; where something was given the first that takes it, or the first that there is, whose words follow. */
function profilesFor(inputs: readonly ModelTensor[], given: GivenInputs): readonly number[] {
  const count = Math.max(1, ...inputs.map(({ profiles, values = [] }) => Math.max(profiles.length, values.length)))
  const profiles = Array.from({ length: count }, (_, profile) => profile)
  if (given.inputs.size + given.shapes.size === 0) return profiles
  const takes = (profile: number): boolean =>
    inputs.every(({ name, profiles: { [profile]: range } }) => {
      const shape = given.inputs.get(name)?.shape ?? given.shapes.get(name)
      return shape === undefined || range === undefined || isWithinRange(shape, range)
    })
  return [profiles.find(takes) ?? 0]
}

/** Where requests are merged, of no more rows than a batch may have. */
function bestShape({ name, shape, profiles }: ModelTensor, profile: number, maxBatch?: number): readonly number[] {
  const best = shape.includes(-1) ? profiles[profile]?.opt : shape
  if (best === undefined) {
    const [key, some] = [JSON.stringify(name), shapeText(shape.map((dim) => (dim < 0 ? 1 : dim)))]
    throw new TensorRTError(
      'ERR_TRT_SHAPES_REQUIRED',
      `Input '${name}' ${shapeText(shape)} is dynamic, and no profile says which shape to warm up with: ` +
        `warmup({ shapes: { ${key}: ${some} } }) or warmup({ inputs: { ${key}: tensor } }) says it, ` +
        'or the option shapes of the engine when it is loaded',
      { details: { name } },
    )
  }
  const [rows = 0, ...rest] = best
  return maxBatch !== undefined && rows > maxBatch ? [maxBatch, ...rest] : best
}
