import { checkedOptions, is, option, type OptionTable } from '../../base/option-table.js'
import { elementCount } from '../../tensor.js'
import { rowsOf } from './candidates.js'
import { type Decoded, decodedOf } from './decoded.js'
import { type CandidateOptions, candidateRows, ruleOf } from './options.js'
import { forEachPicture, type Output, type Outputs, outputsOf, wrongShape } from './outputs.js'
import { candidatesOf } from './probabilities.js'

/** Options of {@link decodeFinished}. */
export interface FinishedOptions extends CandidateOptions {
  /** Default 0.5. */
  readonly scoreThreshold?: number | undefined
  /** Default 1000. */
  readonly maxCandidates?: number | undefined
  /**
   * The label that is class 0; default 0: labels are classes. 1 leaves out a background that the names of the classes
   * do not have; what has a lower label is then left out.
   */
  readonly firstClass?: number | undefined
}

const table = {
  ...candidateRows(0.5, 1000),
  firstClass: option(is.whole(0, 65535), 0),
} satisfies OptionTable<FinishedOptions>

/**
 * What a model gives that has decoded and suppressed by itself: left, top, right, bottom of each box in pixels of its
 * input, scores of 0 to 1, and labels. By the shapes, where N may be any number, 0 as well:
 * - boxes [N, 4], scores [N] and labels [N] of one picture, as torchvision's detectors are exported;
 * - boxes [B, N, 4], scores [B, N] and labels [B, N] of B pictures, and perhaps how many of them count, whole numbers
 *   [B, 1] or [B]: TensorRT's EfficientNMS, and others;
 * - boxes with their scores, [N, 5] or [B, N, 5], and labels [N] or [B, N]: MMDetection;
 * - [N, 6] or [B, N, 6]: box, score, label.
 *
 * Other outputs, such as masks and keypoints, are not read. Labels are whole numbers; where they are floats, the first
 * of two outputs of one shape are the scores. Nothing is left to be suppressed.
 * @throws TensorRTError ERR_TRT_SHAPE, ERR_TRT_DTYPE, ERR_TRT_INVALID_ARGUMENT
 */
export function decodeFinished(outputs: Outputs, options?: FinishedOptions): Decoded[] {
  const { firstClass, ...limits } = checkedOptions(options, table, 'decodeFinished')
  const rule = ruleOf(limits)
  const all = outputsOf(outputs)
  const found = finishedOutputs(all)
  const source = { outputs: all, looksLike: () => 'this looks like a model whose scores are logits', isPadded: true }
  return forEachPicture(found.pictures, (picture) => {
    const { boxes, scores, labels } = partsOf(found, picture)
    const count = countOf(found, picture)
    const best = candidatesOf([rowsOf(scores.values, count, 1, scores.step)], rule, source)
    const classes = best.indices.map((number) => Math.round(labels.values[number * labels.step]!) - firstClass)
    const places = Array.from(classes.keys()).filter((place) => classes[place]! >= 0)
    const kept = {
      indices: Int32Array.from(places, (place) => best.indices[place]!),
      classes: Int32Array.from(places, (place) => classes[place]!),
      scores: Float32Array.from(places, (place) => best.scores[place]!),
    }
    return decodedOf(kept, (number, into, at) => {
      const first = number * boxes.step
      into.set(boxes.values.subarray(first, first + 4), at)
    })
  })
}

/** Numbers of one picture, so many of them apart from each other. */
interface Column {
  readonly values: Float32Array
  readonly step: number
}

function partsOf(
  { boxes, scores, labels, count }: FinishedOutputs,
  picture: number,
): { readonly boxes: Column; readonly scores: Column; readonly labels: Column } {
  const width = boxes.shape.at(-1)!
  const rows = boxes.data.subarray(picture * count * width, (picture + 1) * count * width)
  const column = (output: Output | undefined, place: number): Column =>
    output === undefined
      ? { values: rows.subarray(place), step: width }
      : { values: output.data.subarray(picture * count, (picture + 1) * count), step: 1 }
  return { boxes: { values: rows, step: width }, scores: column(scores, 4), labels: column(labels, 5) }
}

/** How many boxes of a picture count. */
function countOf({ count, counts }: FinishedOutputs, picture: number): number {
  return counts === undefined ? count : Math.min(count, Math.max(0, counts.data[picture]!))
}

/** Which output is which, of how many pictures, with how many boxes each. */
interface FinishedOutputs {
  /** Columns: left, top, right, bottom; then, where they are not apart, score and label. */
  readonly boxes: Output
  readonly scores: Output | undefined
  readonly labels: Output | undefined
  /** How many boxes of each picture count, where the model says it. */
  readonly counts: Output | undefined
  readonly pictures: number
  readonly count: number
}

const forms =
  'boxes [N, 4], scores [N] and labels [N], or the same of B pictures, [B, N, 4], [B, N] and [B, N], or [N, 5] and labels [N] (box and score), or [N, 6] (box, score, label),'

function finishedOutputs(outputs: readonly Output[]): FinishedOutputs {
  const boxes = boxesIn(outputs)
  if (boxes === undefined) throw wrongShape(forms, outputs)
  const sides = boxes.shape.slice(0, -1)
  const [pictures, count, columns] = [sides.length === 1 ? 1 : sides[0]!, sides.at(-1)!, boxes.shape.at(-1)!]
  const lists = outputs.filter((each) => each !== boxes && isLike(each, sides))
  const [wholes, floats] = [lists.filter(({ isWhole }) => isWhole), lists.filter(({ isWhole }) => !isWhole)]
  // of one box the number of boxes has the same shape, and comes first
  const labels = columns === 6 ? undefined : (wholes.at(-1) ?? floats[columns === 5 ? 0 : 1])
  const scores = columns === 4 ? floats.find((each) => each !== labels) : undefined
  const isMissing = (columns < 6 && labels === undefined) || (columns === 4 && scores === undefined)
  if (isMissing) throw wrongShape(forms, outputs)
  const counts = outputs.find((each) => each.isWhole && each !== labels && isLike(each, [pictures]))
  return { boxes, scores, labels, counts, pictures, count }
}

/** Of boxes and scores of four boxes, both with four columns, the boxes are more. */
function boxesIn(outputs: readonly Output[]): Output | undefined {
  const ofWidth = (width: number): Output[] =>
    outputs
      .filter(({ shape, isWhole }) => !isWhole && (shape.length === 2 || shape.length === 3) && shape.at(-1) === width)
      .toSorted((a, b) => elementCount(b.shape) - elementCount(a.shape) || b.shape.length - a.shape.length)
  return ofWidth(4)[0] ?? ofWidth(6)[0] ?? ofWidth(5)[0]
}

/** Whether it has these sides, but for sides of 1. */
function isLike({ shape }: Output, sides: readonly number[]): boolean {
  const squeezed = (of: readonly number[]): string => of.filter((side) => side !== 1).join()
  return shape.length <= 3 && squeezed(shape) === squeezed(sides)
}
