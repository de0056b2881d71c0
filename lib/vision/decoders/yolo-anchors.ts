import { type Checked, checkedOptions, is, option, type OptionTable } from '../../base/option-table.js'
import { sizeOf } from '../../base/size.js'
import { cellsBy, type LevelAnchors } from '../../steps/anchors.js'
import { checkCells, familyRows, forInput, type YoloMap, yoloMaps } from '../../steps/families.js'
import type { Size } from '../types.js'
import { type CandidateRule, rowsOf, type Scores, sigmoid } from './candidates.js'
import { type Decoded, decodedOf, writeCentred } from './decoded.js'
import { coefficientsOf, otherThan, row, withPrototypes } from './yolo.js'
import { type ManyClassesOptions, manyClassesRows, ruleOf, type Sides, sizeIfGiven } from './options.js'
import { batchOf, forEachPicture, type Output, type Outputs, outputsOf, pictureOf, wrongShape } from './outputs.js'
import { candidatesOf } from './probabilities.js'

/** Options of {@link decodeYoloAnchors}. */
export interface YoloAnchorsOptions extends ManyClassesOptions {
  /** Default 0.25. */
  readonly scoreThreshold?: number | undefined
  /** Default 30000. */
  readonly maxCandidates?: number | undefined
  /**
   * Of the model's input, 640 or { width, height }. Maps want it; of boxes that are decoded it is checked that there is
   * one for each anchor.
   */
  readonly size?: Sides | undefined
  /** Those of `v5` (default) or `v7`, or for each level its [width, height] in pixels, from the finest level on. */
  readonly anchors?: 'v5' | 'v7' | readonly LevelAnchors[] | undefined
  /** How many classes the model has: then it is checked. Default: what is left of the channels. */
  readonly classes?: number | undefined
  /**
   * How many mask coefficients follow the classes. Default: as many as there are prototypes [N, M, height, width]
   * beside decoded boxes, else 0.
   */
  readonly coefficients?: number | undefined
}

const table = {
  ...manyClassesRows(0.25, 30000),
  size: sizeIfGiven,
  ...familyRows.yoloAnchors,
  classes: option(is.whole(0, 65536)),
  coefficients: option(is.whole(0, 65536)),
} satisfies OptionTable<YoloAnchorsOptions>

type Given = Checked<typeof table>

/**
 * What YOLO v5 and v7 give (ultralytics/yolov5, WongKinYiu/yolov7). Either boxes [N, P, 5 + C], decoded by the model:
 * centre's x and y, width, height in pixels of the input, objectness, classes, after sigmoid. Or a map for each level
 * without any of that, [N, anchors * (5 + C), rows, columns] or [N, anchors, rows, columns, 5 + C], for which with s
 * the sigmoid: centre = (2 s - 0.5 + cell) * stride, side = (2 s)^2 * anchor. A score is objectness * class; a model
 * without classes has one, whose score is the objectness.
 * @param outputs the tensor of boxes (with masks: and the prototypes), or the maps in any order
 * @throws TensorRTError ERR_TRT_SHAPE, ERR_TRT_DTYPE, ERR_TRT_INVALID_ARGUMENT
 */
export function decodeYoloAnchors(outputs: Outputs, options?: YoloAnchorsOptions): Decoded[] {
  const given = checkedOptions(options, table, 'decodeYoloAnchors')
  const all = outputsOf(outputs)
  const [boxes, prototypes] = withPrototypes(all)
  return boxes.length === 1 && boxes[0]!.shape.length === 3
    ? decodeRows(boxes[0]!, coefficientsOf(given.coefficients, prototypes), given)
    : decodeMaps(all, coefficientsOf(given.coefficients, undefined), given)
}

/** A wanted number of channels in words, or the number. */
function channelsOf({ classes }: Given, coefficients: number): number | string {
  if (classes !== undefined) return 5 + classes + coefficients
  return coefficients > 0 ? `5 + classes + ${coefficients}` : '5 + classes'
}

/**
 * Scores of rows that have their objectness at 4 and classes from 5 on; without classes the objectness is the score.
 */
export function rowScores(values: Float32Array, count: number, width: number, classes: number): Scores {
  if (classes === 0) return rowsOf(values.subarray(4), count, 1, width)
  const rows = rowsOf(values.subarray(5), count, classes, width)
  return { ...rows, objectness: values.subarray(4), objectnessStep: width }
}

function decodeRows(output: Output, coefficients: number, given: Given): Decoded[] {
  const { size, anchors } = given
  const count =
    size && anchors.map((own, level) => own.length * cellCount(size, 8 << level)).reduce((sum, own) => sum + own, 0)
  const wanted = channelsOf(given, coefficients)
  const [batch = 0, found = 0, width = 0] = output.shape
  const fits = typeof wanted === 'string' ? width >= 5 + coefficients : width === wanted
  if (output.isWhole || !fits || (count !== undefined && count !== found))
    throw wrongShape(`[N, ${count ?? 'boxes'}, ${wanted}]${size === undefined ? '' : ` ${forInput(size)}`}`, [output])
  const classes = width - 5 - coefficients
  const source = { outputs: [output], looksLike: otherThan(classes, coefficients) }
  return forEachPicture(batch, (index) => {
    const values = pictureOf(output, index)
    const write = (number: number, boxes: Float32Array, at: number): void => {
      const from = number * width
      writeCentred(boxes, at, values[from]!, values[from + 1]!, values[from + 2]!, values[from + 3]!)
    }
    const extras = coefficients > 0 ? { coefficients: row(values, width, 5 + classes, coefficients) } : {}
    return decodedOf(candidatesOf([rowScores(values, found, width, classes)], ruleOf(given), source), write, extras)
  })
}

function cellCount(size: Size, stride: number): number {
  const { columns, rows } = cellsBy(stride, size)
  return columns * rows
}

/** Where in a map things are: of anchor a, channel c, cell p at a * anchorStep + c * channelStep + p * cellStep. */
interface Level extends YoloMap<Output> {
  readonly area: number
  readonly anchorStep: number
  readonly channelStep: number
  readonly cellStep: number
  /** The number of its first box, by level, anchor, row and column. */
  readonly first: number
}

function levelsOf(maps: readonly YoloMap<Output>[]): Level[] {
  let first = 0
  return maps.map((map): Level => {
    const area = map.rows * map.columns
    const steps = map.isSplit ? { channelStep: 1, cellStep: map.channels } : { channelStep: area, cellStep: 1 }
    const level = { ...map, area, anchorStep: map.channels * area, ...steps, first }
    first += map.anchors.length * area
    return level
  })
}

function decodeMaps(outputs: readonly Output[], coefficients: number, given: Given): Decoded[] {
  const { anchors } = given
  const known = channelsOf(given, coefficients)
  const wanted = `[N, boxes, ${known}], or ${anchors.length} maps [N, anchors * (${known}), rows, columns] of the levels`
  const maps = yoloMaps(outputs, anchors, wanted, wrongShape)
  const { channels } = maps[0]!
  const size = sizeOf(given.size)
  if ((typeof known === 'number' && channels !== known) || channels < 5 + coefficients)
    throw wrongShape(wanted, outputs)
  checkCells(maps, size, wrongShape)
  const levels = levelsOf(maps)
  const classes = channels - 5 - coefficients
  return forEachPicture(batchOf(outputs, wanted), (index) =>
    decodeLevels(levels, index, classes, coefficients, size, ruleOf(given, true)),
  )
}

function decodeLevels(
  levels: readonly Level[],
  index: number,
  classes: number,
  coefficients: number,
  size: Size,
  rule: CandidateRule,
): Decoded {
  const pictures = levels.map((level) => ({ ...level, values: pictureOf(level.output, index) }))
  const parts = pictures.flatMap(({ values, anchors, area, anchorStep, channelStep, cellStep, first }) =>
    anchors.map((_, anchor): Scores => {
      const start = anchor * anchorStep
      const part = { count: area, step: cellStep, classStep: channelStep, first: first + anchor * area, firstStep: 1 }
      const objectness = values.subarray(start + 4 * channelStep)
      if (classes === 0) return { ...part, values: objectness, classes: 1 }
      return {
        ...part,
        values: values.subarray(start + 5 * channelStep),
        classes,
        objectness,
        objectnessStep: cellStep,
      }
    }),
  )
  /** Where a box's level, anchor and cell are, and reads its channels. */
  const find = (number: number) => {
    const level = pictures.findLast(({ first }) => first <= number)!
    const [anchor, cell] = [Math.floor((number - level.first) / level.area), (number - level.first) % level.area]
    const start = anchor * level.anchorStep + cell * level.cellStep
    return {
      level,
      anchor: level.anchors[anchor]!,
      cell,
      read: (channel: number) => level.values[start + channel * level.channelStep]!,
    }
  }
  const write = (number: number, boxes: Float32Array, at: number): void => {
    const { level, anchor, cell, read } = find(number)
    const stride = size.width / level.columns
    const [column, line] = [cell % level.columns, Math.floor(cell / level.columns)]
    const x = (2 * sigmoid(read(0)) - 0.5 + column) * stride
    const y = (2 * sigmoid(read(1)) - 0.5 + line) * stride
    writeCentred(boxes, at, x, y, (2 * sigmoid(read(2))) ** 2 * anchor[0], (2 * sigmoid(read(3))) ** 2 * anchor[1])
  }
  const source = { outputs: levels.map(({ output }) => output), looksLike: otherThan(classes, coefficients) }
  const found = candidatesOf(parts, rule, source)
  if (coefficients === 0) return decodedOf(found, write)
  const valueOf = (number: number, place: number): number => find(number).read(5 + classes + place)
  return decodedOf(found, write, { coefficients: { length: coefficients, valueOf } })
}
