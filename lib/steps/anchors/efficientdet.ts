import { checkedArray, checkedWhole } from '../../base/checks.js'
import { readOptions } from '../../base/options.js'
import type { Sides } from '../../base/size.js'
import { expected } from '../../errors.js'
import { checkedPositive, inputSize, roomFor, writer } from './size.js'

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

const names = ['size', 'minLevel', 'maxLevel', 'anchorScale', 'octaves', 'aspects'] as const

/**
 * The anchors of an EfficientDet, as google/automl (efficientdet/tf2/anchors.py) and effdet lay them out: by level,
 * row, column, octave and form.
 * @returns four numbers for each: its centre's x and y, its width and height, in pixels of the model's input
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT
 */
export function efficientDetAnchors(options: EfficientDetAnchorOptions): Float32Array {
  const given = readOptions(options, names, 'efficientDetAnchors')
  const { width, height } = inputSize(given.size)
  const minLevel = checkedWhole(given.minLevel ?? 3, 'minLevel', 2, 10)
  const maxLevel = checkedWhole(given.maxLevel ?? 7, 'maxLevel', minLevel, 10)
  const anchorScale = checkedPositive(given.anchorScale ?? 4, 'anchorScale')
  const octaves = checkedWhole(given.octaves ?? 3, 'octaves', 1, 16)
  const forms = formsOf(given.aspects ?? [1, 2, 0.5], anchorScale, octaves)
  const levels = Array.from({ length: maxLevel - minLevel + 1 }, (_, index) => levelOf(width, height, minLevel + index))
  const anchors = roomFor(
    levels.reduce((sum, { columns, rows }) => sum + columns * rows * forms.length, 0),
    4,
  )
  const write = writer(anchors)
  for (const level of levels) writeLevel(write, level, forms)
  return anchors
}

export interface LevelArea {
  readonly columns: number
  readonly rows: number
}

interface Level extends LevelArea {
  /** Pixels from one cell to the next. */
  readonly across: number
  readonly down: number
}

function levelOf(width: number, height: number, level: number): Level {
  const { columns, rows } = levelArea({ width, height }, level)
  return { columns, rows, across: width / columns, down: height / rows }
}

type Write = ReturnType<typeof writer>

function writeLevel(
  write: Write,
  { columns, rows, across, down }: Level,
  forms: readonly (readonly [number, number])[],
): void {
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++)
      for (const [width, height] of forms)
        write((column + 0.5) * across, (row + 0.5) * down, width * across, height * down)
}

/** Each level has half the cells of the one before, rounded up. */
function cellsAlong(side: number, level: number): number {
  let cells = side
  for (let i = 0; i < level; i++) cells = Math.floor((cells - 1) / 2) + 1
  return cells
}

/** The cells of a level of an input of this size. */
export function levelArea(
  { width, height }: { readonly width: number; readonly height: number },
  level: number,
): LevelArea {
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
