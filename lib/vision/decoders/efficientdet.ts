import {
  efficientDetAnchors,
  type EfficientDetAnchorOptions,
  type LevelArea,
  levelArea,
  type Variances,
} from '../../steps/anchors/index.js'
import { checkedChoice, checkedWhole } from '../../base/checks.js'
import { TensorRTError } from '../../errors.js'
import type { Size } from '../types.js'
import type { Found, Scores } from './candidates.js'
import { writeFromAnchor } from './coders.js'
import { type Decoded, decodedOf } from './decoded.js'
import { kept } from './kept.js'
import { decoderOptions, inputSize, type ManyClassesOptions, ruleOf, sizeText } from './options.js'
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

const anchorNames = ['size', 'minLevel', 'maxLevel', 'anchorScale', 'octaves', 'aspects'] as const
const coders: Readonly<Record<'automl' | 'tf', Variances>> = { automl: [1, 1], tf: [0.1, 0.2] }

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
  const given = decoderOptions(
    options,
    ['multiLabel', 'coder', 'activation', 'classes', ...anchorNames],
    'decodeEfficientDet',
  )
  const isLogit = checkedChoice(given.activation ?? 'sigmoid', 'activation', ['sigmoid', 'none']) === 'sigmoid'
  const rule = ruleOf(given, { scoreThreshold: 0.001, maxCandidates: 5000, sigmoid: isLogit })
  const coder = checkedChoice(given.coder ?? 'automl', 'coder', ['automl', 'tf'])
  const variances = coders[coder]
  const size = inputSize(given.size)
  const classes = given.classes === undefined ? undefined : checkedWhole(given.classes, 'classes', 1, 65536)
  const anchorOptions = Object.fromEntries(
    anchorNames.map((name) => [name, name === 'size' ? size : given[name]]),
  ) as never
  const anchors = anchorsOf(anchorOptions)
  const all = outputsOf(outputs)
  const levels = levelsOf(all, anchors, size, given, classes)
  const source: Source = { outputs: all, looksLike: () => "this looks like logits: activation: 'sigmoid' takes them" }
  const batch = batchOf(
    levels.flatMap(({ classes, boxes }) => [classes, boxes]),
    'classes and boxes',
  )
  return forEachPicture(batch, (index) => {
    const parts = levels.flatMap((level) => scoresOf(level, pictureOf(level.classes, index)))
    const offsets = levels.map((level) => pictureOf(level.boxes, index))
    const found = candidatesOf(parts, rule, source)
    const decoded = decodedOf(found, (number, into, at) => {
      const place = levels.findLastIndex(({ first }) => first <= number)
      const { first, anchorsPerCell, planar, cells } = levels[place]!
      const [cell, anchor] = [Math.floor((number - first) / anchorsPerCell), (number - first) % anchorsPerCell]
      const [from, step] = planar ? [anchor * 4 * cells + cell, cells] : [(number - first) * 4, 1]
      const [y, x, height, width] = [0, 1, 2, 3].map((side) => offsets[place]![from + side * step]!) as [
        number,
        number,
        number,
        number,
      ]
      writeFromAnchor(into, at, anchors, number * 4, [x, y, width, height], variances)
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

interface Level {
  readonly classes: Output
  readonly boxes: Output
  /** Channels before cells. */
  readonly planar: boolean
  readonly cells: number
  readonly anchorsPerCell: number
  readonly count: number
  readonly first: number
}

/** Anchors of a cell are numbered one after the other; where channels come first, those of one anchor lie together. */
function scoresOf({ planar, cells, anchorsPerCell, count, first }: Level, values: Float32Array): Scores[] {
  if (!planar)
    return [{ values, count: cells * anchorsPerCell, classes: count, step: count, classStep: 1, first, firstStep: 1 }]
  return Array.from({ length: anchorsPerCell }, (_, anchor) => {
    const start = anchor * count * cells
    return {
      values: values.subarray(start),
      count: cells,
      classes: count,
      step: 1,
      classStep: cells,
      first: first + anchor,
      firstStep: anchorsPerCell,
    }
  })
}

type Given = Readonly<Partial<Record<(typeof anchorNames)[number], unknown>>>

function levelsOf(
  outputs: readonly Output[],
  anchors: Float32Array,
  size: Size,
  given: Given,
  classes: number | undefined,
): Level[] {
  const total = anchors.length / 4
  const of = `for an input of ${sizeText(size)}`
  const classText = classes ?? 'classes'
  const joined = outputs.length === 2 && outputs.every(({ shape }) => shape.length === 3)
  if (joined) {
    const wanted = `[N, ${total}, ${classText}] and [N, ${total}, 4] ${of}`
    const pair = pairOf(outputs, 4)
    if (pair === undefined || outputs.some(({ shape, isWhole }) => isWhole || shape[1] !== total))
      throw wrongShape(wanted, outputs)
    const count = pair.classes.shape[2] ?? 0
    if (count < 1 || (classes !== undefined && count !== classes)) throw wrongShape(wanted, outputs)
    return [{ ...pair, planar: false, cells: total, anchorsPerCell: 1, count, first: 0 }]
  }
  const { minLevel = 3, maxLevel = 7 } = given as { minLevel?: number | undefined; maxLevel?: number | undefined }
  const areas = Array.from({ length: maxLevel - minLevel + 1 }, (_, i) => levelArea(size, minLevel + i))
  const anchorsPerCell = total / areas.reduce((sum, { rows, columns }) => sum + rows * columns, 0)
  const text = (channels: string): string => `[N, ${channels}, ${areas[0]!.rows}, ${areas[0]!.columns}]`
  const channelText = classes === undefined ? `${anchorsPerCell} * classes` : String(anchorsPerCell * classes)
  const wanted = `${areas.length} maps of classes, ${text(channelText)} and so on, and ${areas.length} of boxes, ${text(String(anchorsPerCell * 4))} and so on, ${of}`
  for (const planar of [true, false]) {
    const levels = levelsIn(outputs, areas, anchorsPerCell, planar)
    if (levels !== undefined && (classes === undefined || levels[0]!.count === classes)) return levels
  }
  throw wrongShape(`${wanted}; or [N, rows, columns, channels]`, outputs)
}

/** All levels in this layout, or nothing. */
function levelsIn(
  outputs: readonly Output[],
  areas: readonly LevelArea[],
  anchorsPerCell: number,
  planar: boolean,
): Level[] | undefined {
  if (outputs.length !== areas.length * 2) return undefined
  const [row, column, channel] = planar ? [2, 3, 1] : [1, 2, 3]
  const levels: Level[] = []
  let first = 0
  let rest = [...outputs]
  for (const { rows, columns } of areas) {
    const own = rest.filter(
      ({ shape, isWhole }) => !isWhole && shape.length === 4 && shape[row] === rows && shape[column] === columns,
    )
    // two levels of the same size (one cell) come in their order
    const pair = firstPair(own, anchorsPerCell * 4, channel)
    if (pair === undefined) return undefined
    const count = pair.classes.shape[channel]! / anchorsPerCell
    if (!Number.isInteger(count) || count < 1 || (levels.length > 0 && levels[0]!.count !== count)) return undefined
    levels.push({ ...pair, planar, cells: rows * columns, anchorsPerCell, count, first })
    first += rows * columns * anchorsPerCell
    rest = rest.filter((output) => output !== pair.classes && output !== pair.boxes)
  }
  return levels
}

interface Pair {
  readonly classes: Output
  readonly boxes: Output
}

function pairOf(outputs: readonly Output[], boxChannels: number): Pair | undefined {
  return firstPair(outputs, boxChannels, 2)
}

/** Boxes are what has so many channels; if both have, the second. */
function firstPair(outputs: readonly Output[], boxChannels: number, channel: number): Pair | undefined {
  const isBoxes = ({ shape }: Output): boolean => shape[channel] === boxChannels
  const classes = outputs.find((output) => !isBoxes(output)) ?? outputs[0]
  const boxes = outputs.find((output) => isBoxes(output) && output !== classes)
  return classes === undefined || boxes === undefined ? undefined : { classes, boxes }
}
