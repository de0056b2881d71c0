import { checkedArray, checkedWhole } from '../../base/checks.js'
import { checkedOptions, is, option, type OptionTable } from '../../base/option-table.js'
import type { Sides, Size } from '../../base/size.js'
import { expected } from '../../errors.js'
import { anchorsOf, checkedPositive, inputSize, type LevelArea } from './size.js'

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

const table = {
  size: option((value) => value),
  minLevel: option(is.whole(2, 10), 3),
  maxLevel: option((value) => value, 7), // from minLevel on
  anchorScale: option(checkedPositive, 4),
  octaves: option(is.whole(1, 16), 3),
  aspects: option((value) => value, [1, 2, 0.5]),
} satisfies OptionTable<EfficientDetAnchorOptions>

/**
 * The anchors of an EfficientDet, as google/automl (efficientdet/tf2/anchors.py) and effdet lay them out: by level,
 * row, column, octave and form.
 * @returns four numbers for each: its centre's x and y, its width and height, in pixels of the model's input
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT
 */
export function efficientDetAnchors(options: EfficientDetAnchorOptions): Float32Array {
  const given = checkedOptions(options, table, 'efficientDetAnchors')
  const size = inputSize(given.size)
  const { minLevel, anchorScale, octaves } = given
  const maxLevel = checkedWhole(given.maxLevel, 'maxLevel', minLevel, 10)
  const forms = formsOf(given.aspects, anchorScale, octaves)
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
function formsOf(aspects: unknown, scale: number, octaves: number): (readonly [number, number])[] {
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
