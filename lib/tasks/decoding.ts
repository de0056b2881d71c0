import { checkedChoice } from '../base/checks.js'
import { expected } from '../errors.js'
import type { Tensor } from '../tensor.js'
import {
  type Decoded,
  decodeCenterFace,
  decodeEfficientDet,
  decodeRetinaFace,
  decodeRtDetr,
  decodeSsd,
  decodeYolo,
  decodeYoloAnchors,
  decodeYoloEndToEnd,
  decodeYolox,
} from '../vision/decoders/index.js'
import { decodedOf } from '../vision/decoders/decoded.js'
import { decodeGrid, type Size } from '../vision/index.js'
import type { DetectOutput } from './presets.js'

/** What was decoded, a list for each picture; `isFinal` where the model has left nothing to be suppressed. */
export interface DecodedBatch {
  readonly found: readonly Decoded[]
  readonly isFinal: boolean
}

/** From a model's outputs for an input of this size. @throws TensorRTError ERR_TRT_SHAPE, ERR_TRT_DTYPE where they are not those of the family */
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
  yolox: sized(decodeYolox),
  retinaface: sized(decodeRetinaFace),
  efficientdet: sized(decodeEfficientDet),
  ssd: unsized(decodeSsd),
  centerface: sized(decodeCenterFace),
  rtdetr: sized(decodeRtDetr),
  grid: (outputs, options) => gridOf(outputs, options),
}

export const decoderNames = [...Object.keys(decoders), 'ultralytics', 'dbnet'] as readonly DecoderName[]

/** Those that know how many classes there are. */
const countingClasses: readonly DecoderName[] = ['ultralytics', 'yolo', 'yolo-anchors', 'yolox', 'efficientdet', 'rtdetr']

/**
 * The decoder of an output that was checked, but for `dbnet`, which gives no boxes.
 * @param classes how many labels there are
 */
export function decoderOf({ decoder, ...options }: Options & { readonly decoder: DecoderName }, classes: number | undefined): BoxDecoder {
  const counted =
    classes !== undefined && options['classes'] === undefined && countingClasses.includes(decoder) ? { ...options, classes } : options
  if (decoder === 'ultralytics') return (outputs, size) => ultralytics(outputs, counted, size)
  const name = checkedChoice(decoder, 'output.decoder', Object.keys(decoders) as (keyof typeof decoders)[])
  if (name === 'ssd' && !(options['anchors'] instanceof Float32Array))
    throw expected('a Float32Array of the anchors (cx, cy, w, h), which are the model’s own,', 'output.anchors', options['anchors'])
  const isFinal = name === 'yolo-end-to-end' || name === 'rtdetr'
  return (outputs, size) => ({ found: decoders[name](outputs, counted, size), isFinal })
}

/** Six numbers a box, and with masks as many more as there are prototypes, come last where the model has suppressed by itself. */
function ultralytics(outputs: readonly Tensor[], options: Options, size: Size): DecodedBatch {
  const boxes = outputs.find(({ shape }) => shape.length === 3)
  const prototypes = outputs.find(({ shape }) => shape.length === 4)
  const last = 6 + (prototypes?.shape[1] ?? 0)
  if (boxes?.shape[2] !== last) return { found: decodeYolo(outputs, { ...options, size }), isFinal: false }
  const { scoreThreshold, maxCandidates } = options as { scoreThreshold?: number; maxCandidates?: number }
  return { found: decodeYoloEndToEnd(outputs, { scoreThreshold, maxCandidates }), isFinal: true }
}

/** As all decoders give their boxes: the best first, and only what is finite. */
function gridOf(outputs: readonly Tensor[], options: Options): Decoded[] {
  const [output, ...others] = outputs
  if (output === undefined || others.length > 0) throw expected('one output', 'decoder grid', outputs.length)
  return decodeGrid(output, options as never).map((found) => {
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
