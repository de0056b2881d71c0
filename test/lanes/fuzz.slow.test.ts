// Random calls of everything, with good and bad arguments, in any order. The same seed gives the same calls:
// TRT_FUZZ_SEED repeats a run.
import t from 'tap'
import {
  type AttachOptions,
  Engine,
  type EngineOptions,
  type EngineToken,
  Tensor,
  TensorRTError,
  type TensorRecord,
} from '../../lib/index.js'
import { Random } from '../support/random.js'
import { size } from '../support/tiers.js'
import { until } from '../support/waiting.js'
import { driver, leftovers, planOf, rowsPlan, type Runtime, runtimes, wanted } from './rig.js'

const seed = Number(process.env['TRT_FUZZ_SEED'] ?? 20_260_101)

const junk: readonly unknown[] = [
  undefined,
  null,
  0,
  -1,
  1.5,
  NaN,
  Infinity,
  2 ** 40,
  '',
  'x',
  'y',
  'auto',
  true,
  5n,
  Symbol.iterator,
  {},
  [],
  [1, 3],
  [-1],
  () => 1,
  new Float32Array(3),
  new ArrayBuffer(12),
  { x: 1 },
  { __proto__: null },
  { y: null },
  new Proxy({}, {}),
  Object.create(Tensor.prototype),
  new Date(),
  {
    get x() {
      throw new RangeError('mine')
    },
  },
  new Map(),
  Promise.resolve(1),
  new Error('mine'),
  AbortSignal.abort(new Error('mine')),
  'a'.repeat(10_000),
]

const numbersOf = ({ data }: Tensor): Float32Array | undefined =>
  data instanceof Float32Array && data.length > 0 ? data.slice() : undefined

class Fuzzer extends Random {
  readonly runtime: Runtime
  readonly engines: Engine[] = []
  readonly tokens: EngineToken[] = []
  readonly pinned: Tensor[] = []
  readonly under = new Set<Promise<unknown>>()
  readonly problems: string[] = []
  readonly counts: Record<string, number> = {}
  readonly #controllers: AbortController[] = []

  constructor(runtime: Runtime, seed: number) {
    super(seed)
    this.runtime = runtime
  }

  /** What is said, and now and then something else. */
  mostly<T>(value: T): T {
    return this.chance(0.04) ? (this.pick(junk) as T) : value
  }

  tensor(): Tensor {
    if (this.chance(0.15) && this.pinned.length > 0) return this.pick(this.pinned)
    const count = this.chance(0.05) ? this.below(70) : 1 + this.below(6)
    const columns = this.chance(0.97) ? 3 : this.below(5)
    const tensor = Tensor.zeros(this.chance(0.98) ? 'float32' : 'int32', [count, columns])
    for (let i = 0; i < tensor.data.length; i++) tensor.data[i] = this.below(1000) - 500
    if (this.chance(0.01)) structuredClone(tensor.data.buffer, { transfer: [tensor.data.buffer as ArrayBuffer] })
    return tensor
  }

  signal(): AbortSignal {
    if (this.chance(0.1)) return AbortSignal.abort(new Error('mine'))
    const controller = new AbortController()
    this.#controllers.push(controller)
    return controller.signal
  }

  options(shape: readonly number[], sync: boolean): object | undefined {
    if (this.chance(0.6)) return undefined
    return this.mostly({
      ...(this.chance(0.3) && { outputs: this.mostly([this.mostly('y')]) }),
      ...(this.chance(0.3) && {
        into: this.mostly({ y: this.mostly(this.chance(0.4) ? this.tensor() : Tensor.zeros('float32', shape)) }),
      }),
      ...(!sync && this.chance(0.3) && { signal: this.mostly(this.signal()) }),
      ...(!sync && this.chance(0.2) && { timeoutMs: this.mostly(1 + this.below(20)) }),
    })
  }

  engineOptions(): EngineOptions {
    const options = this.runtime.options(rowsPlan())
    return this.mostly({
      ...options,
      ...(this.chance(0.5) && { lanes: this.mostly(1 + this.below(3)) }),
      ...(this.chance(0.3) && {
        batching: this.mostly({ maxBatch: this.mostly(1 + this.below(16)), maxDelayMs: this.mostly(this.below(3)) }),
      }),
      ...(this.chance(0.2) && { maxQueue: this.mostly(1 + this.below(20)) }),
      ...(this.runtime.backend === 'tensorrt' &&
        this.chance(0.2) && {
          tensorrt: this.mostly({ ...options.tensorrt, cudaGraph: this.mostly(this.chance(0.5)) }),
        }),
    })
  }

  /** Whether an error is one of those that may be. */
  judge(what: string, error: unknown): void {
    const mine = error instanceof Error && error.message === 'mine'
    if (error instanceof TensorRTError) this.count(error.code)
    else if (!mine) this.problems.push(`${what}: ${error instanceof Error ? (error.stack ?? '') : String(error)}`)
  }

  count(what: string): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1
  }

  check(given: Float32Array | undefined, result: Tensor | TensorRecord): void {
    const y = Tensor.is(result) ? result : result['y']
    this.count('right')
    if (given === undefined || y === undefined) return
    const right = wanted(given)
    // memory of allocate() holds anything before it is written: also what is no number, and not equal to itself
    const isRight = (value: number, i: number): boolean =>
      y.data[i] === value || (Number.isNaN(value) && Number.isNaN(y.data[i]))
    if (y.data.length !== right.length || !right.every(isRight)) this.problems.push('a wrong result')
  }

  watch(what: string, call: () => Promise<unknown>): void {
    const promise = call().catch((error: unknown) => this.judge(what, error))
    this.under.add(promise)
    void promise.finally(() => this.under.delete(promise))
  }

  step(): void {
    const engine = this.engines.length > 0 ? this.pick(this.engines) : undefined
    const what = this.next()
    if (engine === undefined || (what < 0.004 && this.engines.length < 6)) return this.open()
    if (what < 0.5) return this.infer(engine)
    if (what < 0.65) return this.sync(engine)
    if (what < 0.7) return this.take(engine)
    if (what < 0.78)
      return this.#controllers.length > 0 ? this.pick(this.#controllers.splice(-3)).abort(new Error('mine')) : undefined
    if (what < 0.784) return this.close(engine)
    if (what < 0.79) return this.watch('warmup', () => engine.warmup(this.mostly({ iterations: this.mostly(1) })))
    if (what < 0.81) return this.stream(engine)
    if (what < 0.86) return this.share(engine)
    const name = this.pick(['inputs', 'outputs', 'backend', 'description', 'stats', 'memory'] as const)
    this.attempt(name, () => (name === 'stats' ? engine.stats() : name === 'memory' ? engine.memory() : engine[name]))
  }

  attempt(what: string, call: () => unknown): void {
    try {
      call()
    } catch (error) {
      this.judge(what, error)
    }
  }

  open(): void {
    this.watch('load', async () => {
      const plan = planOf(this.runtime, rowsPlan())
      const engine = new Engine(
        this.mostly(this.chance(0.95) ? plan : plan.subarray(0, this.below(plan.length))),
        this.engineOptions(),
      )
      this.engines.push(engine)
      await engine.ready.catch((error: unknown) => this.judge('ready', error))
    })
  }

  infer(engine: Engine): void {
    const tensor = this.tensor()
    const given = this.pinned.includes(tensor) ? undefined : numbersOf(tensor)
    const good = this.chance(0.5) ? tensor : { x: tensor }
    const input = this.chance(0.96) ? good : this.pick([{ x: this.pick(junk) }, this.pick(junk)])
    this.watch('infer', async () => {
      const result = await engine.infer(input as Tensor, this.options(tensor.shape, false))
      this.check(input === good ? given : undefined, result)
    })
  }

  sync(engine: Engine): void {
    this.attempt('inferSync', () => {
      const tensor = this.tensor()
      const given = numbersOf(tensor)
      this.check(given, engine.inferSync(this.mostly(tensor), this.options(tensor.shape, true)))
    })
  }

  take(engine: Engine): void {
    this.attempt('allocate', () => {
      this.pinned.push(engine.allocate(this.mostly(this.pick(['x', 'y'])), this.mostly([1 + this.below(4), 3])))
      if (this.pinned.length > 12) this.pinned.splice(0, 4)
    })
  }

  close(engine: Engine): void {
    this.watch('close', () => (this.chance(0.5) ? engine.close() : engine[Symbol.asyncDispose]()))
    this.engines.splice(this.engines.indexOf(engine), this.chance(0.9) ? 1 : 0)
    if (!this.engines.includes(engine)) this.closed.push(engine)
  }
  readonly closed: Engine[] = []

  stream(engine: Engine): void {
    this.watch('stream', async () => {
      const inputs = Array.from({ length: this.below(6) }, () => this.mostly(this.tensor()))
      const early = this.chance(0.2)
      for await (const y of engine.stream(
        this.mostly(inputs),
        this.mostly({ inFlight: this.mostly(1 + this.below(4)) }),
      )) {
        this.check(undefined, y)
        if (early) break
      }
    })
  }

  share(engine: Engine): void {
    if (this.chance(0.5)) return this.attempt('share', () => this.tokens.push(engine.share()))
    if (this.engines.length >= 8) return
    this.watch('attach', async () => {
      const token =
        this.tokens.length > 0 ? this.pick(this.tokens.slice(-4)) : ({ pid: process.pid, id: 'none' } as EngineToken)
      const options: AttachOptions = this.chance(0.5) ? { queue: this.mostly('shared') } : { ...this.engineOptions() }
      for (const name of Object.keys(this.runtime.options(rowsPlan()))) Reflect.deleteProperty(options, name)
      this.engines.push(await Engine.attach(this.mostly(token), options))
    })
  }

  async end(): Promise<void> {
    while (this.under.size > 0) await Promise.all(this.under)
    await Promise.all([...this.engines, ...this.closed].map((engine) => engine.close()))
  }
}

for (const [i, runtime] of runtimes.entries()) {
  await t.test(`${runtime.name}, seed ${seed + i}`, { timeout: 600_000 }, async (t) => {
    const fuzzer = new Fuzzer(runtime, seed + i)
    const unhandled = (reason: unknown): void => void fuzzer.problems.push(`unhandled: ${String(reason)}`)
    process.on('unhandledRejection', unhandled)
    const steps = size(5_000, 50_000)
    for (let k = 0; k < steps && fuzzer.problems.length < 5; k++) {
      if (k % 500 === 0) driver.set({ computeMs: fuzzer.chance(0.3) ? 0.3 : 0, blockMs: fuzzer.chance(0.1) ? 0.2 : 0 })
      if (fuzzer.chance(0.002)) driver.failNth('cuMemcpyHtoDAsync_v2', 1, 1)
      if (fuzzer.chance(0.002) && runtime.fake !== undefined) runtime.fake.control.failNth('enqueueV3', 1)
      if (fuzzer.chance(0.001)) driver.failNth('cuMemHostAlloc', 1, 2)
      fuzzer.step()
      if (k % 7 === 0) await new Promise((resolve) => setImmediate(resolve))
      if (fuzzer.under.size > 300) await Promise.race(fuzzer.under)
    }
    driver.set({ computeMs: 0, blockMs: 0 })
    await fuzzer.end()
    t.same(fuzzer.problems, [])
    t.ok((fuzzer.counts['right'] ?? 0) > steps / 10, JSON.stringify(fuzzer.counts))
    t.ok(await until(() => Object.keys(leftovers()).length === 0), JSON.stringify(leftovers()))
    process.off('unhandledRejection', unhandled)
  })
}
