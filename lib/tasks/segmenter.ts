import { type Checked, checkedOptions, is, needed, option, type OptionTable } from '../base/option-table.js'
import { expected, type TensorRTError } from '../errors.js'
import type { Tensor } from '../tensor.js'
import { type Alpha, type Frame, type Mask, type Picture, toMask } from '../vision/index.js'
import { filters } from '../steps/pixels/filters.js'
import { defined } from './classifier.js'
import { classesOf, mapOf, matteOf, stretchedMap } from './maps.js'
import {
  checkSaid,
  inMemory,
  type LoadOptions,
  opened,
  type Opened,
  splitOptions,
  type TaskSource,
  withContext,
} from './opening.js'
import { soleOutput } from './outputs.js'
import type { Answers, ContinueOptions, PerCall, PictureStream, TaskOptions } from './pipeline.js'
import type { SegmentOutput, SegmentPreset } from './presets.js'
import { Task } from './task.js'
import type { SegmentedFrame, VideoInput, VideoLoopOptions } from './video/options.js'
import { videoPlan } from './video/plan.js'

/** Options of {@link Segmenter.load}. */
export interface SegmenterOptions extends LoadOptions<SegmentPreset> {
  /** How the model's output becomes a mask; it goes before the preset's. */
  readonly output?: Partial<SegmentOutput> | undefined
}

/** Options of {@link Segmenter.segment}. */
export interface SegmentOptions extends TaskOptions, SegmentCall {}

/** What goes before a segmenter's own options, for one call. */
export interface SegmentCall {
  /**
   * A pixel whose value is greater belongs to the mask; default: `output.threshold` of the segmenter. Of one that
   * decides by `threshold` or `matte`.
   */
  readonly threshold?: number | undefined
}

/**
 * Tells what each pixel of a picture is.
 * @example
 * ```ts
 * import { Segmenter } from 'node-tensorrt/tasks'
 * import { cutOut, writeImage } from 'node-tensorrt/vision'
 *
 * const segmenter = await Segmenter.load('u2net.onnx', { preset: 'u2net' })
 * try {
 *   await writeImage(await cutOut('photo.jpg', await segmenter.matte('photo.jpg')), 'cut-out.png')
 * } finally {
 *   await segmenter.close()
 * }
 * ```
 */
export class Segmenter extends Task<Mask> {
  /** Of a model that gives a matte. */
  readonly #mattes: Answers<Alpha> | undefined
  readonly #decide: SegmentOutput['decide']

  private constructor(opened: Opened<Mask>, mattes: Answers<Alpha> | undefined, decide: SegmentOutput['decide']) {
    super(opened)
    this.#mattes = mattes
    this.#decide = decide
  }

  /**
   * Loads a model for pictures, and compares it with the preset.
   * @param model the path of an ONNX model or a plan, or what else {@link Engine.load} takes; or an {@link Engine} that
   * is open already, which `close` does not close
   * @throws TensorRTError (as a rejection) as {@link Engine.load}; ERR_TRT_SHAPE, ERR_TRT_DTYPE where the model's input
   * or output is not what the preset wants (where their shapes are not known it runs once, to see them);
   * ERR_TRT_SHAPES_REQUIRED where nothing says how large its input is; ERR_TRT_CLOSED for an engine that is closed
   */
  static async load(model: TaskSource, options?: SegmenterOptions): Promise<Segmenter> {
    const { masks, output, presetName } = await openSegmenter(model, options, 'Segmenter')
    const [name] = masks.answers.outputs as [string]
    const mattes = output.decide === 'matte' ? withContext(matteAnswers(name, output), presetName) : undefined
    return new Segmenter(masks, mattes, output.decide)
  }

  /**
   * A mask of the picture's size: 0 and 1, or the number of each pixel's class.
   * @param picture the path, `file:` URL or bytes of a picture, or its pixels. An array of them gives an array; an
   * iterable, synchronous or not, gives the answers in its order, with several under way at once.
   * @throws TensorRTError (as a rejection) as {@link toTensor} and {@link Engine.infer}; ERR_TRT_SHAPE, ERR_TRT_DTYPE
   * where the model gives something else; or it is the reason of the signal
   */
  segment(picture: Picture, options?: SegmentOptions): Promise<Mask>
  segment(pictures: readonly Picture[], options: SegmentOptions & ContinueOptions): Promise<(Mask | undefined)[]>
  segment(pictures: readonly Picture[], options?: SegmentOptions): Promise<Mask[]>
  segment(pictures: PictureStream, options?: SegmentOptions): AsyncGenerator<Mask, void, undefined>
  segment(
    pictures: unknown,
    options?: SegmentOptions,
  ): Promise<Mask | (Mask | undefined)[]> | AsyncGenerator<Mask, void, undefined> {
    return this.opened.pipeline.call(this.opened.answers, pictures, options, 'segment')
  }

  /**
   * How opaque each pixel is, 0 to 1, as {@link cutOut} takes it. Of a model whose `output.decide` is `matte`.
   * @throws TensorRTError (as a rejection) as {@link segment}; ERR_TRT_INVALID_ARGUMENT for another model
   */
  matte(picture: Picture, options?: TaskOptions): Promise<Alpha>
  matte(pictures: readonly Picture[], options: TaskOptions & ContinueOptions): Promise<(Alpha | undefined)[]>
  matte(pictures: readonly Picture[], options?: TaskOptions): Promise<Alpha[]>
  matte(pictures: PictureStream, options?: TaskOptions): AsyncGenerator<Alpha, void, undefined>
  matte(
    pictures: unknown,
    options?: TaskOptions,
  ): Promise<Alpha | (Alpha | undefined)[]> | AsyncGenerator<Alpha, void, undefined> {
    if (this.#mattes === undefined) return refused(expected("'matte', for a matte,", 'output.decide', this.#decide))
    return this.opened.pipeline.call(this.#mattes, pictures, options, 'matte')
  }

  /**
   * The mask of each frame of a video, in order, with several under way at once. A frame is open until the loop goes
   * on. With `output` masks are laid on the frames where they are, and written with their times, colours and sounds:
   * the file is whole when the loop has ended. Where it fails, or is left early, nothing stays, unless `keepPartial` is
   * true.
   * @param input a path, a URL, bytes, a stream, or an open `VideoSource`, which is read to its end and closed
   * @throws TensorRTError (in the loop) as {@link segment}, `openVideo` and `writeVideo` of `node-tensorrt/video`; or
   * it is the reason of the signal
   */
  async *segmentVideo(
    input: VideoInput,
    options?: VideoLoopOptions & SegmentCall,
  ): AsyncGenerator<SegmentedFrame, void, undefined> {
    const { segmentedFrames } = await import('./video/calls.js')
    yield* segmentedFrames(this, videoPlan(this.opened), [input, options])
  }
}

/** @param owner whose options messages speak of */
export async function openSegmenter(
  model: TaskSource,
  options: unknown,
  owner: string,
): Promise<{ readonly masks: Opened<Mask>; readonly output: Output; readonly presetName: string | undefined }> {
  const source = await inMemory(model)
  const rows = owner === 'FaceBlur' ? faceBlurTable : table
  const split = splitOptions<SegmentPreset, typeof table>(options, 'segment', rows, owner)
  await checkSaid(source, split, 'segment', 'decide', decisions)
  const given = { ...split.preset?.output, ...split.given.output }
  const output = checkedOptions(given, outputTable, 'output', 'output.')
  const masks = await opened(source, split, (engine) => {
    const name = soleOutput(engine, output.tensor)
    const answers = async (asked: Checked<typeof callRows>): Promise<Answers<Mask>> =>
      answersOf(name, { ...output, threshold: asked.threshold ?? output.threshold })
    const isDecided = output.decide === 'threshold' || output.decide === 'matte'
    const perCall = { rows: isDecided ? callRows : {}, answers: answers as PerCall<Mask>['answers'] }
    return { ...answersOf(name, output), perCall }
  })
  return { masks, output, presetName: split.presetName }
}

/** What a matte model says of a picture: how opaque each pixel is, and the mask of what is more than the threshold. */
export interface MatteAndMask {
  readonly matte: Alpha
  readonly mask: Mask
}

/** Both of one run of the model. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT of a model that gives no matte */
export async function openMattes(model: TaskSource, options: SegmenterOptions): Promise<Opened<MatteAndMask>> {
  const { masks, output, presetName } = await openSegmenter(model, options, 'Segmenter')
  if (output.decide !== 'matte') throw expected("'matte', for a matte,", 'output.decide', output.decide)
  const mattes = withContext(matteAnswers(masks.answers.outputs[0]!, output), presetName)
  const of: Answers<MatteAndMask>['of'] = async (...given) => {
    const [all, opaque] = await Promise.all([masks.answers.of(...given), mattes.of(...given)])
    return all.map((mask, index) => ({ mask, matte: opaque[index]! }))
  }
  const { perCall: _, ...answers } = masks.answers
  return { ...masks, answers: { ...answers, of } }
}

const table = { output: option(defined, {}) }

/** A FaceBlur has read `blur` by then. */
const faceBlurTable = { ...table, blur: option((blur) => blur) }

const callRows = { threshold: option(is.number()) } satisfies OptionTable<SegmentCall>

const decisions = ['threshold', 'argmax', 'matte', 'classes'] as const

const outputTable = {
  decide: needed(is.choice(...decisions)),
  threshold: option(is.number(), 0.5),
  filter: option(is.choice(...filters), 'linear'),
  layout: option(is.choice('NCHW', 'NHWC'), 'NCHW'),
  classes: option(is.whole(2, 256)),
  tensor: option((tensor) => tensor as string | number),
} satisfies OptionTable<SegmentOutput>

type Output = Checked<typeof outputTable>

function answersOf(name: string, output: Output): Answers<Mask> {
  const { decide, threshold, layout } = output
  const classes = decide === 'argmax' ? output.classes : undefined
  const of: Answers<Mask>['of'] = async ([tensor], frames, signal) => {
    const given = tensor as Tensor
    if (decide === 'classes') return classesOf(given, frames, signal)
    const values = mapOf(given, frames.length, { layout, single: decide !== 'argmax', classes, input: frames[0]! })
    if (decide === 'argmax') return toMask(values, frames, { layout, signal })
    const one = decide === 'matte' ? stretchedMap(values) : values
    return toMask(one, frames, { threshold, layout, signal })
  }
  return { outputs: [name], of, fits: async (tensors, frames) => of(tensors, frames, undefined, []) }
}

function matteAnswers(name: string, { layout, filter }: Output): Answers<Alpha> {
  const of = async ([tensor]: readonly Tensor[], frames: readonly Frame[], signal?: AbortSignal): Promise<Alpha[]> => {
    const values = stretchedMap(mapOf(tensor as Tensor, frames.length, { layout, single: true, input: frames[0]! }))
    return Promise.all(frames.map((frame, index) => matteOf(values, index, frame, { layout, filter }, signal)))
  }
  return { outputs: [name], of, fits: of }
}

async function refused(error: TensorRTError): Promise<never> {
  throw error
}
