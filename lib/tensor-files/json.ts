import { shapeText } from '../base/dims.js'
import { isOneOf } from '../base/checks.js'
import { describe, TensorRTError } from '../errors.js'
import { type DType, dtypes, Tensor, isPacked } from '../tensor.js'
import { checkedShape, elementCount } from '../tensor/dtypes.js'
import { floatDTypes } from '../tensor/convert.js'
import { jsonValuesOf, readerOf, storedIn } from '../tensor/values.js'
import { damaged } from './types.js'

/** Where the file says no data type. */
const plain: DType = 'float32'

/**
 * The tensors of a JSON text: of trtexec's `--exportOutput`, `[{ "name", "dimensions": "1x1000", "values": [...] }]`,
 * where `dtype` may stand as well; of an object of nested arrays by name; or one nested array, whose name is ''.
 * @param dtypeOf the data type that a tensor of this name is to have; else the one in the file, else float32
 * @throws TensorRTError ERR_TRT_FILE where it is none of these, ERR_TRT_DTYPE where a value is none of the data type
 */
export function parseJson(
  bytes: Uint8Array,
  name: string,
  dtypeOf: (tensor: string) => DType | undefined,
): Map<string, Tensor> {
  const value = valueOf(bytes, name)
  if (Array.isArray(value) && value.some(isObject)) return listed(value, name, dtypeOf)
  const entries: [string, unknown][] = isObject(value) ? Object.entries(value) : [['', value]]
  return new Map(
    entries.map(([key, nested]) => [
      key,
      nestedTensor(nested, dtypeOf(key) ?? plain, key === '' ? name : `${JSON.stringify(key)} of ${name}`),
    ]),
  )
}

/** Numbers that JSON has not, as trtexec's C++ and Python's json write them; text is passed over whole. */
const outsideJson = /"(?:[^"\\]|\\.)*"|-?\b(?:nan|inf|infinity)\b/gi

function valueOf(bytes: Uint8Array, name: string): unknown {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    try {
      return JSON.parse(text) as unknown
    } catch (error) {
      const mended = text.replace(outsideJson, (token) => (token.startsWith('"') ? token : `"${token}"`))
      if (mended === text) throw error
      return JSON.parse(mended) as unknown
    }
  } catch (error) {
    throw damaged(name, `expected JSON: ${(error as Error).message}`, error)
  }
}

interface Listed {
  readonly name: string
  readonly dimensions: string
  readonly values: readonly unknown[]
  readonly dtype?: unknown
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function listed(
  list: readonly unknown[],
  name: string,
  dtypeOf: (tensor: string) => DType | undefined,
): Map<string, Tensor> {
  const found = new Map<string, Tensor>()
  for (const [index, each] of list.entries()) {
    const tensor = checkedListed(each, `[${index}] of ${name}`)
    const where = `${JSON.stringify(tensor.name)} of ${name}`
    if (found.has(tensor.name)) throw damaged(name, `it has two tensors called ${JSON.stringify(tensor.name)}`)
    const sides = tensor.dimensions === '' ? [] : tensor.dimensions.split('x').map(Number)
    const shape = checkedShape(sides, `the dimensions of ${where}`)
    const count = elementCount(shape)
    if (count !== tensor.values.length)
      throw damaged(where, `expected ${count} values for ${shapeText(shape)} but found ${tensor.values.length}`)
    found.set(tensor.name, tensorOf(tensor.values, shape, dtypeOf(tensor.name) ?? ownType(tensor, where), where))
  }
  return found
}

function checkedListed(value: unknown, where: string): Listed {
  const { name, dimensions, values } = (value ?? {}) as Partial<Record<keyof Listed, unknown>>
  const fits =
    typeof name === 'string' &&
    typeof dimensions === 'string' &&
    /^(?:\d{1,15}(?:x\d{1,15})*)?$/.test(dimensions) &&
    Array.isArray(values)
  if (fits) return value as Listed
  throw damaged(where, 'expected { "name": "output", "dimensions": "1x1000", "values": [...] }')
}

function ownType({ dtype = plain }: Listed, where: string): DType {
  if (isOneOf(dtype, dtypes)) return dtype
  throw damaged(where, `expected one of ${dtypes.join(', ')} for its dtype but found ${describe(dtype)}`)
}

function nestedTensor(value: unknown, dtype: DType, where: string): Tensor {
  const shape: number[] = []
  for (let inner = value; Array.isArray(inner); inner = (inner as unknown[])[0]) shape.push(inner.length)
  const dims = checkedShape(shape, `the shape of ${where}`)
  const values: unknown[] = []
  const walk = (each: unknown, axis: number, path: string): void => {
    if (axis === dims.length) return void values.push(each)
    if (!Array.isArray(each) || each.length !== dims[axis])
      throw damaged(
        where,
        `expected nested arrays of one length, ${shapeText(dims)}, but found ${describe(each)} at ${path || 'its top'}`,
      )
    each.forEach((inner, index) => walk(inner, axis + 1, `${path}[${index}]`))
  }
  walk(value, 0, '')
  return tensorOf(values, dims, dtype, where)
}

function tensorOf(values: readonly unknown[], shape: readonly number[], dtype: DType, where: string): Tensor {
  const wrong = (why: string): TensorRTError => new TensorRTError('ERR_TRT_DTYPE', `Cannot read ${where}: ${why}`)
  if (isPacked(dtype)) throw wrong(`JSON is not read as ${dtype}`)
  const read = readerOf(dtype, true)
  const elements = values.map((value, index) => {
    const element = read(value)
    if (element === undefined) throw wrong(`expected ${dtype} but found ${describe(value)} at ${index}`)
    return element
  })
  // as trtexec's own C++ reads them: beyond the largest number is infinity
  if (isOneOf(dtype, floatDTypes)) return Tensor.fromFloat32(dtype, elements as number[], shape)
  return new Tensor(dtype, storedIn(dtype, elements) as Uint8Array, shape)
}

/**
 * As trtexec's `--exportOutput` has it, with `dtype` as well. float32 has as many digits as tell it from its
 * neighbours; NaN and infinities are "NaN", "Infinity", "-Infinity", and whole numbers beyond 2^53 are text too.
 * @throws TensorRTError ERR_TRT_DTYPE for elements that are packed
 */
export function* jsonChunks(tensors: Iterable<readonly [string, Tensor]>): Generator<Uint8Array> {
  let before = '['
  for (const [name, tensor] of tensors) {
    const { dtype, shape } = tensor
    if (isPacked(dtype))
      throw new TensorRTError('ERR_TRT_DTYPE', `JSON is not written of ${dtype}: two elements are in one byte`)
    const values = jsonValuesOf(dtype, tensor.data, shape).map((value) =>
      Object.is(value, -0) ? '-0' : JSON.stringify(value),
    )
    const head = { name, dtype, dimensions: shape.join('x') }
    yield Buffer.from(`${before}\n  ${JSON.stringify(head).slice(0, -1)},"values":[${values.join(',')}]}`)
    before = ','
  }
  yield Buffer.from(before === '[' ? '[]\n' : '\n]\n')
}
