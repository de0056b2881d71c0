// How outputs are compared with references.
import type { Tensor } from '../../lib/tensor.js'
import { bytesOf, cosine } from '../support/values.js'

type Tensors = Readonly<Record<string, Tensor>>

/** The expected value of a check that compares bits. */
export const sameBits = 'the bits of onnxruntime'

/** {@link sameBits} if outputs have the shapes, types and bits of the reference; otherwise where the first differs. */
export function differenceOf(outputs: Tensors, reference: Tensors, same: string = sameBits): string {
  for (const [name, expected] of Object.entries(reference)) {
    const received = outputs[name]
    if (received === undefined) return `no output '${name}'`
    const [left, right] = [received, expected].map(({ dtype, shape }) => `${dtype} [${shape.join(', ')}]`)
    if (left !== right) return `'${name}' is ${left} instead of ${right}`
    if (bytesOf(received).equals(bytesOf(expected))) continue
    const at = [...expected.data].findIndex((value, i) => !Object.is(value, received.data[i]))
    return `'${name}' has ${String(received.data[at])} instead of ${String(expected.data[at])} at ${at}`
  }
  return same
}

/** The expected value of a check that compares directions. */
export const alike = 'cosine 0.9999 or more'

/** The least cosine of an output and its reference; NaN if a shape differs. */
export function leastCosine(outputs: Tensors, reference: Tensors): number {
  const cosines = Object.entries(reference).map(([name, expected]) => {
    const received = outputs[name]
    if (received?.shape.join() !== expected.shape.join()) return NaN
    return cosine(received.data as Float32Array, expected.data as Float32Array)
  })
  return cosines.some(Number.isNaN) ? NaN : Math.min(...cosines)
}
