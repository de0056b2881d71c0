import { checkedLevels, type LevelAnchors } from '../../steps/anchors/index.js'
import { checkedWhole } from '../../base/checks.js'
import type { Size } from '../types.js'
import { type CandidateRule, type Scores, sigmoid } from './candidates.js'
import { type Decoded, decodedOf, writeCentred } from './decoded.js'
import { row } from './end-to-end.js'
import { decoderOptions, inputSize, type ManyClassesOptions, ruleOf, type Sides, sizeText } from './options.js'
import { batchOf, forEachPicture, type Output, type Outputs, outputsOf, pictureOf, wrongShape } from './outputs.js'
import { candidatesOf } from './probabilities.js'
import { coefficientsOf, otherThan, withPrototypes } from './yolo.js'

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

const names = ['multiLabel', 'size', 'anchors', 'classes', 'coefficients'] as const

type Given = Readonly<Partial<Record<(typeof names)[number], unknown>>>

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
  const given = decoderOptions(options, names, 'decodeYoloAnchors')
  const levels = checkedLevels(given.anchors)
  const all = outputsOf(outputs)
  const [boxes, prototypes] = withPrototypes(all)
  if (boxes.length === 1 && boxes[0]!.shape.length === 3) {
    const rule = ruleOf(given, { scoreThreshold: 0.25, maxCandidates: 30000 })
    return decodeRows(boxes[0]!, coefficientsOf(given.coefficients, prototypes), levels, given, rule)
  }
  const rule = ruleOf(given, { scoreThreshold: 0.25, maxCandidates: 30000, sigmoid: true })
  return decodeMaps(all, coefficientsOf(given.coefficients, undefined), levels, given, rule)
}

/** A wanted number of channels in words, or the number. */
function channelsOf(given: Given, coefficients: number): { readonly known: number | undefined; readonly text: string } {
  const classes = given.classes === undefined ? undefined : checkedWhole(given.classes, 'classes', 0, 65536)
  if (classes !== undefined) return { known: 5 + classes + coefficients, text: String(5 + classes + coefficients) }
  return { known: undefined, text: coefficients > 0 ? `5 + classes + ${coefficients}` : '5 + classes' }
}

const ofSize = (size: Size | undefined): string => (size === undefined ? '' : ` for an input of ${sizeText(size)}`)

/**
 * Scores of rows that have their objectness at 4 and classes from 5 on; without classes the objectness is the score.
 */
export function rowScores(values: Float32Array, count: number, width: number, classes: number): Scores {
  const rows = { count, step: width, classStep: 1, first: 0, firstStep: 1 }
  if (classes === 0) return { ...rows, values: values.subarray(4), classes: 1 }
  return { ...rows, values: values.subarray(5), classes, objectness: values.subarray(4), objectnessStep: width }
}

function decodeRows(
  output: Output,
  coefficients: number,
  levels: readonly LevelAnchors[],
  given: Given,
  rule: CandidateRule,
): Decoded[] {
  const size = given.size === undefined ? undefined : inputSize(given.size)
  const count =
    size === undefined
      ? undefined
      : levels.reduce((sum, anchors, level) => sum + anchors.length * cells(size, 8 << level), 0)
  const { known, text } = channelsOf(given, coefficients)
  const [batch = 0, found = 0, width = 0] = output.shape
  const fits = known === undefined ? width >= 5 + coefficients : width === known
  if (output.isWhole || !fits || (count !== undefined && count !== found))
    throw wrongShape(`[N, ${count ?? 'boxes'}, ${text}]${ofSize(size)}`, [output])
  const classes = width - 5 - coefficients
  const source = { outputs: [output], looksLike: otherThan(classes, coefficients) }
  return forEachPicture(batch, (index) => {
    const values = pictureOf(output, index)
    const write = (number: number, boxes: Float32Array, at: number): void => {
      const from = number * width
      writeCentred(boxes, at, values[from]!, values[from + 1]!, values[from + 2]!, values[from + 3]!)
    }
    const extras = coefficients > 0 ? { coefficients: row(values, width, 5 + classes, coefficients) } : {}
    return decodedOf(candidatesOf([rowScores(values, found, width, classes)], rule, source), write, extras)
  })
}

const cells = ({ width, height }: Size, stride: number): number =>
  Math.ceil(width / stride) * Math.ceil(height / stride)

/**
 * The map of a level, and where in it things are: of anchor a, channel c, cell p at a * anchorStep + c * channelStep +
 * p * cellStep.
 */
interface Level {
  readonly output: Output
  readonly anchors: LevelAnchors
  readonly rows: number
  readonly columns: number
  readonly channels: number
  readonly anchorStep: number
  readonly channelStep: number
  readonly cellStep: number
  /** The number of its first box, by level, anchor, row and column. */
  readonly first: number
}

function levelsOf(outputs: readonly Output[], anchors: readonly LevelAnchors[], wanted: string): Level[] {
  const sides = outputs.map((output) => ({ output, ...sidesOf(output) }))
  const ordered = sides.sort((a, b) => b.rows * b.columns - a.rows * a.columns)
  let first = 0
  return ordered.map(({ output, rows, columns, isSplit }, index): Level => {
    const own = anchors[index]!
    const area = rows * columns
    const channels = isSplit ? output.shape[4]! : output.shape[1]! / own.length
    if (
      output.isWhole ||
      !Number.isInteger(channels) ||
      (isSplit && output.shape[1] !== own.length) ||
      channels < 5 ||
      area === 0
    )
      throw wrongShape(wanted, outputs)
    const steps = isSplit ? { channelStep: 1, cellStep: channels } : { channelStep: area, cellStep: 1 }
    const level = { output, anchors: own, rows, columns, channels, anchorStep: channels * area, ...steps, first }
    first += own.length * area
    return level
  })
}

function sidesOf({ shape }: Output): { readonly rows: number; readonly columns: number; readonly isSplit: boolean } {
  return { rows: shape[2] ?? 0, columns: shape[3] ?? 0, isSplit: shape.length === 5 }
}

function decodeMaps(
  outputs: readonly Output[],
  coefficients: number,
  anchors: readonly LevelAnchors[],
  given: Given,
  rule: CandidateRule,
): Decoded[] {
  const { known, text } = channelsOf(given, coefficients)
  const wanted = `[N, boxes, ${text}], or ${anchors.length} maps [N, anchors * (${text}), rows, columns] of the levels`
  const isMap = ({ shape }: Output): boolean => shape.length === 4 || shape.length === 5
  if (outputs.length !== anchors.length || !outputs.every(isMap)) throw wrongShape(wanted, outputs)
  const size = inputSize(given.size)
  const levels = levelsOf(outputs, anchors, wanted)
  const channels = levels[0]!.channels
  const fits = (known === undefined || channels === known) && channels >= 5 + coefficients
  if (!fits || levels.some((level) => level.channels !== channels)) throw wrongShape(wanted, outputs)
  for (const { rows, columns } of levels) {
    if (size.width % columns === 0 && size.width * rows === size.height * columns) continue
    throw wrongShape(`maps whose cells are squares of whole pixels${ofSize(size)}`, outputs)
  }
  const batch = batchOf(outputs, wanted)
  return forEachPicture(batch, (index) =>
    decodeLevels(levels, index, channels - 5 - coefficients, coefficients, size, rule),
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
  const pictures = levels.map((level) => ({
    ...level,
    values: pictureOf(level.output, index),
    area: level.rows * level.columns,
  }))
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
  const extra = {
    length: coefficients,
    write: (number: number, into: Float32Array, at: number): void => {
      const { read } = find(number)
      for (let k = 0; k < coefficients; k++) into[at + k] = read(5 + classes + k)
    },
  }
  return decodedOf(found, write, { coefficients: extra })
}
