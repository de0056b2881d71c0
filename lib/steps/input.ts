import { type Checked, checkedRows, is, option, type OptionTable } from '../base/option-table.js'
import { readOptions } from '../base/options.js'
import { expected } from '../errors.js'
import type { Color, Size } from './pixels/types.js'
import {
  centreCropped,
  type Layout,
  layoutChecks,
  letterboxed,
  type Position,
  type Rounding,
  squared,
  stretched,
} from './pixels/layout.js'
import { checkedNormalization, type Normalization, type TensorOptions, tensorRows } from './pixels/tensor-options.js'

/** How a picture lies in a model's input: the names of lib/vision's framing functions. */
export type Resizing = 'stretch' | 'letterbox' | 'padToSquare' | 'centerCrop'

const resizings: readonly Resizing[] = ['stretch', 'letterbox', 'padToSquare', 'centerCrop']

/**
 * From a picture to a model's input, as plain data, in the words of `toTensor` and of the framing functions of
 * `node-tensorrt/vision`, which mean the same here: a picture that is prepared by the host and one that is prepared
 * inside of the engine ({@link withPreprocessing}) are the same numbers.
 */
export interface PreprocessingSteps extends Omit<TensorOptions, 'dtype'> {
  /** How the picture lies in the input; default `stretch`. */
  readonly resize?: Resizing | undefined
  /** Where the picture stands in the fill: of `letterbox` (default `center`) and `padToSquare` (default `start`). */
  readonly position?: Position | undefined
  /** Of the resized picture's sides: of `letterbox`, default `nearest`. */
  readonly rounding?: Rounding | undefined
  /** The input has only as much fill as makes its sides multiples of this: of `letterbox`; default: the whole size. */
  readonly multipleOf?: number | undefined
  /**
   * The picture's shorter side is resized to so many pixels first, or its sides to a size: of `centerCrop`, whose
   * `resize` it is; default: not at all.
   */
  readonly shortSide?: number | Size | undefined
  /**
   * The colour around the picture, 0 to 255, one value for all channels or [red, green, blue]; default 0, black. Not of
   * `stretch`.
   */
  readonly fill?: number | Color | undefined
  /**
   * The fill is the number 0 of the normalized input (automl's EfficientDet, PP-OCR's reader), rather than a colour
   * before that; default false. Then there is no `fill`. Not of `stretch`.
   */
  readonly fillAfter?: boolean | undefined
}

const table = {
  resize: option(is.choice(...resizings), 'stretch'),
  position: option(layoutChecks.position),
  rounding: option(layoutChecks.rounding, 'nearest'),
  multipleOf: option(layoutChecks.multipleOf),
  shortSide: option(layoutChecks.shortSide),
  fill: option(layoutChecks.fill),
  fillAfter: option(is.boolean, false),
} satisfies OptionTable<Omit<PreprocessingSteps, keyof TensorOptions>>

const { dtype: _, ...numberRows } = tensorRows

export const preprocessingStepNames = Object.keys({ ...table, ...numberRows }) as (
  keyof typeof table | keyof typeof numberRows
)[]

/** Steps that were checked, complete. */
export interface CheckedSteps extends Omit<Checked<typeof table>, 'position' | 'fill'>, Omit<Normalization, 'dtype'> {
  readonly position: Position
  readonly fill: Color
}

/** Which steps go only with which way to resize. */
const only: Readonly<Partial<Record<keyof typeof table, readonly Resizing[]>>> = {
  position: ['letterbox', 'padToSquare'],
  rounding: ['letterbox'],
  multipleOf: ['letterbox'],
  shortSide: ['centerCrop'],
  fill: ['letterbox', 'padToSquare', 'centerCrop'],
  fillAfter: ['letterbox', 'padToSquare', 'centerCrop'],
}

/**
 * The steps, each checked, with what they are when not given.
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT for a step that is unknown, wrong, or does not go with the others
 */
export function checkedPreprocessing(steps: unknown): CheckedSteps {
  const given = readOptions(steps, preprocessingStepNames, 'the steps')
  const { fill, ...own } = checkedRows(given, table)
  const { resize, position = resize === 'padToSquare' ? 'start' : 'center' } = own
  for (const [name, resizes] of Object.entries(only)) {
    const value = given[name as keyof typeof only]
    if (value !== undefined && !resizes.includes(resize))
      throw expected(`no ${name} with resize '${resize}'`, 'the steps', value)
  }
  if (own.fillAfter && fill !== undefined) throw expected('no fill with fillAfter', 'the steps', given.fill)
  const numbers = checkedNormalization(checkedRows(given, tensorRows))
  return { ...own, position, fill: fill ?? [0, 0, 0], ...numbers }
}

/** Where a picture of this size lies in an input of that size. */
export function layoutOf(steps: CheckedSteps, picture: Size, input: Size): Layout {
  switch (steps.resize) {
    case 'stretch':
      return stretched(picture, input)
    case 'letterbox':
      return letterboxed(picture, input, steps)
    case 'padToSquare':
      return squared(picture, input, steps.position)
    case 'centerCrop':
      return centreCropped(picture, input, steps.shortSide)
  }
}
