// JSON that keeps each number: what goes out has all digits, and of what comes in long whole numbers are texts.
import { isUtf8 } from 'node:buffer'
import { expected, TensorRTError } from '../errors.js'
import { dtypeOf, type WireTensor } from '../kserve/tensor.js'
import { arrayOf, elementCount } from '../tensor.js'
import type { Parameters } from './request.js'
import { textsOfBytes } from '../kserve/texts.js'

/**
 * The elements of an input with commas between them. @throws TensorRTError ERR_TRT_DTYPE, ERR_TRT_INVALID_ARGUMENT for
 * what JSON has not
 */
export function textOfElements(tensor: WireTensor): string {
  const { name, datatype, bytes } = tensor
  if (datatype === 'BYTES') return textsOf(tensor)
  if (datatype === 'FP16' || datatype === 'BF16') {
    const message = `Expected a data type that JSON has for input '${name}' but received ${dtypeOf[datatype]}: send it as binary data`
    throw new TensorRTError('ERR_TRT_DTYPE', message, { details: { name, received: dtypeOf[datatype] } })
  }
  const array = arrayOf(dtypeOf[datatype])
  const values = new array(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength / array.BYTES_PER_ELEMENT)
  if (datatype === 'BOOL')
    return Array.from(values as Uint8Array, (value) => (value === 0 ? 'false' : 'true')).join(',')
  return datatype === 'FP32' || datatype === 'FP64' ? floatsOf(name, values as Float32Array) : values.join(',')
}

/** Zero keeps its sign, which join() would drop. */
function floatsOf(name: string, values: Float32Array | Float64Array): string {
  let hasMinusZero = false
  for (const value of values) {
    if (!Number.isFinite(value)) throw expected('finite numbers, since JSON has no others,', `input '${name}'`, value)
    if (Object.is(value, -0)) hasMinusZero = true
  }
  return hasMinusZero
    ? Array.from(values, (value) => (Object.is(value, -0) ? '-0.0' : String(value))).join(',')
    : values.join(',')
}

function textsOf({ name, shape, bytes }: WireTensor): string {
  const found = textsOfBytes(bytes, elementCount(shape)) ?? []
  return found
    .map((text, index) => {
      if (!isUtf8(text))
        throw expected('UTF-8, since JSON has no other bytes,', `element ${index} of input '${name}'`, text)
      return JSON.stringify(Buffer.from(text).toString())
    })
    .join(',')
}

/** An object of parameters; a bigint has all its digits. */
export function parametersJson(parameters: Parameters): string {
  const members = parameters.map(
    ([name, value]) => `${JSON.stringify(name)}:${typeof value === 'bigint' ? value : JSON.stringify(value)}`,
  )
  return `{${members.join(',')}}`
}

/** Whole numbers of so many digits may be beyond 2^53; NaN and Infinity are what some servers write. */
const longNumber = /[[,:\s]-?\d{16,}[\],}\s]/
const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|-?(?:NaN|Infinity)|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g

/** As JSON.parse, but that whole numbers of 16 and more digits, NaN and Infinity are texts. @throws SyntaxError */
export function parseExactly(text: string): unknown {
  if (!longNumber.test(text) && !/NaN|Infinity/.test(text)) return JSON.parse(text)
  return JSON.parse(
    text.replace(tokens, (token) => (/^-?(?:\d{16,}|NaN|Infinity)$/.test(token) ? `"${token}"` : token)),
  )
}
