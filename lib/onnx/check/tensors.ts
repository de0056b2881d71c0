import { bitsOf, type ElementType, elementTypeName } from '../element-type.js'
import type { TensorProto } from '../onnx_pb.js'
import { shortened } from '../scope.js'
import { notAGraph } from '../structure.js'
import { isExternal, listOf } from '../tensors.js'

/** Of these types ONNX's schema does not say how they are stored. */
const unspecified: readonly ElementType[] = ['float6e2m3', 'float6e3m2', 'uint2', 'int2']

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
  const width = bitsOf(dtype)
  if (width === undefined || unspecified.includes(dtype)) return [undefined, 0n]
  const bytes = (count * BigInt(width) + 7n) / 8n
  if (isExternal(tensor)) return [externalLength(tensor), bytes]
  if (tensor.rawData.length > 0) return [tensor.rawData.length, bytes]
  // A complex number is two; of less than a byte each as many as fit go into one.
  const wanted = dtype.startsWith('complex') ? count * 2n : width < 8 ? bytes : count
  return [listOf(tensor, dtype).length, wanted]
}

/** Where the length is not said, the tensor is the rest of its file. */
function externalLength({ externalData }: TensorProto): string | undefined {
  const length = externalData.find(({ key }) => key === 'length')?.value
  return length !== undefined && /^\d{1,20}$/.test(length) ? length : undefined
}
