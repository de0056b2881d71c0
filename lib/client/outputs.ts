// The outputs of an answer, as Tensors and lists.
import { isUtf8 } from 'node:buffer'
import { isUint8Array } from 'node:util/types'
import type { TensorRTError } from '../errors.js'
import { dtypeOf, elementBytes, isDatatype } from '../kserve/tensor.js'
import { textsOfBytes } from '../base/packed-texts.js'
import { arrayOf, type DType, type DTypeArrays, elementCount, Tensor, trustedTensor } from '../tensor.js'
import { misread, type Subject } from './errors.js'
import type { Classification, InferAnswer, InferOutput, ParameterValue, Shaped } from './public-types.js'
import type { AnswerForm } from './request.js'

/** An output as it came: its bytes, or its elements as JSON or protobuf has them. */
export interface RawOutput {
  readonly name: string
  readonly datatype: string
  readonly shape: readonly number[]
  readonly bytes?: Uint8Array | undefined
  readonly elements?: readonly unknown[] | undefined
}

export interface RawAnswer {
  readonly id: string
  readonly model: string
  readonly version: string
  readonly parameters: Readonly<Record<string, ParameterValue>>
  readonly outputs: readonly RawOutput[]
}

/** @throws TensorRTError ERR_TRT_SERVER where something does not fit */
export function answerOf(
  raw: RawAnswer,
  form: AnswerForm,
  subject: Subject,
): InferAnswer<Readonly<Record<string, InferOutput>>> {
  const outputs: Record<string, InferOutput> = {}
  for (const output of raw.outputs) {
    // a name may be __proto__
    if (output.name in outputs)
      Object.defineProperty(outputs, output.name, {
        value: outputOf(output, form, subject),
        enumerable: true,
        configurable: true,
        writable: true,
      })
    else outputs[output.name] = outputOf(output, form, subject)
  }
  const { id, model, version, parameters } = raw
  return { id, model, version, parameters, outputs }
}

function outputOf(output: RawOutput, form: AnswerForm, subject: Subject): InferOutput {
  const { name, datatype, shape } = output
  if (!isDatatype(datatype)) throw misread(subject, `output '${name}' is of the data type ${datatype}`)
  if (!shape.every((size) => Number.isSafeInteger(size) && size >= 0))
    throw misread(subject, `output '${name}' has the shape [${shape.join(', ')}]`)
  if (datatype === 'BYTES') return listOf(output, form, subject)
  if (form.isClassified(name)) throw misread(subject, `output '${name}' of ${datatype} was to be classes`)
  const dtype = dtypeOf[datatype]
  return output.bytes
    ? ofBytes(output, output.bytes, dtype, elementBytes[datatype], subject)
    : ofElements(output, dtype, subject)
}

function sizeFault({ name, datatype, shape }: RawOutput, found: string, subject: Subject): TensorRTError {
  return misread(subject, `output '${name}' is ${datatype} [${shape.join(', ')}], and has ${found}`)
}

/** A view of the bytes where its elements may begin there, else of a copy. */
function ofBytes(output: RawOutput, bytes: Uint8Array, dtype: DType, size: number, subject: Subject): Tensor {
  if (elementCount(output.shape) * size !== bytes.length) throw sizeFault(output, `${bytes.length} bytes`, subject)
  const { buffer, byteOffset, length } = bytes.byteOffset % size === 0 ? bytes : new Uint8Array(bytes)
  const data = new (arrayOf(dtype))(buffer as ArrayBuffer, byteOffset, length / size)
  return trustedTensor<DType>(dtype, data, Object.freeze(output.shape))
}

function ofElements(output: RawOutput, dtype: DType, subject: Subject): Tensor {
  const { name, elements = [], shape } = output
  if (elements.length !== elementCount(shape)) throw sizeFault(output, `${elements.length} elements`, subject)
  const wrong = (element: unknown): TensorRTError =>
    misread(subject, `output '${name}' of ${dtype} has the element ${shown(element)}`)
  if (dtype === 'float16' || dtype === 'bfloat16') {
    const numbers = elements.map((element) => numberOf(element) ?? fail(wrong(element)))
    return Tensor.fromFloat32(dtype, numbers, shape)
  }
  const array = arrayOf(dtype)
  const isLong = array === BigInt64Array || array === BigUint64Array
  const isFloat = dtype === 'float32' || dtype === 'float64'
  const data = new array(elements.length) as { [index: number]: number | bigint }
  elements.forEach((element, index) => {
    const value = isLong ? bigintOf(element) : numberOf(element)
    if (value === undefined) throw wrong(element)
    data[index] = value
    if (!isFloat && data[index] !== value) throw wrong(element)
  })
  return trustedTensor(dtype, data as DTypeArrays[DType], Object.freeze(shape))
}

function shown(element: unknown): string {
  if (Array.isArray(element)) return 'that is a list'
  return typeof element === 'object' && element !== null ? 'that is an object' : String(element)
}

/** Long numbers come as text, which has all of their digits. */
function bigintOf(element: unknown): bigint | undefined {
  if (typeof element === 'bigint') return element
  if (typeof element === 'number') return Number.isSafeInteger(element) ? BigInt(element) : undefined
  return typeof element === 'string' && /^-?\d+$/.test(element) ? BigInt(element) : undefined
}

function numberOf(element: unknown): number | undefined {
  if (typeof element === 'boolean') return Number(element)
  if (typeof element === 'number') return element
  const number = typeof element === 'string' && element !== '' ? Number(element) : NaN
  return Number.isNaN(number) && element !== 'NaN' ? undefined : number
}

function listOf(output: RawOutput, form: AnswerForm, subject: Subject): InferOutput {
  const { name, bytes, elements = [] } = output
  const shape = Object.freeze(output.shape)
  const count = elementCount(shape)
  const found = bytes === undefined ? elements : textsOfBytes(bytes, count)
  if (found?.length !== count)
    throw sizeFault(output, bytes === undefined ? `${elements.length} elements` : `${bytes.length} bytes`, subject)
  const wrong =
    bytes === undefined
      ? `output '${name}' of BYTES has an element that is no text`
      : `output '${name}' has bytes that are no UTF-8: leave the option texts out`
  const each = <T>(read: (element: unknown) => T | undefined): T[] =>
    found.map((element) => read(element) ?? fail(misread(subject, wrong)))
  const isClassified = form.isClassified(name)
  if (!form.isText && !isClassified) return shaped(each(bytesOf), shape)
  return isClassified ? classesOf(output, each(textOf), subject) : shaped(each(textOf), shape)
}

function fail(error: TensorRTError): never {
  throw error
}

/** JSON has texts, protobuf bytes. */
function bytesOf(element: unknown): Uint8Array | undefined {
  if (isUint8Array(element)) return element
  return typeof element === 'string' ? new TextEncoder().encode(element) : undefined
}

function textOf(element: unknown): string | undefined {
  if (isUint8Array(element)) return utf8Of(element)
  return typeof element === 'string' ? element : undefined
}

function classesOf({ name, shape }: RawOutput, texts: readonly string[], subject: Subject): Shaped<Classification> {
  const classes = texts.map(
    (text) =>
      classificationOf(text) ?? fail(misread(subject, `output '${name}' has the class ${JSON.stringify(text)}`)),
  )
  return shaped(classes, Object.freeze(shape))
}

/** The elements with their shape; equal to a plain list of them. */
function shaped<T>(elements: T[], shape: readonly number[]): Shaped<T> {
  return Object.defineProperty(elements, 'shape', { value: shape }) as unknown as Shaped<T>
}

/** Undefined where the bytes are no UTF-8. */
function utf8Of(bytes: Uint8Array): string | undefined {
  return isUtf8(bytes) ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString() : undefined
}

/** Of `value:index` or `value:index:label`; undefined where it is none. */
export function classificationOf(text: string): Classification | undefined {
  const [, value = '', index = '', label] = /^(-?[\d.]+(?:e[+-]?\d+)?|-?inf|-?nan):(\d+)(?::([^]*))?$/i.exec(text) ?? []
  if (value === '') return undefined
  return { value: classValueOf(value.toLowerCase()), index: Number(index), ...(label !== undefined && { label }) }
}

function classValueOf(text: string): number {
  if (text.endsWith('nan')) return NaN
  if (text.endsWith('inf')) return text.startsWith('-') ? -Infinity : Infinity
  return Number(text)
}
