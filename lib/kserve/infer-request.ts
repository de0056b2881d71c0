// ModelInferRequest, decoded and encoded by hand: of a generated codec each tensor would be a copy.
import type { InferParameters } from './infer-parameters.js'
import { noParameters, readParameter, writeParameters } from './infer-parameters.js'
import type { TypedContents } from './tensor-contents.js'
import { TensorContents, writeContents } from './tensor-contents.js'
import { EncodedMessage } from './wire/encoded.js'
import { Reader, wireTypes } from './wire/reader.js'
import { Writer } from './wire/writer.js'

export interface InferInput {
  readonly name: string
  /** As the client has it: it need not be one that there is. */
  readonly datatype: string
  /** As the client has it: a size may be below 0, or beyond 2^53, where it is the nearest number that there is. */
  readonly shape: readonly number[]
  readonly parameters: InferParameters
  readonly contents?: TensorContents | undefined
}

export interface InferRequestedOutput {
  readonly name: string
  readonly parameters: InferParameters
}

/** What requests and answers begin with. */
export interface InferHead {
  readonly modelName: string
  readonly modelVersion: string
  readonly id: string
  readonly parameters: InferParameters
}

/** A request as it was received. */
export interface InferRequest extends InferHead {
  readonly inputs: readonly InferInput[]
  readonly outputs: readonly InferRequestedOutput[]
  /** Views of the message. */
  readonly rawInputContents: readonly Uint8Array[]
}

/** The head of a message to be sent; of what is left out there is none. */
export interface NewInferHead extends Pick<InferHead, 'modelName'> {
  readonly modelVersion?: string | undefined
  readonly id?: string | undefined
  readonly parameters?: InferParameters | undefined
}

/** A request to be sent; of what is left out there is none. */
export interface NewInferRequest extends NewInferHead {
  readonly inputs: readonly NewInferInput[]
  readonly outputs?: readonly { readonly name: string; readonly parameters?: InferParameters | undefined }[] | undefined
  readonly rawInputContents?: readonly Uint8Array[] | undefined
}

export interface NewInferInput extends Pick<InferInput, 'name' | 'datatype' | 'shape'> {
  readonly parameters?: InferParameters | undefined
  readonly contents?: TypedContents | undefined
}

/** Tensors of what it gives are views of the message. @throws MessageFault */
export function decodeInferRequest(message: Uint8Array): InferRequest {
  const reader = new Reader(message)
  let [modelName, modelVersion, id, parameters] = ['', '', '', noParameters]
  const [inputs, outputs, rawInputContents] = [[] as InferInput[], [] as InferRequestedOutput[], [] as Uint8Array[]]
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === 0x0a) modelName = reader.string()
    else if (tag === 0x12) modelVersion = reader.string()
    else if (tag === 0x1a) id = reader.string()
    else if (tag === 0x22) parameters = readParameter(reader, parameters)
    else if (tag === 0x2a) inputs.push(readTensor(reader))
    else if (tag === 0x32) outputs.push(readOutput(reader))
    else if (tag === 0x3a) rawInputContents.push(readRaw(reader))
    else reader.skip()
  }
  return { modelName, modelVersion, id, parameters, inputs, outputs, rawInputContents }
}

/** The bytes of a tensor. @throws MessageFault */
export function readRaw(reader: Reader): Uint8Array {
  reader.entry()
  return reader.view()
}

/** An input or an output: both have the same fields. @throws MessageFault */
export function readTensor(reader: Reader): InferInput {
  reader.entry()
  const outer = reader.enter()
  let [name, datatype, parameters] = ['', '', noParameters]
  const shape: number[] = []
  let contents: Uint8Array[] | undefined
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === 0x0a) name = reader.string()
    else if (tag === 0x12) datatype = reader.string()
    else if (tag === 0x1a || tag === 0x18) readShape(reader, shape)
    else if (tag === 0x22) parameters = readParameter(reader, parameters)
    else if (tag === 0x2a) (contents ??= []).push(readRaw(reader))
    else reader.skip()
  }
  reader.leave(outer)
  return {
    name,
    datatype,
    shape,
    parameters,
    contents: contents === undefined ? undefined : new TensorContents(contents),
  }
}

function readOutput(reader: Reader): InferRequestedOutput {
  reader.entry()
  const outer = reader.enter()
  let [name, parameters] = ['', noParameters]
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === 0x0a) name = reader.string()
    else if (tag === 0x12) parameters = readParameter(reader, parameters)
    else reader.skip()
  }
  reader.leave(outer)
  return { name, parameters }
}

const writer = new Writer()

/** Its tensors are copied when it is brought into one piece: by `toBytes()`, or by whatever sends it. */
export function encodeInferRequest(request: NewInferRequest): EncodedMessage {
  writeHead(writer, request, request.inputs)
  for (const { name, parameters } of request.outputs ?? []) {
    const start = writer.open(6)
    writer.text(1, name)
    writeParameters(writer, 2, parameters ?? noParameters)
    writer.close(start)
  }
  return new EncodedMessage(writer.take(), 7, request.rawInputContents ?? [])
}

/** With the inputs or the outputs. */
export function writeHead(writer: Writer, head: NewInferHead, tensors: readonly NewInferInput[]): void {
  writer.text(1, head.modelName)
  writer.text(2, head.modelVersion ?? '')
  writer.text(3, head.id ?? '')
  writeParameters(writer, 4, head.parameters ?? noParameters)
  for (const tensor of tensors) writeTensor(writer, 5, tensor)
}

function writeTensor(writer: Writer, field: number, tensor: NewInferInput): void {
  const start = writer.open(field)
  writer.text(1, tensor.name)
  writer.text(2, tensor.datatype)
  writeShape(writer, 3, tensor.shape)
  writeParameters(writer, 4, tensor.parameters ?? noParameters)
  if (tensor.contents !== undefined) writeContents(writer, 5, tensor.contents)
  writer.close(start)
}

/** Sizes of a shape, packed or each for itself. */
function readShape(reader: Reader, into: number[]): void {
  if (reader.wireType !== wireTypes.delimited) {
    reader.entry()
    into.push(reader.int64AsNumber())
    return
  }
  const outer = reader.enter()
  while (!reader.isAtEnd) {
    reader.entry()
    into.push(reader.int64AsNumber())
  }
  reader.leave(outer)
}

function writeShape(writer: Writer, field: number, shape: readonly number[]): void {
  if (shape.length === 0) return
  const start = writer.open(field)
  for (const size of shape) writer.integer(size)
  writer.close(start)
}
