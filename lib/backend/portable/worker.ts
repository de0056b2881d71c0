/**
 * The thread (or process, see carrier.ts) in which onnxruntime-node runs one model, because its `run` blocks the thread
 * that calls it.
 * @see https://github.com/microsoft/onnxruntime/issues/19611
 */
import { parentPort, workerData } from 'node:worker_threads'
import { toWire, type WireError } from '../../base/wire.js'
import { TensorRTError } from '../../errors.js'
import type { Reply, Request, Start } from './messages.js'
import { enterNative, leaveNative, newGuard } from './native-guard.js'
import { Model, textOf } from './runtime.js'

/** What onnxruntime throws has no code. */
function failure(error: unknown): WireError {
  return toWire(
    error instanceof TensorRTError ? error : new TensorRTError('ERR_TRT_EXECUTION', textOf(error), { cause: error }),
  )
}

/** The way to the engine's thread. */
interface Port {
  postMessage(reply: Reply, transfer: ArrayBuffer[]): void
  on(event: 'message', listener: (request: Request) => void): unknown
  close(): void
}

async function serve(port: Port, start: Start, guard: Int32Array): Promise<void> {
  const send = (reply: Reply): void =>
    port.postMessage(reply, reply.type === 'result' ? reply.outputs.map(({ bytes }) => bytes) : [])
  const native = async <T>(work: () => Promise<T>): Promise<T> => {
    await enterNative(guard)
    return work().finally(() => leaveNative(guard))
  }
  const answer = async (model: Model, request: Request): Promise<void> => {
    if (request.type === 'close') {
      await native(() => model.close())
      return port.close()
    }
    try {
      send({ type: 'result', id: request.id, outputs: await native(() => model.run(request.inputs, request.wanted)) })
    } catch (error) {
      send({ type: 'error', id: request.id, error: failure(error) })
    }
  }
  try {
    const model = await native(() => Model.open(start))
    let last = Promise.resolve()
    port.on('message', (request) => {
      last = last.then(() => answer(model, request))
    })
    send(await model.describe(start.model))
  } catch (error) {
    send({ type: 'failed', error: failure(error) })
    port.close()
  }
}

/** As a process: it ends with the other one, whatever way that one ends. */
function serveProcess(): void {
  process.on('disconnect', () => process.exit())
  process.once('message', (start: Start) => {
    const port: Port = {
      // nobody is there to hear of a failure
      postMessage: (reply) => void process.send?.(reply, undefined, undefined, () => {}),
      on: (event, listener) => process.on(event, listener),
      close: () => process.disconnect(),
    }
    void serve(port, start, newGuard())
  })
}

if (parentPort) {
  const { guard, ...start } = workerData as Start & { guard: Int32Array }
  void serve(parentPort, start, guard)
} else {
  serveProcess()
}
