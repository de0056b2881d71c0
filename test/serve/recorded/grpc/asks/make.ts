// Short ways to write a call down.
import type { JsonObject, JsonValue } from '@bufbuild/protobuf'
import { type GrpcAsk, messageOf } from '../ask.js'

export const call = (name: string, method: string, message: JsonValue = {}): GrpcAsk => ({
  name,
  method,
  messages: [messageOf(method, message)],
})

/** Bytes that need not be a message. */
export const raw = (name: string, method: string, ...messages: readonly Uint8Array[]): GrpcAsk => ({
  name,
  method,
  messages: messages.map((bytes) => Buffer.from(bytes)),
})

/** What an inference has; `model` may have a version: `versions/2`. */
export function request(model: string, body: JsonObject): JsonObject {
  const [model_name = '', model_version = ''] = model.split('/')
  return { model_name, model_version, ...body }
}

export const infer = (name: string, model: string, body: JsonObject): GrpcAsk =>
  call(name, 'ModelInfer', request(model, body))

export const stream = (name: string, ...requests: readonly JsonObject[]): GrpcAsk => ({
  name,
  method: 'ModelStreamInfer',
  messages: requests.map((each) => messageOf('ModelInfer', each)),
})

/** An input, whose bytes are among `raw_input_contents`, or with its contents. */
export const input = (
  datatype: string,
  shape: readonly (number | string)[],
  contents?: JsonObject,
  name = 'INPUT0',
): JsonObject => ({
  name,
  datatype,
  shape: [...shape],
  ...(contents && { contents }),
})

export const bytes = (...each: readonly Uint8Array[]): JsonValue => each.map((of) => Buffer.from(of).toString('base64'))

export const floats = (...values: readonly number[]): Buffer => Buffer.from(Float32Array.from(values).buffer)

/** Two floats for the model `fp32`. */
export const good: JsonObject = { inputs: [input('FP32', [2])], raw_input_contents: bytes(floats(1, 2)) }
