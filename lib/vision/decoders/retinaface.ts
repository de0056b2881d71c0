import { checkedOptions, type OptionTable } from '../../base/option-table.js'
import { retinaFacePriors } from '../../steps/anchors.js'
import { familyRows, retinaFaceOutputs, type Variances } from '../../steps/families.js'
import { rowsOf, type Scores } from './candidates.js'
import { type Decoded, decodedOf, type Extra, writeFromAnchor } from './decoded.js'
import { type CandidateOptions, candidateRows, ruleOf, type Sides, sizeRow } from './options.js'
import { batchOf, forEachPicture, type Outputs, outputsOf, pictureOf, wrongShape } from './outputs.js'
import { candidatesOf } from './probabilities.js'

/** Options of {@link decodeRetinaFace}. */
export interface RetinaFaceOptions extends CandidateOptions {
  /** Of the model's input, 640 or { width, height }. */
  readonly size: Sides
  /** Default 0.02, as its authors suppress; they show from 0.6 on. */
  readonly scoreThreshold?: number | undefined
  /** Default 5000. */
  readonly maxCandidates?: number | undefined
  /**
   * Default `none`: the scores are probabilities, as of a model that was exported for its use (phase 'test'); `softmax`
   * of logits.
   */
  readonly activation?: 'none' | 'softmax' | undefined
  /** Default [0.1, 0.2], of centres and points, and of sizes. */
  readonly variances?: Variances | undefined
  /** Pixels between the cells of each level; default [8, 16, 32]. */
  readonly steps?: readonly number[] | undefined
  /** The sides of each level's priors; default [[16, 32], [64, 128], [256, 512]]. */
  readonly minSizes?: readonly (readonly number[])[] | undefined
}

const table = {
  ...candidateRows(0.02, 5000),
  size: sizeRow,
  ...familyRows.retinaFace,
} satisfies OptionTable<RetinaFaceOptions>

/**
 * What RetinaFace gives (biubug6/Pytorch_Retinaface), with ResNet-50 or MobileNet: boxes [N, P, 4], scores [N, P, 2]
 * whose second is a face's, and five points [N, P, 10], which may be left out. Which is which the last dimension says.
 * `suppress` with 0.4 and `pixelAreas` is its authors' way on.
 * @returns faces, all of class 0, with `landmarks`: eyes, nose, corners of the mouth
 * @throws TensorRTError ERR_TRT_SHAPE, ERR_TRT_DTYPE, ERR_TRT_INVALID_ARGUMENT
 */
export function decodeRetinaFace(outputs: Outputs, options: RetinaFaceOptions): Decoded[] {
  const { size, activation, variances, steps, minSizes, ...limits } = checkedOptions(options, table, 'decodeRetinaFace')
  const isLogit = activation === 'softmax'
  const rule = ruleOf(limits, isLogit)
  const priors = retinaFacePriors(size, { steps, minSizes })
  const all = outputsOf(outputs)
  const { boxes, scores, points } = retinaFaceOutputs(all, priors.length / 4, size, wrongShape)
  const looksLike = (): string =>
    "this looks like logits, of a model that was not exported for its use: activation: 'softmax' takes them"
  return forEachPicture(batchOf(all, 'boxes, scores and points'), (index) => {
    const found = candidatesOf([faceScores(pictureOf(scores, index), isLogit)], rule, { outputs: all, looksLike })
    const offsets = pictureOf(boxes, index)
    return decodedOf(
      found,
      (number, into, at) =>
        writeFromAnchor(into, at, priors, number * 4, variances, (side) => offsets[number * 4 + side]!),
      points === undefined ? {} : { landmarks: landmarksOf(pictureOf(points, index), priors, variances[0]) },
    )
  })
}

/** The second of two classes; of logits a softmax of two is a sigmoid of their difference. */
function faceScores(values: Float32Array, isLogit: boolean): Scores {
  const count = values.length / 2
  if (!isLogit) return rowsOf(values.subarray(1), count, 1, 2)
  return rowsOf(
    Float32Array.from({ length: count }, (_, i) => values[i * 2 + 1]! - values[i * 2]!),
    count,
    1,
    1,
  )
}

function landmarksOf(points: Float32Array, priors: Float32Array, variance: number): Extra {
  const valueOf: Extra['valueOf'] = (number, place) => {
    const prior = number * 4 + (place % 2)
    return priors[prior]! + points[number * 10 + place]! * variance * priors[prior + 2]!
  }
  return { length: 10, valueOf }
}
