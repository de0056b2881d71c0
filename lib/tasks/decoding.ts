import { checkedAnchors } from '../steps/families.js'
import { checkedChoice } from '../base/checks.js'
import { shapeText } from '../base/dims.js'
import { expected, reworded, TensorRTError } from '../errors.js'
import type { Tensor } from '../tensor.js'
import {
  type Decoded,
  decodeCenterFace,
  decodeEfficientDet,
  decodeFinished,
  decodeRetinaFace,
  decodeRtDetr,
  decodeSsd,
  decodeYolo,
  decodeYoloAnchors,
  decodeYoloEndToEnd,
  decodeYoloObb,
  decodeYoloPose,
  decodeYolox,
} from '../vision/decoders/index.js'
import { decodedOf } from '../vision/decoders/decoded.js'
import { isEndedObb } from '../vision/decoders/yolo-obb.js'
import { isEndedPose } from '../vision/decoders/yolo-pose.js'
import { checkScores } from '../vision/decoders/probabilities.js'
import { decodeGrid, type Size } from '../vision/index.js'
import type { DetectOutput } from './presets.js'

/** What was decoded, a list for each picture; `isFinal` where the model has left nothing to be suppressed. */
export interface DecodedBatch {
  readonly found: readonly Decoded[]
  readonly isFinal: boolean
}

/**
 * From a model's outputs for an input of this size. @throws TensorRTError ERR_TRT_SHAPE, ERR_TRT_DTYPE where they are
 * not those of the family
 */
export type BoxDecoder = (outputs: readonly Tensor[], size: Size) => DecodedBatch

/** The names of decoders, as presets have them. */
export type DecoderName = DetectOutput['decoder']

type Options = Readonly<Record<string, unknown>>
type Decode = (outputs: readonly Tensor[], options: Options, size: Size) => readonly Decoded[]

/** A decoder that takes the input's size as an option. */
const sized =
  (decode: (outputs: readonly Tensor[], options: never) => Decoded[]): Decode =>
  (outputs, options, size) =>
    decode(outputs, { ...options, size } as never)

/** One that need not know it. */
const unsized =
  (decode: (outputs: readonly Tensor[], options: never) => Decoded[]): Decode =>
  (outputs, options) =>
    decode(outputs, options as never)

const decoders: Readonly<Record<Exclude<DecoderName, 'ultralytics' | 'dbnet'>, Decode>> = {
  yolo: sized(decodeYolo),
  'yolo-anchors': sized(decodeYoloAnchors),
  'yolo-end-to-end': unsized(decodeYoloEndToEnd),
  'yolo-pose': sized(decodeYoloPose),
  'yolo-obb': sized(decodeYoloObb),
  yolox: sized(decodeYolox),
  retinaface: sized(decodeRetinaFace),
  efficientdet: sized(decodeEfficientDet),
  ssd: sized(decodeSsd),
  centerface: sized(decodeCenterFace),
  rtdetr: sized(decodeRtDetr),
  finished: unsized(decodeFinished),
  grid: gridOf,
}

export const decoderNames = [...Object.keys(decoders), 'ultralytics', 'dbnet'] as readonly DecoderName[]

/** Those that know how many classes there are. */
const countingClasses: readonly DecoderName[] = [
  'ultralytics',
  'yolo',
  'yolo-pose',
  'yolo-obb',
  'yolo-anchors',
  'yolox',
  'efficientdet',
  'rtdetr',
]

const always = (): boolean => true

/** Whether outputs leave nothing to be suppressed; for all others they do. */
const finality: Readonly<Partial<Record<DecoderName, (outputs: readonly Tensor[], options: Options) => boolean>>> = {
  'yolo-end-to-end': always,
  'yolo-pose': ([output], options) => output !== undefined && isEndedPose(output, options),
  'yolo-obb': ([output], options) => output !== undefined && isEndedObb(output, options),
  rtdetr: always,
  finished: always,
}

/**
 * The decoder of an output that was checked, but for `dbnet`, which gives no boxes.
 * @param labels how many labels there are
 */
export function decoderOf(rules: Options & { readonly decoder: DecoderName }, labels: number | undefined): BoxDecoder {
  if (labels === undefined || rules['classes'] !== undefined || !countingClasses.includes(rules.decoder))
    return decoderBy(rules)
  const decode = decoderBy({ ...rules, classes: labels })
  return (outputs, size) => {
    try {
      return decode(outputs, size)
    } catch (error) {
      if (!(error instanceof TensorRTError) || error.code !== 'ERR_TRT_SHAPE') throw error
      throw reworded(error, `${error.message}; labels names ${labels} classes`)
    }
  }
}

function decoderBy({ decoder, ...options }: Options & { readonly decoder: DecoderName }): BoxDecoder {
  if (decoder === 'ultralytics') return (outputs, size) => ultralytics(outputs, options, size)
  const name = checkedChoice(decoder, 'output.decoder', Object.keys(decoders) as (keyof typeof decoders)[])
  if (name === 'ssd' && options['anchors'] === undefined)
    throw expected("the anchors (cx, cy, w, h), which are the model's own, or 'tf',", 'output.anchors', undefined)
  const isFinal = finality[name] ?? (() => false)
  // once, not for each picture
  const anchors = name === 'ssd' && options['anchors'] !== 'tf' ? { anchors: checkedAnchors(options['anchors']) } : {}
  return (outputs, size) => ({
    found: decoders[name](outputs, { ...options, ...anchors }, size),
    isFinal: isFinal(outputs, options),
  })
}

/**
 * Six numbers a box, and with masks as many more as there are prototypes, come last where the model has suppressed by
 * itself.
 */
function ultralytics(outputs: readonly Tensor[], options: Options, size: Size): DecodedBatch {
  const boxes = outputs.find(({ shape }) => shape.length === 3)
  const prototypes = outputs.find(({ shape }) => shape.length === 4)
  const last = 6 + (prototypes?.shape[1] ?? 0)
  if (boxes?.shape[2] !== last) {
    try {
      return { found: decodeYolo(outputs, { ...options, size }), isFinal: false }
    } catch (error) {
      throw toldOfOtherTasks(error, boxes)
    }
  }
  const { scoreThreshold, maxCandidates } = options as {
    scoreThreshold?: number | undefined
    maxCandidates?: number | undefined
  }
  return { found: decodeYoloEndToEnd(outputs, { scoreThreshold, maxCandidates }), isFinal: true }
}

/**
 * What ultralytics' models for other tasks give end to end: 6 numbers a box, and behind them an angle, or 3 numbers a
 * keypoint.
 */
function toldOfOtherTasks(error: unknown, boxes: Tensor | undefined): unknown {
  const [, rows = 0, width = 0] = boxes?.shape ?? []
  if (!(error instanceof TensorRTError) || error.code !== 'ERR_TRT_SHAPE' || width <= 6 || width >= rows) return error
  if (width === 7)
    return reworded(error, `${error.message}: this looks like an OBB model, end to end: preset 'ultralytics-obb'`)
  if ((width - 6) % 3 > 0) return error
  const keypoints = `${(width - 6) / 3} keypoints`
  return reworded(
    error,
    `${error.message}: this looks like a pose model of ${keypoints}, end to end: preset 'ultralytics-pose'`,
  )
}

/** As all decoders give their boxes: the best first, and only what is finite. */
function gridOf(outputs: readonly Tensor[], options: Options, size: Size): Decoded[] {
  const [output, ...others] = outputs
  if (output === undefined || others.length > 0) throw wrongGrid('one output', outputs)
  checkCells(output, options, size)
  const all = decodeGrid(output, options as never)
  checkObjectness(output, options)
  return all.map((found) => {
    const boxes = found.toSorted((a, b) => b.score - a.score)
    const indices = Int32Array.from(boxes, (_, index) => index)
    const scores = Float32Array.from(boxes, ({ score }) => score)
    const classes = Int32Array.from(boxes, ({ classIndex }) => classIndex)
    return decodedOf({ indices, scores, classes }, (number, into, at) => {
      const [x, y, width, height] = boxes[number]!.box
      into.set([x, y, x + width, y + height], at)
    })
  })
}

/** Whether the cells cover the input. @throws TensorRTError ERR_TRT_SHAPE */
function checkCells(output: Tensor, { stride, layout }: Options, { width, height }: Size): void {
  const [rows, columns] = layout === 'NHWC' ? output.shape.slice(1) : output.shape.slice(2)
  if (output.shape.length !== 4 || typeof stride !== 'number') return // decodeGrid says what is wrong
  const [down, across] = [Math.ceil(height / stride), Math.ceil(width / stride)]
  if (rows !== down || columns !== across)
    throw wrongGrid(`${down} x ${across} cells of ${stride} pixels for an input of ${width} x ${height}`, [output])
}

/**
 * The objectness of each anchor, of a grid that was decoded.
 * @throws TensorRTError ERR_TRT_SHAPE where it is no number, or no probability where it should be one
 */
function checkObjectness(output: Tensor, { anchors, layout, activation }: Options): void {
  const { data, shape } = output.as('float32')
  const isPlanar = layout !== 'NHWC'
  const [pictures = 0, ...sides] = shape
  const [channels, ...across] = isPlanar ? sides : [sides[2], sides[0], sides[1]]
  const cells = across.reduce<number>((product, side = 0) => product * side, 1)
  const step = isPlanar ? 1 : channels!
  const perAnchor = channels! / (anchors as readonly unknown[]).length
  const parts = Array.from(
    { length: channels! / perAnchor },
    (_, anchor) => (anchor * perAnchor + 4) * (isPlanar ? cells : 1),
  )
  const looksLike = (): string => "this looks like logits: activation: 'sigmoid' takes them"
  for (let picture = 0; picture < pictures; picture++) {
    const own = data.subarray(picture * cells * channels!, (picture + 1) * cells * channels!)
    const scores = parts.map((at) => ({
      values: own.subarray(at),
      count: cells,
      classes: 1,
      step,
      classStep: 1,
      first: 0,
      firstStep: 1,
    }))
    checkScores(scores, { isLogit: activation !== 'none' }, { outputs: [{ shape, data, isWhole: false }], looksLike })
  }
}

function wrongGrid(wanted: string, outputs: readonly Tensor[]): TensorRTError {
  const shapes = outputs.map(({ shape }) => shape)
  return new TensorRTError('ERR_TRT_SHAPE', `Expected ${wanted} but received ${shapes.map(shapeText).join(' and ')}`, {
    details: { shapes },
  })
}
