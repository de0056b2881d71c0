import type { Found, Scores } from './candidates.js'
import { type BoxWriter, type Decoded, decodedOf, writeCentred } from './decoded.js'
import type { Size } from '../types.js'
import { checkedWhole } from '../../base/checks.js'
import { decoderOptions, inputSize, type ManyClassesOptions, ruleOf, type Sides } from './options.js'
import { batchOf, forEachPicture, type Output, type Outputs, outputsOf, pictureOf, wrongShape } from './outputs.js'
import type { CandidateRule } from './candidates.js'
import { candidatesOf, isNoProbability, type Source } from './probabilities.js'

/** Options of {@link decodeRtDetr}. */
export interface RtDetrOptions extends ManyClassesOptions {
  /** Of the model's input, 640 or { width, height }. Not read where the model gives boxes in pixels. */
  readonly size?: Sides | undefined
  /** Default 0.6, as its demo has it. */
  readonly scoreThreshold?: number | undefined
  /** Default 300. */
  readonly maxCandidates?: number | undefined
  /** A box counts for each class above the threshold; default true, as its authors have it. */
  readonly multiLabel?: boolean | undefined
  /** How many classes the model has: then it is checked where the model gives a score for each. */
  readonly classes?: number | undefined
}

const wanted =
  '[N, Q, classes] and [N, Q, 4] (logits and boxes), or [N, Q], [N, Q, 4] and [N, Q] (labels, boxes, scores), or [N, Q, 6] or [N, Q, 4 + classes] (box, then score and class or probabilities)'

/**
 * What RT-DETR gives; nothing is left to be suppressed. By the shapes:
 * - logits [N, Q, C] and boxes [N, Q, 4] of centre and sides in 0 to 1: raw, as its network gives them (of two with 4
 *   columns the logits come first);
 * - labels [N, Q] of whole numbers, boxes [N, Q, 4] (left, top, right, bottom), scores [N, Q]: its own export, in
 *   pixels of what its second input `orig_target_sizes` said: give the model's input there;
 * - [N, Q, 6] of centre and sides in 0 to 1, score and class, or [N, Q, 4 + C] with probabilities: ultralytics'
 *   exports.
 * @throws TensorRTError ERR_TRT_SHAPE, ERR_TRT_DTYPE, ERR_TRT_INVALID_ARGUMENT
 */
export function decodeRtDetr(outputs: Outputs, options?: RtDetrOptions): Decoded[] {
  const given = decoderOptions(options, ['multiLabel', 'size', 'classes'], 'decodeRtDetr')
  const rule = ruleOf({ ...given, multiLabel: given.multiLabel ?? true }, { scoreThreshold: 0.6, maxCandidates: 300 })
  const known = given.classes === undefined ? undefined : checkedWhole(given.classes, 'classes', 1, 65536)
  const all = outputsOf(outputs)
  if (all.length === 3) return decodeDone(all, rule)
  const size = inputSize(given.size)
  return all.length === 2
    ? decodeRaw(all, size, { ...rule, sigmoid: true }, known)
    : decodeJoined(all, size, rule, known)
}

/** Of boxes in parts of the input's sides. */
function partsWriter(values: Float32Array, width: number, size: Size): BoxWriter {
  return (number, boxes, at) => {
    const [x, y, w, h] = [0, 1, 2, 3].map((side) => values[number * width + side]!) as [number, number, number, number]
    writeCentred(boxes, at, x * size.width, y * size.height, w * size.width, h * size.height)
  }
}

function rows(values: Float32Array, count: number, classes: number, step: number): Scores {
  return { values, count, classes, step, classStep: 1, first: 0, firstStep: 1 }
}

function sourceOf(outputs: readonly Output[]): Source {
  return {
    outputs,
    looksLike: () => 'this looks like a model of another family, or one whose scores have had no sigmoid',
  }
}

/** So many queries have boxes that sum to 1 with their scores by no chance. */
const fewestQueries = 8

/** Whether each row is a distribution over all of its columns. */
function areDistributions(values: Float32Array, count: number, width: number): boolean {
  const isOne = (start: number): boolean => {
    let sum = 0
    for (let at = start; at < start + width; at++) {
      if (isNoProbability(values[at]!)) return false
      sum += values[at]!
    }
    return Math.abs(sum - 1) < 1e-2
  }
  for (let row = 0; row < count; row++) if (!isOne(row * width)) return false
  return count >= fewestQueries
}

function decodeRaw(outputs: readonly Output[], size: Size, rule: CandidateRule, known: number | undefined): Decoded[] {
  const logits = outputs.find(({ shape }) => shape[2] !== 4) ?? outputs[0]!
  const boxes = outputs.find((output) => output !== logits)!
  const [, count = 0, classes = 0] = logits.shape
  const isRight =
    outputs.every(({ shape, isWhole }) => !isWhole && shape.length === 3 && shape[1] === count) && boxes.shape[2] === 4
  if (!isRight || classes < 1) throw wrongShape(wanted, outputs)
  if (known !== undefined && classes !== known)
    throw wrongShape(`[N, ${count}, ${known}] and [N, ${count}, 4]`, outputs)
  return forEachPicture(batchOf(outputs, 'logits and boxes'), (index) => {
    const found = candidatesOf([rows(pictureOf(logits, index), count, classes, classes)], rule, sourceOf(outputs))
    return decodedOf(found, partsWriter(pictureOf(boxes, index), 4, size))
  })
}

function decodeJoined(
  outputs: readonly Output[],
  size: Size,
  rule: CandidateRule,
  known: number | undefined,
): Decoded[] {
  const [output] = outputs
  if (
    outputs.length !== 1 ||
    output === undefined ||
    output.isWhole ||
    output.shape.length !== 3 ||
    output.shape[2]! < 5
  )
    throw wrongShape(wanted, outputs)
  const [batch = 0, count = 0, width = 0] = output.shape
  if (known !== undefined && width !== 6 && width !== 4 + known)
    throw wrongShape(`[N, ${count}, ${4 + known}] or [N, ${count}, 6]`, outputs)
  return forEachPicture(batch, (index) => {
    const values = pictureOf(output, index)
    if (areDistributions(values, count, width))
      throw wrongShape(
        `boxes and scores, not rows whose ${width} numbers sum to 1, which a reader of text gives for each step,`,
        outputs,
      )
    const part = rows(values.subarray(4), count, width === 6 ? 1 : width - 4, width)
    const best = candidatesOf([part], rule, sourceOf(outputs))
    const classes = width === 6 ? best.indices.map((number) => Math.round(values[number * 6 + 5]!)) : best.classes
    return decodedOf({ ...best, classes }, partsWriter(values, width, size))
  })
}

function decodeDone(outputs: readonly Output[], rule: CandidateRule): Decoded[] {
  const labels = outputs.find(({ shape, isWhole }) => isWhole && shape.length === 2)
  const boxes = outputs.find(({ shape, isWhole }) => !isWhole && shape.length === 3 && shape[2] === 4)
  const scores = outputs.find(({ shape, isWhole }) => !isWhole && shape.length === 2)
  if (labels === undefined || boxes === undefined || scores === undefined) throw wrongShape(wanted, outputs)
  const count = boxes.shape[1]!
  if (labels.shape[1] !== count || scores.shape[1] !== count) throw wrongShape(wanted, outputs)
  return forEachPicture(batchOf(outputs, 'labels, boxes and scores'), (index) => {
    const found = candidatesOf([rows(pictureOf(scores, index), count, 1, 1)], rule, sourceOf(outputs))
    const [names, corners] = [pictureOf(labels, index), pictureOf(boxes, index)]
    const named: Found = { ...found, classes: found.indices.map((number) => names[number]!) }
    return decodedOf(named, (number, into, at) => into.set(corners.subarray(number * 4, number * 4 + 4), at))
  })
}
