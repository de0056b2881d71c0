import { type Checked, checkedOptions, is, option, type OptionTable } from '../../base/option-table.js'
import { checkedThreshold } from '../../steps/families.js'
import { type Components, connectedComponentsSync } from '../components.js'
import { rowsOf } from './candidates.js'
import { type Corner, type Corners, cornersOf, type Rectangle, smallestRectangle } from './min-rectangle.js'
import { forEachPicture, type Output, type Outputs, onlyOutput, outputsOf, pictureOf, wrongShape } from './outputs.js'
import { checkScores } from './probabilities.js'

/** Options of {@link decodeDbNet}. */
export interface DbNetOptions {
  /** A pixel above it belongs to text; default 0.3. */
  readonly threshold?: number | undefined
  /**
   * A box's mean probability is to be at least this; default 0.5, rapidocr's; PaddleOCR's predict_det.py, and with it
   * the preset `dbnet`, has 0.6.
   */
  readonly scoreThreshold?: number | undefined
  /**
   * How far a box grows: its area times this over its circumference, on each side; default 1.6, rapidocr's; PaddleOCR's
   * predict_det.py, and with it the preset `dbnet`, has 1.5.
   */
  readonly unclipRatio?: number | undefined
  /**
   * Whether what is text grows by a pixel to the right and down before boxes are made, as rapidocr has it; default
   * false.
   */
  readonly dilate?: boolean | undefined
  /** At most so many parts are looked at; default 1000. */
  readonly maxCandidates?: number | undefined
  /** A box whose shorter side is below it falls, before it has grown; grown ones below it and 2; default 3 pixels. */
  readonly minSide?: number | undefined
}

const table = {
  threshold: option(checkedThreshold, Math.fround(0.3)),
  scoreThreshold: option(is.number(0, 1), 0.5),
  unclipRatio: option(is.number(0, 100), 1.6),
  dilate: option(is.boolean, false),
  maxCandidates: option(is.whole(1), 1000),
  minSide: option(is.number(0), 3),
} satisfies OptionTable<DbNetOptions>

/** A line of text, or what the model takes for one. */
export interface TextRegion {
  /**
   * The corners of a rectangle that may be turned: upper left, upper right, lower right, lower left, in pixels of the
   * map, which is as large as the model's input. They may reach outside of it, and are not rounded. As in OpenCV, on
   * which all of this model's code is built, whole numbers are centres of pixels there, and are taken for the picture's
   * coordinates as they are.
   */
  readonly corners: Corners
  /** Mean probability within the box, before it has grown. */
  readonly score: number
}

/**
 * What DBNet gives, the text detector of PP-OCR: probabilities [N, 1, height, width]. Each connected part above the
 * threshold (pixels that touch at a corner are connected) gives the smallest rectangle around it, which grows as the
 * model was trained to shrink it. PaddleOCR's `DBPostProcess` with boxes and score mode `fast`, but for holes in the
 * text, which that takes for parts, too.
 * @returns for each picture its regions, in the order of their first pixels
 * @throws TensorRTError ERR_TRT_SHAPE, ERR_TRT_DTYPE, ERR_TRT_INVALID_ARGUMENT
 */
export function decodeDbNet(outputs: Outputs, options?: DbNetOptions): TextRegion[][] {
  const rules = checkedOptions(options, table, 'decodeDbNet')
  const wanted = '[N, 1, height, width]'
  const output = onlyOutput(outputsOf(outputs), 4, wanted)
  const [batch = 0, channels = 0, height = 0, width = 0] = output.shape
  if (channels !== 1 || height === 0 || width === 0 || Math.max(height, width) > 16384)
    throw wrongShape(wanted, [output])
  return forEachPicture(batch, (index) => regionsOf({ output, values: pictureOf(output, index), width, height }, rules))
}

type Rules = Checked<typeof table>

interface Probabilities {
  readonly output: Output
  readonly values: Float32Array
  readonly width: number
  readonly height: number
}

function regionsOf(map: Probabilities, rules: Rules): TextRegion[] {
  checkMap(map)
  const regions: TextRegion[] = []
  const parts = connectedComponentsSync({ width: map.width, height: map.height, data: textMask(map, rules) })
  for (let part = 0; part < Math.min(parts.parts.length, rules.maxCandidates); part++) {
    const rectangle = smallestRectangle(borderOf(parts, part))
    const side = Math.min(rectangle.width, rectangle.height)
    if (side < rules.minSide) continue
    const score = meanWithin(map, cornersOf(rectangle))
    if (!(score >= rules.scoreThreshold)) continue
    const box = grown(cornersOf(rectangle), rules.unclipRatio)
    if (Math.min(box.width, box.height) < rules.minSide + 2) continue
    regions.push({ corners: cornersOf(box), score })
  }
  return regions
}

/** @throws TensorRTError ERR_TRT_SHAPE where its pixels are no probabilities */
function checkMap({ output, values }: Probabilities): void {
  const looksLike = (): string => 'this looks like a map of logits, or a model of another family'
  checkScores([rowsOf(values, values.length, 1, 1)], { isLogit: false }, { outputs: [output], looksLike })
}

function textMask({ values, width, height }: Probabilities, { threshold, dilate }: Rules): Uint8Array {
  const mask = Uint8Array.from(values, (value) => (value > threshold ? 1 : 0))
  if (!dilate) return mask
  for (let y = height - 1; y >= 0; y--) {
    for (let x = width - 1; x >= 0; x--) {
      const at = y * width + x
      const [left, above] = [x > 0 ? mask[at - 1]! : 0, y > 0 ? mask[at - width]! : 0]
      mask[at] = mask[at]! | left | above | (x > 0 && y > 0 ? mask[at - width - 1]! : 0)
    }
  }
  return mask
}

/** The first and the last pixel of each row: the hull of a part is that of these. */
function borderOf({ labels, width, parts }: Components, part: number): Corner[] {
  const [left, top, across, down] = parts[part]!.box
  const points: Corner[] = []
  for (let y = top; y < top + down; y++) {
    const row = labels.subarray(y * width + left, y * width + left + across)
    const first = row.indexOf(part + 1)
    if (first < 0) continue
    points.push([left + first, y], [left + row.lastIndexOf(part + 1), y])
  }
  return points
}

/**
 * The rectangle around a box that has grown on each side by its area times the ratio over its circumference, with round
 * corners. As pyclipper does it, in whole numbers: corners are cut to such first, and arcs are rounded to such. Of thin
 * lines that is a good part.
 */
function grown(corners: Corners, ratio: number): Rectangle {
  const [a, b, , d] = corners
  const [width, height] = [Math.hypot(b[0] - a[0], b[1] - a[1]), Math.hypot(d[0] - a[0], d[1] - a[1])]
  const distance = width + height > 0 ? (width * height * ratio) / (2 * (width + height)) : 0
  const path = corners.map(([x, y]): Corner => [Math.trunc(x), Math.trunc(y)])
  return smallestRectangle(distance > 0 ? path.flatMap((_, i) => arcAround(path, i, distance)) : path)
}

/** How far an arc's chords may be from it, in pixels: pyclipper's. */
const arcTolerance = 0.25

/** The round corner of a path that goes clockwise as one sees it. */
function arcAround(path: readonly Corner[], index: number, distance: number): Corner[] {
  const corner = path[index]!
  const before = outward(path.at(index - 1)!, corner)
  const after = outward(corner, path[(index + 1) % path.length]!)
  if (before === undefined || after === undefined) return [corner]
  const turn = Math.atan2(before[0] * after[1] - after[0] * before[1], before[0] * after[0] + before[1] * after[1])
  const step = 2 * Math.acos(1 - Math.min(arcTolerance, distance) / distance)
  const count = Math.max(1, Math.round(Math.abs(turn) / step))
  const from = Math.atan2(before[1], before[0])
  const angles = [...Array.from({ length: count }, (_, i) => from + i * step), from + turn]
  return angles.map((angle) => [
    Math.round(corner[0] + Math.cos(angle) * distance),
    Math.round(corner[1] + Math.sin(angle) * distance),
  ])
}

/** Away from the path, of length 1. */
function outward(from: Corner, to: Corner): Corner | undefined {
  const [dx, dy] = [to[0] - from[0], to[1] - from[1]]
  const length = Math.hypot(dx, dy)
  return length === 0 ? undefined : [dy / length, -dx / length]
}

/**
 * Of the pixels in a box and on its edges, whose corners are cut to whole numbers from its first pixel on: OpenCV's
 * fillPoly and mean.
 */
function meanWithin({ values, width, height }: Probabilities, corners: Corners): number {
  const bounded = (value: number, most: number): number => Math.min(Math.max(value, 0), most - 1)
  const [xs, ys] = [corners.map(([x]) => x), corners.map(([, y]) => y)]
  const [left, right] = [bounded(Math.floor(Math.min(...xs)), width), bounded(Math.ceil(Math.max(...xs)), width)]
  const [top, bottom] = [bounded(Math.floor(Math.min(...ys)), height), bounded(Math.ceil(Math.max(...ys)), height)]
  const points = corners.map(([x, y]): Corner => [left + Math.trunc(x - left), top + Math.trunc(y - top)])
  let [sum, count] = [0, 0]
  for (const [y, [from, to]] of spansOf(points)) {
    if (y < top || y > bottom) continue
    for (let x = Math.max(left, from); x <= Math.min(right, to); x++) {
      sum += values[y * width + x]!
      count++
    }
  }
  return count === 0 ? 0 : sum / count
}

/** Of each row of a convex polygon its first and its last pixel, those of its edges drawn as lines (Bresenham's). */
function spansOf(points: readonly Corner[]): Map<number, readonly [from: number, to: number]> {
  const spans = new Map<number, readonly [number, number]>()
  for (const [i, a] of points.entries()) {
    const b = points[(i + 1) % points.length]!
    const steps = Math.max(Math.abs(b[0] - a[0]), Math.abs(b[1] - a[1]), 1)
    for (let step = 0; step <= steps; step++) {
      const x = Math.round(a[0] + ((b[0] - a[0]) * step) / steps)
      const y = Math.round(a[1] + ((b[1] - a[1]) * step) / steps)
      const [from, to] = spans.get(y) ?? [x, x]
      spans.set(y, [Math.min(from, x), Math.max(to, x)])
    }
  }
  return spans
}
