import { ownFile } from '../../base/package.js'
import { Worker } from 'node:worker_threads'
import { isArrayBuffer } from 'node:util/types'
import { Fault } from '../faults.js'
import type { ContentsTask } from '../grpc/long-contents.js'
import type { DocumentLimits, InferDocument } from '../wire/document.js'
import type { LoadBody, Order, Reply, Results, Task } from './json-messages.js'
import type { EncodedOutput, OutputJob } from './outputs.js'

const entry = (): URL => ownFile('./json-entry.js', import.meta.url)

interface Waiting {
  readonly resolve: (result: Results[keyof Results]) => void
  readonly reject: (fault: Fault) => void
}

/**
 * A thread for JSON, and for contents of gRPC, that would hold the event loop; it begins with the first, and keeps the
 * process alive only while it works.
 */
export class JsonWorker {
  #worker: Worker | undefined
  #next = 0
  readonly #waiting = new Map<number, Waiting>()

  /** The bytes are gone from here afterwards where they have a buffer of their own. @throws Fault (as a rejection) */
  read(bytes: Uint8Array, limits: DocumentLimits): Promise<InferDocument> {
    const { jsonDepth, maxInputBytes } = limits
    return this.#run({ type: 'read', bytes, limits: { jsonDepth, maxInputBytes } }, own(bytes))
  }

  /** The outputs' bytes are copied: they may be an engine's. @throws Fault (as a rejection) */
  write(outputs: readonly OutputJob[]): Promise<readonly EncodedOutput[]> {
    const copies = outputs.map((job) => ({ ...job, tensor: { ...job.tensor, bytes: job.tensor.bytes.slice() } }))
    return this.#run(
      { type: 'write', outputs: copies },
      copies.map(({ tensor }) => tensor.bytes.buffer),
    )
  }

  /** @throws Fault (as a rejection) */
  load(bytes: Uint8Array, depth: number): Promise<LoadBody> {
    return this.#run({ type: 'load', bytes, depth }, own(bytes))
  }

  /** The bytes of each input; those that were given are gone from here afterwards. @throws Fault (as a rejection) */
  contents(task: ContentsTask): Promise<readonly Uint8Array[]> {
    return this.#run(
      { type: 'contents', ...task },
      task.inputs.flatMap(({ parts }) => parts.map(({ buffer }) => buffer)),
    )
  }

  async close(): Promise<void> {
    await this.#worker?.terminate()
  }

  #run<T extends Task>(task: T, transfer: readonly ArrayBuffer[]): Promise<Results[T['type']]> {
    const worker = (this.#worker ??= this.#start())
    const number = this.#next++
    const order: Order = { ...task, number }
    return new Promise<Results[T['type']]>((resolve, reject) => {
      this.#waiting.set(number, { resolve: resolve as Waiting['resolve'], reject })
      worker.ref()
      worker.postMessage(order, transfer)
    })
  }

  #start(): Worker {
    const worker = new Worker(entry(), { name: 'node-tensorrt json', execArgv: [] })
    let cause: unknown
    worker.on('message', (reply: Reply) => this.#onReply(reply))
    worker.on('error', (error: Error) => (cause = error))
    worker.on('exit', () => {
      this.#worker = undefined
      for (const { reject } of this.#waiting.values())
        reject(new Fault('INTERNAL', 'the thread that reads and writes JSON has ended', cause))
      this.#waiting.clear()
    })
    return worker
  }

  #onReply(reply: Reply): void {
    const waiting = this.#waiting.get(reply.number)
    this.#waiting.delete(reply.number)
    if (this.#waiting.size === 0) this.#worker?.unref()
    if ('fault' in reply) waiting?.reject(new Fault(reply.fault.kind, reply.fault.message))
    else waiting?.resolve(reply.result)
  }
}

/** Its buffer, to be handed over, where nothing else is in it. */
function own({ buffer, byteLength }: Uint8Array): ArrayBuffer[] {
  return isArrayBuffer(buffer) && buffer.byteLength === byteLength && byteLength > 0 ? [buffer] : []
}
