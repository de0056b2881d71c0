/**
 * The texts of a string tensor, packed as native code, workers and KServe's BYTES have them: each as its length in four
 * bytes, little-endian, and its UTF-8.
 */
import { describe, TensorRTError } from '../errors.js'
import { bytesOfTexts, textsOfBytes } from '../base/packed-texts.js'
import { elementCount } from './dtypes.js'

/** The texts of a tensor that is handed on as it is, of which nobody reads one. */
class PackedTexts {
  readonly length: number
  readonly bytes: Uint8Array<ArrayBuffer>

  constructor(bytes: Uint8Array, length: number) {
    this.bytes = bytes as Uint8Array<ArrayBuffer>
    this.length = length
  }
}

/**
 * For a server, which has bytes and gives bytes, that need not be UTF-8: `data` of a tensor that {@link packedTexts}
 * alone reads. An empty text of a request takes four bytes; a string of JavaScript, with what is made on the way to it,
 * takes hundreds.
 * @param length how many texts the bytes are, which is not checked
 */
export function stillPacked(bytes: Uint8Array, length: number): readonly string[] {
  return new PackedTexts(bytes, length) as unknown as readonly string[]
}

/** A lone surrogate becomes U+FFFD, which UTF-8 has in its place. */
export function packedTexts(texts: readonly string[]): Uint8Array<ArrayBuffer> {
  return texts instanceof PackedTexts ? texts.bytes : bytesOfTexts(texts)
}

/** The bytes that {@link packedTexts} would be. */
export function packedLength(texts: readonly string[]): number {
  if (texts instanceof PackedTexts) return texts.bytes.length
  let length = 4 * texts.length
  for (const text of texts) length += Buffer.byteLength(text)
  return length
}

/** Frozen, and checked once. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedTexts(values: readonly unknown[]): readonly string[] {
  const texts = Array.from(values, (value, index) => {
    if (typeof value === 'string') return value
    const message = `Expected a string for data[${index}] of a string tensor but received ${describe(value)}`
    const remedy = Array.isArray(value) ? ': nested arrays are not taken, values.flat(Infinity) and the shape are' : ''
    throw new TensorRTError('ERR_TRT_INVALID_ARGUMENT', message + remedy)
  })
  return Object.freeze(texts)
}

const lossy = new TextDecoder('utf-8', { ignoreBOM: true })
const strict = new TextDecoder('utf-8', { ignoreBOM: true, fatal: true })

/** What a model made: of bytes that are no UTF-8 the text has U+FFFD, as onnxruntime-node gives it. */
export function textsOf(packed: Uint8Array): readonly string[] {
  return Object.freeze((textsOfBytes(packed) ?? []).map((bytes) => lossy.decode(bytes)))
}

/** @throws TensorRTError ERR_TRT_SHAPE; ERR_TRT_INVALID_ARGUMENT where they are no UTF-8 */
export function checkedTextsOf(packed: Uint8Array, shape: readonly number[]): readonly string[] {
  const texts = textsOfBytes(packed)
  const count = elementCount(shape)
  if (texts?.length !== count) {
    const found = texts === undefined ? 'bytes that end within one' : `${texts.length}`
    const message = `Expected ${count} texts, each behind its length in four bytes, for a string tensor but received ${found}`
    throw new TensorRTError('ERR_TRT_SHAPE', message)
  }
  return Object.freeze(texts.map(decoded))
}

function decoded(bytes: Uint8Array, index: number): string {
  try {
    return strict.decode(bytes)
  } catch (cause) {
    const message = `Expected UTF-8 for element ${index} of a string tensor but received other bytes`
    throw new TensorRTError('ERR_TRT_INVALID_ARGUMENT', message, { cause })
  }
}
