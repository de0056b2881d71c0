import { readOptions } from '../../base/options.js'
import type { Sides } from '../../base/size.js'
import { checkedNumber, checkedWhole } from '../../base/checks.js'
import { expected } from '../../errors.js'
import { inputSize, roomFor, writer } from './size.js'

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

const names = ['size', 'levels', 'minScale', 'maxScale'] as const

/** Pixels between the cells of the first level. */
const firstStride = 16

/**
 * The first level has one square of half the least scale, and two forms; the others six, the second of which is a
 * square between its scale and the next.
 */
const [firstForms, forms] = [
  [2, 0.5],
  [2, 0.5, 3, 0.3333],
] as const

/**
 * The anchors of an SSD of TensorFlow's Object Detection API (anchor_generators/multiple_grid_anchor_generator.py:
 * create_ssd_anchors, with reduce_boxes_in_lowest_layer), such as its ssd_mobilenet_v1 and face-api's: by level, row,
 * column and form.
 * @returns four numbers for each: its centre's x and y, its width and height, in pixels of the model's input
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT
 */
export function ssdAnchors(options: SsdAnchorOptions): Float32Array {
  const given = readOptions(options, names, 'ssdAnchors')
  const { width, height } = inputSize(given.size)
  const count = checkedWhole(given.levels ?? 6, 'levels', 2, 16)
  const least = checkedNumber(given.minScale ?? 0.2, 'minScale', 0.001, 1)
  const most = checkedNumber(given.maxScale ?? 0.95, 'maxScale', 0.001, 1)
  if (most < least) throw expected(`a number of at least minScale, ${least},`, 'maxScale', most)
  const scaleOf = (level: number): number => (level < count ? least + ((most - least) * level) / (count - 1) : 1)
  const levels = Array.from({ length: count }, (_, level) => {
    const stride = firstStride * 2 ** level
    return { columns: Math.ceil(width / stride), rows: Math.ceil(height / stride), shapes: shapesOf(level, scaleOf) }
  })
  const anchors = roomFor(
    levels.reduce((sum, { columns, rows, shapes }) => sum + columns * rows * shapes.length, 0),
    4,
  )
  const write = writer(anchors)
  for (const { columns, rows, shapes } of levels)
    for (let row = 0; row < rows; row++)
      for (let column = 0; column < columns; column++)
        for (const [across, down] of shapes)
          write(((column + 0.5) / columns) * width, ((row + 0.5) / rows) * height, across * width, down * height)
  return anchors
}

/** Widths and heights in parts of the input's sides. */
function shapesOf(level: number, scaleOf: (level: number) => number): (readonly [number, number])[] {
  const scale = scaleOf(level)
  const formed = (aspects: readonly number[]) =>
    aspects.map((aspect) => [scale * Math.sqrt(aspect), scale / Math.sqrt(aspect)] as const)
  if (level === 0) return [[scale / 2, scale / 2], ...formed(firstForms)]
  const between = Math.sqrt(scale * scaleOf(level + 1))
  return [[scale, scale], [between, between], ...formed(forms)]
}
