import { cellsOf, yoloStrides } from '../../steps/anchors/index.js'
import { checkedWhole } from '../../base/checks.js'
import { type Decoded, decodedOf, type Extra, writeCentred } from './decoded.js'
import { decoderOptions, inputSize, type ManyClassesOptions, ruleOf, type Sides, sizeText } from './options.js'
import { forEachPicture, type Output, type Outputs, outputsOf, onlyOutput, pictureOf, wrongShape } from './outputs.js'
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
  const given = decoderOptions(options, ['multiLabel', 'size', 'strides', 'classes', 'coefficients'], 'decodeYolo')
  const rule = ruleOf(given, { scoreThreshold: 0.25, maxCandidates: 30000 })
  const all = outputsOf(outputs)
  const { output, coefficients, classes } = layoutOf(all, given)
  const source = { outputs: all, looksLike: otherThan(classes, coefficients) }
  const [batch = 0, , count = 0] = output.shape
  return forEachPicture(batch, (index) => {
    const values = pictureOf(output, index)
    const scores = {
      values: values.subarray(4 * count),
      count,
      classes,
      step: 1,
      classStep: count,
      first: 0,
      firstStep: 1,
    }
    return decodedOf(
      candidatesOf([scores], rule, source),
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
  return {
    length,
    write: (number, into, at) => {
      for (let k = 0; k < length; k++) into[at + k] = values[(first + k) * count + number]!
    },
  }
}

interface Layout {
  readonly output: Output
  readonly classes: number
  readonly coefficients: number
}

function layoutOf(
  outputs: readonly Output[],
  given: Readonly<Partial<Record<'size' | 'strides' | 'classes' | 'coefficients', unknown>>>,
): Layout {
  const [boxes, prototypes] = withPrototypes(outputs)
  const coefficients = coefficientsOf(given.coefficients, prototypes)
  const classes = given.classes === undefined ? undefined : checkedWhole(given.classes, 'classes', 1, 65536)
  const size = given.size === undefined ? undefined : inputSize(given.size)
  const count = size === undefined ? undefined : cellsOf(size, strides(given.strides)).length / 3
  const known = classes === undefined ? undefined : 4 + classes + coefficients
  const channelText = known ?? (coefficients > 0 ? `4 + classes + ${coefficients}` : '4 + classes')
  const of = size === undefined ? '' : ` for an input of ${sizeText(size)}`
  const wanted = `[N, ${channelText}, ${count ?? 'boxes'}]${of}`
  const output = onlyOutput(boxes, 3, wanted)
  const [, channels = 0, found] = output.shape
  const fits = known === undefined ? channels > 4 + coefficients : channels === known
  if (!fits || (count !== undefined && found !== count)) throw wrongShape(wanted, outputs)
  return { output, classes: channels - 4 - coefficients, coefficients }
}

function strides(given: unknown): readonly number[] {
  return (given ?? yoloStrides) as readonly number[]
}

/** The boxes, and what has four dimensions apart from them. */
export function withPrototypes(outputs: readonly Output[]): [boxes: Output[], prototypes: Output | undefined] {
  const isPrototypes = ({ shape }: Output): boolean => shape.length === 4
  const prototypes = outputs.filter(isPrototypes)
  if (outputs.length !== 2 || prototypes.length !== 1) return [[...outputs], undefined]
  return [outputs.filter((output) => !isPrototypes(output)), prototypes[0]]
}

/**
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT, ERR_TRT_SHAPE where the prototypes are as many as were not asked for
 */
export function coefficientsOf(given: unknown, prototypes: Output | undefined): number {
  const found = prototypes?.shape[1]
  if (given === undefined) return found ?? 0
  const wanted = checkedWhole(given, 'coefficients', 0, 65536)
  if (found === undefined || found === wanted || prototypes === undefined) return wanted
  throw wrongShape(`[N, ${wanted}, height, width], prototypes for ${wanted} coefficients,`, [prototypes])
}
