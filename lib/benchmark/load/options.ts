import { checkedList, checkedListener, checkedNumber, checkedObject, checkedWhole, isWhole } from '../../base/checks.js'
import { deepFrozen, plainCopy, readOptions, unaborted } from '../../base/options.js'
import { expected } from '../../errors.js'
import type { Weights } from './arrivals.js'
import type { LoadTestOptions } from './types.js'

/** Options that were read once, and checked as far as that goes without the engine. */
export interface CheckedLoadTestOptions {
  readonly rates: readonly number[] | undefined
  readonly durationMs: number
  readonly warmUpMs: number
  readonly graceMs: number
  readonly maxInFlight: number
  readonly rows: Weights | undefined
  readonly priorities: Weights | undefined
  readonly queueTimeoutMs: number | undefined
  readonly shapes: Readonly<Record<string, readonly number[]>>
  readonly seed: number
  readonly percentiles: readonly number[]
  readonly signal: AbortSignal | undefined
  readonly onProgress: LoadTestOptions['onProgress']
}

const names = [
  'rates',
  'durationMs',
  'warmUpMs',
  'graceMs',
  'maxInFlight',
  'rows',
  'priorities',
  'queueTimeoutMs',
  'shapes',
  'seed',
  'percentiles',
  'signal',
  'onProgress',
] as const

const day = 86_400_000

/** Of one rate: each is kept until its figures are summed up. */
const mostRequests = 1e7

/** Requests a second, for so long. */
export const highestRate = (durationMs: number): number => (mostRequests * 1000) / durationMs

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedLoadTestOptions(options: unknown): CheckedLoadTestOptions {
  const given = readOptions(options, names, 'loadTest')
  const milliseconds = (name: (typeof names)[number], otherwise: number, least: number): number =>
    checkedNumber(given[name] ?? otherwise, name, least, day, `milliseconds from ${least} to ${day}`)
  const durationMs = milliseconds('durationMs', 3000, 1)
  return {
    rates: given.rates === undefined ? undefined : checkedRates(given.rates, highestRate(durationMs)),
    durationMs,
    warmUpMs: milliseconds('warmUpMs', 200, 0),
    graceMs: milliseconds('graceMs', durationMs, 0),
    maxInFlight: checkedWhole(given.maxInFlight ?? 10_000, 'maxInFlight', 1, 1e6),
    rows: given.rows === undefined ? undefined : checkedWeights(given.rows, 'rows', 2 ** 31 - 1),
    priorities: given.priorities === undefined ? undefined : checkedWeights(given.priorities, 'priorities', 100),
    queueTimeoutMs:
      given.queueTimeoutMs === undefined
        ? undefined
        : checkedNumber(
            given.queueTimeoutMs,
            'queueTimeoutMs',
            Number.MIN_VALUE,
            day,
            `milliseconds above 0 and at most ${day}`,
          ),
    shapes: checkedShapes(given.shapes),
    seed: checkedWhole(given.seed ?? 1, 'seed', 0, 2 ** 31 - 1),
    percentiles: checkedPercentiles(given.percentiles),
    signal: unaborted(given.signal),
    onProgress: checkedListener(given.onProgress, 'onProgress'),
  }
}

function checkedRates(rates: unknown, highest: number): readonly number[] {
  const what = `requests a second, above 0 and at most ${Math.floor(highest)} for so long a duration,`
  const isRate = (value: unknown): value is number => typeof value === 'number' && value > 0 && value <= highest
  const list = checkedList(rates, 'rates', what, isRate)
  if (list.length === 0) throw expected('at least one rate', 'rates', rates)
  return list.sort((a, b) => a - b)
}

function checkedPercentiles(percentiles: unknown = [50, 95, 99]): readonly number[] {
  const isPercentile = (value: unknown): value is number => typeof value === 'number' && value >= 0 && value <= 100
  return Object.freeze(checkedList(percentiles, 'percentiles', 'percentiles from 0 to 100', isPercentile))
}

function checkedWeights(weights: unknown, name: 'rows' | 'priorities', most: number): Weights {
  const example = name === 'rows' ? '{ 1: 8, 4: 2 }' : '{ 1: 1, 2: 9 }'
  const what = `an object of weights by ${name === 'rows' ? 'numbers of rows' : 'level'}, such as ${example},`
  const entries = Object.entries(checkedObject(weights, name, what)).map(([key, weight]: [string, unknown]) => {
    if (!isWhole(Number(key), 1, most)) throw expected(`a whole number from 1 to ${most}`, `a key of ${name}`, key)
    if (typeof weight !== 'number' || !(weight > 0) || !Number.isFinite(weight))
      throw expected('a weight above 0', `${name}[${key}]`, weight)
    return [Number(key), weight] as const
  })
  if (entries.length === 0) throw expected(what, name, weights)
  return new Map(entries.sort(([a], [b]) => a - b))
}

function checkedShapes(shapes: unknown): Readonly<Record<string, readonly number[]>> {
  if (shapes === undefined) return {}
  const copy = plainCopy(checkedObject(shapes, 'shapes', 'shapes by the names of inputs')) as Record<string, unknown>
  for (const [name, shape] of Object.entries(copy)) {
    const isShape = Array.isArray(shape) && shape.every((size) => isWhole(size, 0))
    if (!isShape) throw expected('an array of sizes', `shape ${JSON.stringify(name)}`, shape)
  }
  return deepFrozen(copy) as Readonly<Record<string, readonly number[]>>
}
