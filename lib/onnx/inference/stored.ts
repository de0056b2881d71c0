import { elementCount, isDType } from '../../tensor.js'
import { elementTypeName } from '../element-type.js'
import type { TensorProto, ValueInfoProto } from '../onnx_pb.js'
import { isExternal, tensorFromProto } from '../tensors.js'
import { bounded, type Dim, type Known, mostElements, nothing } from './known.js'

/** What a stored tensor is. */
export function typeOf({ dataType, dims }: TensorProto): Known {
  const dtype = elementTypeName(dataType)
  return bounded({ dtype: dtype === 'undefined' ? undefined : dtype, shape: dims.map(Number) })
}

const readable = 'float32 float64 int64 int32 int16 int8 uint8 uint16 uint32 uint64 bool'.split(' ')

/**
 * The elements of a short tensor; those in other files are left there. @throws TensorRTError ERR_TRT_ONNX_PARSE where
 * there are not as many as the shape says
 */
export function readNumbers(tensor: TensorProto): readonly number[] | undefined {
  const dtype = elementTypeName(tensor.dataType)
  const shape = tensor.dims.map(Number)
  if (isExternal(tensor) || !isDType(dtype) || !readable.includes(dtype)) return undefined
  if (shape.length > 1 || elementCount(shape) > mostElements) return undefined
  return Array.from<number | bigint, number>(tensorFromProto(tensor).data, Number)
}

/** What the model says of a value. */
export function declared({ type }: Pick<ValueInfoProto, 'type'>, names: ReadonlyMap<string, number>): Known {
  if (type?.value.case !== 'tensorType') return nothing
  const tensor = type.value.value
  const dtype = elementTypeName(tensor.elemType)
  const shape = tensor.shape?.dim.map(({ value }): Dim => {
    if (value.case === 'dimParam' && value.value !== '') return names.get(value.value) ?? value.value
    return value.case === 'dimValue' ? Number(value.value) : undefined
  })
  return bounded({ dtype: dtype === 'undefined' ? undefined : dtype, shape })
}
