import { isFloat32Array } from 'node:util/types'
import { expected, TensorRTError } from '../errors.js'
import { expectedTensor, Tensor } from '../tensor.js'
import { checkedArray, checkedObject, checkedPositive } from '../base/checks.js'
import { shapeText } from '../base/dims.js'
import {
  type Checked as CheckedTable,
  checkedOptions,
  is,
  needed,
  option,
  type OptionTable,
} from '../base/option-table.js'
import { sigmoid } from './decoders/candidates.js'
import type { Box, Detection } from './types.js'

/** Options of {@link decodeGrid}. */
export interface GridOptions {
  /** [width, height] of each anchor, in cells (anchors in pixels: divide by `stride`). */
  readonly anchors: readonly (readonly [width: number, height: number])[]
  /** Pixels of the model's input for each cell. */
  readonly stride: number
  /** Only detections with a greater score are returned; 0 to 1. */
  readonly scoreThreshold: number
  /**
   * How many class scores follow the objectness of each anchor; default 0: one class, whose score is the objectness.
   */
  readonly classes?: number | undefined
  /** Default NCHW. Channels are anchor * (5 + classes) + (x, y, width, height, objectness, class...) in either case. */
  readonly layout?: 'NCHW' | 'NHWC' | undefined
  /**
   * With s the sigmoid: `exp` (YOLO v2 and v3, default) is centre = s(x) + cell, size = exp(width) * anchor;
   * `square` (YOLO v5 and v7) is centre = 2 s(x) - 0.5 + cell, size = (2 s(width))^2 * anchor.
   */
  readonly encoding?: 'exp' | 'square' | undefined
  /** What makes probabilities of objectness and classes; default `sigmoid`; `none` where the model has done it. */
  readonly activation?: 'sigmoid' | 'none' | undefined
}

function identity(x: number): number {
  return x
}

/** Reads channel `channel` of cell (row, column). */
type Reader = (row: number, column: number, channel: number) => number

interface Grid {
  readonly batch: number
  readonly rows: number
  readonly columns: number
  readonly reader: (index: number) => Reader
}

/**
 * Decodes the grid of anchor boxes that a YOLO-like model gives, of shape [N, anchors * (5 + classes), rows, columns]
 * or NHWC. Of the classes of a box the best is taken; its score is objectness * class.
 * @returns for each picture of the batch its detections in pixels of the model's input, by row, column and anchor,
 * overlapping ones too
 * @throws TensorRTError ERR_TRT_SHAPE when the tensor does not have this shape
 */
export function decodeGrid(output: Tensor, options: GridOptions): Detection[][] {
  const checked = checkedOptions(checkedObject(options, 'the options of decodeGrid'), table, 'decodeGrid')
  const grid = gridOf(output, checked)
  return Array.from({ length: grid.batch }, (_, index) => decodeOne(grid, grid.reader(index), checked))
}

const table = {
  anchors: needed(checkedAnchors),
  stride: needed(checkedPositive),
  scoreThreshold: needed(is.number(0, 1)),
  classes: option(is.whole(0), 0),
  layout: option(is.choice('NCHW', 'NHWC'), 'NCHW'),
  encoding: option(is.choice('exp', 'square'), 'exp'),
  activation: option(is.choice('sigmoid', 'none'), 'sigmoid'),
} satisfies OptionTable<GridOptions>

type Checked = CheckedTable<typeof table>

function checkedAnchors(anchors: unknown): GridOptions['anchors'] {
  return checkedArray(anchors, 'anchors').map((anchor, index) => checkedAnchor(anchor, `anchors[${index}]`))
}

function checkedAnchor(anchor: unknown, name: string): GridOptions['anchors'][number] {
  const [width, height] = Array.isArray(anchor) && anchor.length === 2 ? (anchor as unknown[]) : []
  const isSide = (side: unknown): side is number => Number.isFinite(side) && (side as number) > 0
  if (isSide(width) && isSide(height)) return [width, height]
  throw expected('[width, height], both greater than 0', name, anchor)
}

function gridOf(output: Tensor, options: Checked): Grid {
  if (!(output instanceof Tensor)) throw expectedTensor('a Tensor', 'output', output)
  const { data } = output
  if (!isFloat32Array(data))
    throw new TensorRTError('ERR_TRT_DTYPE', `Expected a float32 tensor for output but received ${output.dtype}`)
  const planar = options.layout !== 'NHWC'
  const wanted = options.anchors.length * (5 + options.classes)
  const [batch = 0, second = 0, third = 0, fourth = 0] = output.shape
  const [channels, rows, columns] = planar ? [second, third, fourth] : [fourth, second, third]
  if (output.shape.length !== 4 || channels !== wanted) {
    const shape = planar ? `[N, ${wanted}, rows, columns]` : `[N, rows, columns, ${wanted}]`
    throw new TensorRTError(
      'ERR_TRT_SHAPE',
      `Expected shape ${shape} for output but received ${shapeText(output.shape)}`,
    )
  }
  const [rowStep, columnStep, channelStep] = planar ? [columns, 1, rows * columns] : [columns * channels, channels, 1]
  const reader = (index: number): Reader => {
    const start = index * rows * columns * channels
    return (row, column, channel) => data[start + row * rowStep + column * columnStep + channel * channelStep] ?? NaN
  }
  return { batch, rows, columns, reader }
}

function decodeOne(grid: Grid, read: Reader, options: Checked): Detection[] {
  const { classes } = options
  const activate = options.activation === 'none' ? identity : sigmoid
  const detections: Detection[] = []
  for (let row = 0; row < grid.rows; row++) {
    for (let column = 0; column < grid.columns; column++) {
      for (const [index, anchor] of options.anchors.entries()) {
        const field = (number: number): number => read(row, column, index * (5 + classes) + number)
        const objectness = activate(field(4))
        if (!(objectness > options.scoreThreshold)) continue
        const { classIndex, probability } = bestClass(field, classes, activate)
        const score = objectness * probability
        if (score > options.scoreThreshold)
          detections.push({ box: decodeBox(field, row, column, anchor, options), score, classIndex })
      }
    }
  }
  return detections
}

function bestClass(
  field: (number: number) => number,
  classes: number,
  activate: (x: number) => number,
): { classIndex: number; probability: number } {
  if (classes === 0) return { classIndex: 0, probability: 1 }
  let classIndex = 0
  for (let candidate = 1; candidate < classes; candidate++) {
    if (field(5 + candidate) > field(5 + classIndex)) classIndex = candidate
  }
  return { classIndex, probability: activate(field(5 + classIndex)) }
}

function decodeBox(
  field: (number: number) => number,
  row: number,
  column: number,
  anchor: readonly [number, number],
  options: Checked,
): Box {
  const square = options.encoding === 'square'
  const offset = (x: number): number => (square ? 2 * sigmoid(x) - 0.5 : sigmoid(x))
  const factor = (x: number): number => (square ? (2 * sigmoid(x)) ** 2 : Math.exp(x))
  const width = factor(field(2)) * anchor[0] * options.stride
  const height = factor(field(3)) * anchor[1] * options.stride
  return [
    (column + offset(field(0))) * options.stride - width / 2,
    (row + offset(field(1))) * options.stride - height / 2,
    width,
    height,
  ]
}
