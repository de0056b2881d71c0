import { type Checked, checkedOptions, is, option, type OptionTable } from '../../base/option-table.js'
import { cellsOf } from '../../steps/anchors.js'
import { forInput } from '../../steps/families.js'
import { type CandidateRule, rowsOf } from './candidates.js'
import { type BoxWriter, type Decoded, decodedOf, type Extra, type Extras, writeCentred } from './decoded.js'
import {
  type CandidateOptions,
  candidateRows,
  classesIfGiven,
  type ManyClassesOptions,
  manyClassesRows,
  ruleOf,
  type Sides,
  sizeIfGiven,
  stridesRow,
} from './options.js'
import { forEachPicture, onlyOutput, type Output, type Outputs, outputsOf, pictureOf, wrongShape } from './outputs.js'
import { candidatesOf, type Source } from './probabilities.js'

/** Options of the decoders of ultralytics' models that leave boxes to be suppressed. */
export interface YoloTaskOptions extends ManyClassesOptions {
  /** Default 0.25, as ultralytics predicts. */
  readonly scoreThreshold?: number | undefined
  /** Default 30000, as ultralytics has it. */
  readonly maxCandidates?: number | undefined
  /**
   * Of the model's input, 640 or { width, height }: then it is checked that the output has a box for each of its cells.
   */
  readonly size?: Sides | undefined
  /** Pixels between the cells of each level; default [8, 16, 32]. */
  readonly strides?: readonly number[] | undefined
  /** How many classes the model has: then it is checked. Default: what is left of the channels. */
  readonly classes?: number | undefined
}

export const yoloRows = {
  ...manyClassesRows(0.25, 30000),
  size: sizeIfGiven,
  strides: stridesRow,
  classes: classesIfGiven,
} satisfies OptionTable<YoloTaskOptions>

/** Options of {@link decodeYolo}. */
export interface YoloOptions extends YoloTaskOptions {
  /**
   * How many mask coefficients follow the classes. Default: as many as the second output has prototypes, [N, M, height,
   * width]; without one 0.
   */
  readonly coefficients?: number | undefined
}

const table = { ...yoloRows, coefficients: option(is.whole(0, 65536)) } satisfies OptionTable<YoloOptions>

/**
 * What YOLO v8 and 11 give (ultralytics; also v5u and v9): boxes without anchors, [N, 4 + C, P], or [N, 4 + C + M, P]
 * with mask coefficients; of each box its centre's x and y, width, height in pixels of the input, and the probabilities
 * of C classes.
 * @param outputs that tensor; of a model with masks its prototypes [N, M, height, width], too
 * @returns for each picture its candidates; `suppress` with an IoU of 0.7 is ultralytics' way on
 * @throws TensorRTError ERR_TRT_SHAPE, also where scores are no probabilities, as in the outputs of a pose or OBB
 * model; ERR_TRT_DTYPE, ERR_TRT_INVALID_ARGUMENT
 */
export function decodeYolo(outputs: Outputs, options?: YoloOptions): Decoded[] {
  const given = checkedOptions(options, table, 'decodeYolo')
  const all = outputsOf(outputs)
  const layout = layoutOf(all, given)
  const { classes, coefficients } = layout
  return decodePlanar(all, layout, ruleOf(given), otherThan(classes, coefficients), (value) => ({
    write: centred(value),
    extras: coefficients > 0 ? { coefficients: numbersAt(value, 4 + classes, coefficients) } : {},
  }))
}

/** A number of a box: the channel of the box with this number. */
export type Value = (box: number, channel: number) => number

/** What of a box is read beside its scores. */
interface Parts {
  readonly write: BoxWriter
  readonly extras: Extras
}

/** Boxes whose channels lie one after the other: [N, 4 + classes + others, boxes]. */
export function decodePlanar(
  outputs: readonly Output[],
  { output, classes }: Layout,
  rule: CandidateRule,
  looksLike: Source['looksLike'],
  partsOf: (value: Value) => Parts,
): Decoded[] {
  const [batch = 0, , count = 0] = output.shape
  return forEachPicture(batch, (index) => {
    const values = pictureOf(output, index)
    const scores = { ...rowsOf(values.subarray(4 * count), count, classes, 1), classStep: count }
    const { write, extras } = partsOf((box, channel) => values[channel * count + box]!)
    return decodedOf(candidatesOf([scores], rule, { outputs, looksLike }), write, extras)
  })
}

/** Boxes that lie one after the other: four numbers, score, class, and others. */
export function decodeRows(
  outputs: readonly Output[],
  { shape, ...output }: Output,
  rule: CandidateRule,
  partsOf: (value: Value) => Parts,
): Decoded[] {
  const [batch = 0, count = 0, width = 0] = shape
  const looksLike = (): string => 'this looks like a model of another family, or one whose scores are logits'
  return forEachPicture(batch, (index) => {
    const values = pictureOf({ shape, ...output }, index)
    const scores = rowsOf(values.subarray(4), count, 1, width)
    const best = candidatesOf([scores], rule, { outputs, looksLike, isPadded: true })
    const classes = best.indices.map((box) => Math.round(values[box * width + 5]!))
    const { write, extras } = partsOf((box, channel) => values[box * width + channel]!)
    return decodedOf({ ...best, classes }, write, extras)
  })
}

/** Boxes of a centre and two sides. */
export function centred(value: Value): BoxWriter {
  return (box, boxes, at) => writeCentred(boxes, at, value(box, 0), value(box, 1), value(box, 2), value(box, 3))
}

/** Boxes of left, top, right, bottom. */
export function cornered(value: Value): BoxWriter {
  return (box, boxes, at) => {
    for (let side = 0; side < 4; side++) boxes[at + side] = value(box, side)
  }
}

function numbersAt(value: Value, first: number, length: number): Extra {
  return { length, valueOf: (box, place) => value(box, first + place) }
}

/** The numbers of 17 keypoints (x, y, visibility), those of ultralytics' masks, and the greatest angle of OBB. */
const [keypoints, maskNumbers, mostAngle] = [51, 32, Math.PI]

/** What the channels of a YOLO are where one of them, read as a class, is no probability. */
export function otherThan(classes: number, coefficients: number): (score: number, classIndex: number) => string {
  return (score, classIndex) => {
    const numbers = (what: number): number => classes - what
    if (classIndex === classes - 1 && Math.abs(score) <= mostAngle)
      return `this looks like an OBB model (4 + ${numbers(1)} classes + an angle): decodeYoloObb reads it, preset 'ultralytics-obb'`
    if (coefficients === 0 && classIndex >= numbers(maskNumbers) && numbers(maskNumbers) > 0)
      return `this looks like a model with masks (${numbers(maskNumbers)} classes + ${maskNumbers} coefficients) without its prototypes: give both outputs`
    if (classIndex >= numbers(keypoints) && numbers(keypoints) > 0)
      return `this looks like a pose model (${numbers(keypoints)} ${numbers(keypoints) === 1 ? 'class' : 'classes'} + 17 keypoints of 3 numbers): decodeYoloPose reads it, preset 'ultralytics-pose'`
    return 'this looks like a pose model, an OBB model, or one whose scores have had no sigmoid, which this decoder does not read'
  }
}

export interface Layout {
  readonly output: Output
  readonly classes: number
  readonly coefficients: number
}

/** Where boxes, classes and what follows them stand, [N, 4 + classes + others, boxes]. */
export function layoutOf(
  outputs: readonly Output[],
  { size, strides, classes, coefficients: wanted }: Checked<typeof table>,
): Layout {
  const [boxes, prototypes] = withPrototypes(outputs)
  const coefficients = coefficientsOf(wanted, prototypes)
  const count = size === undefined ? undefined : cellsOf(size, strides).length / 3
  const known = classes === undefined ? undefined : 4 + classes + coefficients
  const channelText = known ?? (coefficients > 0 ? `4 + classes + ${coefficients}` : '4 + classes')
  const form = `[N, ${channelText}, ${count ?? 'boxes'}]${size === undefined ? '' : ` ${forInput(size)}`}`
  const output = onlyOutput(boxes, 3, form)
  const [, channels = 0, found] = output.shape
  const fits = known === undefined ? channels > 4 + coefficients : channels === known
  if (!fits || (count !== undefined && found !== count)) throw wrongShape(form, outputs)
  return { output, classes: channels - 4 - coefficients, coefficients }
}

/** The boxes, and what has four dimensions apart from them. */
export function withPrototypes(outputs: readonly Output[]): [boxes: Output[], prototypes: Output | undefined] {
  const isPrototypes = ({ shape }: Output): boolean => shape.length === 4
  const prototypes = outputs.filter(isPrototypes)
  if (outputs.length !== 2 || prototypes.length !== 1) return [[...outputs], undefined]
  return [outputs.filter((output) => !isPrototypes(output)), prototypes[0]]
}

/**
 * @throws TensorRTError ERR_TRT_SHAPE where the prototypes are as many as were not asked for
 */
export function coefficientsOf(wanted: number | undefined, prototypes: Output | undefined): number {
  const found = prototypes?.shape[1]
  if (wanted === undefined) return found ?? 0
  if (found === undefined || found === wanted || prototypes === undefined) return wanted
  throw wrongShape(`[N, ${wanted}, height, width], prototypes for ${wanted} coefficients,`, [prototypes])
}

/** Options of {@link decodeYoloEndToEnd}. */
export interface YoloEndToEndOptions extends CandidateOptions {
  /** Default 0.25, as ultralytics predicts. */
  readonly scoreThreshold?: number | undefined
  /** Default 300. */
  readonly maxCandidates?: number | undefined
}

const endToEndTable = candidateRows(0.25, 300) satisfies OptionTable<YoloEndToEndOptions>

/**
 * What YOLO v10 and 26 give (ultralytics, end to end), and exports with suppression inside: [N, K, 6], of each box
 * left, top, right, bottom in pixels of the input, score and class; with masks [N, K, 6 + M]. Nothing is left to be
 * suppressed.
 * @param outputs that tensor; of a model with masks its prototypes [N, M, height, width], too
 * @throws TensorRTError ERR_TRT_SHAPE, ERR_TRT_DTYPE, ERR_TRT_INVALID_ARGUMENT
 */
export function decodeYoloEndToEnd(outputs: Outputs, options?: YoloEndToEndOptions): Decoded[] {
  const rule = ruleOf(checkedOptions(options, endToEndTable, 'decodeYoloEndToEnd'))
  const all = outputsOf(outputs)
  const [rows, prototypes] = withPrototypes(all)
  const width = 6 + (prototypes?.shape[1] ?? 0)
  const wanted = `[N, boxes, ${width}] (left, top, right, bottom, score, class${width > 6 ? ', coefficients' : ''})`
  const output = onlyOutput(rows, 3, wanted)
  const [, , found = 0] = output.shape
  if (prototypes === undefined ? found < 6 : found !== width) throw wrongShape(wanted, all)
  if (prototypes === undefined && found === 7)
    throw wrongShape(`${wanted}, not the centre, sides and angle of an OBB model, which decodeYoloObb reads,`, all)
  return decodeRows(all, output, rule, (value) => ({
    write: cornered(value),
    extras: found > 6 ? { coefficients: numbersAt(value, 6, found - 6) } : {},
  }))
}

/** Some numbers of each row. */
export function row(values: Float32Array, width: number, first: number, length: number): Extra {
  return { length, valueOf: (number, place) => values[number * width + first + place]! }
}
