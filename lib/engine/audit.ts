import type { EngineAuditFacts } from '../backend/backend.js'
import {
  type AuditPrecision,
  type EngineLayer,
  engineLayers,
  type ExpectedPrecision,
  precisionTypes,
} from './layers.js'
import { expected } from '../errors.js'
import { checkedNumber, checkedSignal, checkedWhole } from '../base/checks.js'
import { deepFrozen, readOptions } from '../base/options.js'

/** Options of {@link Engine.audit}. */
export interface EngineAuditOptions {
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
  /** Rejects the audit at once; the execution under way ends first. */
  readonly signal?: AbortSignal | undefined
}

/** How much of an engine computes in a precision. */
export interface PrecisionShare {
  /** The type of a layer's first input, as NVIDIA's Engine Explorer has it; `unknown` where TensorRT does not tell. */
  readonly precision: AuditPrecision
  /** How many layers there are. */
  readonly layers: number
  /** Their share of the time of all layers, from 0 to 1. */
  readonly timeShare: number
}

/** A layer with its time. */
export interface AuditedLayer extends EngineLayer {
  /** The median of the timed executions, in milliseconds. */
  readonly medianMs: number
  /** The mean of the timed executions, in milliseconds. */
  readonly averageMs: number
  /** The share of the time of all layers, from 0 to 1. */
  readonly timeShare: number
}

/** What a built engine is made of, and where its time goes. Plain data, frozen. */
export interface EngineAudit {
  /** What was audited: a built engine. */
  readonly kind: 'engine'
  /** How many layers the engine has. */
  readonly layers: number
  /** How much computes in each precision; the one with most of the time first. */
  readonly precisions: readonly PrecisionShare[]
  /** The ten slowest layers. */
  readonly slowest: readonly AuditedLayer[]
  /**
   * The time of all layers in an average execution, in milliseconds: one after the other, and with the profiler's own
   * cost.
   */
  readonly totalMs: number
  /** How many executions were timed. */
  readonly iterations: number
  /** The number of the optimization profile that it ran in. */
  readonly profile: number
  /** The shapes of the inputs that it ran at, by name. */
  readonly shapes: Readonly<Record<string, readonly number[]>>
  /** Why TensorRT does not tell all; absent where the plan was built with `profilingVerbosity: 'detailed'`. */
  readonly limited?: string
  /** What is not as expected: a precision that is absent, layers without a known precision. */
  readonly warnings: readonly string[]
}

export interface CheckedAuditOptions {
  readonly iterations: number
  readonly profile: number
  readonly expect: readonly ExpectedPrecision[] | undefined
  readonly minShare: number
}

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedAuditOptions(
  options: unknown,
): CheckedAuditOptions & { readonly signal: AbortSignal | undefined } {
  const given = readOptions(options, ['iterations', 'profile', 'expect', 'minShare', 'signal'], 'audit')
  const { iterations = 10, profile = 0, expect, minShare = 0 } = given
  return {
    iterations: checkedWhole(iterations, 'iterations', 1, 1000),
    profile: checkedWhole(profile, 'profile', 0, 2 ** 31 - 1, 'the number of an optimization profile'),
    expect: expect === undefined ? undefined : checkedPrecisions(expect),
    minShare: checkedNumber(minShare, 'minShare', 0, 1, 'a share from 0 to 1'),
    signal: checkedSignal(given.signal),
  }
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
export function engineAudit(
  found: EngineAuditFacts,
  options: CheckedAuditOptions,
  builtFor: readonly string[] = [],
): EngineAudit {
  const { iterations, profile, minShare, expect = builtFor.filter(isPrecision) } = options
  const listed = engineLayers(found.document)
  const count = listed.length > 0 ? listed.length : found.layers
  const layers = timed(listed, found.times)
  const precisions = sharesOf(layers, count)
  const limited = limitOf(found.verbosity)
  const outcome = { precisions, count, minShare, limited }
  return deepFrozen({
    kind: 'engine',
    layers: count,
    precisions,
    slowest: [...layers.listed, ...layers.strays].sort((a, b) => b.averageMs - a.averageMs).slice(0, 10),
    totalMs: totalOf(found.times),
    iterations,
    profile,
    shapes: Object.fromEntries(found.shapes.map(({ name, shape }) => [name, shape])),
    ...(limited !== undefined && { limited }),
    warnings: [
      ...(listed.length > 0 ? strayWarning(layers.strays) : []),
      ...(limited === undefined ? unknownWarning(precisions, count) : []),
      ...expect.flatMap((name) => expectation(name, outcome)),
    ],
  })
}

type Times = EngineAuditFacts['times']

const totalOf = (times: Times): number => times.reduce((sum, { averageMs }) => sum + averageMs, 0)

interface TimedLayers {
  readonly listed: readonly AuditedLayer[]
  /** What was timed, and is not among the layers that the inspector lists. */
  readonly strays: readonly AuditedLayer[]
}

/** Each time goes to the first layer of its name that has none yet. */
function timed(listed: readonly EngineLayer[], times: Times): TimedLayers {
  const total = totalOf(times)
  const withTime = (layer: EngineLayer, { averageMs, medianMs }: Omit<Times[number], 'name'>): AuditedLayer => ({
    ...layer,
    averageMs,
    medianMs,
    timeShare: total > 0 ? averageMs / total : 0,
  })
  const waiting = new Map<string, Times[number][]>()
  for (const time of times) {
    const ofName = waiting.get(time.name)
    if (ofName === undefined) waiting.set(time.name, [time])
    else ofName.push(time)
  }
  const layers = listed.map((layer) =>
    withTime(layer, waiting.get(layer.name)?.shift() ?? { averageMs: 0, medianMs: 0 }),
  )
  const left = [...waiting.values()].flat()
  return {
    listed: layers,
    strays: left.map((time) => withTime({ name: time.name, type: 'unknown', precision: 'unknown' }, time)),
  }
}

/**
 * The numbers of layers add up to `count`, and the shares to 1: what was timed and is not listed counts as unknown
 * time.
 */
function sharesOf({ listed, strays }: TimedLayers, count: number): PrecisionShare[] {
  const shares = new Map<AuditPrecision, { layers: number; timeShare: number }>()
  const add = (precision: AuditPrecision, layers: number, timeShare: number): void => {
    const before = shares.get(precision) ?? { layers: 0, timeShare: 0 }
    shares.set(precision, { layers: before.layers + layers, timeShare: before.timeShare + timeShare })
  }
  for (const { precision, timeShare } of listed) add(precision, 1, timeShare)
  for (const { timeShare } of strays) add('unknown', 0, timeShare)
  if (listed.length < count) add('unknown', count - listed.length, 0)
  return [...shares]
    .map(([precision, share]) => ({ precision, ...share }))
    .sort((a, b) => b.timeShare - a.timeShare || b.layers - a.layers)
}

function limitOf(verbosity: string): string | undefined {
  if (verbosity === 'detailed') return undefined
  return `The plan was built with profilingVerbosity '${verbosity}': TensorRT tells precisions only of plans built with 'detailed'`
}

function strayWarning(strays: readonly AuditedLayer[]): string[] {
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
