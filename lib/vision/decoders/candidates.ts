/**
 * Which of a detector's thousands of boxes are worth decoding: by the addon, or in JavaScript, which finds the same.
 */
import { nativeSync } from '../../backend/native.js'
import type { NativeCandidateRule, NativeCandidates, NativeScores } from '../../backend/native-vision.js'
import { pixelAddon } from '../threads.js'

export type Scores = NativeScores
export type CandidateRule = NativeCandidateRule
export type Found = NativeCandidates

/** Of boxes that lie one after the other, `step` numbers apart, the scores of their classes beside each other. */
export function rowsOf(values: Float32Array, count: number, classes: number, step: number): Scores {
  return { values, count, classes, step, classStep: 1, first: 0, firstStep: 1 }
}

/** The best first; of equal scores that of the lower number, then of the lower class. */
export function findCandidates(parts: readonly Scores[], rule: CandidateRule): Found {
  const addon = pixelAddon()
  return addon === undefined ? findPortably(parts, rule) : nativeSync(() => addon.findCandidates(parts, rule))
}

export const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x))

interface Hit {
  /** The score, or its logit. */
  readonly rank: number
  readonly number: number
  readonly classIndex: number
}

const better = (a: Hit, b: Hit): number => b.rank - a.rank || a.number - b.number || a.classIndex - b.classIndex

/** As native/vision/candidates.cc does it. */
export function findPortably(parts: readonly Scores[], rule: CandidateRule): Found {
  const logits = rule.sigmoid && parts.every(({ objectness }) => objectness === undefined)
  let hits: Hit[] = []
  let least = -Infinity
  const add = (hit: Hit): void => {
    if (hit.rank < least) return
    hits.push(hit)
    if (hits.length < rule.most * 2) return
    hits = hits.sort(better).slice(0, rule.most)
    least = hits.at(-1)!.rank
  }
  for (const part of parts) {
    if (part.objectness === undefined) lookPlainly(part, rule, logits, add)
    else lookAtObjects(part, part.objectness, rule, add)
  }
  hits = hits.sort(better).slice(0, rule.most)
  return {
    indices: Int32Array.from(hits, ({ number }) => number),
    classes: Int32Array.from(hits, ({ classIndex }) => classIndex),
    scores: Float32Array.from(hits, ({ rank }) => (logits ? sigmoid(rank) : rank)),
  }
}

type Add = (hit: Hit) => void

/** What is compared is the logit where a sigmoid follows. */
function limitOf({ sigmoid: isLogit, threshold }: CandidateRule): number {
  return isLogit ? Math.log(threshold / (1 - threshold)) : threshold
}

function lookPlainly(part: Scores, rule: CandidateRule, logits: boolean, add: Add): void {
  const { values, count, classes, step, classStep, first, firstStep } = part
  const limit = limitOf(rule)
  const rankOf = (value: number): number => (rule.sigmoid && !logits ? Math.fround(sigmoid(value)) : value)
  const greatest = greatestOf(part)
  for (let i = 0; i < count; i++) {
    if (!(greatest[i]! > limit)) continue
    const number = first + i * firstStep
    for (let c = 0; c < classes; c++) {
      const value = values[i * step + c * classStep]!
      if (rule.everyClass ? !(value > limit) : value !== greatest[i]) continue
      add({ rank: rankOf(value), number, classIndex: c })
      if (!rule.everyClass) break
    }
  }
}

/** Of each box its greatest value; what is NaN is none. */
function greatestOf({ values, count, classes, step, classStep }: Scores): Float32Array {
  const greatest = new Float32Array(count).fill(-Infinity)
  if (step < classStep) {
    // one class after the other, as they lie in memory
    for (let c = 0; c < classes; c++)
      for (let i = 0; i < count; i++) {
        const value = values[c * classStep + i * step]!
        if (value > greatest[i]!) greatest[i] = value
      }
    return greatest
  }
  for (let i = 0; i < count; i++)
    for (let c = 0; c < classes; c++) {
      const value = values[i * step + c * classStep]!
      if (value > greatest[i]!) greatest[i] = value
    }
  return greatest
}

/** No class is above 1: where objectness is not above the threshold, no product is. */
function lookAtObjects(part: Scores, objectness: Float32Array, rule: CandidateRule, add: Add): void {
  const { values, count, classes, step, classStep, objectnessStep = 1, first, firstStep } = part
  const limit = limitOf(rule)
  const probabilityOf = rule.sigmoid ? sigmoid : (value: number): number => value
  for (let i = 0; i < count; i++) {
    const given = objectness[i * objectnessStep]!
    if (!(given > limit)) continue
    const factor = probabilityOf(given)
    const consider = (c: number): void => {
      const rank = Math.fround(factor * probabilityOf(values[i * step + c * classStep]!))
      if (rank > rule.threshold) add({ rank, number: first + i * firstStep, classIndex: c })
    }
    if (rule.everyClass) for (let c = 0; c < classes; c++) consider(c)
    else if (classes > 0) consider(bestClass(part, i))
  }
}

/** The class with the greatest value, of equal ones the lowest. */
function bestClass({ values, classes, step, classStep }: Scores, i: number): number {
  let [best, most] = [0, -Infinity]
  for (let c = 0; c < classes; c++) {
    const value = values[i * step + c * classStep]!
    if (value > most) [best, most] = [c, value]
  }
  return best
}
