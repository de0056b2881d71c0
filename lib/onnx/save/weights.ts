import { clearField, create } from '@bufbuild/protobuf'
import { byteSize, isNumberDType, bytesOfTensor } from '../../tensor.js'
import { elementTypeName } from '../element-type.js'
import { type ModelProto, StringStringEntryProtoSchema, type TensorProto, TensorProtoSchema } from '../onnx_pb.js'
import { isExternal, tensorFromProto } from '../tensors.js'

/** Where a tensor lies in a file of weights. */
export interface Placed {
  readonly offset: number
  readonly length: number
}

/** As onnx has it: what is smaller may be read for its value, and stays in the model. */
const leastBytes = 1024

/** The initializers of the main graph that can go to another file: all that are large, but text. */
export function movable(model: ModelProto): TensorProto[] {
  return (model.graph?.initializer ?? []).filter((tensor) => isPlain(tensor) && contentBytes(tensor) >= leastBytes)
}

/** Whether its elements are here, as bytes or as what can be made such. */
function isPlain(tensor: TensorProto): boolean {
  const { rawData, dataType, segment } = tensor
  return (
    !isExternal(tensor) && segment === undefined && (rawData.length > 0 || isNumberDType(elementTypeName(dataType)))
  )
}

/** How many bytes the elements are in `raw_data`. */
export function contentBytes({ rawData, dataType, dims }: TensorProto): number {
  const dtype = elementTypeName(dataType)
  return rawData.length > 0 || !isNumberDType(dtype) ? rawData.length : byteSize(dtype, dims.map(Number))
}

/** The elements as `raw_data` has them; copied only where they are in a list. */
export function content(tensor: TensorProto): Uint8Array {
  if (tensor.rawData.length > 0) return tensor.rawData
  return bytesOfTensor(tensorFromProto(tensor))
}

/** The model, which stays as it is, with tensors that are said to be in the file `location`; nothing else is copied. */
export function withoutWeights(
  model: ModelProto,
  placed: ReadonlyMap<TensorProto, Placed>,
  location: string,
): ModelProto {
  if (model.graph === undefined) return model
  const initializer = model.graph.initializer.map((tensor) => {
    const place = placed.get(tensor)
    return place === undefined ? tensor : reference(tensor, place, location)
  })
  return altered(model, { graph: altered(model.graph, { initializer }) })
}

function reference(tensor: TensorProto, { offset, length }: Placed, location: string): TensorProto {
  const entries = { location, offset: String(offset), length: String(length) }
  const externalData = Object.entries(entries).map(([key, value]) =>
    create(StringStringEntryProtoSchema, { key, value }),
  )
  const none = { floatData: [], int32Data: [], int64Data: [], doubleData: [], uint64Data: [] }
  const stub = altered(tensor, { ...none, externalData, dataLocation: 1 })
  clearField(stub, TensorProtoSchema.field.rawData)
  return stub
}

/** A message with the same fields but these. Its prototype has the defaults of proto2. */
function altered<T extends object>(message: T, fields: Partial<T>): T {
  return Object.assign(Object.create(Object.getPrototypeOf(message) as object) as T, message, fields)
}

/** How much is written at once: an abort is heard in between. */
const pieceSize = 2 ** 24

/** Bytes piece by piece. @throws the signal's reason, in between */
export function* inPieces(bytes: Uint8Array, signal: AbortSignal | undefined): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += pieceSize) {
    signal?.throwIfAborted()
    yield bytes.subarray(at, at + pieceSize)
  }
  signal?.throwIfAborted()
}
