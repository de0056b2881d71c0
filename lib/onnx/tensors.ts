import { create, isMessage } from '@bufbuild/protobuf'
import { shapeText } from '../base/dims.js'
import { expected, TensorRTError } from '../errors.js'
import { elementCount, expectedTensor, Tensor, bytesOfTensor, typedDataOf, isNumberDType } from '../tensor.js'
import { type ElementType, elementTypeName, elementTypeNumber } from './element-type.js'
import { type TensorProto, TensorProtoSchema } from './onnx_pb.js'

/** `TensorProto.data_location` of a tensor whose bytes are in another file. */
const external = 1

/** Whether the elements of a tensor are in another file than the model's. */
export function isExternal(proto: TensorProto): boolean {
  return proto.dataLocation === external
}

/**
 * A tensor as ONNX stores it, its elements copied into `raw_data`. All systems that Node.js supports TensorRT or
 * onnxruntime on are little-endian, as ONNX is, so the bytes are taken as they are.
 */
export function tensorToProto(tensor: Tensor, name = ''): TensorProto {
  if (!Tensor.is(tensor)) throw expectedTensor('a Tensor', 'tensor', tensor)
  const { buffer, byteOffset, byteLength } = typedDataOf(tensor)
  return create(TensorProtoSchema, {
    name,
    dims: tensor.shape.map(BigInt),
    dataType: elementTypeNumber(tensor.dtype),
    rawData: new Uint8Array(buffer, byteOffset, byteLength).slice(),
  })
}

/**
 * A tensor of a model (a weight, the value of an attribute) as a `Tensor`, its elements copied.
 * @throws TensorRTError ERR_TRT_DTYPE for an element type that `Tensor` has not (string, complex64 …),
 * ERR_TRT_INVALID_ARGUMENT when the elements are in another file and {@link loadExternalData} was not called,
 * ERR_TRT_ONNX_PARSE when their number is not that of the shape, ERR_TRT_SHAPE for more than eight dimensions.
 */
export function tensorFromProto(proto: TensorProto): Tensor {
  if (!isMessage(proto, TensorProtoSchema)) throw expected('a TensorProto', 'proto', proto)
  const what = `tensor ${JSON.stringify(proto.name)}`
  const dtype = elementTypeName(proto.dataType)
  if (!isNumberDType(dtype)) {
    const message = `${what} has elements of type ${dtype} (${proto.dataType}), which Tensor has not`
    throw new TensorRTError('ERR_TRT_DTYPE', message)
  }
  if (isExternal(proto))
    throw new TensorRTError(
      'ERR_TRT_INVALID_ARGUMENT',
      `The elements of ${what} are in another file: call loadExternalData() first`,
    )
  const shape = checkedDims(proto, what)
  const tensor = Tensor.zeros(dtype, shape)
  if (proto.rawData.length > 0) fill(what, bytesOf(tensor), proto.rawData)
  else {
    const list = listOf(proto, dtype)
    fill(what, tensor.data, dtype === 'uint32' ? list.map(Number) : list)
  }
  return tensor
}

/**
 * The shape as numbers, after a look at whether there can be as many elements: a damaged file must not make us allocate
 * what it names.
 */
function checkedDims(proto: TensorProto, what: string): number[] {
  const shape = proto.dims.map(Number)
  const lists = [proto.floatData, proto.int64Data, proto.doubleData, proto.uint64Data]
  const stored = lists.reduce((sum, { length }) => sum + length, (proto.rawData.length + proto.int32Data.length) * 2)
  if (shape.some((dim) => dim < 0) || elementCount(shape) > stored) {
    throw new TensorRTError(
      'ERR_TRT_ONNX_PARSE',
      `${what} of shape ${shapeText(shape)} has more elements than are stored`,
    )
  }
  return shape
}

function bytesOf(tensor: Tensor): Uint8Array {
  return bytesOfTensor(tensor)
}

/**
 * The list that holds the elements when `raw_data` does not: `int32_data` has the bits of all types that have no list
 * of their own.
 */
export function listOf(proto: TensorProto, dtype: ElementType): number[] | bigint[] {
  if (dtype === 'float32' || dtype === 'complex64') return proto.floatData
  if (dtype === 'float64' || dtype === 'complex128') return proto.doubleData
  if (dtype === 'int64') return proto.int64Data
  return dtype === 'uint32' || dtype === 'uint64' ? proto.uint64Data : proto.int32Data
}

function fill(what: string, target: Tensor['data'], source: Uint8Array | number[] | bigint[]): void {
  if (source.length !== target.length) {
    throw new TensorRTError(
      'ERR_TRT_ONNX_PARSE',
      `${what} needs ${target.length} stored elements or bytes and has ${source.length}`,
    )
  }
  // The list and the array go by the data type together, which the types cannot say.
  ;(target as { set(values: ArrayLike<number | bigint>): void }).set(source)
}
