// The inputs of a request: checked, and as the bytes that are sent.
import { types } from 'node:util'
import { isUint8Array } from 'node:util/types'
import { quoted } from '../base/checks.js'
import { expected, TensorRTError } from '../errors.js'
import { datatypeOf, datatypes, type WireTensor } from '../kserve/tensor.js'
import { checkedShape, elementCount, expectedTensor, isTypedArray, Tensor, bytesOfTensor } from '../tensor.js'
import { bytesOfTexts } from '../base/packed-texts.js'

const inputForms = 'a Tensor, or for BYTES an array of strings and Uint8Arrays,'

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT, ERR_TRT_DTYPE, ERR_TRT_SHAPE, ERR_TRT_DETACHED */
export function wireInputs(inputs: unknown): readonly WireTensor[] {
  if (typeof inputs !== 'object' || inputs === null || isNoRecord(inputs))
    throw expected('an object with a value for each input', 'inputs', inputs)
  const names = Object.keys(inputs)
  if (names.length === 0) throw expected('an object with a value for each input', 'inputs', inputs)
  return names.map((name) => wireInput(name, (inputs as Readonly<Record<string, unknown>>)[name]))
}

/** A forgotten `await`, or a value in place of a record of values. */
function isNoRecord(value: object): boolean {
  return Array.isArray(value) || Tensor.is(value) || isTypedArray(value) || types.isPromise(value) || types.isMap(value)
}

function wireInput(name: string, value: unknown): WireTensor {
  if (name === '') throw expected('a name', 'an input', name)
  if (Tensor.is(value)) return wireTensor(name, value)
  if (Array.isArray(value)) return wireTexts(name, value, (value as { shape?: unknown }).shape)
  if (typeof value === 'object' && value !== null && 'data' in value && Array.isArray(value.data))
    return wireTexts(name, value.data, (value as { shape?: unknown }).shape)
  throw expectedTensor(inputForms, `input '${name}'`, value)
}

function wireTensor(name: string, tensor: Tensor): WireTensor {
  const { dtype, shape, byteLength } = tensor
  const datatype = datatypeOf(dtype)
  if (datatype === undefined) {
    const known = datatypes.filter((one) => one !== 'BYTES')
    const message = `Expected a data type that KServe has (${known.join(', ')}) for input '${name}' but received ${dtype}`
    throw new TensorRTError('ERR_TRT_DTYPE', message, { details: { name, received: dtype } })
  }
  if (tensor.dtype === 'string') refuseHalves(name, tensor.data)
  const bytes = bytesOfTensor(tensor)
  if (bytes.length !== byteLength) {
    const message = `Expected ${byteLength} bytes behind input '${name}' but found ${bytes.length}: its buffer was transferred away or resized`
    throw new TensorRTError('ERR_TRT_DETACHED', message)
  }
  return { name, datatype, shape, bytes }
}

function wireTexts(name: string, given: readonly unknown[], givenShape: unknown): WireTensor {
  const texts = Array.from(given)
  const wrong = texts.findIndex((text) => typeof text !== 'string' && !isUint8Array(text))
  if (wrong >= 0) throw expected('a string or a Uint8Array', `element ${wrong} of input '${name}'`, texts[wrong])
  refuseHalves(name, texts)
  const shape = checkedShape(givenShape ?? [texts.length], `the shape of input '${name}'`)
  if (elementCount(shape) !== texts.length) {
    const message = `Expected ${elementCount(shape)} elements for input '${name}' of shape [${shape.join(', ')}] but received ${texts.length}`
    throw new TensorRTError('ERR_TRT_SHAPE', message, { details: { name } })
  }
  return { name, datatype: 'BYTES', shape, bytes: bytesOfTexts(texts as (string | Uint8Array)[]) }
}

/** UTF-8 has none, and would have another character in its place. */
function refuseHalves(name: string, texts: readonly unknown[]): void {
  const half = texts.findIndex((text) => typeof text === 'string' && /\p{Surrogate}/u.test(text))
  if (half >= 0) throw expected('text without half a surrogate pair', `element ${half} of input '${name}'`, texts[half])
}

/** For messages. */
export function namesOf(tensors: readonly { readonly name: string }[]): string {
  return quoted(tensors.map(({ name }) => name))
}
