import { isPlainObject } from '../../base/kinds.js'
import { TensorRTError } from '../../errors.js'
import type { Found } from './candidates.js'
import type { Variances } from '../../steps/families.js'

/**
 * What a detector says of one picture, overlapping boxes too, the best first; of equal scores in the order of the
 * model's output. It is what `suppress` takes, and with coefficients what `instanceMasks` takes. A candidate whose box
 * is not finite is left out; where all of them are such, the decoder throws ERR_TRT_SHAPE.
 */
export interface Decoded {
  /**
   * Left, top, right, bottom of each, in pixels of the model's input: `frame.toImage` has the way back. They may reach
   * outside of it.
   */
  readonly boxes: Float32Array
  /** How a box is written: left, top, right, bottom. */
  readonly format: 'xyxy'
  /** The score of each box, 0 to 1. */
  readonly scores: Float32Array
  /** The number of each box's class, from 0. */
  readonly classes: Int32Array
  /** The points of each face, x and y of each, in pixels of the model's input. Only of models of faces. */
  readonly landmarks?: Float32Array | undefined
  /**
   * The factors of each box for the prototypes of masks, as {@link instanceMasks} takes them. Only of models with
   * masks.
   */
  readonly coefficients?: Float32Array | undefined
  /**
   * The keypoints of each box, x, y and score of each, in pixels of the model's input; the score is 1 where the model
   * has none. Only of pose models.
   */
  readonly keypoints?: Float32Array | undefined
  /**
   * The rotated boxes, of which `boxes` are the upright ones around them: x and y of the centre, width, height, in
   * pixels of the model's input, and the angle in radians, clockwise. Only of models of oriented boxes.
   */
  readonly rotated?: Float32Array | undefined
}

/** Writes the four corners of the box with this number at `at`. */
export type BoxWriter = (number: number, boxes: Float32Array, at: number) => void

/** What else a model says of the box with this number, which stands at `at` of the boxes: so many numbers. */
export interface Extra {
  readonly length: number
  readonly valueOf: (number: number, place: number, boxes: Float32Array, at: number) => number
}

/** By where they go. */
export type Extras = Readonly<Partial<Record<'landmarks' | 'coefficients' | 'keypoints' | 'rotated', Extra>>>

/** The candidates with their boxes. @throws TensorRTError ERR_TRT_SHAPE where none of the boxes is finite */
export function decodedOf(found: Found, writeBox: BoxWriter, extras: Extras = {}): Decoded {
  const boxes = new Float32Array(found.indices.length * 4)
  const places = new Int32Array(found.indices.length)
  let count = 0
  for (let place = 0; place < places.length; place++) {
    const at = count * 4
    writeBox(found.indices[place]!, boxes, at)
    const sum = boxes[at]! + boxes[at + 1]! + boxes[at + 2]! + boxes[at + 3]! + found.scores[place]!
    if (Number.isFinite(sum)) places[count++] = place
  }
  if (count === 0 && places.length > 0) {
    const message = `Expected boxes but the coordinates of all that were found, ${places.length}, are infinite or NaN: the model computes no numbers here, as a float16 model does where a value exceeds 65504, or is of another family`
    throw new TensorRTError('ERR_TRT_SHAPE', message, { details: { candidates: places.length } })
  }
  const stays = places.subarray(0, count)
  const extra = (wanted: Extra): Float32Array => {
    const { length, valueOf } = wanted
    const values = new Float32Array(count * length)
    for (let i = 0; i < count; i++)
      for (let k = 0; k < length; k++) values[i * length + k] = valueOf(found.indices[stays[i]!]!, k, boxes, i * 4)
    return values
  }
  return {
    boxes: boxes.subarray(0, count * 4),
    format: 'xyxy',
    // where all stay, they are as they were found
    scores: count === places.length ? found.scores : Float32Array.from(stays, (place) => found.scores[place]!),
    classes: count === places.length ? found.classes : Int32Array.from(stays, (place) => found.classes[place]!),
    ...Object.fromEntries(Object.entries(extras).map(([name, wanted]) => [name, extra(wanted)])),
  }
}

/** A box of a centre and two sides. */
export function writeCentred(
  boxes: Float32Array,
  at: number,
  x: number,
  y: number,
  width: number,
  height: number,
): void {
  boxes[at] = x - width / 2
  boxes[at + 1] = y - height / 2
  boxes[at + 2] = x + width / 2
  boxes[at + 3] = y + height / 2
}

/**
 * The box that is told from an anchor, both of them (cx, cy, w, h) in pixels:
 * centre = anchor's + offset * variance * anchor's side; side = anchor's * exp(offset * variance).
 * @param offsetOf x, y, width and height as the model gives them
 */
export function writeFromAnchor(
  boxes: Float32Array,
  at: number,
  anchors: Float32Array,
  anchor: number,
  [centre, size]: Variances,
  offsetOf: (side: 0 | 1 | 2 | 3) => number,
): void {
  const [ax, ay, aw, ah] = [anchors[anchor]!, anchors[anchor + 1]!, anchors[anchor + 2]!, anchors[anchor + 3]!]
  const [x, y] = [ax + offsetOf(0) * centre * aw, ay + offsetOf(1) * centre * ah]
  writeCentred(boxes, at, x, y, aw * Math.exp(offsetOf(2) * size), ah * Math.exp(offsetOf(3) * size))
}

/** Where an offset stands of a model that has y before x and height before width. */
export const otherWay = [1, 0, 3, 2] as const

/** The last of what was computed from numbers: a model has one input, and its anchors are many. */
export function kept<O, T>(compute: (options: O) => T): (options: O) => T {
  let last: { readonly text: string; readonly value: T } | undefined
  return (options) => {
    const text = textOf(options)
    // what is not of numbers is for `compute` to refuse
    if (text === undefined) return compute(options)
    if (last?.text !== text) last = { text, value: compute(options) }
    return last.value
  }
}

/** Numbers, and arrays and objects of them, as text. */
function textOf(value: unknown): string | undefined {
  if (value === undefined || typeof value === 'number') return String(value)
  if (!Array.isArray(value) && !isPlainObject(value)) return undefined
  const texts = Object.entries(value).map(([name, inner]) => [name, textOf(inner)])
  return texts.some(([, text]) => text === undefined) ? undefined : JSON.stringify(texts)
}
