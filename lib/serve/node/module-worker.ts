// A thread of modules as the server has it.
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads'
import { ownFile } from '../../base/package.js'
import { onAbort } from '../../base/cancellation.js'
import { Fault } from '../faults.js'
import { stackWithin, textOf, withoutPathOf } from './failed.js'
import type { Answer, Order, Report, RunOrder, WorkerStart } from './messages.js'
import type { ModuleStart } from './module-start.js'
import { Lines } from './output.js'
import { packagesFrom } from './resolver.js'
import type { OnOutput } from '../models/settings.js'

export interface ModuleWorkerOptions {
  /** The file that the thread runs; default: that of modules alone. */
  readonly entry?: URL | undefined
  /** What it is given beside its modules. */
  readonly data?: object | undefined
  /** For texts: `instance 0 of model 'm'`. */
  readonly owner: string
  readonly modules: readonly ModuleStart[]
  /** Megabytes of JavaScript's own memory; default: Node's. */
  readonly maxMemoryMb?: number | undefined
  readonly onOutput: OnOutput
  /** Once, when the thread has ended by itself. */
  readonly onDeath: (reason: Fault) => void
}

const entry = (): URL => ownFile('./worker-entry.js', import.meta.url)
/** Milliseconds of a load that was given up. */
const graceMs = 200
/** That a model.js is an ES module needs no package.json to say it. */
const execArgv = ['--disable-warning=MODULE_TYPELESS_PACKAGE_JSON']

/** Threads that have not ended, of all models: for tests. */
export const liveWorkers = new Set<object>()

/** What a message asks, beside its kind and number. */
type Asking<R> = Omit<R, 'type' | 'run'>

interface Waiting<A> {
  readonly resolve: (answer: A) => void
  readonly reject: (fault: Fault) => void
}

/** What comes back for an order. */
export interface AnyAnswer {
  readonly type: 'answer'
  readonly run: number
}

/** `R` is what it is asked, `A` what it answers. */
export class ModuleWorker<R extends object = RunOrder, A extends AnyAnswer = Answer> {
  readonly #options: ModuleWorkerOptions
  readonly #worker: Worker
  readonly #port: MessagePort
  readonly #lines: Readonly<Record<'stdout' | 'stderr', Lines>>
  readonly #runs = new Map<number, Waiting<A>>()
  readonly #ended: Promise<void>
  #next = 0
  #holds = 0
  /** What uncaught error ended it. */
  #error: unknown
  #isEnding = false
  #death: Fault | undefined
  #concurrency = 1
  #settled: Promise<void> | undefined
  #onLoaded: ((failure: Fault | undefined) => void) | undefined
  #onUnloaded: ((failures: readonly string[]) => void) | undefined

  /**
   * Starts a thread, and loads its modules.
   * @throws Fault INTERNAL (as a rejection) with what is wrong; the reason of the signal; the thread has ended then
   */
  static async start<R extends object = RunOrder, A extends AnyAnswer = Answer>(
    options: ModuleWorkerOptions,
    signal: AbortSignal,
  ): Promise<ModuleWorker<R, A>> {
    signal.throwIfAborted()
    const worker = new ModuleWorker<R, A>(options)
    try {
      await worker.#loaded(signal)
      return worker
    } catch (error) {
      if (signal.aborted) await worker.#settled
      await worker.terminate()
      throw error
    }
  }

  private constructor(options: ModuleWorkerOptions) {
    this.#options = options
    const { port1, port2 } = new MessageChannel()
    const workerData: WorkerStart = {
      ...options.data,
      modules: options.modules,
      port: port2,
      packagesFrom: packagesFrom(),
    }
    const { maxMemoryMb } = options
    this.#port = port1
    const linesOf = (stream: 'stdout' | 'stderr'): Lines =>
      new Lines((line) => options.onOutput(line, stream, options.modules[0]?.instance ?? 0))
    this.#lines = { stdout: linesOf('stdout'), stderr: linesOf('stderr') }
    this.#worker = new Worker(options.entry ?? entry(), {
      name: `node-tensorrt ${options.owner}`,
      workerData,
      transferList: [port2],
      execArgv,
      ...(maxMemoryMb !== undefined && { resourceLimits: { maxOldGenerationSizeMb: maxMemoryMb } }),
    })
    this.#worker.on('error', (error: unknown) => (this.#error = error))
    this.#ended = new Promise((resolve) =>
      this.#worker.on('exit', (code) => {
        this.#onExit(code)
        resolve()
      }),
    )
    this.#port.on('message', (report: Report<A>) => this.#onReport(report))
    liveWorkers.add(this)
    this.#release()
  }

  /** Why it has ended by itself; nothing while it has not. */
  get death(): Fault | undefined {
    return this.#death
  }

  /** How many orders it may have at once, as its modules say. */
  get concurrency(): number {
    return this.#concurrency
  }

  async #loaded(signal: AbortSignal): Promise<void> {
    const release = this.#hold()
    let forget = (): void => {}
    try {
      await new Promise<void>((resolve, reject) => {
        this.#onLoaded = (failure) => (failure === undefined ? resolve() : reject(failure))
        forget = onAbort(signal, () => {
          this.#settled = this.#givenUp()
          // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- the caller's own reason, whatever it is
          reject(signal.reason)
        })
      })
    } finally {
      forget()
      release()
    }
  }

  /** A module that hears of it may end what it does; it has not long. */
  #givenUp(): Promise<void> {
    this.#tell({ type: 'give-up' })
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, graceMs)
      this.#onLoaded = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  /** Keeps the process alive until what it gives is called. */
  #hold(): () => void {
    if (++this.#holds === 1) {
      this.#worker.ref()
      this.#port.ref()
    }
    return () => {
      if (--this.#holds === 0) this.#release()
    }
  }

  #release(): void {
    this.#worker.unref()
    this.#port.unref()
  }

  /**
   * Asks a module. The buffers are gone from here afterwards.
   * @throws Fault INTERNAL (as a rejection): the thread has ended, and why
   */
  async run(order: Asking<R>, transfer: readonly ArrayBuffer[]): Promise<A> {
    return this.begin(order, transfer).answer
  }

  /** The same, with the number by which it can be cancelled. */
  begin(order: Asking<R>, transfer: readonly ArrayBuffer[]): { readonly run: number; readonly answer: Promise<A> } {
    const run = this.#next++
    const release = this.#hold()
    const answer = new Promise<A>((resolve, reject) => {
      if (this.#death !== undefined) return reject(this.#death)
      this.#port.postMessage({ ...order, type: 'run', run }, transfer)
      this.#runs.set(run, { resolve, reject })
    })
    return { run, answer: answer.finally(release) }
  }

  /** Nobody waits for this request of a run any more. */
  cancel(run: number, request: number): void {
    if (this.#runs.has(run)) this.#tell({ type: 'cancel', run, request })
  }

  /**
   * Calls unload() of its modules, and ends: after so many milliseconds in any case. Fulfilled with what unload() threw
   * when the thread has ended.
   */
  async end(limitMs: number): Promise<readonly string[]> {
    if (this.#isEnding || this.#death !== undefined) return this.terminate().then(() => [])
    const release = this.#hold()
    let timer: NodeJS.Timeout | undefined
    try {
      return await new Promise<readonly string[]>((resolve) => {
        this.#onUnloaded = resolve
        timer = setTimeout(
          () => resolve([`unload() of ${this.#options.owner} has not ended within ${limitMs} ms, and its thread was`]),
          limitMs,
        )
        this.#tell({ type: 'unload' })
      })
    } finally {
      clearTimeout(timer)
      await this.terminate()
      release()
    }
  }

  /** Ends the thread, whatever it does. What it had to do is rejected. Twice without harm. */
  async terminate(): Promise<void> {
    this.#isEnding = true
    await this.#worker.terminate()
    await this.#ended
  }

  #tell(order: Order): void {
    this.#port.postMessage(order)
  }

  #onReport(report: Report<A>): void {
    switch (report.type) {
      case 'output':
        return this.#lines[report.stream].add(report.text)
      case 'loaded':
        this.#concurrency = report.concurrency
        return this.#onLoaded?.(undefined)
      case 'not-loaded':
        return this.#onLoaded?.(new Fault('INTERNAL', report.failure, undefined, report.at))
      case 'unloaded':
        return this.#onUnloaded?.(report.failures)
      case 'answer':
        this.#runs.get(report.run)?.resolve(report)
        this.#runs.delete(report.run)
    }
  }

  #onExit(code: number): void {
    liveWorkers.delete(this)
    // what it had answered before
    for (let last = receiveMessageOnPort(this.#port); last !== undefined; last = receiveMessageOnPort(this.#port))
      this.#onReport((last as { readonly message: Report<A> }).message)
    const reason = this.#reasonOf(code)
    this.#port.close()
    for (const lines of Object.values(this.#lines)) lines.end()
    this.#death = reason
    this.#onLoaded?.(reason)
    this.#onUnloaded?.([])
    for (const { reject } of this.#runs.values()) reject(reason)
    this.#runs.clear()
    if (!this.#isEnding) this.#options.onDeath(reason)
  }

  #reasonOf(code: number): Fault {
    const { owner, maxMemoryMb, modules } = this.#options
    const error = this.#error
    if (this.#isEnding) return new Fault('UNAVAILABLE', `${owner} was ended before it was done`)
    if ((error as { readonly code?: unknown } | undefined)?.code === 'ERR_WORKER_OUT_OF_MEMORY')
      return new Fault(
        'INTERNAL',
        `${owner} has ended: out of memory${maxMemoryMb === undefined ? '' : ` (max_memory_mb is ${maxMemoryMb})`}`,
        error,
      )
    if (error !== undefined) {
      const text = modules.reduce((seen, start) => withoutPathOf(start, seen), textOf(error))
      const at = modules.map((start) => stackWithin(start, error)).find((place) => place !== undefined)
      return new Fault('INTERNAL', `${owner} has ended: uncaught ${text}`, error, at)
    }
    return new Fault('INTERNAL', `${owner} has ended: the module called process.exit(${code})`)
  }
}
