// Sums and differences of what engines count.
import type { BatchSizeCounters, EngineCounters } from '../../backend/backend.js'

type Numbers<T> = { readonly [K in keyof T]: T[K] extends number ? T[K] : never }

/** Numbers of two objects of one form, each with the other's by its name. */
function combined<T extends object>(a: T, b: T, combine: (a: number, b: number) => number): T {
  const entries = Object.entries(a as Numbers<T>).map(([name, value]) => {
    const other: unknown = (b as Record<string, unknown>)[name]
    return [name, typeof value === 'number' && typeof other === 'number' ? combine(value, other) : value] as const
  })
  return Object.fromEntries(entries) as T
}

function zeros<T extends object>(like: T): T {
  return combined(like, like, () => 0)
}

function combinedSizes(
  a: readonly BatchSizeCounters[],
  b: readonly BatchSizeCounters[],
  combine: (a: number, b: number) => number,
): readonly BatchSizeCounters[] {
  const sizes = new Map([...a, ...b].map((each) => [each.rows, zeros(each)]))
  const of = (list: readonly BatchSizeCounters[], rows: number, zero: BatchSizeCounters): BatchSizeCounters =>
    list.find((each) => each.rows === rows) ?? zero
  return [...sizes]
    .map(([rows, zero]) => ({ ...combined(of(a, rows, zero), of(b, rows, zero), combine), rows }))
    .filter(({ executions, requests }) => executions > 0 || requests > 0)
    .sort((one, other) => one.rows - other.rows)
}

function combinedCounters(
  a: EngineCounters,
  b: EngineCounters,
  combine: (a: number, b: number) => number,
): EngineCounters {
  return {
    ...combined(a, b, combine),
    failures: combined(a.failures, b.failures, combine),
    sampled: combined(a.sampled, b.sampled, combine),
    batchSizes: combinedSizes(a.batchSizes, b.batchSizes, combine),
  }
}

/** What several engines have done. */
export function sumOfCounters(all: readonly [EngineCounters, ...EngineCounters[]]): EngineCounters {
  return all.reduce((sum, each) => combinedCounters(sum, each, (a, b) => a + b))
}

/** What was done between two reads of one engine. */
export function countersSince(now: EngineCounters, before: EngineCounters): EngineCounters {
  return combinedCounters(now, before, (a, b) => a - b)
}
