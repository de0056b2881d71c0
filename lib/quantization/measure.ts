import { setImmediate as turn } from 'node:timers/promises'
import { Observation, type Observed } from '../backend/observing.js'
import type { CpuOptions } from '../backend/cpu-options.js'
import { type CallInput, infosByName, InputChecker } from '../engine/arguments.js'
import { inOrder } from '../engine/stream.js'
import { TensorRTError } from '../errors.js'
import { copyModel, GraphEditor, type ModelProto } from '../onnx/index.js'
import type { Tensor } from '../tensor.js'
import { BatchHash } from './data.js'
import type { TensorRange } from './calibration.js'
import { computedFloats, withOutputs } from './graph.js'
import { withSource } from './running.js'
import { type Algorithm, thresholdOf } from './thresholds.js'

/** Where a calibration is. */
export interface CalibrationProgress {
  /** Batches that were run. */
  readonly batches: number
}

export interface MeasureOptions {
  readonly cpu: CpuOptions
  readonly onProgress?: ((progress: CalibrationProgress) => void) | undefined
  readonly signal?: AbortSignal | undefined
}

/** What was seen when a model ran on data. */
export interface Measured {
  readonly observed: readonly Observed[]
  readonly batches: number
  /** Of the inputs of the first batch. */
  readonly shapes: Readonly<Record<string, readonly number[]>>
  /** The hash of all batches. */
  readonly data: string
}

/** How many batches are under way: while one runs the next is got ready. */
const atOnce = 2

/**
 * Runs a model on data, on the CPU, and counts the values of all its float32 tensors where they are computed.
 * @throws TensorRTError ERR_TRT_CALIBRATION where there is no data, or nothing to measure; what the data throws; what
 * running the model throws
 */
export async function measure(
  model: ModelProto,
  data: AsyncIterable<CallInput>,
  options: MeasureOptions,
): Promise<Measured> {
  const { cpu, onProgress, signal } = options
  const open = (source: Uint8Array | string): Promise<Observation> => Observation.open(source, { cpu, signal })
  await using observation = await withSource(observable(model), signal, open)
  const names = observation.inputs.map(({ name }) => name)
  const checker = new InputChecker(infosByName(observation.inputs), names, 'cpu')
  const hash = new BatchHash()
  let shapes: Measured['shapes'] = {}
  let batches = 0
  const run = async (given: CallInput, cut: AbortSignal): Promise<number> => {
    const tensors = checker.check(given) as Tensor[]
    hash.add(names, tensors)
    const number = ++batches
    if (number === 1) shapes = Object.fromEntries(tensors.map(({ shape }, i) => [names[i] as string, shape]))
    await observation.run(tensors, { signal: cut })
    return number
  }
  for await (const number of inOrder(data, { most: atOnce, signal, run })) onProgress?.({ batches: number })
  if (batches === 0)
    throw new TensorRTError('ERR_TRT_CALIBRATION', 'There is no data: the iterable for the calibration has no batch')
  return { observed: observation.observed(), batches, shapes, data: hash.digest() }
}

/** The model with each float32 value as an output. @throws TensorRTError ERR_TRT_CALIBRATION */
function observable(model: ModelProto): ModelProto {
  const editor = new GraphEditor(copyModel(model))
  const values = measurable(editor)
  if (values.length === 0) throw new TensorRTError('ERR_TRT_CALIBRATION', 'The model has no float32 values to measure')
  return withOutputs(editor, values)
}

/** What is computed, and what is given. */
function measurable(editor: GraphEditor): string[] {
  const inputs = editor.graph.input.map(({ name }) => name).filter((name) => editor.isInput(name))
  return [...new Set(computedFloats(editor, inputs))]
}

/** The range of each value. The searches take milliseconds each: others get their turn between them. */
export async function rangesOf(
  observed: readonly Observed[],
  algorithm: Algorithm,
  percentile: number | undefined,
  signal: AbortSignal | undefined,
): Promise<Map<string, TensorRange>> {
  const ranges = new Map<string, TensorRange>()
  for (const { name, min, max, count, nonFinite, width, counts } of observed) {
    signal?.throwIfAborted()
    const histogram = { width, counts }
    ranges.set(name, {
      amax: thresholdOf({ ...histogram, min, max }, algorithm, percentile),
      min,
      max,
      count,
      nonFinite,
      histogram,
    })
    await turn()
  }
  return ranges
}
