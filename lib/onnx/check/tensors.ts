import { type ElementType, elementTypeName } from '../element-type.js'
import type { TensorProto } from '../onnx_pb.js'
import { shortened } from '../scope.js'
import { notAGraph } from '../structure.js'
import { isExternal } from '../tensors.js'

/**
 * The bits of an element in `raw_data`; of the types that are not here ONNX's schema does not say how they are stored.
 */
const bits: Readonly<Partial<Record<ElementType, number>>> = {
  float32: 32,
  uint8: 8,
  int8: 8,
  uint16: 16,
  int16: 16,
  int32: 32,
  int64: 64,
  bool: 8,
  float16: 16,
  float64: 64,
  uint32: 32,
  uint64: 64,
  complex64: 64,
  complex128: 128,
  bfloat16: 16,
  float8e4m3: 8,
  float8e4m3fnuz: 8,
  float8e5m2: 8,
  float8e5m2fnuz: 8,
  uint4: 4,
  int4: 4,
  float4e2m1: 4,
  float8e8m0: 8,
}

/** That a stored tensor has as many elements as its shape says. @throws TensorRTError ERR_TRT_ONNX_PARSE */
export function checkTensor(tensor: TensorProto): void {
  const { name, dims, dataType, segment } = tensor
  const dtype = elementTypeName(dataType)
  const what = `Tensor ${shortened(name)}`
  if (dtype === 'undefined')
    throw notAGraph(`${what} has elements of type ${dataType}, which ONNX does not define`, { value: name })
  const negative = dims.find((dim) => dim < 0n)
  if (negative !== undefined) throw notAGraph(`${what} has a dimension of ${negative}`, { value: name })
  // What is a part of a tensor has another number of elements.
  if (segment !== undefined) return
  const count = dims.reduce((all, dim) => all * dim, 1n)
  const [stored, wanted] = storage(tensor, dtype, count)
  if (stored === undefined || BigInt(stored) === wanted) return
  throw notAGraph(`${what} of shape [${dims.join(', ')}] needs ${wanted} stored elements or bytes and has ${stored}`, {
    value: name,
  })
}

/** How much is stored, and how much there should be: bytes or elements. */
function storage(
  tensor: TensorProto,
  dtype: Exclude<ElementType, 'undefined'>,
  count: bigint,
): [stored: number | string | undefined, wanted: bigint] {
  if (dtype === 'string') return [tensor.stringData.length, count]
  const width = bits[dtype]
  if (width === undefined) return [undefined, 0n]
  const bytes = (count * BigInt(width) + 7n) / 8n
  if (isExternal(tensor)) return [externalLength(tensor), bytes]
  if (tensor.rawData.length > 0) return [tensor.rawData.length, bytes]
  switch (dtype) {
    case 'float32':
      return [tensor.floatData.length, count]
    case 'complex64':
      return [tensor.floatData.length, count * 2n]
    case 'float64':
      return [tensor.doubleData.length, count]
    case 'complex128':
      return [tensor.doubleData.length, count * 2n]
    case 'int64':
      return [tensor.int64Data.length, count]
    case 'uint32':
    case 'uint64':
      return [tensor.uint64Data.length, count]
    default:
      // Less than a byte each: as many as fit go into one.
      return [tensor.int32Data.length, width < 8 ? bytes : count]
  }
}

/** Where the length is not said, the tensor is the rest of its file. */
function externalLength({ externalData }: TensorProto): string | undefined {
  const length = externalData.find(({ key }) => key === 'length')?.value
  return length !== undefined && /^\d{1,20}$/.test(length) ? length : undefined
}
