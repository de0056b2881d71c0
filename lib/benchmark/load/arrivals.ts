import { uniform } from '../random.js'

/** A request of the schedule. */
export interface Arrival {
  /** When it is due, in milliseconds since the start. */
  readonly atMs: number
  readonly rows: number
  readonly priority: number | undefined
}

/** Values, and how often each comes. */
export type Weights = ReadonlyMap<number, number>

export interface Traffic {
  readonly rows: Weights
  readonly priorities: Weights | undefined
  readonly seed: number
}

/**
 * A Poisson process: gaps are exponential and independent. The same seed gives the same requests at each rate, closer
 * together or further apart, so that rates, and engines, are compared by the same traffic.
 */
export function* arrivals(
  { rows, priorities, seed }: Traffic,
  rate: number,
  durationMs: number,
): Generator<Arrival, void, undefined> {
  const mixed = mix({ rows, priorities, seed })
  const next = uniform(seed)
  for (let atMs = gap(next, rate); atMs < durationMs; atMs += gap(next, rate)) yield { atMs, ...mixed() }
}

/** Requests without times: rows and priorities as their weights say. */
export function mix({ rows, priorities, seed }: Traffic): () => Omit<Arrival, 'atMs'> {
  const next = uniform(seed + 1)
  const [row, priority] = [chooser(rows), priorities === undefined ? undefined : chooser(priorities)]
  return () => ({ rows: row(next()), priority: priority?.(next()) })
}

const gap = (next: () => number, rate: number): number => (-Math.log(1 - next()) / rate) * 1000

function chooser(weights: Weights): (share: number) => number {
  const total = [...weights.values()].reduce((sum, weight) => sum + weight, 0)
  let sum = 0
  const ends = [...weights].map(([value, weight]) => ({ value, end: (sum += weight / total) }))
  const last = ends.at(-1)!.value
  return (share) => ends.find(({ end }) => share < end)?.value ?? last
}
