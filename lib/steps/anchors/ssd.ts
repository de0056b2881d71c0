import { checkedOptions, is, option, type OptionTable } from '../../base/option-table.js'
import type { Sides } from '../../base/size.js'
import { expected } from '../../errors.js'
import { anchorsOf, cellsBy, inputSize } from './size.js'

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

const table = {
  size: option((value) => value),
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
  const given = checkedOptions(options, table, 'ssdAnchors')
  const { levels: count, minScale: least, maxScale: most } = given
  const input = inputSize(given.size)
  if (most < least) throw expected(`a number of at least minScale, ${least},`, 'maxScale', most)
  const scaleOf = (level: number): number => (level < count ? least + ((most - least) * level) / (count - 1) : 1)
  return anchorsOf(
    Array.from({ length: count }, (_, level) => {
      const area = cellsBy(firstStride * 2 ** level, input)
      const sides = shapesOf(level, scaleOf).map(([w, h]) => [w * input.width, h * input.height] as const)
      return { ...area, across: input.width / area.columns, down: input.height / area.rows, sides }
    }),
  )
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
