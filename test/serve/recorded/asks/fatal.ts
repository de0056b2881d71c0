// Requests at which a Triton 2.51 ends: they have no recorded answer.
import type { Ask } from '../ask.js'
import { infer, input } from './make.js'

export const fatalAsks: readonly Ask[] = [
  infer('the shape is huge', 'fp32', { inputs: [input('FP32', [9223372036854770000], [1, 2])] }),
  infer('classification of texts', 'bytes', {
    inputs: [input('BYTES', [2], ['a', 'b'])],
    outputs: [{ name: 'OUTPUT0', parameters: { classification: 1 } }],
  }),
]
