import { type Checked, checkedOptions, is, option, type OptionTable } from '../../base/option-table.js'
import { cellsOf } from '../../steps/anchors.js'
import { forInput } from '../../steps/families.js'
import { rowsOf } from './candidates.js'
import { type Decoded, decodedOf, type Extra, writeCentred } from './decoded.js'
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
import { candidatesOf } from './probabilities.js'

/** Options of {@link decodeYolo}. */
export interface YoloOptions extends ManyClassesOptions {
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
  /**
   * How many mask coefficients follow the classes. Default: as many as the second output has prototypes, [N, M, height,
   * width]; without one 0.
   */
  readonly coefficients?: number | undefined
}

const table = {
  ...manyClassesRows(0.25, 30000),
  size: sizeIfGiven,
  strides: stridesRow,
  classes: classesIfGiven,
  coefficients: option(is.whole(0, 65536)),
} satisfies OptionTable<YoloOptions>

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
  const { output, coefficients, classes } = layoutOf(all, given)
  const source = { outputs: all, looksLike: otherThan(classes, coefficients) }
  const [batch = 0, , count = 0] = output.shape
  return forEachPicture(batch, (index) => {
    const values = pictureOf(output, index)
    const scores = { ...rowsOf(values.subarray(4 * count), count, classes, 1), classStep: count }
    return decodedOf(
      candidatesOf([scores], ruleOf(given), source),
      (i, boxes, at) =>
        writeCentred(boxes, at, values[i]!, values[count + i]!, values[2 * count + i]!, values[3 * count + i]!),
      coefficients > 0 ? { coefficients: planar(values, 4 + classes, coefficients, count) } : {},
    )
  })
}

/** The numbers of 17 keypoints (x, y, visibility), those of ultralytics' masks, and the greatest angle of OBB. */
const [keypoints, maskNumbers, mostAngle] = [51, 32, Math.PI]

/** What the channels of a YOLO are where one of them, read as a class, is no probability. */
export function otherThan(classes: number, coefficients: number): (score: number, classIndex: number) => string {
  return (score, classIndex) => {
    const numbers = (what: number): number => classes - what
    if (classIndex === classes - 1 && Math.abs(score) <= mostAngle)
      return `this looks like an OBB model (4 + ${numbers(1)} classes + an angle), which this decoder does not read`
    if (coefficients === 0 && classIndex >= numbers(maskNumbers) && numbers(maskNumbers) > 0)
      return `this looks like a model with masks (${numbers(maskNumbers)} classes + ${maskNumbers} coefficients) without its prototypes: give both outputs`
    if (classIndex >= numbers(keypoints) && numbers(keypoints) > 0)
      return `this looks like a pose model (${numbers(keypoints)} ${numbers(keypoints) === 1 ? 'class' : 'classes'} + 17 keypoints of 3 numbers), which this decoder does not read`
    return 'this looks like a pose model, an OBB model, or one whose scores have had no sigmoid, which this decoder does not read'
  }
}

/** Some channels of each box, where each channel lies by itself. */
function planar(values: Float32Array, first: number, length: number, count: number): Extra {
  return { length, valueOf: (number, place) => values[(first + place) * count + number]! }
}

interface Layout {
  readonly output: Output
  readonly classes: number
  readonly coefficients: number
}

function layoutOf(
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
  const [batch = 0, count = 0, found = 0] = output.shape
  if (prototypes === undefined ? found < 6 : found !== width) throw wrongShape(wanted, all)
  if (prototypes === undefined && found === 7)
    throw wrongShape(`${wanted}, not the centre, sides and angle of an OBB model,`, all)
  const source = {
    outputs: all,
    looksLike: () => 'this looks like a model of another family, or one whose scores are logits',
    isPadded: true,
  }
  return forEachPicture(batch, (index) => {
    const values = pictureOf(output, index)
    const best = candidatesOf([rowsOf(values.subarray(4), count, 1, found)], rule, source)
    const classes = best.indices.map((number) => Math.round(values[number * found + 5]!))
    return decodedOf(
      { ...best, classes },
      (number, boxes, at) => boxes.set(values.subarray(number * found, number * found + 4), at),
      found > 6 ? { coefficients: row(values, found, 6, found - 6) } : {},
    )
  })
}

/** Some numbers of each row. */
export function row(values: Float32Array, width: number, first: number, length: number): Extra {
  return { length, valueOf: (number, place) => values[number * width + first + place]! }
}
