/** The requests that are sent to all servers alike: a tensor of floats to a model that gives it back. */
import { create, toBinary } from '@bufbuild/protobuf'
import type { Call } from './h2load.js'
import type { Post } from './wrk.js'
import { ModelInferRequestSchema } from '../../../lib/kserve/messages/grpc_service_pb.js'

interface Model {
  readonly name: string
  readonly input: string
  readonly output: string
}

const identity: Model = { name: 'identity', input: 'INPUT0', output: 'OUTPUT0' }

interface Asked {
  readonly model?: Model
  readonly shape?: readonly number[]
  /** Parameters of the request, such as `timeout` in microseconds. */
  readonly parameters?: Readonly<Record<string, number>>
}

function pathOf({ name }: Model): string {
  return `/v2/models/${name}/infer`
}

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i / 8)
}

/** As tritonclient sends it: JSON, then the tensor's bytes; the answer likewise. */
export function binaryPost(elements: number, { model = identity, shape = [elements], parameters }: Asked = {}): Post {
  const head = Buffer.from(
    JSON.stringify({
      ...(parameters && { parameters }),
      inputs: [{ name: model.input, shape, datatype: 'FP32', parameters: { binary_data_size: 4 * elements } }],
      outputs: [{ name: model.output, parameters: { binary_data: true } }],
    }),
  )
  const tensor = Buffer.from(Float32Array.from(numbers(elements)).buffer)
  const headers = { 'Content-Type': 'application/octet-stream', 'Inference-Header-Content-Length': String(head.length) }
  return { path: pathOf(model), headers, body: Buffer.concat([head, tensor]) }
}

/** The same over gRPC. */
export function inferCall(elements: number): Call {
  const tensor = Buffer.from(Float32Array.from(numbers(elements)).buffer)
  const message = toBinary(
    ModelInferRequestSchema,
    create(ModelInferRequestSchema, {
      modelName: identity.name,
      inputs: [{ name: identity.input, datatype: 'FP32', shape: [BigInt(elements)] }],
      outputs: [{ name: identity.output }],
      rawInputContents: [tensor],
    }),
  )
  const frame = Buffer.alloc(5 + message.length)
  frame.writeUInt32BE(message.length, 1)
  frame.set(message, 5)
  return { path: '/inference.GRPCInferenceService/ModelInfer', frame }
}

/** As curl does it. */
export function jsonPost(elements: number): Post {
  const inputs = [{ name: identity.input, shape: [elements], datatype: 'FP32', data: numbers(elements) }]
  return {
    path: pathOf(identity),
    headers: { 'Content-Type': 'application/json' },
    body: Buffer.from(JSON.stringify({ inputs })),
  }
}

/** The same with about so many bytes of JSON. */
export function jsonPostOf(bytes: number): Post {
  const each = jsonPost(2 ** 16).body.length / 2 ** 16
  return jsonPost(Math.round(bytes / each))
}
