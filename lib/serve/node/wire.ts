// Tensors as requests and answers carry them, and as modules see them.
import { dtypeOf, elementBytes, type WireTensor } from '../../kserve/tensor.js'
import { bytesOfTexts, textsOfBytes } from '../../base/packed-texts.js'
import { Tensor, typedDataOf } from '../../tensor.js'
import type { ModuleValue } from './answers.js'
import type { RunOrder } from './messages.js'
import type { ModuleRequest } from './module-runner.js'

/**
 * Numbers over the same bytes, which begin at a multiple of an element; of BYTES a view of each text. The bytes were
 * checked.
 */
export function moduleInput({ datatype, shape, bytes }: WireTensor): Tensor | Uint8Array[] {
  if (datatype === 'BYTES') return textsOfBytes(bytes) ?? []
  const own = bytes.byteOffset % elementBytes[datatype] === 0 ? bytes : bytes.slice()
  return Tensor.fromBytes(dtypeOf[datatype], own as Uint8Array<ArrayBuffer>, shape)
}

/**
 * An output to be handed over. What lies in memory that was made for the request is as it is; anything else, which may
 * be the module's for longer, is copied.
 * @param isOwn whether memory was made for requests of this batch
 */
export function wireOutput(
  { spec, shape, tensor, texts = [] }: ModuleValue,
  isOwn: (buffer: ArrayBufferLike) => boolean,
): WireTensor {
  const { name, datatype } = spec
  if (tensor === undefined) return { name, datatype, shape, bytes: bytesOfTexts(texts) }
  const { buffer, byteOffset, byteLength } = typedDataOf(tensor)
  const bytes = new Uint8Array(buffer, byteOffset, byteLength)
  return { name, datatype, shape: [...shape], bytes: isOwn(buffer) ? bytes : new Uint8Array(bytes) }
}

// Memory that was made for the requests of one batch: it may be handed over with their answers, since nobody else has
// it.

export class BatchMemory {
  readonly #own: Set<ArrayBufferLike>

  constructor({ requests }: Pick<RunOrder, 'requests'>) {
    this.#own = new Set(requests.flatMap(({ inputs }) => inputs.map(({ bytes }) => bytes.buffer)))
  }

  readonly isOwn = (buffer: ArrayBufferLike): boolean => this.#own.has(buffer)

  readonly place: NonNullable<ModuleRequest['place']> = ({ datatype }, shape) => {
    if (datatype === 'BYTES') return undefined
    const tensor = Tensor.zeros(dtypeOf[datatype], shape)
    this.#own.add(typedDataOf(tensor).buffer)
    return tensor
  }
}
