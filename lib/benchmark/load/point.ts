import { summarize } from '../statistics.js'
import { type Arrival, arrivals, type Traffic } from './arrivals.js'
import type { Clock } from './clock.js'
import type { LoadPoint, LoadPriority, LoadTestRequest } from './types.js'

/** How requests of a test are made. */
export interface Requests {
  /** One request; the rows decide its tensors. */
  send(rows: number, options: LoadTestRequest): Promise<unknown>
  /** Batches that have run. */
  executions(): number
  readonly queueTimeoutMs: number | undefined
}

export interface PointOptions extends Traffic {
  readonly durationMs: number
  readonly graceMs: number
  readonly maxInFlight: number
  readonly percentiles: readonly number[]
  /** What a lone request takes. */
  readonly aloneMs: number
  readonly signal: AbortSignal | undefined
  readonly onProgress: (elapsedMs: number) => void
}

/** A request is late if it was sent so much after it was due. */
const lateMs = 1

/** So many requests that are due are sent before the event loop gets a turn. */
const burst = 32

/** One rate, as an open loop: requests are sent when the schedule says so, whatever became of those before. */
export async function measurePoint(
  requests: Requests,
  rate: number,
  options: PointOptions,
  clock: Clock,
): Promise<LoadPoint> {
  const { durationMs, graceMs, signal } = options
  const run = new Run(requests, options, clock)
  try {
    await run.follow(arrivals(options, rate, durationMs))
    await run.end(durationMs + graceMs)
  } finally {
    await run.giveUp()
  }
  signal?.throwIfAborted()
  return run.result(rate)
}

interface Level {
  readonly latencies: number[]
  requests: number
  failed: number
}

class Run {
  readonly #requests: Requests
  readonly #options: PointOptions
  readonly #clock: Clock
  readonly #begun: number
  readonly #executions: number
  readonly #stop = new AbortController()
  readonly #signal: AbortSignal
  readonly #levels = new Map<number | undefined, Level>()
  readonly #failures = new Map<string, number>()
  readonly #late = { requests: 0, maxMs: 0 }
  #inFlight = 0
  #rows = 0
  #unfinished = 0
  #unsent = 0
  #lastResult = 0
  #done: (() => void) | undefined

  constructor(requests: Requests, options: PointOptions, clock: Clock) {
    this.#requests = requests
    this.#options = options
    this.#clock = clock
    this.#signal =
      options.signal === undefined ? this.#stop.signal : AbortSignal.any([this.#stop.signal, options.signal])
    this.#executions = requests.executions()
    this.#begun = clock.now()
  }

  async follow(schedule: Iterable<Arrival>): Promise<void> {
    const { durationMs, graceMs, maxInFlight, signal, onProgress } = this.#options
    let sent = 0
    let isOver = false
    for (const arrival of schedule) {
      const due = this.#begun + arrival.atMs
      if (!isOver && (this.#clock.now() < due || ++sent % burst === 0)) {
        await this.#clock.until(due, signal)
        onProgress(arrival.atMs)
      }
      isOver ||= this.#inFlight >= maxInFlight || this.#clock.now() - this.#begun > durationMs + graceMs
      if (isOver) this.#unsent++
      else this.#send(arrival, due)
    }
  }

  #send({ rows, priority }: Arrival, due: number): void {
    const level = this.#level(priority)
    level.requests++
    const late = this.#clock.now() - due
    if (late > lateMs) this.#late.requests++
    this.#late.maxMs = Math.max(this.#late.maxMs, late)
    this.#inFlight++
    const { queueTimeoutMs } = this.#requests
    const options = { signal: this.#signal, priority, queueTimeoutMs }
    this.#requests
      .send(rows, options)
      .then(
        () => {
          this.#lastResult = this.#clock.now()
          level.latencies.push(this.#lastResult - due)
          this.#rows += rows
        },
        (error: unknown) => {
          level.failed++
          if (this.#stop.signal.aborted) this.#unfinished++
          else this.#failures.set(codeOf(error), (this.#failures.get(codeOf(error)) ?? 0) + 1)
        },
      )
      .finally(() => {
        if (--this.#inFlight === 0) this.#done?.()
      })
  }

  #level(priority: number | undefined): Level {
    const level = this.#levels.get(priority) ?? { latencies: [], requests: 0, failed: 0 }
    this.#levels.set(priority, level)
    return level
  }

  /** Until all that was sent has come to its end, or so many milliseconds since the start. */
  async end(atMs: number): Promise<void> {
    if (this.#inFlight === 0) return
    const over = new AbortController()
    const signal = AbortSignal.any([over.signal, this.#signal])
    const late = this.#clock.until(this.#begun + atMs, signal).catch(() => {})
    await Promise.race([this.#settled(), late])
    over.abort()
  }

  /** Nothing is under way when this is over. */
  async giveUp(): Promise<void> {
    if (this.#inFlight === 0) return
    this.#stop.abort()
    await this.#settled()
  }

  #settled(): Promise<void> {
    return new Promise((resolve) => (this.#inFlight === 0 ? resolve() : (this.#done = resolve)))
  }

  result(rate: number): LoadPoint {
    const { durationMs, percentiles, aloneMs } = this.#options
    const levels = [...this.#levels].sort(([a = 0], [b = 0]) => a - b)
    const all = levels.flatMap(([, { latencies }]) => latencies)
    const summary = (latencies: readonly number[]): Pick<LoadPriority, 'latency'> =>
      latencies.length === 0 ? {} : { latency: summarize(Float64Array.from(latencies), percentiles) }
    const requests = levels.reduce((sum, [, level]) => sum + level.requests, 0)
    const failed = levels.reduce((sum, [, level]) => sum + level.failed, 0)
    const executions = this.#requests.executions() - this.#executions
    const lastMs = this.#lastResult === 0 ? 0 : this.#lastResult - this.#begun
    const seconds = Math.max(durationMs, lastMs) / 1000
    const afterMs = lastMs - durationMs
    return {
      rate,
      offered: ((requests + this.#unsent) * 1000) / durationMs,
      requests,
      completed: all.length,
      achieved: all.length / seconds,
      rowsPerSecond: this.#rows / seconds,
      executions,
      meanBatch: executions === 0 ? 0 : this.#rows / executions,
      ...summary(all),
      priorities: levels.flatMap(([priority, level]) =>
        priority === undefined
          ? []
          : [{ priority, requests: level.requests, failed: level.failed, ...summary(level.latencies) }],
      ),
      failures: Object.fromEntries([...this.#failures].sort(([a], [b]) => (a < b ? -1 : 1))),
      unfinished: this.#unfinished,
      unsent: this.#unsent,
      late: { ...this.#late },
      overloaded:
        this.#unfinished > 0 ||
        this.#unsent > 0 ||
        this.#failures.has('ERR_TRT_QUEUE_FULL') ||
        failed > requests / 10 ||
        afterMs > 0.03 * durationMs + 4 * aloneMs,
    }
  }
}

function codeOf(error: unknown): string {
  const { code } = error as { readonly code?: unknown }
  return typeof code === 'string' ? code : 'ERR_UNKNOWN'
}
