import { checkedList, checkedObject, checkedPercentiles, isWhole } from '../../base/checks.js'
import { type Checked, checkedOptions, is, option, type OptionTable, signalOption } from '../../base/option-table.js'
import { deepFrozen, plainCopy } from '../../base/options.js'
import { expected } from '../../errors.js'
import type { Weights } from './arrivals.js'
import type { LoadTestOptions } from './types.js'

const day = 86_400_000

const table = {
  rates: option((value) => value),
  durationMs: option(is.milliseconds(day, 1), 3000),
  warmUpMs: option(is.milliseconds(day), 200),
  graceMs: option(is.milliseconds(day)),
  maxInFlight: option(is.whole(1, 1e6), 10_000),
  rows: option((value) => checkedWeights(value, 'rows', 2 ** 31 - 1)),
  priorities: option((value) => checkedWeights(value, 'priorities', 100)),
  queueTimeoutMs: option(is.number(Number.MIN_VALUE, day, `milliseconds above 0 and at most ${day}`)),
  shapes: option(checkedShapes, {}),
  seed: option(is.whole(0, 2 ** 31 - 1), 1),
  percentiles: option(checkedPercentiles, Object.freeze([50, 95, 99])),
  signal: signalOption,
  onProgress: option(is.listener<NonNullable<LoadTestOptions['onProgress']>>()),
} satisfies OptionTable<LoadTestOptions>

/** Options that were read once, and checked as far as that goes without the engine. */
export type CheckedLoadTestOptions = Omit<Checked<typeof table>, 'rates' | 'graceMs'> & {
  readonly rates: readonly number[] | undefined
  readonly graceMs: number
}

/** Of one rate: each is kept until its figures are summed up. */
const mostRequests = 1e7

/** Requests a second, for so long. */
export const highestRate = (durationMs: number): number => (mostRequests * 1000) / durationMs

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT; the signal's reason */
export function checkedLoadTestOptions(options: unknown): CheckedLoadTestOptions {
  const checked = checkedOptions(options, table, 'loadTest')
  const { rates, durationMs, graceMs = durationMs } = checked
  const atMost = highestRate(durationMs)
  checked.signal?.throwIfAborted()
  return { ...checked, graceMs, rates: rates === undefined ? undefined : checkedRates(rates, atMost) }
}

function checkedRates(rates: unknown, highest: number): readonly number[] {
  const what = `requests a second, above 0 and at most ${Math.floor(highest)} for so long a duration,`
  const isRate = (value: unknown): value is number => typeof value === 'number' && value > 0 && value <= highest
  const list = checkedList(rates, 'rates', what, isRate)
  if (list.length === 0) throw expected('at least one rate', 'rates', rates)
  return list.sort((a, b) => a - b)
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
  const copy = plainCopy(checkedObject(shapes, 'shapes', 'shapes by the names of inputs')) as Record<string, unknown>
  for (const [name, shape] of Object.entries(copy)) {
    const isShape = Array.isArray(shape) && shape.every((size) => isWhole(size, 0))
    if (!isShape) throw expected('an array of sizes', `shape ${JSON.stringify(name)}`, shape)
  }
  return deepFrozen(copy) as Readonly<Record<string, readonly number[]>>
}
