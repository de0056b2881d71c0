import { create } from '@bufbuild/protobuf'
import { checkedArray, checkedWhole } from '../base/checks.js'
import { expected } from '../errors.js'
import { dtypes } from '../tensor.js'
import { type ElementType, elementTypeNumber, isElementType } from './element-type.js'
import { type ValueInfoProto, ValueInfoProtoSchema } from './onnx_pb.js'

/** One dimension of a shape: its size, or the name of a size that is known only when the model runs. */
export type Dim = number | string

/** What a model says of a value. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function valueInfo(name: string, dtype: ElementType, shape: readonly Dim[]): ValueInfoProto {
  if (!isElementType(dtype))
    throw expected(`one of ${dtypes.join(', ')}, or another element type of ONNX`, `dtype of ${name}`, dtype)
  const sizes = checkedArray(shape, `shape of ${name}`, 'an array of sizes and names')
  const dim = sizes.map((size) => dimension(size, name))
  return tensorInfo(name, dtype, { dim })
}

/** The same of what was checked; without a shape the rank is open, too. */
export function tensorInfo(
  name: string,
  dtype: ElementType,
  shape?: { readonly dim: readonly ReturnType<typeof dimension>[] },
): ValueInfoProto {
  const tensor = { elemType: elementTypeNumber(dtype), shape: shape && { dim: [...shape.dim] } }
  return create(ValueInfoProtoSchema, { name, type: { value: { case: 'tensorType', value: tensor } } })
}

function dimension(size: unknown, name: string) {
  if (typeof size === 'string' && size !== '') return { value: { case: 'dimParam' as const, value: size } }
  const known = checkedWhole(
    size,
    `shape of ${name}`,
    0,
    undefined,
    'non-negative integers, and names for dynamic dimensions,',
  )
  return { value: { case: 'dimValue' as const, value: BigInt(known) } }
}
