/** What decoders are told of boxes and anchors, read in one way for those of the host and those in a graph. */
import { checkedArray, checkedNumber } from '../../base/checks.js'
import { expected } from '../../errors.js'
import { type LevelAnchors, yoloAnchors } from './yolo.js'

/** Factors of the offsets of centre and size, once each. */
export type Variances = readonly [centre: number, size: number]

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedVariances(given: unknown = [0.1, 0.2]): Variances {
  const numbers = checkedArray(given, 'variances', '[of centres, of sizes]').map((number, i) =>
    checkedNumber(number, `variances[${i}]`, 0),
  )
  if (numbers.length !== 2) throw expected('[of centres, of sizes]', 'variances', given)
  return [numbers[0]!, numbers[1]!]
}

/** The anchors of a YOLO's levels. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedLevels(given: unknown = 'v5'): readonly LevelAnchors[] {
  if (given === 'v5' || given === 'v7') return yoloAnchors[given]
  const levels = checkedArray(given, 'anchors', "'v5', 'v7' or a list of anchors for each level")
  if (levels.length === 0 || levels.length > 16) throw expected('1 to 16 levels', 'anchors', given)
  return levels.map((level, index) => {
    const anchors = checkedArray(level, `anchors[${index}]`)
    if (anchors.length === 0 || anchors.length > 64) throw expected('1 to 64 anchors', `anchors[${index}]`, level)
    return anchors.map((anchor, place) => checkedLevelAnchor(anchor, `anchors[${index}][${place}]`))
  })
}

function checkedLevelAnchor(anchor: unknown, name: string): readonly [number, number] {
  const sides = checkedArray(anchor, name, '[width, height]')
  if (sides.length !== 2) throw expected('[width, height]', name, anchor)
  return [checkedNumber(sides[0], `${name}[0]`, 1e-3), checkedNumber(sides[1], `${name}[1]`, 1e-3)]
}

/** Anchors that are a model's own, as numbers, which JSON has, too. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedAnchors(anchors: unknown): Float32Array {
  const numbers =
    Array.isArray(anchors) && anchors.every(Number.isFinite) ? Float32Array.from(anchors as number[]) : anchors
  if (numbers instanceof Float32Array && numbers.length > 0 && numbers.length % 4 === 0) return numbers
  throw expected('a Float32Array, or an array of numbers, of (cx, cy, w, h) of each anchor', 'anchors', anchors)
}
