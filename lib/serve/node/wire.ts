// Tensors as requests and answers carry them, and as modules see them.
import { dtypeOf, elementBytes, type WireTensor } from '../../kserve/tensor.js'
import { bytesOfTexts } from '../../kserve/texts.js'
import { Tensor } from '../../tensor.js'
import type { ModuleValue } from './answers.js'

/** Numbers over the same bytes, which begin at a multiple of an element; of BYTES a view of each text. The bytes were checked. */
export function moduleInput({ datatype, shape, bytes }: WireTensor): Tensor | Uint8Array[] {
  if (datatype === 'BYTES') return textsIn(bytes)
  const own = bytes.byteOffset % elementBytes[datatype] === 0 ? bytes : bytes.slice()
  return Tensor.fromBytes(dtypeOf[datatype], own as Uint8Array<ArrayBuffer>, shape)
}

/** Views of the texts; what is no whole text is left out. */
export function textsIn(bytes: Uint8Array): Uint8Array[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const texts: Uint8Array[] = []
  for (let at = 0; at + 4 <= bytes.length;) {
    const begin = at + 4
    at = begin + view.getUint32(at, true)
    if (at <= bytes.length) texts.push(bytes.subarray(begin, at))
  }
  return texts
}

/**
 * An output to be handed over. What lies in memory that was made for the request is as it is; anything else, which may be the module's for longer, is copied.
 * @param isOwn whether memory was made for requests of this batch
 */
export function wireOutput({ spec, shape, tensor, texts = [] }: ModuleValue, isOwn: (buffer: ArrayBufferLike) => boolean): WireTensor {
  const { name, datatype } = spec
  if (tensor === undefined) return { name, datatype, shape, bytes: bytesOfTexts(texts) }
  const { buffer, byteOffset, byteLength } = tensor.data
  const bytes = new Uint8Array(buffer, byteOffset, byteLength)
  return { name, datatype, shape: [...shape], bytes: isOwn(buffer) ? bytes : new Uint8Array(bytes) }
}

/** How many texts these bytes are; nothing where the last one is not whole. */
export function countTexts(bytes: Uint8Array): number | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let [count, at] = [0, 0]
  for (; at + 4 <= bytes.length; count++) at += 4 + view.getUint32(at, true)
  return at === bytes.length ? count : undefined
}
