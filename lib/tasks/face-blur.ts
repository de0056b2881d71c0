import { checkedObject } from '../base/checks.js'
import { plainCopy } from '../base/options.js'
import { blurMask, type BlurOptions, blurRegions, blurRegionsSync, type Image, type Mask, type Picture } from '../vision/index.js'
import { type DetectorOptions, type Found, openDetector } from './detector.js'
import type { Opened, TaskSource } from './opening.js'
import type { PictureStream, TaskOptions } from './pipeline.js'
import { type Preset, presets } from './presets.js'
import { openSegmenter, type SegmenterOptions } from './segmenter.js'

/** Those of a Detector, or of a Segmenter where the preset is one's, and how faces are hidden. */
export type FaceBlurOptions = (DetectorOptions | SegmenterOptions) & {
  /** As `blurRegions` takes it, of a detector's boxes; of a segmenter's mask `method`, `strength` and `color`, as `blurMask` does. */
  readonly blur?: Omit<BlurOptions, 'signal'> | undefined
}

/**
 * Copies of pictures in which faces cannot be recognized, found by a detector (boxes) or a segmenter (a mask); or whatever else the model finds.
 * ```ts
 * await using faces = await FaceBlur.load('centerface.onnx', { preset: 'centerface', blur: { grow: 1.3 } })
 * await writeImage(await faces.blur('party.jpg'), 'party-blurred.jpg')
 * ```
 */
export class FaceBlur implements AsyncDisposable {
  readonly #opened: Opened<Image>

  private constructor(opened: Opened<Image>) {
    this.#opened = opened
  }

  /**
   * @param model what `Engine.load` takes, or an Engine that is open already, which this does not close
   * @throws TensorRTError (as a rejection) as Detector.load and Segmenter.load
   */
  static async load(model: TaskSource, options?: FaceBlurOptions): Promise<FaceBlur> {
    const given: { readonly blur?: unknown } = options === undefined ? {} : checkedObject(options, 'the options of FaceBlur')
    const { blur = {}, ...finding } = given
    const style = plainCopy(blur) as BlurOptions
    return new FaceBlur(isSegmenting(finding) ? await byMask(model, finding, style) : await byBoxes(model, finding, style))
  }

  /**
   * A copy of the picture with what was found hidden; where nothing was, just a copy.
   * @param picture pixels, or what `readImage` takes; an array of them gives an array, an (async) iterable gives the answers in its order, several under way at once
   * @throws TensorRTError (as a rejection) as Detector.detect, Segmenter.segment, blurRegions and blurMask; or it is the reason of the signal
   */
  blur(picture: Picture, options?: TaskOptions): Promise<Image>
  blur(pictures: readonly Picture[], options?: TaskOptions): Promise<Image[]>
  blur(pictures: PictureStream, options?: TaskOptions): AsyncGenerator<Image, void, undefined>
  blur(pictures: unknown, options?: TaskOptions): Promise<Image | Image[]> | AsyncGenerator<Image, void, undefined> {
    return this.#opened.pipeline.call(this.#opened.answers, pictures, options, 'blur')
  }

  /** Refuses new calls, lets those that run end, and closes the engine unless it was given. Twice without harm. */
  async close(): Promise<void> {
    await this.#opened.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

/** Whether it is a mask that the model gives. */
function isSegmenting({ preset }: { readonly preset?: unknown }): boolean {
  const all: Readonly<Record<string, Preset | undefined>> = presets
  const found = typeof preset === 'string' && Object.hasOwn(all, preset) ? all[preset] : preset
  return typeof found === 'object' && found !== null && (found as Partial<Preset>).task === 'segment'
}

const dot: Image = { width: 1, height: 1, channels: 3, data: new Uint8Array(3) }

async function byBoxes(model: TaskSource, options: unknown, style: BlurOptions): Promise<Opened<Image>> {
  // it says what is wrong with its options, before a model is opened
  blurRegionsSync(dot, [], style)
  const { pipeline, answers, close } = await openDetector(model, options, 'FaceBlur')
  return { pipeline, close, answers: thenEach<Found[]>(answers, (image, found, signal) => blurRegions(image, found.map(({ box }) => box), { ...style, signal })) } // prettier-ignore
}

async function byMask(model: TaskSource, options: unknown, style: BlurOptions): Promise<Opened<Image>> {
  await blurMask(dot, { width: 1, height: 1, data: new Uint8Array(1) }, style)
  const { masks } = await openSegmenter(model, options, 'FaceBlur')
  return { ...masks, answers: thenEach<Mask>(masks.answers, (image, mask, signal) => blurMask(image, mask, { ...style, signal })) }
}

type Pixels = Parameters<Opened<Image>['answers']['of']>[3][number]

/** What was found, and with it the picture. */
function thenEach<F>(
  answers: Opened<F>['answers'],
  work: (image: Pixels, found: F, signal: AbortSignal | undefined) => Promise<Image>,
): Opened<Image>['answers'] {
  return {
    ...answers,
    of: async (outputs, frames, signal, images) => {
      const found = await answers.of(outputs, frames, signal, images)
      return Promise.all(images.map((image, index) => work(image, found[index] as F, signal)))
    },
  }
}
