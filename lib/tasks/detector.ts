import { checkedBoolean, checkedChoice, checkedNumber } from '../base/checks.js'
import { shapeText } from '../base/dims.js'
import type { Engine } from '../engine.js'
import { expected, TensorRTError } from '../errors.js'
import { Tensor } from '../tensor.js'
import { decodeDbNet, type Decoded, type TextRegion } from '../vision/decoders/index.js'
import {
  type Box,
  clipBox,
  type Frame,
  type InstanceMask,
  instanceMasks,
  type NonMaxSuppressionOptions,
  type Picture,
  type Point,
  type Size,
  suppress,
} from '../vision/index.js'
import { defined } from './classifier.js'
import type { DetectedFrame, Found } from './found.js'
import { type BoxDecoder, type DecoderName, decoderNames, decoderOf } from './decoding.js'
import type { PictureInput } from './input.js'
import { describedOptions } from './described.js'
import { checkedLabels, type Labels } from './labels.js'
import { type LoadOptions, opened, type Opened, splitOptions, type TaskSource } from './opening.js'
import { outputsNamed } from './outputs.js'
import type { Answers, PictureStream, TaskOptions } from './pipeline.js'
import type { DetectOutput, DetectPreset } from './presets.js'
import type { VideoInput, VideoLoopOptions } from './video/options.js'

/** Options of a decoder, without its name. */
type PartOf<T> = T extends unknown ? Partial<Omit<T, 'decoder'>> : never

/** Options of {@link Detector.load}. */
export interface DetectorOptions extends LoadOptions<DetectPreset> {
  /**
   * How the model's outputs become boxes: a decoder with its options; without a decoder, options of the preset's
   * decoder.
   */
  readonly output?: DetectOutput | PartOf<DetectOutput> | undefined
  /**
   * How boxes that overlap are suppressed; it goes before the preset's. `false`: not at all. For a model that leaves
   * nothing to suppress (RT-DETR, YOLO end to end) default: not at all. Not for `dbnet`.
   */
  readonly suppress?: NonMaxSuppressionOptions | false | undefined
  /** Only what has a greater score counts, 0 to 1; default: the preset's. */
  readonly scoreThreshold?: number | undefined
  /**
   * The names of the classes: a list, the path of a file with a name on each line, or `coco80`, `coco90`, `coco91`,
   * `imagenet`, `voc`. Unless given, what the model's metadata has, if ultralytics exported it. As many as the model
   * has classes, where it tells that.
   */
  readonly labels?: Labels | undefined
}

/**
 * Finds objects in pictures: boxes, each with its score and class.
 * @example
 * ```ts
 * import { Detector } from 'node-tensorrt/tasks'
 *
 * const detector = await Detector.load('yolov8n.onnx', { preset: 'yolov8', labels: 'coco80' })
 * try {
 *   for (const { box, score, label } of await detector.detect('photo.jpg')) console.log(label, score, box)
 * } finally {
 *   await detector.close()
 * }
 * ```
 */
export class Detector implements AsyncDisposable {
  readonly #opened: Opened<Found[]>

  private constructor(opened: Opened<Found[]>) {
    this.#opened = opened
  }

  /**
   * Loads a model for pictures, and compares it with the preset.
   * @param model the path of an ONNX model or a plan, or what else {@link Engine.load} takes; or an {@link Engine} that
   * is open already, which `close` does not close
   * @throws TensorRTError (as a rejection) as {@link Engine.load}; ERR_TRT_SHAPE, ERR_TRT_DTYPE where the model's input
   * or outputs are not those of the family (where their shapes are not known it runs once, to see them); ERR_TRT_FILE
   * for labels; ERR_TRT_SHAPES_REQUIRED where nothing says how large its input is; ERR_TRT_CLOSED for an engine that is
   * closed
   */
  static async load(model: TaskSource, options?: DetectorOptions): Promise<Detector> {
    return new Detector(await openDetector(model, options, 'Detector'))
  }

  /**
   * Finds objects in a picture, the best first; DBNet's text in the order of its first pixels. Where nothing is found
   * the list is empty.
   * @param picture the path, `file:` URL or bytes of a picture, or its pixels. An array of them gives an array; an
   * iterable, synchronous or not, gives the answers in its order, with several under way at once.
   * @throws TensorRTError (as a rejection) as {@link toTensor} and {@link Engine.infer}; ERR_TRT_SHAPE, ERR_TRT_DTYPE
   * where the model gives something else; or it is the reason of the signal
   */
  detect(picture: Picture, options?: TaskOptions): Promise<Found[]>
  detect(pictures: readonly Picture[], options?: TaskOptions): Promise<Found[][]>
  detect(pictures: PictureStream, options?: TaskOptions): AsyncGenerator<Found[], void, undefined>
  detect(
    pictures: unknown,
    options?: TaskOptions,
  ): Promise<Found[] | Found[][]> | AsyncGenerator<Found[], void, undefined> {
    return this.#opened.pipeline.call(this.#opened.answers, pictures, options, 'detect')
  }

  /** The engine that runs the model, which {@link close} closes unless it was given. */
  get engine(): Engine {
    return this.#opened.pipeline.engine
  }

  /**
   * What is in each frame of a video, in order, with several under way at once. A frame is open until the loop goes on.
   * With `output` boxes, labels and masks are drawn on the frames where they are, and written with their times, colours
   * and sounds: the file is whole when the loop has ended. Where it fails, or is left early, nothing stays, unless
   * `keepPartial` is true.
   * @param input a path, a URL, bytes, a stream, or an open `VideoSource`, which is read to its end and closed
   * @throws TensorRTError (in the loop) as {@link detect}, `openVideo` and `writeVideo` of `node-tensorrt/video`; or it
   * is the reason of the signal
   * @example
   * ```ts
   * import { Detector } from 'node-tensorrt/tasks'
   *
   * await using detector = await Detector.load('yolov8n.onnx', { preset: 'yolov8', labels: 'coco80' })
   * const frames = detector.detectVideo('in.mp4', { output: 'boxes.mp4' })
   * for await (const { frame, found } of frames) console.log(frame.pts, found.length)
   * ```
   */
  async *detectVideo(input: VideoInput, options?: VideoLoopOptions): AsyncGenerator<DetectedFrame, void, undefined> {
    const { detectedFrames } = await import('./video/calls.js')
    yield* detectedFrames(this, this.#opened.pipeline.inFlight, [input, options])
  }

  /**
   * Refuses new calls, waits for those under way, and closes the engine unless it was given. A second call does no
   * harm.
   */
  async close(): Promise<void> {
    await this.#opened.close()
  }

  /** Calls {@link close}, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

export const detectorNames = ['output', 'suppress', 'scoreThreshold', 'labels'] as const
type DetectorName = (typeof detectorNames)[number]

/** @param owner whose options messages speak of */
export async function openDetector(
  model: TaskSource,
  options: unknown,
  owner: 'Detector' | 'FaceBlur',
): Promise<Opened<Found[]>> {
  const { presetName, options: all } = await describedOptions(model, options, owner)
  const split = splitOptions<DetectPreset, DetectorName>(all, 'detect', detectorNames, owner, presetName)
  const labels = await checkedLabels(split.given.labels)
  // what is wrong with the options is told before anything is loaded
  rulesOf(split.preset, split.given)
  return opened(model, split, (engine, input, preset) =>
    answersOf(engine, input, { ...rulesOf(preset, split.given), labels }),
  )
}

interface Rules {
  readonly output: Readonly<Record<string, unknown>> & { readonly decoder: DecoderName }
  readonly tensors: unknown
  readonly clip: boolean | 'before'
  readonly wholeSides: boolean
  readonly suppress: NonMaxSuppressionOptions | false
  /** Whether that is the user's own word. */
  readonly isAsked: boolean
  readonly labels?: readonly string[] | undefined
}

type GivenRules = Partial<Record<'output' | 'suppress' | 'scoreThreshold', unknown>>

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
function rulesOf(preset: DetectPreset | undefined, given: GivenRules): Rules {
  const own = defined(given.output, 'output') as Readonly<Record<string, unknown>>
  const isOther = own['decoder'] !== undefined && own['decoder'] !== preset?.output.decoder
  const {
    clip = false,
    wholeSides = false,
    tensors,
    decoder,
    ...output
  } = { ...(isOther ? {} : preset?.output), ...own } as Readonly<Record<string, unknown>>
  const name = checkedChoice(decoder, 'output.decoder', decoderNames)
  const score =
    given.scoreThreshold === undefined
      ? {}
      : { scoreThreshold: checkedNumber(given.scoreThreshold, 'scoreThreshold', 0, 1) }
  const rules = {
    output: { ...output, ...score, decoder: name },
    tensors,
    clip: clip === 'before' ? ('before' as const) : checkedBoolean(clip, 'output.clip', "true, false or 'before'"),
    wholeSides: checkedBoolean(wholeSides, 'output.wholeSides'),
  }
  const suppress = suppressOf(preset?.suppress ?? {}, given.suppress, score)
  // each says by itself what is wrong with its options
  if (suppress !== false) nothing(suppress)
  const isAsked = given.suppress !== undefined
  if (name === 'dbnet' && isAsked && suppress !== false)
    throw expected("no rules with output.decoder 'dbnet'", 'suppress', given.suppress)
  return { ...rules, suppress, isAsked }
}

function suppressOf(
  preset: NonMaxSuppressionOptions | false,
  given: unknown,
  score: { readonly scoreThreshold?: number | undefined },
): NonMaxSuppressionOptions | false {
  if (given === false || (given === undefined && preset === false)) return false
  const rules: NonMaxSuppressionOptions = { ...(preset === false ? {} : preset), ...defined(given, 'suppress') }
  // soft suppression lowers scores, below the threshold as well
  return rules.method === undefined || rules.method === 'hard' ? rules : { ...rules, ...score }
}

const noNumbers = new Float32Array(0)

function nothing(options: NonMaxSuppressionOptions): void {
  suppress({ boxes: noNumbers, scores: noNumbers }, options)
}

function answersOf(engine: Engine, input: PictureInput, rules: Rules): Answers<Found[]> {
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
    const { shape, dtype, data } = tensor
    const [rows = 0, ...sides] = shape
    if (rows !== fixedRows) return tensor
    const length = sides.reduce((product, side) => product * side, pictures)
    return new Tensor(dtype, data.subarray(0, length), [pictures, ...sides])
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
  { boxes, scores, classes, landmarks }: Decoded,
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
