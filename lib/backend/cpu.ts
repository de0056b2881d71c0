import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Cut } from '../base/cancellation.js'
import { awaited } from '../base/stacks.js'
import { TensorRTError } from '../errors.js'
import { copiedBytes, Tensor } from '../tensor.js'
import type { Backend, Results, RunOptions, TensorInfo } from './backend.js'
import { type Carrier, startCarrier } from './cpu-carrier.js'
import { placed } from './results.js'
import type { Reply, Start, WireError, WireTensor } from './cpu-worker.js'

type Outputs = Record<string, Tensor>

interface Job {
  readonly id: number
  readonly inputs: readonly WireTensor[]
  readonly resolve: (outputs: Outputs) => void
  readonly reject: (error: Error) => void
}

/** How many jobs the worker has at once: one that runs, one that waits for it. The others wait here, where an abort can still take them out. */
const posted = 2

/**
 * Opens an ONNX model on onnxruntime-node, in a worker thread of its own. Bytes are transferred: `model` is empty afterwards.
 * A path is opened by onnxruntime itself, which finds weights in files beside it.
 * @throws TensorRTError ERR_TRT_NO_ONNXRUNTIME, ERR_TRT_ONNX_PARSE, ERR_TRT_DTYPE
 */
export async function openCpu(model: Uint8Array | string): Promise<Backend> {
  const session = new Session({ runtime: findRuntime(), model })
  return new CpuBackend(session, await session.ready)
}

/** From this package, else from the folder where the program runs: it is an optional peer, and a linked package does not see its user's modules. */
function findRuntime(): string {
  try {
    return createRequire(import.meta.url).resolve('onnxruntime-node')
  } catch (cause) {
    try {
      return createRequire(join(process.cwd(), 'package.json')).resolve('onnxruntime-node')
    } catch {
      throw new TensorRTError(
        'ERR_TRT_NO_ONNXRUNTIME',
        'The CPU backend needs onnxruntime-node. To install it: npm install onnxruntime-node',
        { cause },
      )
    }
  }
}

type Ready = Extract<Reply, { type: 'ready' }>

/** The worker, its jobs, and its hold on the process: it keeps it alive only while something is under way. */
class Session {
  readonly ready: Promise<Ready>
  readonly #carrier: Carrier
  readonly #waiting = new Map<number, Job>()
  readonly #running = new Map<number, Job>()
  readonly #ended: Promise<unknown>
  #death: TensorRTError | undefined
  #closing = false
  #lastId = 0

  constructor(start: Start) {
    const ready = deferred<Ready>()
    const ended = deferred<undefined>()
    this.ready = ready.promise
    this.#ended = ended.promise
    const die = (error: TensorRTError): void => {
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
  #fail(error: TensorRTError): void {
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
      this.#carrier.post({ type: 'run', id: job.id, inputs: job.inputs })
    }
    if (this.#running.size > 0) return this.#carrier.ref()
    if (!this.#closing) return this.#carrier.unref()
    this.#carrier.post({ type: 'close' })
  }

  run(inputs: readonly WireTensor[], cut: Cut | undefined): Promise<Outputs> {
    if (this.#death) return Promise.reject(this.#death)
    return new Promise((resolve, reject) => {
      const id = ++this.#lastId
      this.#waiting.set(id, { id, inputs, resolve, reject })
      this.#next()
      cut?.onCut(() => this.#waiting.delete(id)) // one that the worker has runs to its end, unheard
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

/**
 * Ends the worker of an engine that was dropped without close(): its thread would keep it for ever. A call that is under way holds its backend, so that nothing is
 * ended that somebody waits for.
 */
const dropped = new FinalizationRegistry<Session>((session) => void session.close())

class CpuBackend implements Backend {
  readonly kind = 'cpu'
  readonly description: string
  readonly inputs: readonly TensorInfo[]
  readonly outputs: readonly TensorInfo[]
  readonly #session: Session

  constructor(session: Session, { description, inputs, outputs }: Ready) {
    this.description = description
    this.inputs = inputs
    this.outputs = outputs
    this.#session = session
    dropped.register(this, session)
  }

  async run<R>(inputs: readonly Tensor[], options: RunOptions | undefined, finish: (results: Results) => R): Promise<R> {
    const wire = inputs.map(({ dtype, shape, data }, i) => ({ name: this.inputs[i]?.name ?? '', dtype, shape, bytes: copiedBytes(data) }))
    const outputs = await awaited(this.#session.run(wire, options?.cut))
    const { outputs: wanted, into } = options ?? {}
    return finish(this.outputs.map(({ name }, i) => (wanted?.[i] === false ? undefined : placed(outputs[name], into?.[i]))))
  }

  close(): Promise<void> {
    return this.#session.close()
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

function fromWire({ code, message, cause }: WireError): TensorRTError {
  return new TensorRTError(code, message, { cause })
}

function dead(how: string, cause?: Error): TensorRTError {
  return new TensorRTError('ERR_TRT_EXECUTION', `The worker of the CPU backend ${how}`, cause ? { cause } : {})
}
