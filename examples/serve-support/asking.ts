/** Requests of several clients, each of which sends its next one when the last is answered. */
import { summarize } from '../../lib/benchmark/statistics.js'

export interface Asked<T> {
  readonly answers: readonly T[]
  /** What was rejected. */
  readonly failures: readonly Error[]
  /** Of each request that was answered, in milliseconds. */
  readonly times: readonly number[]
  /** From the first request to the last answer, in milliseconds. */
  readonly wallMs: number
}

/** @param more whether one more request is sent, after so many */
export async function askAll<T>(
  clients: number,
  more: (sent: number) => boolean,
  ask: () => Promise<T>,
): Promise<Asked<T>> {
  const answers: T[] = []
  const failures: Error[] = []
  const times: number[] = []
  let sent = 0
  const client = async (): Promise<void> => {
    while (more(sent)) {
      sent++
      const begun = performance.now()
      try {
        answers.push(await ask())
        times.push(performance.now() - begun)
      } catch (error) {
        failures.push(error as Error)
      }
    }
  }
  const begun = performance.now()
  await Promise.all(Array.from({ length: clients }, client))
  return { answers, failures, times, wallMs: performance.now() - begun }
}

/** In milliseconds. */
export interface Times {
  readonly average: number
  readonly median: number
  readonly p90: number
  readonly p95: number
}

/** Of at least one. */
export function timesOf(milliseconds: readonly number[]): Times {
  const { mean, median, percentiles } = summarize(Float64Array.from(milliseconds), [90, 95])
  return { average: mean, median, p90: percentiles['90'] ?? NaN, p95: percentiles['95'] ?? NaN }
}
