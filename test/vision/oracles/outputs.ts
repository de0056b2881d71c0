/** Outputs of models by the seeds of the scripts of this folder, which have recorded what comes of them. */
import { Tensor } from '../../../lib/index.js'
import type { Size } from '../../../lib/vision/index.js'
import { Random } from '../../support/random.js'

/** What is found, as the scripts write it. */
export interface Boxes {
  readonly boxes: number[]
  readonly scores: number[]
  readonly classes: number[]
  readonly landmarks?: number[]
  readonly coefficients?: number[]
}

/** Of decoders.py: those of faces. */
export interface FaceAnswers {
  readonly retinaface: { seed: number; size: Size; count: number; candidates: Boxes }[]
  readonly centerface: { seed: number; size: Size; scoreThreshold: number; kept: Boxes }[]
}

/** As the scripts': from low to high. */
export function spread(random: Random, shape: readonly number[], low: number, high: number): Tensor<'float32'> {
  const length = shape.reduce((product, side) => product * side, 1)
  return new Tensor(
    'float32',
    Float32Array.from({ length }, () => low + random.next() * (high - low)),
    shape,
  )
}

/** [1, a + b + …, P] of planes one after the other. */
export function stacked(planes: readonly Tensor<'float32'>[]): Tensor<'float32'> {
  const count = planes[0]!.shape[1]!
  const data = planes.flatMap((plane) => [...plane.data])
  return new Tensor('float32', Float32Array.from(data), [1, data.length / count, count])
}

/** Boxes, logits and points of a RetinaFace. */
export function retinaFaceOutputs(
  seed: number,
  count: number,
): [offsets: Tensor<'float32'>, logits: Tensor<'float32'>, points: Tensor<'float32'>] {
  const random = new Random(seed)
  return [
    spread(random, [1, count, 4], -2, 2),
    spread(random, [1, count, 2], -3, 3),
    spread(random, [1, count, 10], -3, 3),
  ]
}

/** Scores, scales, offsets and points of a CenterFace. */
export function centerFaceOutputs(seed: number, { width, height }: Size): Tensor<'float32'>[] {
  const random = new Random(seed)
  const [rows, columns] = [height / 4, width / 4]
  const heat = spread(random, [1, 1, rows, columns], 0, 1)
  // a power is not the same everywhere
  const scores = new Tensor(
    'float32',
    heat.data.map((value) => Math.round(value ** 8 * 4096) / 4096),
    heat.shape,
  )
  const [scale, offset] = [
    spread(random, [1, 2, rows, columns], 0, 3),
    spread(random, [1, 2, rows, columns], -0.5, 0.5),
  ]
  return [scores, scale, offset, spread(random, [1, 10, rows, columns], 0, 1)]
}
