// JSON that keeps each number: what goes out has all digits, and of what comes in long whole numbers are texts.
import { expected, TensorRTError } from '../errors.js'
import { dtypeOf, type WireTensor } from '../kserve/tensor.js'
import { jsonOfElements } from '../kserve/json-elements.js'
import { elementCount } from '../tensor.js'
import type { Parameters } from './request.js'
import { textsOfBytes } from '../base/packed-texts.js'

/**
 * The elements of an input with commas between them. @throws TensorRTError ERR_TRT_DTYPE, ERR_TRT_INVALID_ARGUMENT for
 * what JSON has not
 */
export function textOfElements(tensor: WireTensor): string {
  const { name, datatype, shape } = tensor
  if (datatype === 'FP16' || datatype === 'BF16') {
    const message = `Expected a data type that JSON has for input '${name}' but received ${dtypeOf[datatype]}: send it as binary data`
    throw new TensorRTError('ERR_TRT_DTYPE', message, { details: { name, received: dtypeOf[datatype] } })
  }
  return jsonOfElements(tensor, (bytes) => textsOfBytes(bytes, elementCount(shape)) ?? [], {
    number: (value) => expected('finite numbers, since JSON has no others,', `input '${name}'`, value),
    text: (text, index) =>
      expected('UTF-8, since JSON has no other bytes,', `element ${index} of input '${name}'`, text),
  })
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
