import { checkedVariances, retinaFacePriors, type Variances } from '../../steps/anchors/index.js'
import { checkedChoice } from '../../base/checks.js'
import type { Scores } from './candidates.js'
import { writeFromAnchor } from './coders.js'
import { type Decoded, decodedOf, type Extra } from './decoded.js'
import { type CandidateOptions, decoderOptions, inputSize, ruleOf, type Sides, sizeText } from './options.js'
import { batchOf, forEachPicture, type Output, type Outputs, outputsOf, pictureOf, wrongShape } from './outputs.js'
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

const names = ['size', 'activation', 'variances', 'steps', 'minSizes'] as const

/**
 * What RetinaFace gives (biubug6/Pytorch_Retinaface), with ResNet-50 or MobileNet: boxes [N, P, 4], scores [N, P, 2]
 * whose second is a face's, and five points [N, P, 10], which may be left out. Which is which the last dimension says.
 * `suppress` with 0.4 and `pixelAreas` is its authors' way on.
 * @returns faces, all of class 0, with `landmarks`: eyes, nose, corners of the mouth
 * @throws TensorRTError ERR_TRT_SHAPE, ERR_TRT_DTYPE, ERR_TRT_INVALID_ARGUMENT
 */
export function decodeRetinaFace(outputs: Outputs, options: RetinaFaceOptions): Decoded[] {
  const given = decoderOptions(options, names, 'decodeRetinaFace')
  const isLogit = checkedChoice(given.activation ?? 'none', 'activation', ['none', 'softmax']) === 'softmax'
  const rule = ruleOf(given, { scoreThreshold: 0.02, maxCandidates: 5000, sigmoid: isLogit })
  const variances = checkedVariances(given.variances)
  const size = inputSize(given.size)
  const priors = retinaFacePriors(size, { steps: given.steps as number[], minSizes: given.minSizes as number[][] })
  const { boxes, scores, points } = partsOf(outputsOf(outputs), priors.length / 4, `for an input of ${sizeText(size)}`)
  const all = points === undefined ? [boxes, scores] : [boxes, scores, points]
  const looksLike = (): string =>
    "this looks like logits, of a model that was not exported for its use: activation: 'softmax' takes them"
  const source = { outputs: all, looksLike }
  return forEachPicture(batchOf(all, 'boxes, scores and points'), (index) => {
    const found = candidatesOf([faceScores(pictureOf(scores, index), isLogit)], rule, source)
    const offsets = pictureOf(boxes, index)
    const write = (number: number, into: Float32Array, at: number): void => {
      const from = number * 4
      writeFromAnchor(
        into,
        at,
        priors,
        from,
        [offsets[from]!, offsets[from + 1]!, offsets[from + 2]!, offsets[from + 3]!],
        variances,
      )
    }
    return decodedOf(
      found,
      write,
      points === undefined ? {} : { landmarks: landmarksOf(pictureOf(points, index), priors, variances[0]) },
    )
  })
}

/** The second of two classes; of logits a softmax of two is a sigmoid of their difference. */
function faceScores(values: Float32Array, isLogit: boolean): Scores {
  const count = values.length / 2
  const one = { count, classes: 1, classStep: 1, first: 0, firstStep: 1 }
  if (!isLogit) return { ...one, values: values.subarray(1), step: 2 }
  return {
    ...one,
    values: Float32Array.from({ length: count }, (_, i) => values[i * 2 + 1]! - values[i * 2]!),
    step: 1,
  }
}

function landmarksOf(points: Float32Array, priors: Float32Array, variance: number): Extra {
  const write = (number: number, into: Float32Array, at: number): void => {
    for (let i = 0; i < 10; i++) {
      const prior = number * 4 + (i % 2)
      into[at + i] = priors[prior]! + points[number * 10 + i]! * variance * priors[prior + 2]!
    }
  }
  return { length: 10, write }
}

function partsOf(
  outputs: readonly Output[],
  count: number,
  of: string,
): { boxes: Output; scores: Output; points: Output | undefined } {
  const ofWidth = (width: number): Output[] =>
    outputs.filter(({ shape, isWhole }) => !isWhole && shape.length === 3 && shape[1] === count && shape[2] === width)
  const [[boxes, ...moreBoxes], [scores, ...moreScores], points] = [ofWidth(4), ofWidth(2), ofWidth(10)]
  const isAll = moreBoxes.length + moreScores.length === 0 && outputs.length === 2 + points.length && points.length <= 1
  if (boxes !== undefined && scores !== undefined && isAll) return { boxes, scores, points: points[0] }
  throw wrongShape(`[N, ${count}, 4], [N, ${count}, 2] and perhaps [N, ${count}, 10] ${of}`, outputs)
}
