/**
 * What the decoders of a family of detectors go by, those on the host (lib/vision/decoders) and those in a graph: its
 * options, and which of a model's outputs is which, told by shapes.
 */
import { isFloat32Array } from 'node:util/types'
import { checkedArray, checkedNumber, checkedWhole } from '../base/checks.js'
import { is, option } from '../base/option-table.js'
import type { Size } from '../base/size.js'
import { expected, type TensorRTError } from '../errors.js'
import {
  efficientDetRows,
  type LevelAnchors,
  type LevelArea,
  levelArea,
  retinaFaceRows,
  yoloAnchors,
} from './anchors.js'

/** As float32, which scores are: 0.2 is not above 0.2. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedThreshold(value: unknown, name: string): number {
  return Math.fround(checkedNumber(value, name, 0, 1))
}

/** Factors of the offsets of centre and size, once each. */
export type Variances = readonly [centre: number, size: number]

function checkedVariances(given: unknown, name: string): Variances {
  const numbers = checkedArray(given, name, '[of centres, of sizes]').map((number, i) =>
    checkedNumber(number, `${name}[${i}]`, 0),
  )
  if (numbers.length !== 2) throw expected('[of centres, of sizes]', name, given)
  return [numbers[0]!, numbers[1]!]
}

/** The anchors of a YOLO's levels. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
function checkedLevels(given: unknown): readonly LevelAnchors[] {
  if (given === 'v5' || given === 'v7') return yoloAnchors[given]
  const levels = checkedArray(given, 'anchors', "'v5', 'v7' or a list of anchors for each level")
  if (levels.length === 0 || levels.length > 16) throw expected('1 to 16 levels', 'anchors', given)
  return levels.map((level, index) => {
    const anchors = checkedArray(level, `anchors[${index}]`)
    if (anchors.length === 0 || anchors.length > 64) throw expected('1 to 64 anchors', `anchors[${index}]`, level)
    return anchors.map((anchor, place) => checkedLevelAnchor(anchor, `anchors[${index}][${place}]`))
  })
}

function checkedLevelAnchor(anchor: unknown, name: string): readonly [number, number] {
  const sides = checkedArray(anchor, name, '[width, height]')
  if (sides.length !== 2) throw expected('[width, height]', name, anchor)
  return [checkedNumber(sides[0], `${name}[0]`, 1e-3), checkedNumber(sides[1], `${name}[1]`, 1e-3)]
}

/** Anchors that are a model's own, as numbers, which JSON has, too. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedAnchors(anchors: unknown): Float32Array {
  const numbers =
    Array.isArray(anchors) && anchors.every(Number.isFinite) ? Float32Array.from(anchors as number[]) : anchors
  if (isFloat32Array(numbers) && numbers.length > 0 && numbers.length % 4 === 0) return numbers
  throw expected('a Float32Array, or an array of numbers, of (cx, cy, w, h) of each anchor', 'anchors', anchors)
}

const variances = option<Variances>(checkedVariances, [0.1, 0.2])

/** The options of each family; where its decoders have more, these stand there. */
export const familyRows = {
  yoloAnchors: { anchors: option(checkedLevels, yoloAnchors.v5) },
  retinaFace: { activation: option(is.choice('none', 'softmax'), 'none'), variances, ...retinaFaceRows },
  efficientDet: {
    coder: option(is.choice('automl', 'tf'), 'automl'),
    activation: option(is.choice('sigmoid', 'none'), 'sigmoid'),
    ...efficientDetRows,
  },
  ssd: {
    variances,
    order: option(is.choice('yx', 'xy'), 'yx'),
    activation: option(is.choice('sigmoid', 'softmax', 'none'), 'sigmoid'),
    firstClass: option(is.whole(0, 65535), 1),
    classes: option((value) => value), // of what the columns leave
  },
} as const

/** How boxes of an EfficientDet are written. */
export const coders: Readonly<Record<'automl' | 'tf', Variances>> = { automl: [1, 1], tf: [0.1, 0.2] }

/** An output, as far as it is told from others. A side that is not known is no number. */
export interface Shaped {
  readonly shape: readonly (number | string | undefined)[] | undefined
  /** Of whole numbers, which some models give as classes. */
  readonly isWhole: boolean
}

/** The error that says what was wanted, and what the outputs are. */
type Wrong<O> = (wanted: string, outputs: readonly O[]) => TensorRTError

/** For messages. */
export function forInput({ width, height }: Size): string {
  return `for an input of ${width} x ${height}`
}

/**
 * Whether it can be of this shape, of numbers that are not whole: sides that are not known are right, and so is any
 * where `undefined` is wanted.
 */
export function canBe({ shape, isWhole }: Shaped, wanted: readonly (number | undefined)[]): boolean {
  return (
    !isWhole &&
    shape?.length === wanted.length &&
    wanted.every((side, i) => side === undefined || typeof shape[i] !== 'number' || shape[i] === side)
  )
}

/** A side that has to be known. */
export function knownSide<O extends Shaped>(output: O, axis: number, what: string, wrong: Wrong<O>): number {
  const side = output.shape?.[axis]
  if (typeof side === 'number') return side
  throw wrong(`a model that says ${what}`, [output])
}

/** Scores and boxes: what has so many channels; where both have, the second. */
function pairOf<O extends Shaped>(
  outputs: readonly O[],
  channel: number,
  boxChannels: number,
): { readonly scores: O; readonly boxes: O } | undefined {
  const isBoxes = ({ shape }: O): boolean => shape?.[channel] === boxChannels
  const scores = outputs.find((output) => !isBoxes(output)) ?? outputs[0]
  const boxes = outputs.find((output) => isBoxes(output) && output !== scores)
  return scores && boxes && { scores, boxes }
}

/** Of a RetinaFace: boxes [N, P, 4], scores [N, P, 2], and perhaps points [N, P, 10]. */
export function retinaFaceOutputs<O extends Shaped>(outputs: readonly O[], count: number, size: Size, wrong: Wrong<O>) {
  const ofWidth = (width: number): O | undefined =>
    outputs.find((output) => output.shape?.[2] === width && canBe(output, [undefined, count, width]))
  const [boxes, scores, points] = [ofWidth(4), ofWidth(2), ofWidth(10)]
  if (boxes !== undefined && scores !== undefined && outputs.length === (points === undefined ? 2 : 3))
    return { boxes, scores, points }
  throw wrong(`[N, ${count}, 4], [N, ${count}, 2] and perhaps [N, ${count}, 10] ${forInput(size)}`, outputs)
}

/** Pixels of the input for each cell of CenterFace's maps. */
export const centerFaceStride = 4

/** Of a CenterFace: maps [N, 1 / 2 / 2, rows, columns], and perhaps [N, 10, rows, columns] of points. */
export function centerFaceOutputs<O extends Shaped>(outputs: readonly O[], size: Size, wrong: Wrong<O>) {
  const { width, height } = size
  if (width % 32 !== 0 || height % 32 !== 0) throw expected('multiples of 32 pixels', 'size', `${width} x ${height}`)
  const [rows, columns] = [height / centerFaceStride, width / centerFaceStride]
  const ofChannels = (channels: number): O[] =>
    outputs.filter((output) => output.shape?.[1] === channels && canBe(output, [undefined, channels, rows, columns]))
  const [[scores], [sizes, offsets], [points]] = [ofChannels(1), ofChannels(2), ofChannels(10)]
  const isAll = outputs.length === (points === undefined ? 3 : 4)
  if (scores !== undefined && sizes !== undefined && offsets !== undefined && isAll)
    return { scores, sizes, offsets, points, rows, columns }
  const wanted = [1, 2, 2].map((channels) => `[N, ${channels}, ${rows}, ${columns}]`).join(', ')
  throw wrong(`${wanted} and perhaps [N, 10, ${rows}, ${columns}] ${forInput(size)}`, outputs)
}

/**
 * Of an SSD: offsets [N, P, 4], and scores [N, P, columns] with their classes; of two with 4 columns the first are the
 * offsets.
 */
export function ssdOutputs<O extends Shaped>(
  outputs: readonly O[],
  count: number,
  { firstClass, classes: given }: { readonly firstClass: number; readonly classes: unknown },
  wrong: Wrong<O>,
) {
  const wanted = `[N, ${count}, 4] and [N, ${count}, more than ${firstClass}], for the ${count} anchors that were given,`
  const boxes = outputs.find((output) => output.shape?.[2] === 4 && canBe(output, [undefined, count, 4]))
  const scores = outputs.find((output) => output !== boxes && canBe(output, [undefined, count, undefined]))
  if (outputs.length !== 2 || boxes === undefined || scores === undefined) throw wrong(wanted, outputs)
  const columns = knownSide(scores, 2, wanted, wrong)
  if (columns <= firstClass) throw wrong(wanted, outputs)
  const classes = checkedWhole(given ?? columns - firstClass, 'classes', 1, columns - firstClass)
  return { boxes, scores, columns, classes }
}

/** A level of an EfficientDet: scores [N, A * C, rows, columns] and boxes [N, A * 4, rows, columns]. */
export interface EfficientDetLevel<O> {
  readonly scores: O
  readonly boxes: O
  /** Whether channels come before cells; else they come last. */
  readonly planar: boolean
  readonly cells: number
  readonly anchorsPerCell: number
  readonly classes: number
  /** The number of its first anchor. */
  readonly first: number
}

/**
 * The levels of an EfficientDet, from the finest on; heads that are joined, [N, P, C] and [N, P, 4], are one level.
 * @param total how many anchors there are
 * @param classes how many there have to be
 */
export function efficientDetLevels<O extends Shaped>(
  outputs: readonly O[],
  { size, minLevel, maxLevel }: { readonly size: Size; readonly minLevel: number; readonly maxLevel: number },
  total: number,
  classes: number | undefined,
  wrong: Wrong<O>,
): EfficientDetLevel<O>[] {
  if (outputs.length === 2 && outputs.every(({ shape }) => shape?.length === 3)) {
    const wanted = `[N, ${total}, ${classes ?? 'classes'}] and [N, ${total}, 4] ${forInput(size)}`
    const pair = pairOf(outputs, 2, 4)
    if (pair === undefined || !outputs.every((output) => canBe(output, [undefined, total, undefined])))
      throw wrong(wanted, outputs)
    const found = knownSide(pair.scores, 2, wanted, wrong)
    if (found < 1 || (classes !== undefined && found !== classes)) throw wrong(wanted, outputs)
    return [{ ...pair, planar: false, cells: total, anchorsPerCell: 1, classes: found, first: 0 }]
  }
  const areas = Array.from({ length: maxLevel - minLevel + 1 }, (_, i) => levelArea(size, minLevel + i))
  const anchorsPerCell = total / areas.reduce((sum, { rows, columns }) => sum + rows * columns, 0)
  for (const planar of [true, false]) {
    const levels = levelsIn(outputs, areas, anchorsPerCell, planar)
    if (levels !== undefined && (classes === undefined || levels[0]!.classes === classes)) return levels
  }
  const text = (channels: string | number): string => `[N, ${channels}, ${areas[0]!.rows}, ${areas[0]!.columns}]`
  const channels = classes === undefined ? `${anchorsPerCell} * classes` : anchorsPerCell * classes
  const wanted = `${areas.length} maps of classes, ${text(channels)} and so on, and ${areas.length} of boxes, ${text(anchorsPerCell * 4)} and so on,`
  throw wrong(`${wanted} ${forInput(size)}; or [N, rows, columns, channels]`, outputs)
}

/** All levels in this layout, or nothing. */
function levelsIn<O extends Shaped>(
  outputs: readonly O[],
  areas: readonly LevelArea[],
  anchorsPerCell: number,
  planar: boolean,
): EfficientDetLevel<O>[] | undefined {
  const channel = planar ? 1 : 3
  const levels: EfficientDetLevel<O>[] = []
  let first = 0
  let rest = [...outputs]
  for (const { rows, columns } of areas) {
    const shape = planar ? [undefined, undefined, rows, columns] : [undefined, rows, columns, undefined]
    const own = rest.filter((output) => typeof output.shape?.[channel] === 'number' && canBe(output, shape))
    // two levels of the same size (one cell) come in their order
    const pair = pairOf(own, channel, anchorsPerCell * 4)
    if (pair === undefined) return undefined
    const classes = Number(pair.scores.shape?.[channel]) / anchorsPerCell
    if (!Number.isInteger(classes) || classes < 1 || (levels[0] ?? { classes }).classes !== classes) return undefined
    levels.push({ ...pair, planar, cells: rows * columns, anchorsPerCell, classes, first })
    first += rows * columns * anchorsPerCell
    rest = rest.filter((output) => output !== pair.scores && output !== pair.boxes)
  }
  return rest.length === 0 ? levels : undefined
}

const rtDetrForms =
  '[N, Q, classes] and [N, Q, 4] (logits and boxes), or [N, Q], [N, Q, 4] and [N, Q] (labels, boxes, scores), or [N, Q, 6] or [N, Q, 4 + classes] (box, then score and class or probabilities)'

/** Of an RT-DETR whose boxes and logits are apart. */
export function rtDetrRaw<O extends Shaped>(outputs: readonly O[], known: number | undefined, wrong: Wrong<O>) {
  const pair = pairOf(outputs, 2, 4)
  if (pair === undefined || outputs.length !== 2) throw wrong(rtDetrForms, outputs)
  const { scores: logits, boxes } = pair
  const count = knownSide(logits, 1, rtDetrForms, wrong)
  const isRight = outputs.every((output) => output.shape?.[1] === count && canBe(output, [undefined, count, undefined]))
  const classes = isRight ? knownSide(logits, 2, rtDetrForms, wrong) : 0
  if (classes < 1) throw wrong(rtDetrForms, outputs)
  if (known !== undefined && classes !== known) throw wrong(`[N, ${count}, ${known}] and [N, ${count}, 4]`, outputs)
  return { logits, boxes, count, classes }
}

/** Of an RT-DETR that gives one output; `isLabelled`: a box, its score and its class; else a box and probabilities. */
export function rtDetrJoined<O extends Shaped>(outputs: readonly O[], known: number | undefined, wrong: Wrong<O>) {
  const [rows] = outputs
  if (outputs.length !== 1 || rows === undefined || !canBe(rows, [undefined, undefined, undefined]))
    throw wrong(rtDetrForms, outputs)
  const [count, width] = [knownSide(rows, 1, rtDetrForms, wrong), knownSide(rows, 2, rtDetrForms, wrong)]
  if (width < 5) throw wrong(rtDetrForms, outputs)
  const isLabelled = width === 6
  if (known !== undefined && !isLabelled && width !== 4 + known)
    throw wrong(`[N, ${count}, ${4 + known}] or [N, ${count}, 6]`, outputs)
  return { rows, count, width, isLabelled, classes: isLabelled ? 1 : width - 4 }
}

/** Of its authors' export, which has decoded: labels [N, Q] of whole numbers, boxes [N, Q, 4], scores [N, Q]. */
export function rtDetrDone<O extends Shaped>(outputs: readonly O[], wrong: Wrong<O>) {
  const find = (ofWholes: boolean, rank: number): O | undefined =>
    outputs.find(({ shape, isWhole }) => isWhole === ofWholes && shape?.length === rank)
  const [labels, boxes, scores] = [find(true, 2), find(false, 3), find(false, 2)]
  if (labels === undefined || boxes?.shape?.[2] !== 4 || scores === undefined) throw wrong(rtDetrForms, outputs)
  const count = knownSide(boxes, 1, rtDetrForms, wrong)
  if (labels.shape?.[1] !== count || scores.shape?.[1] !== count) throw wrong(rtDetrForms, outputs)
  return { labels, boxes, scores, count }
}

/**
 * The map of a level of a YOLO with anchors: [N, anchors * channels, rows, columns], or, split, [N, anchors, rows,
 * columns, channels]. Channels are a box's four numbers, its objectness, its classes.
 */
export interface YoloMap<O> {
  readonly output: O
  readonly anchors: LevelAnchors
  readonly rows: number
  readonly columns: number
  readonly channels: number
  readonly isSplit: boolean
}

/** The maps, from the finest on. */
export function yoloMaps<O extends Shaped>(
  outputs: readonly O[],
  anchors: readonly LevelAnchors[],
  wanted: string,
  wrong: Wrong<O>,
): YoloMap<O>[] {
  const isMap = ({ shape, isWhole }: O): boolean => !isWhole && (shape?.length === 4 || shape?.length === 5)
  if (outputs.length !== anchors.length || !outputs.every(isMap)) throw wrong(wanted, outputs)
  const side = (output: O, axis: number): number => knownSide(output, axis, wanted, wrong)
  const maps = outputs
    .map((output) => ({ output, rows: side(output, 2), columns: side(output, 3) }))
    .sort((a, b) => b.rows * b.columns - a.rows * a.columns)
    .map((map, index): YoloMap<O> => {
      const [own, isSplit] = [anchors[index]!, map.output.shape?.length === 5]
      const isOwn = !isSplit || side(map.output, 1) === own.length
      const channels = isSplit ? side(map.output, 4) : side(map.output, 1) / own.length
      if (!isOwn || !Number.isInteger(channels) || channels < 5 || map.rows * map.columns === 0)
        throw wrong(wanted, outputs)
      return { ...map, anchors: own, channels, isSplit }
    })
  if (maps.some(({ channels }) => channels !== maps[0]!.channels)) throw wrong(wanted, outputs)
  return maps
}

/** Whether their cells are squares of whole pixels. */
export function checkCells<O>(maps: readonly YoloMap<O>[], size: Size, wrong: Wrong<O>): void {
  const areSquare = maps.every(
    ({ rows, columns }) => size.width % columns === 0 && size.width * rows === size.height * columns,
  )
  if (!areSquare) throw wrong(`maps whose cells are squares of whole pixels ${forInput(size)}`, maps.map(({ output }) => output)) // prettier-ignore
}
