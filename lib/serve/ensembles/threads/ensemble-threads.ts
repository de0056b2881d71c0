// The threads of an ensemble as the server has them: a request waits here until a thread has room for it, and is one
// message there and one back.
import { ownFile } from '../../../base/package.js'
import type { Cut } from '../../../base/cancellation.js'
import type { WireTensor } from '../../../kserve/tensor.js'
import { Fault, faultOf } from '../../faults.js'
import type { Slot } from '../../models/servable.js'
import { SlotPool } from '../../models/slots.js'
import { parcelOf } from '../../node/asked.js'
import { Instances } from '../../node/instances.js'
import { LentMemory } from '../../node/memory.js'
import type { ModuleWorker } from '../../node/module-worker.js'
import { whileRunning } from '../../node/node-model.js'
import { ended, ModuleQueue, type Waiting } from '../../node/queue.js'
import type { ModelSettings } from '../../models/settings.js'
import type { Counted, EnsembleAnswer, EnsembleOrder, RequestMessage } from './messages.js'
import type { EngineVersion, EnsembleVersion, ModuleVersion, ThreadPlan } from './thread-plan.js'

export interface EnsembleThreadsOptions extends Omit<ModelSettings, 'autoComplete' | 'engine'> {
  readonly model: string
  readonly onWarning: (text: string, at?: string) => void
  /** Of tensors that were copied on the host between steps. */
  readonly onCopies: (copies: number, bytes: number) => void
}

type Thread = ModuleWorker<EnsembleOrder, EnsembleAnswer>

/** A request that waits for its answer. */
interface Asked extends Waiting {
  readonly message: RequestMessage
  readonly resolve: (outputs: readonly WireTensor[]) => void
}

/** What a thread has under way. */
interface Load {
  requests: number
  /** Messages that it was sent, and how many it has taken. */
  sent: number
  readonly taken: Int32Array
  /** Those that nobody waits for any more. */
  left: number
}

interface Free {
  readonly thread: Thread
  readonly load: Load
}

const entry = (): URL => ownFile('./worker-entry.js', import.meta.url)

export class EnsembleThreads {
  readonly slots: SlotPool
  readonly #memory = new LentMemory()
  readonly #plan: ThreadPlan
  readonly #options: EnsembleThreadsOptions
  readonly #loads = new WeakMap<Thread, Load>()
  /** Of the newest thread of each instance: how many messages it has taken. */
  readonly #taken = new Map<number, Int32Array>()
  readonly #queue: ModuleQueue<Asked, Free>
  #instances: Instances<EnsembleOrder, EnsembleAnswer> | undefined

  /** @throws Fault, TensorRTError, or the reason of the signal (as a rejection); no thread is left */
  static async start(plan: ThreadPlan, options: EnsembleThreadsOptions, signal: AbortSignal): Promise<EnsembleThreads> {
    const threads = new EnsembleThreads(plan, options)
    const { model, onWarning, onOutput = (line: string) => onWarning(line) } = options
    threads.#instances = await Instances.start<EnsembleOrder, EnsembleAnswer>(
      {
        model,
        count: plan.count,
        modules: plan.modules,
        entry: entry(),
        data: (instance) => ({ ensemble: plan.start(instance), taken: threads.#takenBy(instance) }),
        maxMemoryMb: plan.maxMemoryMb,
        onOutput,
        onWarning,
        onReady: () => threads.#queue.pump(),
        onFailure: (reason) => threads.#onFailure(reason),
      },
      signal,
    )
    return threads
  }

  private constructor(plan: ThreadPlan, options: EnsembleThreadsOptions) {
    this.#plan = plan
    this.#options = options
    this.slots = new SlotPool(this.#memory, options.slotBytesKept)
    this.#queue = new ModuleQueue(undefined, plan.limits, {
      free: () => this.#free(),
      run: (free, batch) => batch.forEach((asked) => this.#take(free, asked)),
      failed: () => {}, // who asked counts it
      left: (asked) => ended(asked).reject(whileRunning(asked.cut.reason)),
    })
  }

  #takenBy(instance: number): Int32Array {
    const taken = new Int32Array(new SharedArrayBuffer(4))
    this.#taken.set(instance, taken)
    return taken
  }

  /** Why there are no threads any more. */
  get failure(): Fault | undefined {
    return this.#instances?.failure
  }

  /** Requests that wait for a thread. */
  get pending(): number {
    return this.#queue.length
  }

  /** What lies in the slot is not copied on its way. */
  reserve(bytes: number): Slot {
    return this.slots.reserve(bytes)
  }

  /**
   * Runs a request that was checked.
   * @throws Fault (as a rejection), or the reason of the cut
   */
  infer(message: RequestMessage, cut: Cut): Promise<readonly WireTensor[]> {
    return new Promise((resolve, reject) => {
      const { failure } = this
      if (failure !== undefined) throw failure
      const asked = { message, cut, resolve, reject, rows: 1, arrived: process.hrtime.bigint() }
      this.#queue.push(asked, message.id, undefined)
    })
  }

  #take({ thread, load }: Free, asked: Asked): void {
    clearTimeout(asked.timer)
    const message = withTimeLeft(asked)
    if (message !== undefined) void this.#run(thread, load, asked, message)
  }

  /**
   * The thread with the least to do. One that has not taken what it was sent, or does not come back from what nobody
   * waits for, is the last: a module may block it.
   */
  #free(): Free | undefined {
    let best: Free | undefined
    for (const { worker: thread, number } of this.#instances?.all ?? []) {
      if (thread === undefined) continue
      const load = this.#loadOf(thread, number)
      if (load.requests < this.#plan.perThread && (best === undefined || weight(load) < weight(best.load)))
        best = { thread, load }
    }
    return best
  }

  #loadOf(thread: Thread, instance: number): Load {
    const known = this.#loads.get(thread)
    if (known !== undefined) return known
    const load = { requests: 0, sent: 0, taken: this.#taken.get(instance) ?? new Int32Array(1), left: 0 }
    this.#loads.set(thread, load)
    return load
  }

  /** Never rejected. */
  async #run(thread: Thread, load: Load, asked: Asked, message: RequestMessage): Promise<void> {
    load.requests++
    load.sent++
    this.#mark(thread, load)
    const { requests, lent, transfer } = parcelOf([{ message }], this.#memory)
    const keys = lent.map(({ key }) => key)
    let isLeft = false
    try {
      const { run, answer } = thread.begin({ request: requests[0] as RequestMessage, lent }, transfer)
      asked.cancel = () => {
        isLeft = true
        load.left++
        thread.cancel(run, 0)
      }
      const got = await answer
      this.#memory.back(keys, got.lent)
      this.#count(got.counted)
      settle(asked, got.result)
    } catch (error) {
      this.#memory.back(keys, [])
      settle(asked, { failure: faultOf(error) })
    }
    load.requests--
    if (isLeft) load.left--
    this.#mark(thread, load)
    this.#queue.pump()
  }

  /** Whoever ends threads has to know which are at work. */
  #mark(thread: Thread, { requests }: Load): void {
    const instance = this.#instances?.all.find(({ worker }) => worker === thread)
    if (instance === undefined) return
    instance.runs = requests
    if (requests === 0 && this.failure !== undefined) this.#instances?.retire(instance)
  }

  #count({ runs, failures, rows, copies, copiedBytes }: Counted): void {
    const { models } = this.#plan
    for (const { model, run } of runs) (models[model] as ModuleVersion | EnsembleVersion).addRun(run)
    for (const { model, kind } of failures) (models[model] as ModuleVersion | EnsembleVersion).addFailure(kind)
    for (const { model, rows: count } of rows) (models[model] as EngineVersion).ranElsewhere(count)
    if (copies > 0) this.#options.onCopies(copies, copiedBytes)
  }

  #onFailure(reason: Fault): void {
    this.#options.onFailure?.(reason.message)
    this.#dropWaiting(reason)
  }

  #dropWaiting(reason: Fault): void {
    for (const asked of this.#queue.clear()) settle(asked, { failure: reason })
  }

  /** Ends all threads after their last requests, in so many milliseconds at most; what waits is rejected. */
  async end(limitMs: number): Promise<void> {
    this.#dropWaiting(new Fault('UNAVAILABLE', `'${this.#options.model}' was unloaded before it answered`))
    await this.#instances?.end(limitMs)
    this.slots.close()
  }
}

function weight({ requests, left, sent, taken }: Load): number {
  const isBlocked = left > 0 || Atomics.load(taken, 0) < sent
  return isBlocked ? requests + 2 ** 20 : requests
}

function settle(asked: Asked, result: EnsembleAnswer['result']): void {
  if (asked.isOver) return
  ended(asked)
  if ('outputs' in result) return asked.resolve(result.outputs)
  const { kind, message, at } = result.failure
  asked.reject(result.failure instanceof Fault ? result.failure : new Fault(kind, message, undefined, at))
}

/** Nothing where its time was over while it waited: then it is rejected. */
function withTimeLeft(asked: Asked): RequestMessage | undefined {
  const { message, arrived } = asked
  const { timeoutUs = 0 } = message
  if (timeoutUs === 0) return message
  const left = Math.floor(timeoutUs - Number(process.hrtime.bigint() - arrived) / 1000)
  if (left > 0) return { ...message, timeoutUs: left }
  settle(asked, { failure: new Fault('UNAVAILABLE', 'Request timeout expired') })
  return undefined
}
