import { fork } from 'node:child_process'
import { isMainThread, Worker } from 'node:worker_threads'
import { ownFile } from '../../base/package.js'
import type { Reply, Request, Start } from './messages.js'
import { newGuard, unwatch, watch } from './native-guard.js'

/** What carries onnxruntime, seen from the engine's thread. */
export interface Carrier {
  /** The buffers of a request are gone from here afterwards. */
  post(request: Request): void
  /** Keeps the process alive, which it does from the start. */
  ref(): void
  unref(): void
}

/** What it tells. `ended` comes last, once. */
export interface CarrierEvents {
  readonly reply: (reply: Reply) => void
  readonly failed: (cause: Error) => void
  readonly ended: (code: number | string | null) => void
}

const entry = (): URL => ownFile('./worker.js', import.meta.url)

/** Flags of the user's process, such as --input-type, need not make sense for our file. */
const execArgv: string[] = []

/**
 * A thread; a process of its own when this is not the main thread. A thread that others can terminate (its user's, by
 * `worker.terminate()` or `process.exit()` elsewhere) cannot wait until onnxruntime is out of a native call, see
 * native-guard.ts, and would take the whole process down.
 */
export function startCarrier(start: Start, events: CarrierEvents): Carrier {
  return isMainThread ? startThread(start, events) : startProcess(start, events)
}

function startThread(start: Start, events: CarrierEvents): Carrier {
  const guard = newGuard()
  const transferList = typeof start.model === 'string' ? [] : [start.model.buffer as ArrayBuffer]
  const worker = new Worker(entry(), {
    name: 'node-tensorrt cpu',
    workerData: { ...start, guard },
    transferList,
    execArgv,
  })
  watch(guard)
  worker.on('message', events.reply)
  worker.on('error', events.failed)
  worker.on('exit', (code) => {
    unwatch(guard)
    events.ended(code)
  })
  return {
    post: (request) =>
      worker.postMessage(request, request.type === 'run' ? request.inputs.map(({ bytes }) => bytes) : []),
    ref: () => worker.ref(),
    unref: () => worker.unref(),
  }
}

function startProcess(start: Start, events: CarrierEvents): Carrier {
  const child = fork(entry(), { execArgv, serialization: 'advanced', stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  // A message that cannot be sent means that the child is gone, which `exit` tells.
  const send = (message: Start | Request): void => void child.send(message, () => {})
  child.on('message', (reply) => events.reply(reply as Reply))
  child.on('error', (cause) => {
    events.failed(cause)
    if (child.pid === undefined) events.ended(null) // it never began, so there is no exit
  })
  child.on('exit', (code, signal) => events.ended(code ?? signal))
  send(start)
  return {
    post: send,
    ref: () => {
      child.ref()
      child.channel?.ref()
    },
    unref: () => {
      child.unref()
      child.channel?.unref()
    },
  }
}
