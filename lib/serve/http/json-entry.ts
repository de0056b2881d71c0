// The thread of JsonWorker.
import { parentPort } from 'node:worker_threads'
import { isArrayBuffer, isUint8Array } from 'node:util/types'
import { faultOf } from '../faults.js'
import { bytesOfTask } from '../grpc/long-contents.js'
import { readDocument, withBytes } from '../wire/document.js'
import type { Order, Reply, Results } from './json-messages.js'
import { readLoad } from './load-body.js'
import { encoded } from './outputs.js'

parentPort?.on('message', (order: Order) => {
  const [reply, transfer] = answer(order)
  parentPort?.postMessage(reply, transfer)
})

function answer(order: Order): [Reply, ArrayBuffer[]] {
  const { number } = order
  try {
    const [result, buffers] = done(order)
    return [{ number, result }, [...new Set(buffers)]]
  } catch (error) {
    const { kind, message } = faultOf(error)
    return [{ number, fault: { kind, message } }, []]
  }
}

function done(order: Order): [Results[keyof Results], ArrayBuffer[]] {
  if (order.type === 'read') {
    const document = withBytes(readDocument(order.bytes, order.limits))
    return [document, document.inputs.flatMap(({ bytes }) => (bytes === undefined ? [] : [bytes.buffer]))]
  }
  if (order.type === 'load') {
    const load = readLoad(order.bytes, order.depth)
    return [
      load,
      load.files.flatMap(([, bytes]) => (isArrayBuffer(bytes.buffer) && bytes.length > 0 ? [bytes.buffer] : [])),
    ]
  }
  if (order.type === 'contents') {
    const contents = bytesOfTask(order)
    return [contents, contents.map(({ buffer }) => buffer)]
  }
  const outputs = order.outputs.map((job) => encoded(job, true))
  return [
    outputs,
    outputs.flatMap(({ content }) => (isUint8Array(content) && isArrayBuffer(content.buffer) ? [content.buffer] : [])),
  ]
}
