// Where the inputs of a request lie in the slot that its model has for them.
import type { Slot } from '../models/servable.js'
import type { DocumentInput } from '../wire/document.js'

export interface Place {
  readonly input: DocumentInput
  /** In the slot. */
  readonly start: number
}

/** Tensors that begin at multiples of it may be inputs without a copy. */
const alignment = 64

/** Of a request without a byte. */
export const noSlot: Slot = { bytes: new Uint8Array(0), release: () => {} }

export function placesOf(inputs: readonly DocumentInput[]): {
  readonly places: readonly Place[]
  readonly bytes: number
} {
  let bytes = 0
  const places = inputs.map((input) => {
    const start = bytes
    bytes += Math.ceil(input.byteSize / alignment) * alignment
    return { input, start }
  })
  return { places, bytes }
}
