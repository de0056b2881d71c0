import { cpus } from 'node:os'
import { setImmediate } from 'node:timers/promises'
import { getHeapStatistics } from 'node:v8'
import type { Backend, BenchmarkFacts, BenchmarkListener, ModelTensor } from '../backend/backend.js'
import type { Cut } from '../base/cancellation.js'
import { shapeText } from '../base/dims.js'
import { deepFrozen, defined } from '../base/options.js'
import { randomTensor } from '../benchmark/random.js'
import { mostKept, Sample } from '../benchmark/sample.js'
import {
  addedTime,
  summarize,
  summarizeTrace,
  type TraceSummary,
  traceRow,
  warningsOf,
} from '../benchmark/statistics.js'
import type {
  Benchmark,
  BenchmarkPhase,
  BenchmarkSettings,
  BenchmarkWarning,
  CountedSummary,
  EngineLayers,
  TraceRow,
} from '../benchmark/types.js'
import { expected, TensorRTError } from '../errors.js'
import { Tensor } from '../tensor.js'
import type { InputChecker } from './arguments.js'
import { bestValues } from './best-values.js'
import type { CheckedBenchmarkOptions } from './benchmark-options.js'
import type { TensorRecord } from './declaration.js'
import { refuseWrongNames } from './given-inputs.js'
import { engineLayers } from './layers.js'

/** What is measured. */
export interface Measured {
  readonly backend: MeasurableBackend
  readonly checker: InputChecker
  /** The model's file, where it has one. */
  readonly model: string | undefined
  readonly infer: (inputs: TensorRecord) => Promise<unknown>
}

type MeasurableBackend = Backend & Required<Pick<Backend, 'benchmark'>>

export function isMeasurable(backend: Backend): backend is MeasurableBackend {
  return backend.benchmark !== undefined
}

/** @throws TensorRTError as {@link Engine.benchmark} */
export async function runBenchmark(
  measured: Measured,
  options: CheckedBenchmarkOptions,
  cut: Cut | undefined,
): Promise<Benchmark> {
  const { backend } = measured
  const settings = settingsOf(backend, options)
  refuseOnCpu(backend, options)
  const inputs = benchmarkInputs(measured, options)
  refuseEmpty(backend, inputs)
  const facts = await backend.benchmark(
    { ...settings, mostQueries: keptQueries(), outputs: options.outputs, inputs },
    cut,
    queryListener(options),
  )
  const trace = summarizeTrace(await rowsOf(facts.queries), options.warmUpMs, options.percentiles, facts)
  const endToEnd = options.endToEnd ? counted(facts.endToEnd, facts.alone, options) : undefined
  const javascript = options.javascript ? await timeInfer(measured, inputs, options, cut) : undefined
  const layers = options.layers ? await timeLayers(measured, inputs, options, trace, cut) : undefined
  const found = {
    kind: 'benchmark',
    runtime: facts.runtime,
    backend: backend.kind,
    device: deviceOf(backend, facts),
    model: measured.model,
    settings: deepFrozen({
      ...settings,
      shapes: Object.fromEntries(backend.inputs.map(({ name }, i) => [name, inputs[i]?.shape ?? []])),
    }),
    ...trace,
    endToEnd,
    javascript:
      javascript && Object.freeze({ infer: javascript.summary, ...addedTime(javascript.times, facts.endToEnd) }),
    layers,
    outputs: options.outputs ? outputsOf(backend, facts) : undefined,
    warnings: Object.freeze([...warningsOf(trace, { ...settings, backend: backend.kind }), ...graphWarning(facts)]),
  } as const
  return Object.freeze(defined(found))
}

/**
 * Of how many queries the times are kept: 2^20, or as many as fit into a quarter of what is left of the heap. A row
 * takes 330 bytes, and a third as much while it is summed up.
 */
function keptQueries(): number {
  const { heap_size_limit: most, used_heap_size: used } = getHeapStatistics()
  return Math.min(mostKept, Math.max(1024, Math.floor((most - used) / 4 / 512)))
}

/** On the CPU nothing is copied or enqueued, and each stream has its thread. */
function settingsOf({ kind }: Backend, options: CheckedBenchmarkOptions): Omit<BenchmarkSettings, 'shapes'> {
  const {
    inputs: _inputs,
    shapes: _shapes,
    outputs: _outputs,
    signal: _signal,
    onProgress: _onProgress,
    ...settings
  } = options
  return kind === 'tensorrt' ? settings : { ...settings, transfers: false, depth: 1, threads: options.streams > 1 }
}

function refuseOnCpu({ kind }: Backend, options: CheckedBenchmarkOptions): void {
  const only = (['cudaGraph', 'spinWait', 'layers'] as const).find((name) => options[name])
  if (kind === 'cpu' && only !== undefined)
    throw new TensorRTError(
      'ERR_TRT_UNSUPPORTED',
      `${only} needs the TensorRT backend; this engine runs on the CPU. Leave it out`,
    )
}

function deviceOf({ device = -1, kind }: Backend, facts: BenchmarkFacts): Benchmark['device'] {
  const name = kind === 'tensorrt' ? facts.device : (cpus()[0]?.model.trim() ?? '')
  return Object.freeze({ index: device, ...(name !== '' && { name }) })
}

/** In the model's order: those that were given, and for the others what their shapes say. */
function benchmarkInputs(
  { backend, checker }: Measured,
  { inputs, shapes, profile }: CheckedBenchmarkOptions,
): Tensor[] {
  checkProfile(backend, profile)
  refuseWrongNames({ inputs, shapes }, backend.inputs)
  const made = backend.inputs
    .filter(({ name }) => !inputs.has(name))
    .map((info) => [info.name, madeInput(info, shapes.get(info.name), profile)] as const)
  return checker.check(new Map([...inputs, ...made])) as Tensor[]
}

/** An empty batch costs next to nothing, and its figures would be taken for those of the model. */
function refuseEmpty({ inputs }: Backend, tensors: readonly Tensor[]): void {
  const at = tensors.findIndex(({ shape }) => shape[0] === 0) // other sizes may be 0, such as that of an empty cache
  if (at < 0) return
  const { name } = inputs[at]!
  throw new TensorRTError(
    'ERR_TRT_SHAPE',
    `Expected at least one row for input ${JSON.stringify(name)} of a benchmark but received the shape ${shapeText(tensors[at]!.shape)}`,
    { details: { name } },
  )
}

function checkProfile({ inputs }: Backend, profile: number): void {
  const count = Math.max(1, ...inputs.map(({ profiles, values = [] }) => Math.max(profiles.length, values.length)))
  if (profile >= count)
    throw expected(`the number of one of the engine's ${count} optimization profiles`, 'profile', profile)
}

function madeInput(info: ModelTensor, given: readonly number[] | undefined, profile: number): Tensor {
  const { name, dtype, shape, profiles, values } = info
  const dims = given ?? (shape.includes(-1) ? profiles[profile]?.opt : shape)
  const required = (what: string): TensorRTError =>
    new TensorRTError('ERR_TRT_SHAPES_REQUIRED', `Input ${JSON.stringify(name)} ${what}`, { details: { name } })
  if (dims === undefined)
    throw required('is dynamic, and no profile says which shape is best: give one in shapes, or a Tensor in inputs')
  if (values === undefined) return randomTensor(info, dims, 1)
  const best = bestValues(info, profile)
  if (best !== undefined) return best
  const isWhole = dtype === 'int32' || dtype === 'int64'
  const why = isWhole
    ? 'is read by the CPU, and no profile says which values are best'
    : `of type ${dtype} is read by the CPU`
  throw required(`${why}: give a Tensor in inputs`)
}

/**
 * In slices of some milliseconds, between which the event loop goes on: a query may take microseconds, and they are
 * many then.
 */
async function rowsOf(queries: Float64Array): Promise<TraceRow[]> {
  const slice = 4096
  const rows: TraceRow[] = []
  for (let i = 0; i < queries.length; i += 8) {
    if (rows.length % slice === slice - 1) await setImmediate()
    const at = (stage: number): number => queries[i + stage]!
    rows.push(
      traceRow({
        enqueueStart: at(0),
        enqueueEnd: at(1),
        copyInStart: at(2),
        copyIn: at(3),
        computeStart: at(4),
        compute: at(5),
        copyOutStart: at(6),
        copyOut: at(7),
      }),
    )
  }
  return rows
}

function counted(times: Float64Array, queries: number, { percentiles }: CheckedBenchmarkOptions): CountedSummary {
  return Object.freeze({ ...summarize(times, percentiles), queries })
}

/** What each of the parts after the first takes at least: see {@link BenchmarkOptions.endToEnd}. */
const furtherMs = ({ warmUpMs, durationMs }: CheckedBenchmarkOptions): number => warmUpMs + durationMs / 3

function queryListener(options: CheckedBenchmarkOptions): BenchmarkListener | undefined {
  const { onProgress, warmUpMs, durationMs } = options
  if (onProgress === undefined) return undefined
  return (part, elapsedMs) => {
    if (part === 'end-to-end') onProgress({ phase: 'end-to-end', elapsedMs, totalMs: furtherMs(options) })
    else if (elapsedMs < warmUpMs) onProgress({ phase: 'warm-up', elapsedMs, totalMs: warmUpMs })
    else onProgress({ phase: 'measure', elapsedMs: elapsedMs - warmUpMs, totalMs: durationMs })
  }
}

/** Tells of a phase that runs in JavaScript, no more than ten times a second. */
function teller(options: CheckedBenchmarkOptions, phase: BenchmarkPhase): (elapsedMs: number) => void {
  let last = -Infinity
  return (elapsedMs) => {
    if (elapsedMs - last < 100) return
    last = elapsedMs
    options.onProgress?.({ phase, elapsedMs, totalMs: furtherMs(options) })
  }
}

/** One call at a time, by the host's clock; by the same rule as native code times queries that are alone. */
async function timeInfer(
  { backend, infer }: Measured,
  inputs: readonly Tensor[],
  options: CheckedBenchmarkOptions,
  cut: Cut | undefined,
): Promise<{ readonly summary: CountedSummary; readonly times: Float64Array }> {
  const record = Object.create(null) as TensorRecord
  backend.inputs.forEach(({ name }, i) => (record[name] = inputs[i]!))
  const tell = teller(options, 'javascript')
  const times = new Sample(keptQueries())
  const begun = performance.now()
  for (let elapsed = 0; elapsed < furtherMs(options) || times.seen < options.iterations;) {
    cut?.throwIfHappened()
    const start = performance.now()
    await infer(record)
    const end = performance.now()
    if (start - begun >= options.warmUpMs) times.add(end - start)
    elapsed = end - begun
    tell(elapsed)
  }
  return { summary: counted(times.values, times.seen, options), times: times.values }
}

async function timeLayers(
  { backend }: Measured,
  inputs: readonly Tensor[],
  options: CheckedBenchmarkOptions,
  { compute }: TraceSummary,
  cut: Cut | undefined,
): Promise<EngineLayers> {
  cut?.throwIfHappened()
  teller(options, 'layers')(0)
  const asLong = Math.round(options.durationMs / 3 / compute.median)
  const runs = Math.min(1000, Math.max(options.iterations, Number.isFinite(asLong) ? asLong : 0))
  const { profile } = options
  const found = await backend.layers?.({ profile, iterations: runs, inputs }, cut)
  if (found === undefined) throw new TensorRTError('ERR_TRT_UNSUPPORTED', 'layers needs the TensorRT backend')
  return engineLayers(found, { iterations: runs, profile, minShare: 0, expect: undefined }, backend.precisions)
}

function outputsOf({ outputs }: Backend, facts: BenchmarkFacts): Readonly<Record<string, Tensor>> {
  const record = Object.create(null) as Record<string, Tensor>
  outputs.forEach(({ name, dtype }, i) => {
    const found = facts.outputs[i]
    if (found !== undefined) record[name] = Tensor.fromBytes(dtype, found.data, found.shape)
  })
  return Object.freeze(record)
}

function graphWarning({ graphRefused }: BenchmarkFacts): BenchmarkWarning[] {
  return graphRefused === ''
    ? []
    : [Object.freeze({ code: 'no-graph', message: `It ran without a CUDA graph: ${graphRefused}` })]
}
