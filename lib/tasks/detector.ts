import { checkedBoolean, checkedChoice } from '../base/checks.js'
import { type Checked, is, option, type OptionTable } from '../base/option-table.js'
import { expected } from '../errors.js'
import { type NonMaxSuppressionOptions, type Picture, suppress } from '../vision/index.js'
import { defined } from './classifier.js'
import { answersOf, type Rules } from './finding.js'
import type { DetectedFrame, Found } from './found.js'
import { decoderNames } from './decoding.js'
import { describedOptions } from './described.js'
import { checkedLabels, type Labels } from './labels.js'
import { checkSaid, inMemory, type LoadOptions, opened, type Opened, splitOptions, type TaskSource } from './opening.js'
import type { Answers, ContinueOptions, PerCall, PictureStream, TaskOptions } from './pipeline.js'
import type { DetectOutput, DetectPreset } from './presets.js'
import { Task } from './task.js'
import type { VideoInput, VideoLoopOptions } from './video/options.js'
import { videoPlan } from './video/plan.js'

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

/** Options of {@link Detector.detect}. */
export interface DetectOptions extends TaskOptions, DetectCall {}

/** What goes before a detector's own options, for one call. */
export interface DetectCall {
  /** Only what has a greater score counts, 0 to 1; default: the detector's. */
  readonly scoreThreshold?: number | undefined
  /**
   * Boxes that overlap a better one by more than this are suppressed, 0 to 1; default: the detector's. Not of one that
   * suppresses nothing, nor of `dbnet`.
   */
  readonly iouThreshold?: number | undefined
  /** The names of the classes; default: the detector's. */
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
export class Detector extends Task<Found[]> {
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
  detect(picture: Picture, options?: DetectOptions): Promise<Found[]>
  detect(pictures: readonly Picture[], options: DetectOptions & ContinueOptions): Promise<(Found[] | undefined)[]>
  detect(pictures: readonly Picture[], options?: DetectOptions): Promise<Found[][]>
  detect(pictures: PictureStream, options?: DetectOptions): AsyncGenerator<Found[], void, undefined>
  detect(
    pictures: unknown,
    options?: DetectOptions,
  ): Promise<Found[] | (Found[] | undefined)[]> | AsyncGenerator<Found[], void, undefined> {
    return this.opened.pipeline.call(this.opened.answers, pictures, options, 'detect')
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
  async *detectVideo(
    input: VideoInput,
    options?: VideoLoopOptions & DetectCall,
  ): AsyncGenerator<DetectedFrame, void, undefined> {
    const { detectedFrames } = await import('./video/calls.js')
    yield* detectedFrames(this, videoPlan(this.opened), [input, options])
  }
}

const table = {
  output: option(defined, {}),
  suppress: option((rules, name) => (rules === false ? rules : defined(rules, name))),
  scoreThreshold: option(is.number(0, 1)),
  labels: option((labels) => labels),
} satisfies OptionTable<Omit<DetectorOptions, keyof LoadOptions<DetectPreset>>>

/** A FaceBlur has read `blur` by then. */
const faceBlurTable = { ...table, blur: option((blur) => blur) }

const callRows = {
  scoreThreshold: option(is.number(0, 1)),
  iouThreshold: option(is.number(0, 1)),
  labels: option((labels) => labels),
} satisfies OptionTable<DetectCall>

/** @param owner whose options messages speak of */
export async function openDetector(
  model: TaskSource,
  options: unknown,
  owner: 'Detector' | 'FaceBlur',
): Promise<Opened<Found[]>> {
  const source = await inMemory(model)
  const { presetName, options: all } = await describedOptions(source, options, owner)
  const rows = owner === 'FaceBlur' ? faceBlurTable : table
  const split = splitOptions<DetectPreset, typeof table>(all, 'detect', rows, owner, presetName)
  await checkSaid(source, split, 'detect', 'decoder', decoderNames)
  const labels = await checkedLabels(split.given.labels)
  // what is wrong with the options is told before anything is loaded
  rulesOf(split.preset, split.given)
  return opened(source, split, (engine, input, preset) => {
    const answers = async (asked: Checked<typeof callRows>): Promise<Answers<Found[]>> => {
      const rules = rulesOf(preset, calledWith(split.given, asked))
      return answersOf(engine, input, { ...rules, labels: (await checkedLabels(asked.labels)) ?? labels })
    }
    const perCall = { rows: callRows, answers: answers as PerCall<Found[]>['answers'] }
    return { ...answersOf(engine, input, { ...rulesOf(preset, split.given), labels }), perCall }
  })
}

/** A detector's options with those of a call, which go first. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
function calledWith(
  given: Checked<typeof table>,
  { scoreThreshold, iouThreshold }: Checked<typeof callRows>,
): Checked<typeof table> {
  const asked = { ...given, ...(scoreThreshold !== undefined && { scoreThreshold }) }
  if (iouThreshold === undefined) return asked
  if (given.suppress === false)
    throw expected('nothing, since this detector suppresses no boxes (suppress: false),', 'iouThreshold', iouThreshold)
  return { ...asked, suppress: { ...given.suppress, iouThreshold } }
}

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
function rulesOf(preset: DetectPreset | undefined, given: Checked<typeof table>): Rules {
  const own = given.output as Readonly<Record<string, unknown>>
  const isOther = own['decoder'] !== undefined && own['decoder'] !== preset?.output.decoder
  const {
    clip = false,
    wholeSides = false,
    tensors,
    decoder,
    ...output
  } = { ...(isOther ? {} : preset?.output), ...own } as Readonly<Record<string, unknown>>
  const name = checkedChoice(decoder, 'output.decoder', decoderNames)
  const { scoreThreshold } = given
  const score = scoreThreshold === undefined ? {} : { scoreThreshold }
  const rules = {
    output: { ...output, ...score, decoder: name },
    tensors,
    clip: clip === 'before' ? ('before' as const) : checkedBoolean(clip, 'output.clip', "true, false or 'before'"),
    wholeSides: checkedBoolean(wholeSides, 'output.wholeSides'),
  }
  const suppress = suppressOf(preset?.suppress ?? {}, given.suppress, score)
  // each says by itself what is wrong with its options
  if (suppress !== false) nothing(suppress, name === 'yolo-obb')
  const isAsked = given.suppress !== undefined
  if (name === 'dbnet' && isAsked && suppress !== false)
    throw expected("no rules with output.decoder 'dbnet'", 'suppress', given.suppress)
  return { ...rules, suppress, isAsked }
}

function suppressOf(
  preset: NonMaxSuppressionOptions | false,
  given: object | false | undefined,
  score: { readonly scoreThreshold?: number | undefined },
): NonMaxSuppressionOptions | false {
  if (given === false || (given === undefined && preset === false)) return false
  const rules: NonMaxSuppressionOptions = { ...(preset === false ? {} : preset), ...given }
  // soft suppression lowers scores, below the threshold as well
  return rules.method === undefined || rules.method === 'hard' ? rules : { ...rules, ...score }
}

const noNumbers = new Float32Array(0)

function nothing(options: NonMaxSuppressionOptions, isRotated: boolean): void {
  suppress({ boxes: noNumbers, scores: noNumbers, ...(isRotated && { rotated: noNumbers }) }, options)
}
