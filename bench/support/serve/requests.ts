/** The requests that are sent to all servers alike: a tensor of floats to a model that gives it back. */
import type { Post } from './wrk.js'

const path = '/v2/models/identity/infer'

/** As tritonclient sends it: JSON, then the tensor's bytes; the answer likewise. */
export function binaryPost(elements: number): Post {
  const head = Buffer.from(
    JSON.stringify({
      inputs: [{ name: 'INPUT0', shape: [elements], datatype: 'FP32', parameters: { binary_data_size: 4 * elements } }],
      outputs: [{ name: 'OUTPUT0', parameters: { binary_data: true } }],
    }),
  )
  const tensor = Buffer.from(Float32Array.from({ length: elements }, (_, i) => i / 8).buffer)
  const headers = { 'Content-Type': 'application/octet-stream', 'Inference-Header-Content-Length': String(head.length) }
  return { path, headers, body: Buffer.concat([head, tensor]) }
}

/** As curl does it. */
export function jsonPost(elements: number): Post {
  const data = Array.from({ length: elements }, (_, i) => i / 8)
  const inputs = [{ name: 'INPUT0', shape: [elements], datatype: 'FP32', data }]
  return { path, headers: { 'Content-Type': 'application/json' }, body: Buffer.from(JSON.stringify({ inputs })) }
}
