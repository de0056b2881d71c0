/** From what a detector's model gives to what was found in each picture. */
import { shapeText } from '../base/dims.js'
import type { Engine } from '../engine.js'
import { TensorRTError } from '../errors.js'
import { Tensor, typedDataOf } from '../tensor.js'
import { decodeDbNet, type Decoded, type TextRegion } from '../vision/decoders/index.js'
import {
  type Box,
  clipBox,
  type Frame,
  type InstanceMask,
  instanceMasks,
  type NonMaxSuppressionOptions,
  type Point,
  type Size,
  suppress,
} from '../vision/index.js'
import { cornersOf } from '../vision/rotated.js'
import { type BoxDecoder, type DecoderName, decoderOf } from './decoding.js'
import type { Found, Keypoint } from './found.js'
import type { PictureInput } from './input.js'
import { outputsNamed } from './outputs.js'
import type { Answers } from './pipeline.js'

/** How a model's outputs become what was found. */
export interface Rules {
  readonly output: Readonly<Record<string, unknown>> & { readonly decoder: DecoderName }
  readonly tensors: unknown
  readonly clip: boolean | 'before'
  readonly wholeSides: boolean
  readonly suppress: NonMaxSuppressionOptions | false
  /** Whether that is the user's own word. */
  readonly isAsked: boolean
  readonly labels?: readonly string[] | undefined
}

export function answersOf(engine: Engine, input: PictureInput, rules: Rules): Answers<Found[]> {
  const outputs = outputsNamed(engine, rules.tensors)
  if (rules.output.decoder === 'dbnet') {
    const of = async (tensors: readonly Tensor[], frames: readonly Frame[]): Promise<Found[][]> =>
      regionsOf(ofPictures(tensors, frames.length, input), frames, rules)
    return { outputs, of, fits: of }
  }
  const decode = decoderOf(rules.output, rules.labels?.length)
  // of zeros nothing is above it, be they logits or probabilities
  const silent = decoderOf({ ...rules.output, scoreThreshold: 1 }, rules.labels?.length)
  const extra = rules.output.decoder === 'rtdetr' ? sizesFor(engine, input) : undefined
  return {
    outputs,
    extra,
    of: async (tensors, frames, signal) =>
      boxesOf(ofPictures(tensors, frames.length, input), frames, decode, rules, signal),
    fits: async (tensors, frames) => boxesOf(tensors, frames, silent, rules, undefined),
  }
}

/**
 * RT-DETR's own export wants the sizes that boxes are to be in: the input's, from where they go to the picture's as all
 * others.
 */
function sizesFor({ inputs, inputNames }: Engine, { name }: PictureInput): Answers<Found[]>['extra'] {
  const [other, ...more] = inputNames.filter((each) => each !== name)
  if (other === undefined) return undefined
  const { dtype, shape } = inputs[other]!
  if (more.length > 0 || dtype !== 'int64' || shape.length !== 2 || (shape[1] !== 2 && shape[1] !== -1))
    throw new TensorRTError(
      'ERR_TRT_SHAPE',
      `Expected no input beside the pictures but sizes, int64 [N, 2], but found ${JSON.stringify(other)}, ${dtype} ${shapeText(shape)}`,
    )
  return (pictures, { width, height }) => {
    const sizes = Array.from({ length: pictures }, () => [BigInt(width), BigInt(height)]).flat()
    return { [other]: new Tensor('int64', BigInt64Array.from(sizes), [pictures, 2]) }
  }
}

async function boxesOf(
  tensors: readonly Tensor[],
  frames: readonly Frame[],
  decode: BoxDecoder,
  rules: Rules,
  signal: AbortSignal | undefined,
): Promise<Found[][]> {
  const { found, isFinal } = decode(tensors, frames[0] as Size)
  checkRows(found.length, frames.length)
  return Promise.all(
    frames.map(async (frame, index) => {
      const decoded = rules.clip === 'before' ? withinPicture(found[index]!, frame) : found[index]!
      const { indices, scores } =
        rules.suppress === false || (isFinal && !rules.isAsked) ? allOf(decoded) : stayingOf(decoded, rules.suppress)
      const masks = await masksOf(decoded, tensors, index, frame, indices, signal)
      return Array.from(indices, (at, i): Found => ({
        ...detectionOf(decoded, at, frame, rules),
        score: scores[at]!,
        ...(masks && { mask: masks[i]! }),
      }))
    }),
  )
}

/** What belongs to so many pictures: what else a batch of a fixed size has may be anything. */
function ofPictures(tensors: readonly Tensor[], pictures: number, { fixedRows }: PictureInput): readonly Tensor[] {
  if (fixedRows === undefined || fixedRows === pictures) return tensors
  return tensors.map((tensor) => {
    const { shape, dtype } = tensor
    const [rows = 0, ...sides] = shape
    if (rows !== fixedRows) return tensor
    const length = sides.reduce((product, side) => product * side, pictures)
    return new Tensor(dtype, typedDataOf(tensor).subarray(0, length), [pictures, ...sides])
  })
}

/** Boxes cut off where the picture ends in the model's input. */
function withinPicture(decoded: Decoded, frame: Frame): Decoded {
  const [left, top, width, height] = frame.toModel([0, 0, frame.image.width, frame.image.height])
  const low = [left, top]
  const high = [left + width, top + height]
  const boxes = decoded.boxes.map((value, at) => Math.min(Math.max(value, low[at % 2]!), high[at % 2]!))
  return { ...decoded, boxes }
}

interface Staying {
  readonly indices: Int32Array
  /** By candidate; a soft method lowers them. */
  readonly scores: Float32Array
}

function allOf({ scores }: Decoded): Staying {
  return { indices: Int32Array.from(scores, (_, index) => index), scores }
}

function stayingOf(decoded: Decoded, rules: NonMaxSuppressionOptions): Staying {
  const scores = new Float32Array(decoded.scores.length)
  return { indices: suppress(decoded, { ...rules, loweredScores: scores }), scores }
}

function detectionOf(
  { boxes, scores, classes, landmarks, keypoints, rotated }: Decoded,
  at: number,
  frame: Frame,
  { clip, wholeSides, labels }: Rules,
): Found {
  const [left, top, right, bottom] = boxes.subarray(at * 4, at * 4 + 4) as unknown as [number, number, number, number]
  const exact = frame.toImage([left, top, Math.max(0, right - left), Math.max(0, bottom - top)])
  const box = wholeSides ? byWholeSides(exact, frame) : exact
  const classIndex = classes[at]!
  const points = landmarks === undefined ? undefined : pointsOf(landmarks, at, landmarks.length / scores.length, frame)
  return {
    box: clip ? clipBox(box, frame.image) : box,
    score: scores[at]!,
    classIndex,
    ...labelOf(labels, classIndex),
    ...(points && { landmarks: points }),
    ...(keypoints && { keypoints: keypointsOf(keypoints, at, keypoints.length / scores.length, frame, clip) }),
    ...(rotated && turnedOf(rotated, at, frame)),
  }
}

/** The picture's sides within the input, which need not be whole, count as if they were. */
function byWholeSides([x, y, width, height]: Box, { image, width: side, source }: Frame): Box {
  const [across, down] = [(image.width * side) / source[2], (image.height * side) / source[3]]
  const [scaleX, scaleY] = [across / Math.max(1, Math.round(across)), down / Math.max(1, Math.round(down))]
  return [x * scaleX, y * scaleY, width * scaleX, height * scaleY]
}

function labelOf(labels: readonly string[] | undefined, classIndex: number): { readonly label?: string | undefined } {
  const label = labels?.[classIndex]
  return label === undefined ? {} : { label }
}

function pointsOf(landmarks: Float32Array, at: number, numbers: number, frame: Frame): Point[] {
  return Array.from({ length: numbers / 2 }, (_, i) => {
    const from = at * numbers + i * 2
    return frame.pointToImage([landmarks[from]!, landmarks[from + 1]!])
  })
}

/** Cut off at the picture's edges, as boxes are. */
function keypointsOf(
  keypoints: Float32Array,
  at: number,
  numbers: number,
  frame: Frame,
  clip: Rules['clip'],
): Keypoint[] {
  const { width, height } = frame.image
  const cut = (value: number, most: number): number => (clip === false ? value : Math.min(Math.max(value, 0), most))
  return Array.from({ length: numbers / 3 }, (_, i) => {
    const [x, y, score] = keypoints.subarray(at * numbers + i * 3) as unknown as [number, number, number]
    const [left, top] = frame.pointToImage([x, y])
    return { x: cut(left, width), y: cut(top, height), score }
  })
}

/** As ultralytics has it, corners and all are not cut off. */
function turnedOf(rotated: Float32Array, at: number, frame: Frame): Pick<Found, 'corners' | 'angle'> {
  const corners = cornersOf(rotated, at).map((corner) => frame.pointToImage(corner))
  const [[left, top], [right, bottom]] = corners as [Point, Point]
  return { corners, angle: Math.atan2(bottom - top, right - left) }
}

async function masksOf(
  { boxes, coefficients, format }: Decoded,
  tensors: readonly Tensor[],
  index: number,
  frame: Frame,
  indices: Int32Array,
  signal: AbortSignal | undefined,
): Promise<InstanceMask[] | undefined> {
  const prototypes = tensors.find(({ shape }) => shape.length === 4)
  if (coefficients === undefined || prototypes === undefined) return undefined
  return instanceMasks({ boxes, format, coefficients }, rowOf(prototypes, index), frame, { indices, signal })
}

/** One picture's part of a batch, where it lies. */
function rowOf(tensor: Tensor, index: number): Tensor {
  const { data, shape } = tensor.as('float32')
  const length = data.length / (shape[0] as number)
  return new Tensor('float32', data.subarray(index * length, (index + 1) * length), [1, ...shape.slice(1)])
}

/** @throws TensorRTError ERR_TRT_SHAPE */
function checkRows(found: number, pictures: number): void {
  if (found >= pictures) return
  throw new TensorRTError(
    'ERR_TRT_SHAPE',
    `Expected outputs for ${pictures} ${pictures === 1 ? 'picture' : 'pictures'} but found those of ${found}`,
  )
}

function regionsOf(tensors: readonly Tensor[], frames: readonly Frame[], rules: Rules): Found[][] {
  const options = Object.fromEntries(Object.entries(rules.output).filter(([name]) => name !== 'decoder'))
  const regions = decodeDbNet(tensors, options)
  checkRows(regions.length, frames.length)
  checkMapSize(tensors[0]!, frames[0]!)
  return frames.map((frame, index) => regions[index]!.map((region) => textOf(region, frame, rules)))
}

/** A map that is not the input's size is not DBNet's. @throws TensorRTError ERR_TRT_SHAPE */
function checkMapSize({ shape }: Tensor, { width, height }: Size): void {
  if (shape[2] === height && shape[3] === width) return
  const message = `Expected [N, 1, ${height}, ${width}], a map as large as the input, but found ${shapeText(shape)}`
  throw new TensorRTError('ERR_TRT_SHAPE', message, { details: { expected: [-1, 1, height, width], found: shape } })
}

function textOf({ corners: turned, score }: TextRegion, frame: Frame, { clip, labels }: Rules): Found {
  const corners = turned.map((corner) => frame.pointToImage(corner))
  const [xs, ys] = [corners.map(([x]) => x), corners.map(([, y]) => y)]
  const [left, top] = [Math.min(...xs), Math.min(...ys)]
  const box: Box = [left, top, Math.max(...xs) - left, Math.max(...ys) - top]
  return { box: clip ? clipBox(box, frame.image) : box, score, classIndex: 0, ...labelOf(labels, 0), corners }
}
