import { checkedChoice, checkedObject } from '../base/checks.js'
import { checkedOptions, option, type OptionTable } from '../base/option-table.js'
import { expected } from '../errors.js'
import { finite, numbersOf, ofLength } from './arrays.js'
import { type NonMaxSuppressionOptions, rulesOf, suppressionRows } from './boxes.js'
import { emptyRivals, groupsOf, type Rivals, stayingOf } from './suppression.js'

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
  const { classes } = checked
  const count = checked.scores.length
  const groups = groupsOf(count, given.perClass && classes !== undefined ? (index) => classes[index] : () => 0)
  const rivals: Rivals = { ...cornersOf(checked, rules.added), ...groups }
  const staying = stayingOf(rivals, rules)
  lowered?.set(rivals.scores)
  return staying
}

function checkedCandidates(candidates: unknown): Required<Omit<Candidates, 'classes'>> & Pick<Candidates, 'classes'> {
  const {
    boxes,
    format = 'xywh',
    scores,
    classes,
  } = checkedObject(candidates, 'candidates') as Partial<Record<keyof Candidates, unknown>>
  const checkedScores = numbersOf(scores, 'scores')
  const count = checkedScores.length
  return {
    boxes: finite(numbersOf(boxes, 'boxes', count * 4), 'boxes'),
    format: checkedChoice(format, 'format', ['xywh', 'xyxy']),
    scores: finite(checkedScores, 'scores'),
    classes: classes === undefined ? undefined : ofLength(wholesOf(classes), 'classes', count),
  }
}

function wholesOf(classes: unknown): Int32Array {
  if (classes instanceof Int32Array) return classes
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
