import { checkedObject } from '../base/checks.js'
import { checkedOptions, is, option, type OptionTable } from '../base/option-table.js'
import { Engine } from '../engine.js'
import { type CpuEngineOptions } from '../engine/cpu-options.js'
import { type CallInput, isTensor } from '../engine/arguments.js'
import { inOrder } from '../engine/stream.js'
import { expected, TensorRTError } from '../errors.js'
import { copyModel, GraphEditor, type ModelProto } from '../onnx/index.js'
import type { Tensor } from '../tensor.js'
import { calibrateTable } from './calibrator.js'
import { BatchSource, type CalibrationData } from './data.js'
import { type Closeness, type Difference, DifferenceSum } from './difference.js'
import { computedFloats, withOutputs } from './graph.js'
import { openEngine } from './running.js'
import { loadModel, type OnnxModel } from './source.js'

/** What is compared: an engine, which stays open, or an ONNX model, which is run on the CPU for this. */
export type Comparable = Engine | OnnxModel

/** Options of {@link compare} and {@link compareLayers}. */
export interface CompareOptions {
  /** How onnxruntime runs ONNX models. */
  readonly cpu?: CpuEngineOptions | undefined
  /** The most batches that are taken of the data; default: all. */
  readonly maxBatches?: number | undefined
  /**
   * How far an element may be from the reference's, for {@link Difference.outside}: of all outputs, or by their names.
   * Default: as numpy.allclose has it, 1e-8 for `atol` and 1e-5 for `rtol`, where the other one is given.
   */
  readonly atol?: number | Readonly<Record<string, number>> | undefined
  /** The same relative to the reference's element. */
  readonly rtol?: number | Readonly<Record<string, number>> | undefined
  /** Rejects the call with the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

/** How far a model is from a reference. */
export interface Comparison {
  /** How many batches were compared. */
  readonly batches: number
  /** The difference of each output (or value, of {@link compareLayers}), by name. */
  readonly outputs: Readonly<Record<string, Difference>>
}

/**
 * Runs two models (or one model on two backends, or in two precisions) on the same inputs, and says how far the second
 * is from the first, for each output. The data is what {@link Calibrator} takes. ONNX models that have Q/DQ are run
 * with it as it stands in the graph, and not with INT8 kernels of the CPU, whose sums may saturate; their float16
 * values are rounded after each node, as on a GPU. An {@link Engine} is run as it is: on the CPU onnxruntime computes
 * float16 in float32, and what overflows on a GPU does not there.
 * @throws TensorRTError (as a rejection) ERR_TRT_INVALID_ARGUMENT where there is no data, or the outputs are not the
 * same; ERR_TRT_SHAPE where an output has another shape; those of {@link Engine.load} and {@link Engine.infer}
 */
export async function compare(
  reference: Comparable,
  other: Comparable,
  data: CalibrationData,
  options?: CompareOptions,
): Promise<Comparison> {
  const { signal, source, cpu, close } = checkedCompare(data, options, 'compare')
  await using a = await opened(reference, cpu, signal)
  await using b = await opened(other, cpu, signal)
  return await compareEngines(a.engine, b.engine, { source, close, signal })
}

/**
 * The same for each layer: for every float32 value that both models compute under one name, in the order of the first.
 * What a model that was quantized or converted computes under a name is what the one that it was made from does.
 * @throws TensorRTError (as a rejection) as {@link compare}
 */
export async function compareLayers(
  reference: OnnxModel,
  other: OnnxModel,
  data: CalibrationData,
  options?: CompareOptions,
): Promise<Comparison> {
  const { signal, source, cpu, close } = checkedCompare(data, options, 'compareLayers')
  const [a, b] = [await loadModel(reference), await loadModel(other)]
  const common = commonValues(a, b)
  await using first = await openEngine(withOutputs(new GraphEditor(a), common), cpu, signal)
  await using second = await openEngine(withOutputs(new GraphEditor(b), common), cpu, signal)
  return await compareEngines(first, second, { source, close, signal })
}

function checkedCompare(data: unknown, options: unknown, owner: string) {
  const { maxBatches, signal, atol, rtol, cpu } = checkedOptions(options, table, owner)
  signal?.throwIfAborted()
  return { signal, source: new BatchSource(data, maxBatches), cpu, close: { atol, rtol } }
}

type Tolerance = number | Readonly<Record<string, number>>

/** numpy.allclose's, where one of both is given. */
const closeDefaults = { atol: 1e-8, rtol: 1e-5 } as const

interface Tolerances {
  readonly atol: Tolerance | undefined
  readonly rtol: Tolerance | undefined
}

function checkedTolerance(value: unknown, name: string): Tolerance {
  const check = is.number(0, Number.MAX_VALUE, 'a number from 0')
  if (typeof value !== 'object') return check(value, name)
  const entries = Object.entries(checkedObject(value, name, 'a number from 0, or numbers by the names of outputs,'))
  return Object.fromEntries(entries.map(([output, each]) => [output, check(each, `${name}.${output}`)]))
}

/** Nothing where nothing is asked of this output. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
function closenessOf(name: string, { atol, rtol }: Tolerances): Closeness | undefined {
  const of = (tolerance: Tolerance | undefined): number | undefined =>
    typeof tolerance === 'object' ? (Object.hasOwn(tolerance, name) ? tolerance[name] : undefined) : tolerance
  const [absolute, relative] = [of(atol), of(rtol)]
  if (absolute === undefined && relative === undefined) return undefined
  return { atol: absolute ?? closeDefaults.atol, rtol: relative ?? closeDefaults.rtol }
}

function checkNames(names: readonly string[], tolerances: Tolerances): void {
  for (const [option, tolerance] of Object.entries(tolerances) as [string, Tolerance | undefined][])
    for (const name of typeof tolerance === 'object' ? Object.keys(tolerance) : [])
      if (!names.includes(name)) throw expected(`names of outputs (${names.join(', ')})`, option, name)
}

const { onProgress: _, ...ownTable } = calibrateTable
const table = {
  ...ownTable,
  maxBatches: option(is.whole(1), Infinity),
  atol: option(checkedTolerance),
  rtol: option(checkedTolerance),
} satisfies OptionTable<CompareOptions>

interface Opened extends AsyncDisposable {
  readonly engine: Engine
}

async function opened(model: Comparable, cpu: CpuEngineOptions, signal: AbortSignal | undefined): Promise<Opened> {
  if (model instanceof Engine) {
    await model.ready
    return { engine: model, [Symbol.asyncDispose]: async () => {} }
  }
  const engine = await openEngine(await loadModel(model), cpu, signal)
  return { engine, [Symbol.asyncDispose]: () => engine.close() }
}

/** What is compared, and how. */
interface Compared {
  readonly source: BatchSource
  readonly close: Tolerances
  readonly signal: AbortSignal | undefined
}

/** Both run each batch; what they gave is added up before the next. */
async function compareEngines(a: Engine, b: Engine, { source, close, signal }: Compared): Promise<Comparison> {
  const names = Object.keys(a.outputs)
  checkOutputs(names, Object.keys(b.outputs))
  checkNames(names, close)
  const sums = names.map((name) => new DifferenceSum(closenessOf(name, close)))
  const run = async (given: CallInput, cut: AbortSignal): Promise<[Results, Results]> =>
    Promise.all([a.infer(namedInputs(a, given), { signal: cut }), b.infer(namedInputs(b, given), { signal: cut })])
  let batches = 0
  for await (const [x, y] of inOrder(source.open(), { most: 1, signal, run })) {
    for (const [i, name] of names.entries()) await sums[i]?.add(name, x[name] as Tensor, y[name] as Tensor)
    batches++
  }
  if (batches === 0)
    throw new TensorRTError(
      'ERR_TRT_INVALID_ARGUMENT',
      'There is no data: the iterable for the comparison has no batch',
    )
  return { batches, outputs: Object.fromEntries(names.map((name, i) => [name, (sums[i] as DifferenceSum).result])) }
}

export type Results = Readonly<Record<string, Tensor>>

/** By name also where there is one, so that all outputs come, however many there are. */
export function namedInputs(engine: Engine, given: CallInput): Results {
  const inputs = isTensor(given) ? { [Object.keys(engine.inputs)[0] as string]: given } : Object.fromEntries(given)
  return inputs as Results
}

function checkOutputs(a: readonly string[], b: readonly string[]): void {
  const missing = a.find((name) => !b.includes(name)) ?? b.find((name) => !a.includes(name))
  if (missing === undefined) return
  throw new TensorRTError(
    'ERR_TRT_INVALID_ARGUMENT',
    `Expected the same outputs of both models but the first has ${a.join(', ')} and the second ${b.join(', ')}`,
  )
}

function commonValues(a: ModelProto, b: ModelProto): string[] {
  const ofB = new Set(computedFloats(new GraphEditor(copyModel(b))))
  return computedFloats(new GraphEditor(copyModel(a))).filter((value) => ofB.has(value))
}
