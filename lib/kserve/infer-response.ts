// ModelInferResponse and what a stream has around it, decoded and encoded by hand: of a generated codec each tensor
// would be a copy.
import { noParameters, readParameter } from './infer-parameters.js'
import type { InferHead, InferInput, NewInferHead, NewInferInput } from './infer-request.js'
import { readRaw, readTensor, writeHead } from './infer-request.js'
import { EncodedMessage } from './wire/encoded.js'
import { Reader } from './wire/reader.js'
import { Writer } from './wire/writer.js'

export type InferOutput = InferInput

/** An answer as it was received. */
export interface InferResponse extends InferHead {
  readonly outputs: readonly InferOutput[]
  /** Views of the message. */
  readonly rawOutputContents: readonly Uint8Array[]
}

/** An answer to be sent; of what is left out there is none. */
export interface NewInferResponse extends NewInferHead {
  readonly outputs: readonly NewInferInput[]
  readonly rawOutputContents?: readonly Uint8Array[] | undefined
}

/** A message of ModelStreamInfer as it was received. */
export interface StreamInferResponse {
  /** Empty where there is none. */
  readonly errorMessage: string
  readonly inferResponse: InferResponse | undefined
}

/** Tensors of what it gives are views of the message. @throws MessageFault */
export function decodeInferResponse(message: Uint8Array): InferResponse {
  return readResponse(new Reader(message))
}

const noHead: InferHead = { modelName: '', modelVersion: '', id: '', parameters: noParameters }

function readResponse(reader: Reader, before?: InferResponse): InferResponse {
  let { modelName, modelVersion, id, parameters } = before ?? noHead
  const [outputs, rawOutputContents] = [[...(before?.outputs ?? [])], [...(before?.rawOutputContents ?? [])]]
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === 0x0a) modelName = reader.string()
    else if (tag === 0x12) modelVersion = reader.string()
    else if (tag === 0x1a) id = reader.string()
    else if (tag === 0x22) parameters = readParameter(reader, parameters)
    else if (tag === 0x2a) outputs.push(readTensor(reader))
    else if (tag === 0x32) rawOutputContents.push(readRaw(reader))
    else reader.skip()
  }
  return { modelName, modelVersion, id, parameters, outputs, rawOutputContents }
}

/** @throws MessageFault */
export function decodeStreamInferResponse(message: Uint8Array): StreamInferResponse {
  const reader = new Reader(message)
  let errorMessage = ''
  let inferResponse: InferResponse | undefined
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === 0x0a) errorMessage = reader.string()
    else if (tag === 0x12) {
      const outer = reader.enter()
      inferResponse = readResponse(reader, inferResponse)
      reader.leave(outer)
    } else reader.skip()
  }
  return { errorMessage, inferResponse }
}

const writer = new Writer()

function headOf(response: NewInferResponse): Buffer {
  writeHead(writer, response, response.outputs)
  return writer.take()
}

/** Its tensors are copied when it is brought into one piece: by `toBytes()`, or by whatever sends it. */
export function encodeInferResponse(response: NewInferResponse): EncodedMessage {
  return new EncodedMessage(headOf(response), 6, response.rawOutputContents ?? [])
}

/** The same as a message of ModelStreamInfer. */
export function encodeStreamInferResponse(response: NewInferResponse): EncodedMessage {
  return new EncodedMessage(headOf(response), 6, response.rawOutputContents ?? [], 2)
}

/** A failure in a stream; `response` says of which request. */
export function encodeStreamInferError(message: string, response: NewInferResponse): EncodedMessage {
  const inner = headOf(response)
  writer.text(1, message)
  writer.tag(2, 2)
  writer.bytes(inner)
  return new EncodedMessage(writer.take(), 6, [])
}
