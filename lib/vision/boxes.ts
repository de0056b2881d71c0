import { checkedArray, checkedBoolean, checkedNumber, checkedObject, checkedWhole } from '../base/checks.js'
import { readOptions } from '../base/options.js'
import { checkedBox } from './checks.js'
import type { Box } from './types.js'

export interface NonMaxSuppressionOptions {
  /** A detection falls when its IoU with a better one that stays is greater than this; 0 to 1, default 0.45. */
  readonly iouThreshold?: number | undefined
  /** Whether only detections of one class compete; default true. */
  readonly perClass?: boolean | undefined
  /** At most so many stay, over all classes; default: no limit. */
  readonly maximum?: number | undefined
}

/** What suppression looks at; without `classIndex` all are of one class. */
export interface ScoredBox {
  readonly box: Box
  readonly score: number
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
 * Greedy non-maximum suppression: the best detection stays, those that overlap it too much fall, and so on with the next best.
 * Of equal scores the one that stands first in `detections` is the better, so the result does not depend on chance.
 * @returns those of `detections` that stay, the best first
 */
export function nonMaxSuppression<T extends ScoredBox>(detections: readonly T[], options?: NonMaxSuppressionOptions): T[] {
  checkedArray(detections, 'detections')
  detections.forEach(checkScoredBox)
  const given = readOptions(options, ['iouThreshold', 'perClass', 'maximum'], 'nonMaxSuppression')
  const most = checkedNumber(given.iouThreshold === undefined ? 0.45 : given.iouThreshold, 'iouThreshold', 0, 1)
  const perClass = checkedBoolean(given.perClass === undefined ? true : given.perClass, 'perClass')
  const limit = given.maximum === undefined ? Infinity : checkedWhole(given.maximum, 'maximum', 1)

  const kept: T[] = []
  for (const candidate of detections.toSorted((a, b) => b.score - a.score)) {
    if (kept.length >= limit) break
    const rivals = perClass ? kept.filter(({ classIndex }) => classIndex === candidate.classIndex) : kept
    if (rivals.every(({ box }) => overlap(box, candidate.box) <= most)) kept.push(candidate)
  }
  return kept
}

function checkScoredBox(detection: ScoredBox, index: number): void {
  checkedObject(detection, `detections[${index}]`)
  checkedBox(detection.box, `detections[${index}].box`)
  checkedNumber(detection.score, `detections[${index}].score`)
}
