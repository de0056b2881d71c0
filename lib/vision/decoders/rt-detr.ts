import { checkedOptions, type OptionTable } from '../../base/option-table.js'
import { sizeOf } from '../../base/size.js'
import { rtDetrDone, rtDetrJoined, rtDetrRaw } from '../../steps/families.js'
import type { Size } from '../types.js'
import { type CandidateRule, type Found, rowsOf } from './candidates.js'
import { type BoxWriter, type Decoded, decodedOf, writeCentred } from './decoded.js'
import { classesIfGiven, type ManyClassesOptions, manyClassesRows, ruleOf, type Sides, sizeIfGiven } from './options.js'
import { batchOf, forEachPicture, type Output, type Outputs, outputsOf, pictureOf, wrongShape } from './outputs.js'
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

const table = {
  ...manyClassesRows(0.6, 300, true),
  size: sizeIfGiven,
  classes: classesIfGiven,
} satisfies OptionTable<RtDetrOptions>

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
  const { size: given, classes, ...limits } = checkedOptions(options, table, 'decodeRtDetr')
  const all = outputsOf(outputs)
  if (all.length === 3) return decodeDone(all, ruleOf(limits))
  const size = sizeOf(given)
  return all.length === 2
    ? decodeRaw(all, size, ruleOf(limits, true), classes)
    : decodeJoined(all, size, ruleOf(limits), classes)
}

/** Of boxes in parts of the input's sides. */
function partsWriter(values: Float32Array, width: number, size: Size): BoxWriter {
  return (number, boxes, at) => {
    const [x, y, w, h] = [0, 1, 2, 3].map((side) => values[number * width + side]!) as [number, number, number, number]
    writeCentred(boxes, at, x * size.width, y * size.height, w * size.width, h * size.height)
  }
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
  const { logits, boxes, count, classes } = rtDetrRaw(outputs, known, wrongShape)
  return forEachPicture(batchOf(outputs, 'logits and boxes'), (index) => {
    const scores = rowsOf(pictureOf(logits, index), count, classes, classes)
    return decodedOf(candidatesOf([scores], rule, sourceOf(outputs)), partsWriter(pictureOf(boxes, index), 4, size))
  })
}

function decodeJoined(
  outputs: readonly Output[],
  size: Size,
  rule: CandidateRule,
  known: number | undefined,
): Decoded[] {
  const { rows, count, width, isLabelled, classes } = rtDetrJoined(outputs, known, wrongShape)
  return forEachPicture(rows.shape[0]!, (index) => {
    const values = pictureOf(rows, index)
    if (areDistributions(values, count, width))
      throw wrongShape(
        `boxes and scores, not rows whose ${width} numbers sum to 1, which a reader of text gives for each step,`,
        outputs,
      )
    const best = candidatesOf([rowsOf(values.subarray(4), count, classes, width)], rule, sourceOf(outputs))
    const labels = isLabelled ? best.indices.map((number) => Math.round(values[number * 6 + 5]!)) : best.classes
    return decodedOf({ ...best, classes: labels }, partsWriter(values, width, size))
  })
}

function decodeDone(outputs: readonly Output[], rule: CandidateRule): Decoded[] {
  const { labels, boxes, scores, count } = rtDetrDone(outputs, wrongShape)
  return forEachPicture(batchOf(outputs, 'labels, boxes and scores'), (index) => {
    const found = candidatesOf([rowsOf(pictureOf(scores, index), count, 1, 1)], rule, sourceOf(outputs))
    const [names, corners] = [pictureOf(labels, index), pictureOf(boxes, index)]
    const named: Found = { ...found, classes: found.indices.map((number) => names[number]!) }
    return decodedOf(named, (number, into, at) => into.set(corners.subarray(number * 4, number * 4 + 4), at))
  })
}
