// Outputs of a model as parts of an answer.
import { type Classes, classified } from '../wire/classification.js'
import type { Datatype, WireTensor } from '../../kserve/tensor.js'
import { roughLengthOfText, textOfElements } from '../wire/write.js'

/** An output that is not sent as the bytes that it is. */
export interface OutputJob {
  readonly tensor: WireTensor
  readonly classes: Classes | undefined
  readonly isBinary: boolean
}

export interface EncodedOutput {
  readonly datatype: Datatype
  readonly shape: readonly number[]
  /** Text of its elements, with commas between; of a binary one its bytes. */
  readonly content: string | Uint8Array
}

/** About as many bytes as have to be looked at, or written. */
export function roughWork({ tensor, classes }: OutputJob): number {
  return classes === undefined
    ? roughLengthOfText(tensor)
    : tensor.bytes.length + bytesOfClass * classesIn(tensor, classes)
}

/** What finding, writing and sorting one takes, beside looking at a byte. */
const bytesOfClass = 32

function classesIn({ shape }: WireTensor, { most }: Classes): number {
  const [rows = 1, ...others] = shape.length > 1 ? shape : [1, ...shape]
  return (
    rows *
    Math.min(
      most,
      others.reduce((product, dim) => product * dim, 1),
    )
  )
}

/** `asBytes`: the text as bytes in memory of its own, to be handed over. @throws Fault INVALID_ARG */
export function encoded({ tensor, classes, isBinary }: OutputJob, asBytes = false): EncodedOutput {
  const shown = classes === undefined ? tensor : classified(tensor, classes)
  const { datatype, shape } = shown
  if (isBinary) return { datatype, shape, content: asBytes ? shown.bytes.slice() : shown.bytes }
  const text = textOfElements(shown)
  return { datatype, shape, content: asBytes ? new TextEncoder().encode(text) : text }
}
