import type { Cut } from '../../base/cancellation.js'
import { fromWire } from '../../base/wire.js'
import { TensorRTError } from '../../errors.js'
import { Tensor } from '../../tensor.js'
import { type Carrier, startCarrier } from './carrier.js'
import type { Ready, Reply, Start, WireTensor } from './messages.js'

export type Outputs = Record<string, Tensor>

interface Job {
  readonly id: number
  readonly inputs: readonly WireTensor[]
  /** Names of outputs. */
  readonly wanted: readonly string[]
  readonly resolve: (outputs: Outputs) => void
  readonly reject: (error: Error) => void
}

/**
 * How many jobs the worker has at once: one that runs, one that waits for it. The others wait here, where an abort can
 * still take them out.
 */
const posted = 2

/** The worker, its jobs, and its hold on the process: it keeps it alive only while something is under way. */
export class Session {
  readonly ready: Promise<Ready>
  readonly #carrier: Carrier
  readonly #waiting = new Map<number, Job>()
  readonly #running = new Map<number, Job>()
  readonly #ended: Promise<unknown>
  #death: Error | undefined
  #closing = false
  #lastId = 0

  constructor(start: Start) {
    const ready = deferred<Ready>()
    const ended = deferred<undefined>()
    this.ready = ready.promise
    this.#ended = ended.promise
    const die = (error: Error): void => {
      this.#fail(error)
      ready.reject(error)
    }
    this.#carrier = startCarrier(start, {
      reply: (reply) => {
        if (reply.type === 'failed') return die(fromWire(reply.error))
        if (reply.type === 'ready') ready.resolve(reply)
        else this.#settle(reply)
        this.#next()
      },
      failed: (cause) => die(dead(`failed: ${cause.message}`, cause)),
      ended: (code) => {
        die(dead(`ended with ${code}`))
        ended.resolve(undefined)
      },
    })
  }

  /** The worker is gone, or of no use: the first reason stands. */
  #fail(error: Error): void {
    this.#death ??= error
    for (const job of [...this.#running.values(), ...this.#waiting.values()]) job.reject(this.#death)
    this.#running.clear()
    this.#waiting.clear()
  }

  #settle(reply: Extract<Reply, { id: number }>): void {
    const job = this.#running.get(reply.id)
    this.#running.delete(reply.id)
    if (reply.type === 'error') return job?.reject(fromWire(reply.error))
    try {
      job?.resolve(outputsOf(reply.outputs))
    } catch (error) {
      job?.reject(error as Error) // a Tensor has at most 8 dimensions, onnxruntime knows no such limit
    }
  }

  /** Hands the worker what it may have, and lets the process go when nothing is left. */
  #next(): void {
    for (const job of this.#waiting.values()) {
      if (this.#running.size >= posted) break
      this.#waiting.delete(job.id)
      this.#running.set(job.id, job)
      this.#carrier.post({ type: 'run', id: job.id, inputs: job.inputs, wanted: job.wanted })
    }
    if (this.#running.size > 0) return this.#carrier.ref()
    if (!this.#closing) return this.#carrier.unref()
    this.#carrier.post({ type: 'close' })
  }

  run(inputs: readonly WireTensor[], wanted: readonly string[], cut: Cut | undefined): Promise<Outputs> {
    if (this.#death) return Promise.reject(this.#death)
    return new Promise((resolve, reject) => {
      const id = ++this.#lastId
      this.#waiting.set(id, { id, inputs, wanted, resolve, reject })
      this.#next()
      cut?.onCut(() => {
        this.#waiting.delete(id) // one that the worker has runs to its end, unheard
        // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- the caller's own reason, whatever it is
        reject(cut.reason)
      })
    })
  }

  async close(): Promise<void> {
    if (!this.#closing && !this.#death) {
      this.#closing = true
      this.#carrier.ref()
      this.#next()
    }
    await this.#ended
  }
}

function outputsOf(wire: readonly WireTensor[]): Outputs {
  const outputs = Object.create(null) as Outputs
  for (const { name, dtype, shape, bytes } of wire) outputs[name] = Tensor.fromBytes(dtype, bytes, shape)
  return outputs
}

interface Deferred<T> {
  readonly promise: Promise<T>
  readonly resolve: (value: T) => void
  readonly reject: (error: Error) => void
}

function deferred<T>(): Deferred<T> {
  let resolve!: Deferred<T>['resolve']
  let reject!: Deferred<T>['reject']
  const promise = new Promise<T>((onValue, onError) => {
    resolve = onValue
    reject = onError
  })
  return { promise, resolve, reject }
}

function dead(how: string, cause?: Error): TensorRTError {
  return new TensorRTError('ERR_TRT_EXECUTION', `The worker of the CPU backend ${how}`, cause ? { cause } : {})
}
