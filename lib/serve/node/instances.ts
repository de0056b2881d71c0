// The instances of a model: threads with a copy of the module each. One that dies is replaced, unless they die one
// after the other.
import { onAbort } from '../../base/cancellation.js'
import { Fault, faultOf, placeOf } from '../faults.js'
import { type AnyAnswer, ModuleWorker, type ModuleWorkerOptions } from './module-worker.js'
import type { Answer, RunOrder } from './messages.js'
import type { ModuleStart } from './module-start.js'

/** A place for a thread. */
export interface Instance<W = ModuleWorker> {
  readonly number: number
  /** Nothing while another one takes its place. */
  worker: W | undefined
  /** Batches that it has under way. */
  runs: number
}

export interface InstancesOptions {
  readonly model: string
  readonly count: number
  /** The modules of an instance. */
  readonly modules: (instance: number) => readonly ModuleStart[]
  /** As {@link ModuleWorkerOptions.entry}. */
  readonly entry?: URL | undefined
  /** As {@link ModuleWorkerOptions.data}. */
  readonly data?: ((instance: number) => object) | undefined
  readonly maxMemoryMb: number | undefined
  readonly onOutput: ModuleWorkerOptions['onOutput']
  readonly onWarning: (text: string, at?: string) => void
  /** An instance can be given something to do. */
  readonly onReady: () => void
  /** No more of them are started: once. */
  readonly onFailure: (reason: Fault) => void
}

/** So many deaths within so many milliseconds, and no more threads are started. */
const mostDeaths = 3
const withinMs = 60_000
/** Milliseconds of unload() where another instance could not be loaded. */
const failedLoadMs = 1000

export class Instances<R extends object = RunOrder, A extends AnyAnswer = Answer> {
  readonly all: readonly Instance<ModuleWorker<R, A>>[]
  readonly #options: InstancesOptions
  readonly #stopping = new AbortController()
  readonly #starting = new Set<Promise<void>>()
  #deaths: number[] = []
  #failure: Fault | undefined

  private constructor(options: InstancesOptions) {
    this.#options = options
    this.all = Array.from({ length: options.count }, (_, number) => ({ number, worker: undefined, runs: 0 }))
  }

  /** @throws Fault, or the reason of the signal (as a rejection); no thread is left */
  static async start<R extends object = RunOrder, A extends AnyAnswer = Answer>(
    options: InstancesOptions,
    signal: AbortSignal,
  ): Promise<Instances<R, A>> {
    const instances = new Instances<R, A>(options)
    const giveUp = instances.#stopping
    const forget = onAbort(signal, () => giveUp.abort(signal.reason))
    const starts = await Promise.allSettled(
      instances.all.map(async (instance) => {
        try {
          await instances.#fill(instance, giveUp.signal)
        } catch (error) {
          giveUp.abort(error) // the others would be of no use
          throw error
        }
      }),
    )
    forget()
    if (starts.every((start) => start.status === 'fulfilled')) return instances
    await instances.end(failedLoadMs)
    throw giveUp.signal.reason
  }

  /** Why none are started any more. */
  get failure(): Fault | undefined {
    return this.#failure
  }

  /** The one with the least to do, of those that may have more. */
  free(): (Instance<ModuleWorker<R, A>> & { readonly worker: ModuleWorker<R, A> }) | undefined {
    type Any = Instance<ModuleWorker<R, A>>
    const isFree = (instance: Any): instance is Any & { readonly worker: ModuleWorker<R, A> } =>
      instance.worker !== undefined && instance.runs < instance.worker.concurrency
    const [first, ...others] = this.all.filter(isFree)
    return others.reduce((best, each) => (best === undefined || each.runs < best.runs ? each : best), first)
  }

  async #fill(instance: Instance<ModuleWorker<R, A>>, signal: AbortSignal): Promise<void> {
    const { model, modules, maxMemoryMb, onOutput, entry, data } = this.#options
    const { number } = instance
    let hasStarted = false
    const onDeath = (reason: Fault): void => {
      if (!hasStarted) return // start() tells, or what comes after it
      instance.worker = undefined
      this.#onDeath(instance, reason)
    }
    const worker = await ModuleWorker.start<R, A>(
      {
        owner: `instance ${number} of model '${model}'`,
        modules: modules(number),
        maxMemoryMb,
        onOutput,
        onDeath,
        entry,
        data: data?.(number),
      },
      signal,
    )
    hasStarted = true
    if (worker.death !== undefined) return onDeath(worker.death)
    instance.worker = worker
  }

  #onDeath(instance: Instance<ModuleWorker<R, A>>, reason: Fault): void {
    if (this.#stopping.signal.aborted || this.#failure !== undefined) return
    const now = performance.now()
    this.#deaths = [...this.#deaths.filter((at) => now - at < withinMs), now]
    if (this.#deaths.length >= mostDeaths) return this.#fail(reason)
    this.#options.onWarning(`${reason.message}; another one takes its place`, placeOf(reason))
    const started = this.#replace(instance).finally(() => this.#starting.delete(started))
    this.#starting.add(started)
  }

  async #replace(instance: Instance<ModuleWorker<R, A>>): Promise<void> {
    try {
      await this.#fill(instance, this.#stopping.signal)
      this.#options.onReady()
    } catch (error) {
      this.#onDeath(instance, faultOf(error))
    }
  }

  #fail(reason: Fault): void {
    const { model, onFailure, onWarning } = this.#options
    const text = `model '${model}' answers no more requests, since its instances have ended ${mostDeaths} times within a minute, the last time: ${reason.message}`
    this.#failure = new Fault('UNAVAILABLE', text)
    onWarning(text, placeOf(reason))
    onFailure(this.#failure)
    for (const instance of this.all) if (instance.runs === 0) this.retire(instance)
  }

  /** Ends a thread that nobody will need any more. */
  retire(instance: Instance<ModuleWorker<R, A>>): void {
    const { worker } = instance
    instance.worker = undefined
    if (worker === undefined) return
    const ended = this.#end(worker, 1000).finally(() => this.#starting.delete(ended))
    this.#starting.add(ended)
  }

  async #end(worker: ModuleWorker<R, A>, limitMs: number): Promise<void> {
    for (const failure of await worker.end(limitMs)) this.#options.onWarning(failure)
  }

  /**
   * Ends all threads, after their unload(): those that are at work have so many milliseconds, the others a second at
   * least.
   */
  async end(limitMs: number): Promise<void> {
    this.#stopping.abort(new Fault('UNAVAILABLE', `model '${this.#options.model}' is being closed`))
    await Promise.all(
      this.all.map(async ({ worker, runs }) => {
        if (worker === undefined) return
        const limit = runs > 0 ? limitMs : Math.max(limitMs, 1000)
        if (limit <= 0) await worker.terminate()
        else await this.#end(worker, limit)
      }),
    )
    await Promise.all(this.#starting)
  }
}
