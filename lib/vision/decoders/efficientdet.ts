import { checkedOptions, type OptionTable } from '../../base/option-table.js'
import { TensorRTError } from '../../errors.js'
import { efficientDetAnchors, type EfficientDetAnchorOptions } from '../../steps/anchors.js'
import { coders, type EfficientDetLevel, efficientDetLevels, familyRows } from '../../steps/families.js'
import { type Found, rowsOf, type Scores } from './candidates.js'
import { type Decoded, decodedOf, kept, otherWay, writeFromAnchor } from './decoded.js'
import { classesIfGiven, type ManyClassesOptions, manyClassesRows, ruleOf, sizeRow } from './options.js'
import {
  batchOf,
  forEachPicture,
  type Output,
  type Outputs,
  outputsOf,
  pictureOf,
  shapesText,
  wrongShape,
} from './outputs.js'
import { candidatesOf, type Source } from './probabilities.js'

/** Options of {@link decodeEfficientDet}. */
export interface EfficientDetOptions extends ManyClassesOptions, EfficientDetAnchorOptions {
  /** Default 0.001, google/automl's. */
  readonly scoreThreshold?: number | undefined
  /** Default 5000, before suppression. */
  readonly maxCandidates?: number | undefined
  /**
   * How boxes are written: `automl` (google/automl and effdet; default) as they are, `tf` (TensorFlow's Object
   * Detection API) times 10, 10, 5 and 5.
   */
  readonly coder?: 'automl' | 'tf' | undefined
  /** Default `sigmoid`; `none` where the model has done it. */
  readonly activation?: 'sigmoid' | 'none' | undefined
  /** How many classes the model has: then it is checked. */
  readonly classes?: number | undefined
}

const table = {
  ...manyClassesRows(0.001, 5000),
  size: sizeRow,
  ...familyRows.efficientDet,
  classes: classesIfGiven,
} satisfies OptionTable<EfficientDetOptions>

const anchorsOf = kept(efficientDetAnchors)

/**
 * What an EfficientDet's heads give: of each level classes [N, A * C, rows, columns] and boxes [N, A * 4, rows,
 * columns], or [N, rows, columns, A * C] and so on; or all in one, [N, P, C] and [N, P, 4]. A box is (ty, tx, th, tw)
 * from its anchor. Shapes say which is which; with as many as 4 classes the classes come first.
 *
 * effdet's way is `multiLabel` with a scoreThreshold of 0, then `suppress` with 0.5 and 100 boxes; google/automl's the
 * best class, then `soft-gaussian`. Classes are counted from 0: COCO's numbers, as these models have them, from 1.
 * @throws TensorRTError ERR_TRT_SHAPE, ERR_TRT_DTYPE, ERR_TRT_INVALID_ARGUMENT
 */
export function decodeEfficientDet(outputs: Outputs, options: EfficientDetOptions): Decoded[] {
  const { coder, activation, classes, scoreThreshold, maxCandidates, multiLabel, ...layout } = checkedOptions(
    options,
    table,
    'decodeEfficientDet',
  )
  const rule = ruleOf({ scoreThreshold, maxCandidates, multiLabel }, activation === 'sigmoid')
  const anchors = anchorsOf(layout)
  const all = outputsOf(outputs)
  const levels = efficientDetLevels(all, layout, anchors.length / 4, classes, wrongShape)
  const source: Source = { outputs: all, looksLike: () => "this looks like logits: activation: 'sigmoid' takes them" }
  return forEachPicture(batchOf(all, 'classes and boxes'), (index) => {
    const parts = levels.flatMap((level) => scoresOf(level, pictureOf(level.scores, index)))
    const offsets = levels.map((level) => pictureOf(level.boxes, index))
    const found = candidatesOf(parts, rule, source)
    const decoded = decodedOf(found, (number, into, at) => {
      const place = levels.findLastIndex(({ first }) => first <= number)
      const { first, anchorsPerCell, planar, cells } = levels[place]!
      const [cell, anchor] = [Math.floor((number - first) / anchorsPerCell), (number - first) % anchorsPerCell]
      const [from, step] = planar ? [anchor * 4 * cells + cell, cells] : [(number - first) * 4, 1]
      const offsetOf = (side: 0 | 1 | 2 | 3): number => offsets[place]![from + otherWay[side] * step]!
      writeFromAnchor(into, at, anchors, number * 4, coders[coder], offsetOf)
    })
    if (coder === 'automl') checkCoder(decoded, found, anchors, all)
    return decoded
  })
}

/** A box this likely was trained from an anchor that it shares half of its area with. */
const sure = 0.5

/**
 * Offsets of TensorFlow's coder are ten times as large: read as those of google/automl, most boxes do not even touch
 * the anchor that they were told from.
 * @throws TensorRTError ERR_TRT_SHAPE
 */
function checkCoder(
  { boxes, scores }: Decoded,
  { indices }: Found,
  anchors: Float32Array,
  outputs: readonly Output[],
): void {
  // of candidates that were left out the boxes are not finite, which says nothing of the others
  if (scores.length !== indices.length) return
  let [likely, apart] = [0, 0]
  for (let i = 0; i < scores.length && scores[i]! >= sure; i++) {
    likely++
    if (isApart(boxes, i * 4, anchors, indices[i]! * 4)) apart++
  }
  if (apart * 2 <= likely) return
  throw new TensorRTError(
    'ERR_TRT_SHAPE',
    `Expected boxes that overlap their anchors but ${apart} of ${likely} with a score of at least ${sure} do not, in ${shapesText(outputs)}: ` +
      "this looks like a model of TensorFlow's Object Detection API, whose offsets are 10 and 5 times as large: coder: 'tf', or the preset tfod-efficientdet",
    { details: { shapes: outputs.map(({ shape }) => shape), likely, apart } },
  )
}

/** Whether a box (left, top, right, bottom) and an anchor (its centre and sides) have nothing in common. */
function isApart(boxes: Float32Array, box: number, anchors: Float32Array, anchor: number): boolean {
  const [left, top, right, bottom] = boxes.subarray(box, box + 4) as unknown as [number, number, number, number]
  const [x, y, width, height] = anchors.subarray(anchor, anchor + 4) as unknown as [number, number, number, number]
  return right < x - width / 2 || left > x + width / 2 || bottom < y - height / 2 || top > y + height / 2
}

/** Anchors of a cell are numbered one after the other; where channels come first, those of one anchor lie together. */
function scoresOf(level: EfficientDetLevel<Output>, values: Float32Array): Scores[] {
  const { planar, cells, anchorsPerCell, classes, first } = level
  if (!planar) return [{ ...rowsOf(values, cells * anchorsPerCell, classes, classes), first }]
  return Array.from({ length: anchorsPerCell }, (_, anchor) => ({
    values: values.subarray(anchor * classes * cells),
    count: cells,
    classes,
    step: 1,
    classStep: cells,
    first: first + anchor,
    firstStep: anchorsPerCell,
  }))
}
