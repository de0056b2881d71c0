import { endianness } from 'node:os'
import { shapeText } from '../base/dims.js'
import { TensorRTError } from '../errors.js'
import { type DType, type DTypeArrays, elementCount, Tensor, typedDataOf } from '../tensor.js'
import { arrayOf, byteSize, checkedShape } from '../tensor/dtypes.js'
import { damaged } from './types.js'

/** NumPy's codes of kind and size. */
const dtypeOfCode: Readonly<Record<string, DType>> = {
  ...{ b1: 'bool', i1: 'int8', i2: 'int16', i4: 'int32', i8: 'int64' },
  ...{ u1: 'uint8', u2: 'uint16', u4: 'uint32', u8: 'uint64' },
  ...{ f2: 'float16', f4: 'float32', f8: 'float64' },
}

const ownOrder = endianness() === 'LE' ? '<' : '>'

const magic = Buffer.from('\x93NUMPY', 'latin1')

/** NumPy itself takes headers of 10,000 bytes, unless it is told that the file can be trusted. */
const longestHeader = 2 ** 16

/**
 * A tensor of the bytes of a `.npy`, which it keeps.
 * @throws TensorRTError ERR_TRT_FILE where the bytes are not what their header says; ERR_TRT_DTYPE for an element type
 * that tensors have not; ERR_TRT_SHAPE for more than 8 dimensions
 */
export function parseNpy(bytes: Uint8Array, name: string): Tensor {
  const { text, dataAt } = headOf(bytes, name)
  const { descr, fortranOrder, shape } = parseHeader(text, name)
  const { dtype, isSwapped } = elementOf(descr, name)
  const dims = checkedShape(shape, `the shape of ${name}`)
  const [wanted, found] = [byteSize(dtype, dims), bytes.length - dataAt]
  if (wanted !== found)
    throw damaged(name, `expected ${wanted} bytes after its header, ${dtype} ${shapeText(dims)}, but found ${found}`)
  const data = elementsOf(bytes, dataAt, dtype, isSwapped)
  if (dtype === 'bool' && (data as Uint8Array).some((value) => value > 1))
    throw damaged(name, 'expected 0 and 1 for bool but found another byte')
  return new Tensor(dtype, fortranOrder && dims.length > 1 ? inRowMajorOrder(data, dims) : data, dims)
}

function headOf(bytes: Uint8Array, name: string): { readonly text: string; readonly dataAt: number } {
  if (bytes.length < 12 || magic.compare(bytes, 0, magic.length) !== 0)
    throw damaged(
      name,
      `expected a .npy, which begins with \\x93NUMPY, but found ${bytes.length === 0 ? 'an empty file' : 'something else'}`,
    )
  const [major = 0, minor = 0] = bytes.subarray(magic.length)
  if (major < 1 || major > 3 || minor !== 0)
    throw damaged(name, `expected version 1.0, 2.0 or 3.0 of .npy but found ${major}.${minor}`)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const [textAt, length] = major === 1 ? [10, view.getUint16(8, true)] : [12, view.getUint32(8, true)]
  const dataAt = textAt + length
  if (length > longestHeader)
    throw damaged(name, `expected a header of at most ${longestHeader} bytes but found one of ${length}`)
  if (dataAt > bytes.length)
    throw damaged(name, `expected a header of ${length} bytes but the file ends after ${bytes.length - textAt}`)
  return { text: Buffer.from(bytes.subarray(textAt, dataAt)).toString(major === 3 ? 'utf8' : 'latin1'), dataAt }
}

function elementOf(descr: string, name: string): { readonly dtype: DType; readonly isSwapped: boolean } {
  const order = descr.slice(0, 1)
  const code = descr.slice(1)
  const dtype =
    '<>=|'.includes(order) && order !== '' && Object.hasOwn(dtypeOfCode, code) ? dtypeOfCode[code] : undefined
  if (dtype !== undefined) return { dtype, isSwapped: '<>'.includes(order) && order !== ownOrder }
  const known = Object.values(dtypeOfCode).join(', ')
  const why = code.startsWith('O') ? ' (Python objects, which are pickled: code, not data)' : ''
  throw new TensorRTError(
    'ERR_TRT_DTYPE',
    `Cannot read ${name}: expected one of ${known} but found NumPy's ${JSON.stringify(descr)}${why}`,
  )
}

function elementsOf<D extends DType>(bytes: Uint8Array, at: number, dtype: D, isSwapped: boolean): DTypeArrays[D] {
  const array = arrayOf(dtype)
  const start = bytes.byteOffset + at
  const isAligned = start % array.BYTES_PER_ELEMENT === 0
  const buffer = isAligned ? bytes.buffer : bytes.slice(at).buffer
  const data = new array(buffer as ArrayBuffer, isAligned ? start : 0, (bytes.length - at) / array.BYTES_PER_ELEMENT)
  if (isSwapped) swap(data)
  return data as DTypeArrays[D]
}

/** From the other order of bytes. */
function swap({ buffer, byteOffset, byteLength, BYTES_PER_ELEMENT }: NodeJS.TypedArray): void {
  const bytes = Buffer.from(buffer, byteOffset, byteLength)
  if (BYTES_PER_ELEMENT === 2) bytes.swap16()
  else if (BYTES_PER_ELEMENT === 4) bytes.swap32()
  else if (BYTES_PER_ELEMENT === 8) bytes.swap64()
}

/** Elements whose first dimension varies fastest, in the order in which the last one does, in memory of their own. */
function inRowMajorOrder<D extends DType>(data: DTypeArrays[D], shape: readonly number[]): DTypeArrays[D] {
  const given = data as Uint8Array
  const ordered = new (given.constructor as Uint8ArrayConstructor)(given.length)
  const strides = shape.map((_, axis) => elementCount(shape.slice(0, axis)))
  const last = shape.length - 1
  const place = shape.map(() => 0)
  const [length = 0, step = 0] = [shape[last], strides[last]]
  for (let row = 0; row < given.length; row += length) {
    const from = place.reduce((sum, index, axis) => sum + index * strides[axis]!, 0)
    for (let i = 0; i < length; i++) ordered[row + i] = given[from + i * step]!
    for (let axis = last - 1; axis >= 0 && ++place[axis]! === shape[axis]!; axis--) place[axis] = 0
  }
  return ordered as DTypeArrays[D]
}

/** The pieces of a `.npy`. @throws TensorRTError ERR_TRT_DTYPE for an element type that NumPy has not */
export function npyChunks(tensor: Tensor): Uint8Array[] {
  const { dtype, shape } = tensor
  const code = Object.keys(dtypeOfCode).find((each) => dtypeOfCode[each] === dtype)
  if (code === undefined)
    throw new TensorRTError(
      'ERR_TRT_DTYPE',
      `NumPy has no ${dtype}: write what toFloat32() gives, or the bytes alone as .raw`,
    )
  const descr = `${code.endsWith('1') ? '|' : ownOrder}${code}`
  return [headerBytes({ descr, shape }), bytesOf(typedDataOf(tensor))]
}

/** Where they lie. */
export function bytesOf(data: NodeJS.TypedArray): Uint8Array {
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
}

/** The dictionary at the beginning of a `.npy`. */
interface NpyHeader {
  readonly descr: string
  readonly fortranOrder: boolean
  readonly shape: readonly number[]
}

type Entries = Partial<Record<'descr' | 'fortran_order' | 'shape', string>>

/** One entry of the dictionary: its value is text, a truth value or a tuple of whole numbers. */
const entry =
  /\s*(['"])(descr|fortran_order|shape)\1\s*:\s*(?:(['"])([^'"\\]*)\3|(True|False)|\(([\d\sL,]*)\))\s*(?:,|$)/y

const literal = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"

/**
 * Reads the Python literal; nothing of it is evaluated.
 * @throws TensorRTError ERR_TRT_FILE, ERR_TRT_DTYPE
 */
export function parseHeader(text: string, name: string): NpyHeader {
  const inner = /^\s*\{([^]*)\}\s*$/.exec(text)?.[1]?.trimEnd()
  if (inner === undefined) throw wrong(text, name)
  if (/(['"])descr\1\s*:\s*[[(]/.test(inner))
    throw new TensorRTError(
      'ERR_TRT_DTYPE',
      `Cannot read ${name}: it has a structured data type (several fields for each element)`,
    )
  const found = entriesOf(inner)
  const shape = found?.shape === undefined ? undefined : dimensionsOf(found.shape)
  if (found?.descr === undefined || found.fortran_order === undefined || shape === undefined) throw wrong(text, name)
  return { descr: found.descr, fortranOrder: found.fortran_order === 'True', shape }
}

/** Each of the three once, each with a value of its kind; nothing where it is otherwise. */
function entriesOf(inner: string): Entries | undefined {
  const found: Entries = {}
  entry.lastIndex = 0
  for (let at = 0; at < inner.length; at = entry.lastIndex) {
    const [, , key, , word, truth, tuple] = entry.exec(inner) ?? []
    if (key === undefined) return undefined
    const value = key === 'descr' ? word : key === 'shape' ? tuple : truth
    if (value === undefined || found[key as keyof typeof found] !== undefined) return undefined
    found[key as keyof typeof found] = value
  }
  return found
}

/** `2, 3`, `2,` or nothing; Python 2 wrote `2L`. One number alone is no tuple in Python. */
function dimensionsOf(tuple: string): number[] | undefined {
  const parts = tuple.split(',').map((part) => part.trim())
  if (parts.length === 1) return parts[0] === '' ? [] : undefined
  if (parts.at(-1) === '') parts.pop()
  return parts.every((part) => /^\d{1,15}L?$/.test(part)) ? parts.map((part) => parseInt(part, 10)) : undefined
}

function wrong(text: string, name: string): TensorRTError {
  const shown = text.length > 120 ? `${text.slice(0, 117)}...` : text
  return damaged(name, `expected a header like ${literal} but found ${JSON.stringify(shown.trimEnd())}`)
}

/** The whole beginning of a file, with its padding: data begins at a multiple of 64 bytes. */
export function headerBytes({ descr, shape }: Pick<NpyHeader, 'descr' | 'shape'>): Uint8Array {
  const tuple = shape.length === 1 ? `(${shape[0]!},)` : `(${shape.join(', ')})`
  const dictionary = `{'descr': '${descr}', 'fortran_order': False, 'shape': ${tuple}, }`
  const prefix = 10
  const length = Math.ceil((prefix + dictionary.length + 1) / 64) * 64 - prefix
  const bytes = Buffer.alloc(prefix + length, ' ')
  bytes.write('\x93NUMPY\x01\x00', 'latin1')
  bytes.writeUInt16LE(length, 8)
  bytes.write(dictionary, prefix, 'latin1')
  bytes[bytes.length - 1] = 10 // a line break
  return bytes
}
