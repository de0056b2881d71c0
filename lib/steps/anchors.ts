/** Where the anchors, priors and cells of detectors lie: for decoders on the host, and for those in a graph. */
import { isFloat32Array } from 'node:util/types'
import { checkedArray, checkedPositive, checkedWhole } from '../base/checks.js'
import { checkedOptions, is, needed, option, type OptionTable } from '../base/option-table.js'
import { type Sides, type Size, sizeOf } from '../base/size.js'
import { expected } from '../errors.js'

/** The longest side that anchors are laid out for: a model has one for every few pixels. */
const longest = 16384

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
function inputSize(size: unknown): Size {
  return sizeOf(size, 'size', longest)
}

/** Pixels between cells, from 4 on: fewer would be more cells than a model has. */
function checkedSteps(steps: unknown, name: string): number[] {
  const list = checkedArray(steps, name).map((step, index) => checkedWhole(step, `${name}[${index}]`, 4, longest))
  if (list.length > 0 && list.length <= 16) return list
  throw expected('1 to 16 numbers', name, steps)
}

/** What is laid out, four times as many numbers as the largest EfficientDet has. */
const mostCells = 2 ** 21

/**
 * Room for `count` cells or anchors of so many numbers. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT where no model
 * has so many
 */
function roomFor(count: number, numbers: number): Float32Array {
  if (count > mostCells) throw expected(`what has at most ${mostCells} anchors`, 'size', count)
  return new Float32Array(count * numbers)
}

/** The cells of a level of an input. */
export interface LevelArea {
  readonly columns: number
  readonly rows: number
}

/** As many cells as cover the input, so many pixels apart. */
export function cellsBy(stride: number, { width, height }: Size): LevelArea {
  return { columns: Math.ceil(width / stride), rows: Math.ceil(height / stride) }
}

/** A level with the anchors of each of its cells. */
interface AnchorLevel extends LevelArea {
  /** Pixels from one cell to the next. */
  readonly across: number
  readonly down: number
  /** Width and height of each anchor, in pixels. */
  readonly sides: readonly (readonly [width: number, height: number])[]
}

/**
 * The anchors by level, row, column and sides: four numbers for each, its centre's x and y, its width and height.
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT where no model has so many
 */
function anchorsOf(levels: readonly AnchorLevel[]): Float32Array {
  const count = levels.reduce((sum, { columns, rows, sides }) => sum + columns * rows * sides.length, 0)
  const anchors = roomFor(count, 4)
  let at = 0
  for (const { columns, rows, across, down, sides } of levels)
    for (let row = 0; row < rows; row++)
      for (let column = 0; column < columns; column++)
        for (const [width, height] of sides) {
          anchors.set([(column + 0.5) * across, (row + 0.5) * down, width, height], at)
          at += 4
        }
  return anchors
}

/** Options of {@link anchorsOfCorners}. */
export interface CornerOptions {
  /** Of the model's input. */
  readonly size: Sides
  /** `yxyx` (TensorFlow's; default): top, left, bottom, right; `xyxy`: left, top, right, bottom. */
  readonly order?: 'yxyx' | 'xyxy' | undefined
}

const cornerTable = {
  size: needed(inputSize),
  order: option(is.choice('yxyx', 'xyxy'), 'yxyx'),
} satisfies OptionTable<CornerOptions>

/**
 * Anchors that a model has as corners in parts of its input's sides (0 to 1), such as face-api's `Output/extra_dim`, in
 * the form of all anchors here.
 * @returns four numbers for each: its centre's x and y, its width and height, in pixels of the model's input
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT
 */
export function anchorsOfCorners(corners: Float32Array, options: CornerOptions): Float32Array {
  if (!isFloat32Array(corners) || corners.length % 4 !== 0)
    throw expected('a Float32Array of four numbers for each anchor', 'corners', corners)
  const { size, order } = checkedOptions(options, cornerTable, 'anchorsOfCorners')
  const { width, height } = size
  const anchors = new Float32Array(corners.length)
  for (let at = 0; at < corners.length; at += 4) {
    const [a, b, c, d] = [corners[at]!, corners[at + 1]!, corners[at + 2]!, corners[at + 3]!]
    const [left, top, right, bottom] = order === 'yxyx' ? [b, a, d, c] : [a, b, c, d]
    anchors.set(
      [((left + right) / 2) * width, ((top + bottom) / 2) * height, (right - left) * width, (bottom - top) * height],
      at,
    )
  }
  return anchors
}

/** Options of {@link ssdAnchors}. */
export interface SsdAnchorOptions {
  /** Of the model's input, in pixels; 512 is 512 x 512. */
  readonly size: Sides
  /**
   * How many levels the model has: the first one's cells are 16 pixels apart, each next one's twice as far; default 6.
   */
  readonly levels?: number | undefined
  /** Of the first level's anchors to the input's sides; default 0.2. */
  readonly minScale?: number | undefined
  /** Of the last level's; default 0.95. */
  readonly maxScale?: number | undefined
}

const ssdTable = {
  size: needed(inputSize),
  levels: option(is.whole(2, 16), 6),
  minScale: option(is.number(0.001, 1), 0.2),
  maxScale: option(is.number(0.001, 1), 0.95),
} satisfies OptionTable<SsdAnchorOptions>

/** Pixels between the cells of the first level. */
const firstStride = 16

/**
 * The first level has one square of half the least scale, and two forms; the others six, the second of which is a
 * square between its scale and the next.
 */
const firstForms = [2, 0.5]
const forms = [2, 0.5, 3, 0.3333]

/**
 * The anchors of an SSD of TensorFlow's Object Detection API (anchor_generators/multiple_grid_anchor_generator.py:
 * create_ssd_anchors, with reduce_boxes_in_lowest_layer), such as its ssd_mobilenet_v1 and face-api's: by level, row,
 * column and form.
 * @returns four numbers for each: its centre's x and y, its width and height, in pixels of the model's input
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT
 */
export function ssdAnchors(options: SsdAnchorOptions): Float32Array {
  const given = checkedOptions(options, ssdTable, 'ssdAnchors')
  const { size: input, levels: count, minScale: least, maxScale: most } = given
  if (most < least) throw expected(`a number of at least minScale, ${least},`, 'maxScale', most)
  const scaleOf = (level: number): number => (level < count ? least + ((most - least) * level) / (count - 1) : 1)
  return anchorsOf(
    Array.from({ length: count }, (_, level) => {
      const area = cellsBy(firstStride * 2 ** level, input)
      const sides = ssdShapes(level, scaleOf).map(([w, h]) => [w * input.width, h * input.height] as const)
      return { ...area, across: input.width / area.columns, down: input.height / area.rows, sides }
    }),
  )
}

/** Widths and heights in parts of the input's sides. */
function ssdShapes(level: number, scaleOf: (level: number) => number): (readonly [number, number])[] {
  const scale = scaleOf(level)
  const formed = (aspects: readonly number[]) =>
    aspects.map((aspect) => [scale * Math.sqrt(aspect), scale / Math.sqrt(aspect)] as const)
  if (level === 0) return [[scale / 2, scale / 2], ...formed(firstForms)]
  const between = Math.sqrt(scale * scaleOf(level + 1))
  return [[scale, scale], [between, between], ...formed(forms)]
}

/** Options of {@link retinaFacePriors}. */
export interface RetinaFacePriorOptions {
  /** Pixels between the cells of each level; default [8, 16, 32]. */
  readonly steps?: readonly number[] | undefined
  /** The sides of each level's squares, in pixels; default [[16, 32], [64, 128], [256, 512]]. */
  readonly minSizes?: readonly (readonly number[])[] | undefined
}

export const retinaFaceRows = {
  steps: option(checkedSteps, [8, 16, 32]),
  minSizes: option(
    (sides, name) => checkedArray(sides, name) as number[][],
    [[16, 32], [64, 128], [256, 512]], // prettier-ignore
  ),
} satisfies OptionTable<RetinaFacePriorOptions>

/**
 * The priors of a RetinaFace (biubug6/Pytorch_Retinaface: layers/functions/prior_box.py), of ResNet-50 and of
 * MobileNet: by level, row, column and side. None is clipped to the picture. That code has them as parts of the input's
 * sides: these are pixels.
 * @param size of the model's input, which may be any; a level has ceil(side / step) cells
 * @returns four numbers for each: its centre's x and y, its width and height, in pixels of the model's input
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT
 */
export function retinaFacePriors(size: Sides, options?: RetinaFacePriorOptions): Float32Array {
  const input = inputSize(size)
  const { steps, minSizes: sides } = checkedOptions(options, retinaFaceRows, 'retinaFacePriors')
  if (sides.length !== steps.length)
    throw expected(`${steps.length} lists, one for each step`, 'minSizes', sides.length)
  return anchorsOf(
    steps.map((step, level) => {
      const squares = checkedSides(sides[level], `minSizes[${level}]`).map((side) => [side, side] as const)
      return { ...cellsBy(step, input), across: step, down: step, sides: squares }
    }),
  )
}

function checkedSides(sides: unknown, name: string): number[] {
  const list = checkedArray(sides, name).map((side, index) => checkedPositive(side, `${name}[${index}]`))
  if (list.length > 0 && list.length <= 16) return list
  throw expected('1 to 16 numbers', name, sides)
}

/** Options of {@link efficientDetAnchors}. */
export interface EfficientDetAnchorOptions {
  /** Of the model's input, in pixels; 640 is 640 x 640. */
  readonly size: Sides
  /** The first level, whose cells are 2^level pixels apart; default 3. */
  readonly minLevel?: number | undefined
  /** The last level; default 7 (D7x has 8). */
  readonly maxLevel?: number | undefined
  /** Of an anchor's side to the distance between cells; default 4 (D7 has 5, lite0 to lite2 have 3). */
  readonly anchorScale?: number | undefined
  /** Anchors of each form, each 2^(1 / octaves) times the one before; default 3. */
  readonly octaves?: number | undefined
  /**
   * Forms: width over height, or two factors of the sides [width, height]; default [1, 2, 0.5], as google/automl has
   * them. effdet's are [[1, 1], [1.4, 0.7], [0.7, 1.4]].
   */
  readonly aspects?: readonly (number | readonly [width: number, height: number])[] | undefined
}

/** Where the anchors of an EfficientDet lie, but for the input's size. */
export const efficientDetRows = {
  minLevel: option(is.whole(2, 10), 3),
  maxLevel: option((value) => value as number, 7), // from minLevel on
  anchorScale: option(checkedPositive, 4),
  octaves: option(is.whole(1, 16), 3),
  aspects: option((value) => value as EfficientDetAnchorOptions['aspects'], [1, 2, 0.5]),
} satisfies OptionTable<Omit<EfficientDetAnchorOptions, 'size'>>

const efficientDetTable = { size: needed(inputSize), ...efficientDetRows }

/**
 * The anchors of an EfficientDet, as google/automl (efficientdet/tf2/anchors.py) and effdet lay them out: by level,
 * row, column, octave and form.
 * @returns four numbers for each: its centre's x and y, its width and height, in pixels of the model's input
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT
 */
export function efficientDetAnchors(options: EfficientDetAnchorOptions): Float32Array {
  const given = checkedOptions(options, efficientDetTable, 'efficientDetAnchors')
  const { size, minLevel, anchorScale, octaves } = given
  const maxLevel = checkedWhole(given.maxLevel, 'maxLevel', minLevel, 10)
  const forms = efficientDetForms(given.aspects, anchorScale, octaves)
  return anchorsOf(
    Array.from({ length: maxLevel - minLevel + 1 }, (_, index) => {
      const area = levelArea(size, minLevel + index)
      const [across, down] = [size.width / area.columns, size.height / area.rows]
      return { ...area, across, down, sides: forms.map(([width, height]) => [width * across, height * down]) }
    }),
  )
}

/** Each level has half the cells of the one before, rounded up. */
function cellsAlong(side: number, level: number): number {
  let cells = side
  for (let i = 0; i < level; i++) cells = Math.floor((cells - 1) / 2) + 1
  return cells
}

/** The cells of a level of an input of this size. */
export function levelArea({ width, height }: Size, level: number): LevelArea {
  return { columns: cellsAlong(width, level), rows: cellsAlong(height, level) }
}

/** Widths and heights in cells. */
function efficientDetForms(aspects: unknown, scale: number, octaves: number): (readonly [number, number])[] {
  const factors = checkedArray(aspects, 'aspects').map((aspect, index) => factorsOf(aspect, `aspects[${index}]`))
  if (factors.length === 0 || factors.length > 16) throw expected('1 to 16 forms', 'aspects', aspects)
  return Array.from({ length: octaves }, (_, octave) => scale * 2 ** (octave / octaves)).flatMap((side) =>
    factors.map(([across, down]) => [side * across, side * down] as const),
  )
}

function factorsOf(aspect: unknown, name: string): readonly [number, number] {
  if (!Array.isArray(aspect)) {
    const root = Math.sqrt(checkedPositive(aspect, name))
    return [root, 1 / root]
  }
  if (aspect.length !== 2) throw expected('a number or [width, height]', name, aspect)
  return [checkedPositive(aspect[0], `${name}[0]`), checkedPositive(aspect[1], `${name}[1]`)]
}

/** [width, height] of the anchors of a level, in pixels of the model's input. */
export type LevelAnchors = readonly (readonly [width: number, height: number])[]

/**
 * The anchors that YOLO v5 (ultralytics/yolov5: models/yolov5s.yaml) and v7 (WongKinYiu/yolov7: cfg/deploy/yolov7.yaml)
 * were trained with on COCO, for the levels of strides 8, 16 and 32. A model that was trained on other data may have
 * others.
 */
export const yoloAnchors: Readonly<Record<'v5' | 'v7', readonly LevelAnchors[]>> = {
  // prettier-ignore
  v5: [[[10, 13], [16, 30], [33, 23]], [[30, 61], [62, 45], [59, 119]], [[116, 90], [156, 198], [373, 326]]],
  // prettier-ignore
  v7: [[[12, 16], [19, 36], [40, 28]], [[36, 75], [76, 55], [72, 146]], [[142, 110], [192, 243], [459, 401]]],
}

/** Pixels between the cells of each level of a YOLO, from the finest. */
export const yoloStrides: readonly number[] = [8, 16, 32]

/**
 * The cells of a model without anchors, in the order of its outputs: by level, row and column. A level has ceil(side /
 * stride) cells.
 * @param size of the model's input
 * @param strides pixels between the cells of each level
 * @returns three numbers for each: its column, its row, and the stride of its level
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT
 */
export function cellsOf(size: Sides, strides: readonly number[] = yoloStrides): Float32Array {
  const input = inputSize(size)
  const levels = checkedSteps(strides, 'strides').map((stride) => ({ stride, ...cellsBy(stride, input) }))
  const count = levels.reduce((sum, { columns, rows }) => sum + columns * rows, 0)
  const cells = roomFor(count, 3)
  let at = 0
  for (const { stride, columns, rows } of levels)
    for (let cell = 0; cell < rows * columns; cell++, at += 3)
      cells.set([cell % columns, Math.floor(cell / columns), stride], at)
  return cells
}
