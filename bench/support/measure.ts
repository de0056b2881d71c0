/** Ways to measure: interleaved rounds, medians, growth over time. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { scaled, scaledMs } from './quick.js'

/** Gives a figure; each call is one round. */
export type Measurement = () => Promise<number> | number

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? (sorted[middle] ?? NaN) : ((sorted[middle - 1] ?? NaN) + (sorted[middle] ?? NaN)) / 2
}

/**
 * Measures in turns (A B C A B C …), after a round that does not count, so that what disturbs the machine disturbs all
 * of them; gives the medians.
 */
export async function interleaved<K extends string>(
  rounds: number,
  measurements: Readonly<Record<K, Measurement>>,
): Promise<Record<K, number>> {
  const entries = Object.entries(measurements) as [K, Measurement][]
  const values = new Map<K, number[]>(entries.map(([name]) => [name, []]))
  for (let round = -1; round < rounds; round++) {
    for (const [name, measure] of entries) {
      const value = await measure()
      if (round >= 0) values.get(name)?.push(value)
    }
  }
  return Object.fromEntries(entries.map(([name]) => [name, median(values.get(name) ?? [])])) as Record<K, number>
}

/** Microseconds that each of `calls` calls took, made by `work`; fewer calls with `--quick`. */
export async function microsecondsPerCall(calls: number, work: (count: number) => Promise<unknown>): Promise<number> {
  const count = scaled(calls)
  const begun = process.hrtime.bigint()
  await work(count)
  return Number(process.hrtime.bigint() - begun) / 1000 / count
}

/** Calls `count` times, one after another. */
export async function oneAfterAnother(count: number, call: () => Promise<unknown>): Promise<void> {
  for (let i = 0; i < count; i++) await call()
}

/** Calls `count` times in all, `inFlight` of them at once: as one ends, the next begins. */
export async function keepInFlight(inFlight: number, count: number, call: () => Promise<unknown>): Promise<void> {
  let left = count
  const worker = async (): Promise<void> => {
    while (left-- > 0) await call()
  }
  await Promise.all(Array.from({ length: inFlight }, worker))
}

/** Milliseconds of event-loop delay (p99) while `work` is done again and again for so long (a tenth with `--quick`). */
export async function loopDelay(ms: number, work: () => Promise<unknown>): Promise<number> {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  await sleep(10) // its first reading only starts its clock
  const end = performance.now() + scaledMs(ms)
  while (performance.now() < end) await work()
  await sleep(10) // a loop that was blocked to the end has not told yet
  delay.disable()
  return delay.percentile(99) / 1e6
}

/** Inferences per second of `count` calls, `inFlight` at once. */
export async function throughput(inFlight: number, count: number, call: () => Promise<unknown>): Promise<number> {
  return 1e6 / (await microsecondsPerCall(count, () => keepInFlight(inFlight, count, call)))
}

/** How much the values grow from the first to the last, by the line that fits them best (least squares). */
export function growth(values: readonly number[]): number {
  const n = values.length
  if (n < 2) return 0
  const middle = (n - 1) / 2
  const mean = values.reduce((sum, value) => sum + value, 0) / n
  let above = 0
  let below = 0
  values.forEach((value, i) => {
    above += (i - middle) * (value - mean)
    below += (i - middle) ** 2
  })
  return (above / below) * (n - 1)
}
