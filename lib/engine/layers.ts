import type { LayerFacts } from '../backend/backend.js'
import { type ExpectedPrecision, inspectedLayers, precisionTypes } from '../benchmark/inspector.js'
import type { EngineLayer, EngineLayers, LayerPrecision, LayerTiming, PrecisionShare } from '../benchmark/types.js'
import { expected } from '../errors.js'
import { type Checked, checkedOptions, is, option, type OptionTable, signalOption } from '../base/option-table.js'
import { deepFrozen } from '../base/options.js'

/** Options of {@link Engine.layers}. */
export interface EngineLayersOptions {
  /** How many executions are timed, after some that are not; default 10, at most 1000. */
  readonly iterations?: number | undefined
  /** The number of the optimization profile whose best shapes it runs at; default 0. */
  readonly profile?: number | undefined
  /**
   * Precisions that the engine is to have: one that is absent, or takes less than `minShare` of the time, gives a
   * warning. Default: those that the plan was built for but `fp32`, where that is known (plans of {@link Builder},
   * files with a sidecar).
   */
  readonly expect?: ExpectedPrecision | readonly ExpectedPrecision[] | undefined
  /** The least share of the time, from 0 to 1, that each expected precision is to have; default 0. */
  readonly minShare?: number | undefined
  /** Rejects the call at once; the execution under way ends first. */
  readonly signal?: AbortSignal | undefined
}

const table = {
  iterations: option(is.whole(1, 1000), 10),
  profile: option(is.whole(0, 2 ** 31 - 1, 'the number of an optimization profile'), 0),
  expect: option(checkedPrecisions),
  minShare: option(is.number(0, 1, 'a share from 0 to 1'), 0),
  signal: signalOption,
} satisfies OptionTable<EngineLayersOptions>

export type CheckedLayersOptions = Checked<typeof table>

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedLayersOptions(options: unknown): CheckedLayersOptions {
  return checkedOptions(options, table, 'layers')
}

function isPrecision(name: unknown): name is ExpectedPrecision {
  return typeof name === 'string' && Object.hasOwn(precisionTypes, name)
}

function checkedPrecisions(expect: unknown): readonly ExpectedPrecision[] {
  const list: readonly unknown[] = Array.isArray(expect) ? [...(expect as unknown[])] : [expect]
  for (const name of list) {
    if (!isPrecision(name))
      throw expected(`one of ${Object.keys(precisionTypes).join(', ')}, or an array of them,`, 'expect', name)
  }
  return list as readonly ExpectedPrecision[]
}

/** The inspector's document and the profiler's times as one account. */
export function engineLayers(
  { layers: counted, verbosity, shapes, times, ...facts }: LayerFacts,
  { iterations, profile, minShare, expect }: Omit<CheckedLayersOptions, 'signal'>,
  builtFor: readonly string[] = [],
): EngineLayers {
  const listed = inspectedLayers(facts.document)
  const count = listed.length > 0 ? listed.length : counted
  const { layers, strays } = timed(listed, times)
  const precisions = sharesOf(layers, strays, count)
  const limited = limitOf(verbosity)
  const outcome = { precisions, count, minShare, limited }
  return deepFrozen({
    count,
    layers,
    precisions,
    totalMs: totalOf(times),
    iterations,
    profile,
    shapes: Object.fromEntries(shapes.map(({ name, shape }) => [name, shape])),
    ...(limited !== undefined && { limited }),
    warnings: [
      ...(listed.length > 0 ? strayWarning(strays) : []),
      ...(limited === undefined ? unknownWarning(precisions, count) : []),
      ...(expect ?? builtFor.filter(isPrecision)).flatMap((name) => expectation(name, outcome)),
    ],
    ...facts,
  })
}

type Times = LayerFacts['times']

const totalOf = (times: Times): number => times.reduce((sum, { averageMs }) => sum + averageMs, 0)

interface TimedLayers {
  readonly layers: readonly LayerTiming[]
  /** What was timed, and is not among the layers that the inspector lists. */
  readonly strays: readonly LayerTiming[]
}

/** Each time goes to the first layer of its name that has none yet; layers without a time come last. */
function timed(listed: readonly EngineLayer[], times: Times): TimedLayers {
  const total = totalOf(times)
  const withTime = (layer: EngineLayer, { averageMs, medianMs }: Omit<Times[number], 'name'>): LayerTiming => ({
    ...layer,
    averageMs,
    medianMs,
    timeShare: total > 0 ? averageMs / total : 0,
  })
  const untimed = new Map<string, EngineLayer[]>()
  for (const layer of listed) {
    const ofName = untimed.get(layer.name)
    if (ofName === undefined) untimed.set(layer.name, [layer])
    else ofName.push(layer)
  }
  const strays: LayerTiming[] = []
  const ran = times.map((time) => {
    const layer = untimed.get(time.name)?.shift()
    if (layer !== undefined) return withTime(layer, time)
    const stray = withTime({ name: time.name, type: 'unknown', precision: 'unknown' }, time)
    strays.push(stray)
    return stray
  })
  const idle = [...untimed.values()].flat().map((layer) => withTime(layer, { averageMs: 0, medianMs: 0 }))
  return { layers: [...ran, ...idle], strays }
}

/**
 * The numbers of layers add up to `count`, and the shares to 1: what was timed and is not listed counts as unknown
 * time.
 */
function sharesOf(layers: readonly LayerTiming[], strays: readonly LayerTiming[], count: number): PrecisionShare[] {
  const shares = new Map<LayerPrecision, { layers: number; timeShare: number }>()
  const add = (precision: LayerPrecision, layers: number, timeShare: number): void => {
    const before = shares.get(precision) ?? { layers: 0, timeShare: 0 }
    shares.set(precision, { layers: before.layers + layers, timeShare: before.timeShare + timeShare })
  }
  const isStray = new Set(strays)
  for (const layer of layers) add(layer.precision, isStray.has(layer) ? 0 : 1, layer.timeShare)
  const listed = layers.length - strays.length
  if (listed < count) add('unknown', count - listed, 0)
  return [...shares]
    .map(([precision, share]) => ({ precision, ...share }))
    .sort((a, b) => b.timeShare - a.timeShare || b.layers - a.layers)
}

function limitOf(verbosity: string): string | undefined {
  if (verbosity === 'detailed') return undefined
  return `The plan was built with profilingVerbosity '${verbosity}': TensorRT tells precisions only of plans built with 'detailed'`
}

function strayWarning(strays: readonly LayerTiming[]): string[] {
  const [first] = strays
  if (first === undefined) return []
  return [
    `${strays.length} timed layers are not among those that the inspector lists, such as '${first.name}': their precision is unknown`,
  ]
}

function unknownWarning(precisions: readonly PrecisionShare[], count: number): string[] {
  const unknown = precisions.find(({ precision }) => precision === 'unknown')?.layers ?? 0
  return unknown === 0 ? [] : [`TensorRT does not tell the precision of ${unknown} of ${count} layers`]
}

interface Outcome {
  readonly precisions: readonly PrecisionShare[]
  readonly count: number
  readonly minShare: number
  readonly limited: string | undefined
}

function expectation(name: ExpectedPrecision, { precisions, count, minShare, limited }: Outcome): string[] {
  if (limited !== undefined) return [`Asked for ${name}: whether it is there cannot be told. ${limited}`]
  const found = precisions.find(({ precision }) => precision === precisionTypes[name])
  const layers = found?.layers ?? 0
  if (layers === 0) return [`Asked for ${name}: 0 of ${count} layers`]
  const share = found?.timeShare ?? 0
  if (share >= minShare) return []
  return [
    `Asked for ${name}: ${layers} of ${count} layers, and ${percent(share)} of the time, less than the ${percent(minShare)} expected`,
  ]
}

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`
