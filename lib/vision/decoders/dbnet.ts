import { checkedBoolean, checkedNumber, checkedWhole } from '../../base/checks.js'
import { readOptions } from '../../base/options.js'
import { type Components, connectedComponentsSync } from '../components.js'
import { type Corner, type Corners, cornersOf, smallestRectangle } from './min-rectangle.js'
import { forEachPicture, type Output, type Outputs, onlyOutput, outputsOf, pictureOf, wrongShape } from './outputs.js'

export interface DbNetOptions {
  /** A pixel above it belongs to text; default 0.3. */
  readonly threshold?: number | undefined
  /** A box's mean probability is to be at least this; default 0.5 (rapidocr's and PaddleOCR's command lines have 0.5 to 0.6). */
  readonly scoreThreshold?: number | undefined
  /** How far a box grows: its area times this over its circumference, on each side; default 1.6. */
  readonly unclipRatio?: number | undefined
  /** Whether what is text grows by a pixel to the right and down before boxes are made, as rapidocr has it; default false. */
  readonly dilate?: boolean | undefined
  /** At most so many parts are looked at; default 1000. */
  readonly maxCandidates?: number | undefined
  /** A box whose shorter side is below it falls, before it has grown; grown ones below it and 2; default 3 pixels. */
  readonly minSide?: number | undefined
}

/** A line of text, or what the model takes for one. */
export interface TextRegion {
  /**
   * The corners of a rectangle that may be turned: upper left, upper right, lower right, lower left, in pixels of the map, which is as large as the model's input. They may reach outside of it, and are not rounded. As in
   * OpenCV, on which all of this model's code is built, whole numbers are centres of pixels there, and are taken for the picture's coordinates as they are.
   */
  readonly corners: Corners
  /** Mean probability within the box, before it has grown. */
  readonly score: number
}

/**
 * What DBNet gives, the text detector of PP-OCR: probabilities [N, 1, height, width]. Each connected part above the threshold (pixels that touch at a corner are connected) gives the
 * smallest rectangle around it, which grows as the model was trained to shrink it. PaddleOCR's `DBPostProcess` with boxes and score mode `fast`, but for holes in the text, which that takes for parts, too.
 * @returns for each picture its regions, in the order of their first pixels
 * @throws TensorRTError ERR_TRT_SHAPE, ERR_TRT_DTYPE, ERR_TRT_INVALID_ARGUMENT
 */
export function decodeDbNet(outputs: Outputs, options?: DbNetOptions): TextRegion[][] {
  const names = ['threshold', 'scoreThreshold', 'unclipRatio', 'dilate', 'maxCandidates', 'minSide'] as const
  const given = readOptions(options, names, 'decodeDbNet')
  const rules = {
    threshold: Math.fround(checkedNumber(given.threshold ?? 0.3, 'threshold', 0, 1)),
    scoreThreshold: checkedNumber(given.scoreThreshold ?? 0.5, 'scoreThreshold', 0, 1),
    unclipRatio: checkedNumber(given.unclipRatio ?? 1.6, 'unclipRatio', 0, 100),
    dilate: checkedBoolean(given.dilate ?? false, 'dilate'),
    most: checkedWhole(given.maxCandidates ?? 1000, 'maxCandidates', 1),
    minSide: checkedNumber(given.minSide ?? 3, 'minSide', 0),
  }
  const wanted = '[N, 1, height, width]'
  const output = onlyOutput(outputsOf(outputs), 4, wanted)
  const [batch = 0, channels = 0, height = 0, width = 0] = output.shape
  if (channels !== 1 || height === 0 || width === 0 || Math.max(height, width) > 16384) throw wrongShape(wanted, [output])
  return forEachPicture(batch, (index) => regionsOf({ output, values: pictureOf(output, index), width, height }, rules))
}

interface Rules {
  readonly threshold: number
  readonly scoreThreshold: number
  readonly unclipRatio: number
  readonly dilate: boolean
  readonly most: number
  readonly minSide: number
}

interface Probabilities {
  readonly output: Output
  readonly values: Float32Array
  readonly width: number
  readonly height: number
}

function regionsOf(map: Probabilities, rules: Rules): TextRegion[] {
  const regions: TextRegion[] = []
  const parts = connectedComponentsSync({ width: map.width, height: map.height, data: textMask(map, rules) })
  for (let part = 0; part < Math.min(parts.parts.length, rules.most); part++) {
    const rectangle = smallestRectangle(borderOf(parts, part))
    const side = Math.min(rectangle.width, rectangle.height)
    if (side < rules.minSide) continue
    const score = meanWithin(map, cornersOf(rectangle))
    if (!(score >= rules.scoreThreshold)) continue
    const { width, height } = rectangle
    const grown = (width * height * rules.unclipRatio) / (2 * (width + height))
    if (side + 2 * grown < rules.minSide + 2) continue
    regions.push({ corners: cornersOf(rectangle, grown), score })
  }
  return regions
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

/** Of the pixels in a box or on its edges, whose corners are cut to whole numbers from its first pixel on: OpenCV's fillPoly and mean. */
function meanWithin({ values, width, height }: Probabilities, corners: Corners): number {
  const bounded = (value: number, most: number): number => Math.min(Math.max(value, 0), most - 1)
  const [xs, ys] = [corners.map(([x]) => x), corners.map(([, y]) => y)]
  const [left, right] = [bounded(Math.floor(Math.min(...xs)), width), bounded(Math.ceil(Math.max(...xs)), width)]
  const [top, bottom] = [bounded(Math.floor(Math.min(...ys)), height), bounded(Math.ceil(Math.max(...ys)), height)]
  const points = corners.map(([x, y]): Corner => [left + Math.trunc(x - left), top + Math.trunc(y - top)])
  let [sum, count] = [0, 0]
  for (let y = top; y <= bottom; y++) {
    const [from, to] = spanAt(points, y)
    for (let x = Math.max(left, Math.ceil(from)); x <= Math.min(right, Math.floor(to)); x++) {
      sum += values[y * width + x]!
      count++
    }
  }
  return count === 0 ? 0 : sum / count
}

/** Where a row crosses a polygon that is convex. */
function spanAt(points: readonly Corner[], y: number): readonly [from: number, to: number] {
  let [from, to] = [Infinity, -Infinity]
  for (const [i, a] of points.entries()) {
    const b = points[(i + 1) % points.length]!
    if (y < Math.min(a[1], b[1]) || y > Math.max(a[1], b[1])) continue
    const crossings = a[1] === b[1] ? [a[0], b[0]] : [a[0] + ((y - a[1]) / (b[1] - a[1])) * (b[0] - a[0])]
    from = Math.min(from, ...crossings)
    to = Math.max(to, ...crossings)
  }
  return [from, to]
}
