import { deepFrozen } from '../../base/options.js'
import { expected, TensorRTError } from '../../errors.js'
import type { Tensor } from '../../tensor.js'
import { randomTensor } from '../random.js'
import { medianOf } from '../statistics.js'
import { mix, type Weights } from './arrivals.js'
import { type Clock, hostClock } from './clock.js'
import { checkedLoadTestOptions, type CheckedLoadTestOptions, highestRate } from './options.js'
import { measurePoint, type Requests } from './point.js'
import type { LoadPoint, LoadTest, LoadTestable, LoadTestOptions, LoadTestProgress } from './types.js'

/**
 * Measures an engine as an open loop: requests arrive at random (a Poisson process) at given rates, whether or not
 * those before have their results, as those of independent clients do. What they wait for is counted from when they
 * were due. {@link Engine.benchmark} is a closed loop: the next query begins when one ends.
 *
 * A rate takes `durationMs`, and `graceMs` at most for what is under way then. The first rate that is too much for the
 * engine is the last one.
 * @throws TensorRTError (as a rejection) ERR_TRT_INVALID_ARGUMENT, ERR_TRT_SHAPES_REQUIRED, and what {@link
 * Engine.infer} does in the warm-up; or it is the reason of the signal
 */
export async function loadTest(engine: LoadTestable, options: LoadTestOptions = {}): Promise<LoadTest> {
  return await runLoadTest(engine, options, hostClock)
}

export async function runLoadTest(engine: LoadTestable, unchecked: LoadTestOptions, clock: Clock): Promise<LoadTest> {
  const options = checkedLoadTestOptions(unchecked)
  const rows = rowsOf(checkedEngine(engine), options.rows)
  engine.counters() // where there are none (onnxruntime without the addon), that is said before anything runs
  const inputs = inputsOf(engine, rows, options)
  const requests: Requests = {
    send: async (count, request) => engine.infer(inputs.get(count)!, request),
    executions: () => engine.counters().executions,
    queueTimeoutMs: options.queueTimeoutMs,
  }
  const test = new Test(requests, { ...options, rows }, clock)
  const aloneMs = await test.warmUp()
  const capacity = options.rates === undefined ? await test.capacity() : undefined
  const { points, skipped } = await test.points(options.rates ?? ladder(capacity!, options.durationMs), aloneMs)
  const { durationMs, warmUpMs, graceMs, maxInFlight, seed, priorities, queueTimeoutMs } = options
  const [first = {}] = inputs.values()
  return deepFrozen({
    kind: 'load-test',
    runtime: engine.description,
    backend: engine.backend,
    settings: {
      durationMs,
      warmUpMs,
      graceMs,
      maxInFlight,
      seed,
      rows: Object.fromEntries(rows),
      ...(priorities !== undefined && { priorities: Object.fromEntries(priorities) }),
      ...(queueTimeoutMs !== undefined && { queueTimeoutMs }),
      shapes: Object.fromEntries(Object.entries(first).map(([name, { shape }]) => [name, [...shape]])),
    },
    aloneMs,
    ...(capacity !== undefined && { capacity }),
    points,
    skipped,
  })
}

function checkedEngine(engine: LoadTestable): LoadTestable {
  if (typeof engine === 'object' && engine !== null && typeof engine.counters === 'function') return engine
  throw expected('an Engine', 'engine', engine)
}

/** Inputs whose dimension 0 is open have the rows of a request there. */
const isOpen = (shape: readonly number[]): boolean => shape[0] === -1

function rowsOf({ inputs }: LoadTestable, weights: Weights | undefined): Weights {
  const shapes = Object.values(inputs).map(({ shape }) => shape)
  if (shapes.some(isOpen)) return weights ?? new Map([[1, 1]])
  const fixed = shapes[0]?.[0] ?? 1
  const other = [...(weights?.keys() ?? [])].find((rows) => rows !== fixed)
  if (other !== undefined) throw expected(`${fixed} alone: dimension 0 of the model's inputs is fixed,`, 'rows', other)
  return new Map([[fixed, 1]])
}

/** Random tensors for each number of rows. */
function inputsOf(
  { inputs }: LoadTestable,
  rows: Weights,
  { shapes, seed }: CheckedLoadTestOptions,
): Map<number, Readonly<Record<string, Tensor>>> {
  const unknown = Object.keys(shapes).find((name) => !Object.hasOwn(inputs, name))
  if (unknown !== undefined)
    throw new TensorRTError('ERR_TRT_UNKNOWN_INPUT', `The model has no input ${JSON.stringify(unknown)}`, {
      details: { name: unknown },
    })
  const made = [...rows.keys()].map((count) => {
    const tensors = Object.entries(inputs).map(([name, info], i) => {
      const [, ...others] =
        shapes[name] ?? (info.shape.slice(1).includes(-1) ? info.profiles[0]?.opt : info.shape) ?? []
      const shape = isOpen(info.shape) ? [count, ...others] : (shapes[name] ?? info.shape)
      if (shape.length !== info.shape.length || shape.includes(-1)) throw shapeRequired(name, info.shape)
      return [name, randomTensor(info, shape, seed * 1000 + i)] as const
    })
    return [count, Object.fromEntries(tensors)] as const
  })
  return new Map(made)
}

function shapeRequired(name: string, shape: readonly number[]): TensorRTError {
  const message = `Input ${JSON.stringify(name)} [${shape.join(', ')}] leaves its shape open, and no profile says which is best: give one in shapes`
  return new TensorRTError('ERR_TRT_SHAPES_REQUIRED', message, { details: { name } })
}

/** The loop that finds what an engine takes has so many requests under way, and lasts so long. */
const [closedLoop, capacityMs] = [64, 500]

/** Of what the engine takes; then each rate is a fifth above the one before. */
const shares = [0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1]
const mostRates = 16

function* ladder(capacity: number, durationMs: number): Generator<number> {
  const rounded = (rate: number): number =>
    Math.min(highestRate(durationMs), Math.max(Number(rate.toPrecision(2)), Number.MIN_VALUE))
  for (let i = 0; i < mostRates; i++) yield rounded(capacity * (shares[i] ?? 1.2 ** (i - shares.length + 1)))
}

class Test {
  readonly #requests: Requests
  readonly #options: CheckedLoadTestOptions & { readonly rows: Weights }
  readonly #clock: Clock
  #reportedAt = -Infinity

  constructor(requests: Requests, options: CheckedLoadTestOptions & { readonly rows: Weights }, clock: Clock) {
    this.#requests = requests
    this.#options = options
    this.#clock = clock
  }

  /**
   * Requests of each number of rows, alone, and then many at once. Gives the median of those that were alone. @throws
   * what the first that fails does
   */
  async warmUp(): Promise<number> {
    const { rows, warmUpMs, signal } = this.#options
    const times: number[] = []
    const begun = this.#clock.now()
    do {
      for (const count of rows.keys()) {
        signal?.throwIfAborted()
        const start = this.#clock.now()
        await this.#requests.send(count, { signal })
        times.push(this.#clock.now() - start)
        this.#tell({ phase: 'warm-up', elapsedMs: this.#clock.now() - begun, totalMs: 2 * warmUpMs })
      }
    } while (this.#clock.now() - begun < warmUpMs)
    if (warmUpMs > 0) await this.#manyAtOnce('warm-up', warmUpMs)
    return medianOf(Float64Array.from(times).sort())
  }

  /** Requests a second of a closed loop. */
  async capacity(): Promise<number> {
    const { completed, ms } = await this.#manyAtOnce('capacity', capacityMs)
    return (completed * 1000) / ms
  }

  /**
   * A closed loop for so long; what is under way then is given up. A caller whose request is refused (a short queue, a
   * timeout in it) makes no more.
   */
  async #manyAtOnce(phase: 'warm-up' | 'capacity', totalMs: number): Promise<{ completed: number; ms: number }> {
    const { signal } = this.#options
    const stop = new AbortController()
    const either = signal === undefined ? stop.signal : AbortSignal.any([stop.signal, signal])
    const next = mix(this.#options)
    const begun = this.#clock.now()
    let completed = 0
    let last = begun
    let failure: unknown
    const caller = async (): Promise<void> => {
      while (!either.aborted) {
        const { rows, priority } = next()
        try {
          await this.#requests.send(rows, { signal: either, ...(priority !== undefined && { priority }) })
        } catch (error) {
          failure ??= error
          return
        }
        completed++
        last = this.#clock.now()
        if (last - begun >= totalMs) stop.abort()
        this.#tell({ phase, elapsedMs: last - begun, totalMs })
      }
    }
    const callers = Array.from({ length: closedLoop }, caller)
    try {
      await Promise.all(callers)
    } finally {
      stop.abort()
      await Promise.allSettled(callers)
    }
    signal?.throwIfAborted()
    if (completed === 0) throw failure
    return { completed, ms: last - begun }
  }

  async points(rates: Iterable<number>, aloneMs: number): Promise<{ points: LoadPoint[]; skipped: number[] }> {
    const { durationMs, rates: requested } = this.#options
    const points: LoadPoint[] = []
    for (const rate of rates) {
      if (rate <= (points.at(-1)?.rate ?? 0)) continue
      const onProgress = (elapsedMs: number): void =>
        this.#tell({ phase: 'load', rate, elapsedMs, totalMs: durationMs })
      this.#reportedAt = -Infinity
      points.push(await measurePoint(this.#requests, rate, { ...this.#options, aloneMs, onProgress }, this.#clock))
      if (points.at(-1)?.overloaded) break
    }
    const highest = points.at(-1)?.rate ?? 0
    return { points, skipped: requested?.filter((rate) => rate > highest) ?? [] }
  }

  /** No more than ten times a second. */
  #tell(progress: LoadTestProgress): void {
    const now = this.#clock.now()
    if (now - this.#reportedAt < 100) return
    this.#reportedAt = now
    this.#options.onProgress?.(progress)
  }
}
