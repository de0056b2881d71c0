import { checkedArray, checkedNumber, checkedWhole } from '../../base/checks.js'
import { type Size, sizeOf } from '../../base/size.js'
import { expected } from '../../errors.js'

/** The longest side that anchors are laid out for: a model has one for every few pixels. */
const longest = 16384

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function inputSize(size: unknown): Size {
  return sizeOf(size, 'size', longest)
}

/** Pixels between cells, from 4 on: fewer would be more cells than a model has. */
export function checkedSteps(steps: unknown, name: string): number[] {
  const list = checkedArray(steps, name).map((step, index) => checkedWhole(step, `${name}[${index}]`, 4, longest))
  if (list.length > 0 && list.length <= 16) return list
  throw expected('1 to 16 numbers', name, steps)
}

/** A number greater than 0. */
export function checkedPositive(value: unknown, name: string): number {
  if (checkedNumber(value, name, 0, undefined, 'a number greater than 0') > 0) return value as number
  throw expected('a number greater than 0', name, value)
}

/** What is laid out, four times as many numbers as the largest EfficientDet has. */
const mostCells = 2 ** 21

/**
 * Room for `count` cells or anchors of so many numbers. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT where no model
 * has so many
 */
export function roomFor(count: number, numbers: number): Float32Array {
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
export function anchorsOf(levels: readonly AnchorLevel[]): Float32Array {
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
