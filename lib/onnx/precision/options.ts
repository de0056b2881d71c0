import { isMap } from 'node:util/types'
import { checkedObject, isText, quoted } from '../../base/checks.js'
import { type Checked, checkedOptions, is, option, type OptionTable } from '../../base/option-table.js'
import { isNamePattern, type NamePattern } from '../../base/patterns.js'
import { expected } from '../../errors.js'

/** fp16: float16, 5 bits of exponent and 10 of mantissa; bf16: bfloat16, 8 and 7. */
export type HalfPrecision = 'fp16' | 'bf16'

/** The data type of a precision. */
export const halfTypes = { fp16: 'float16', bf16: 'bfloat16' } as const satisfies Record<HalfPrecision, string>

/** The smallest and the largest number that a value was seen to have. */
export interface ValueRange {
  /** The smallest number. */
  readonly min: number
  /** The largest number. */
  readonly max: number
}

/**
 * A range of a `Calibration` of `node-tensorrt/quantization`; where it has no `min` and `max`, since it was read from
 * TensorRT's cache, it goes from -`amax` to `amax`.
 */
export interface MeasuredRange {
  /** The smallest number, where it was measured. */
  readonly min?: number | undefined
  /** The largest number, where it was measured. */
  readonly max?: number | undefined
  /** The largest magnitude. */
  readonly amax: number
}

/** Options of {@link convertPrecision}. */
export interface PrecisionOptions {
  /** Nodes that stay in float32. */
  readonly keep?:
    | {
        /**
         * Their names: a text is the whole name, a regular expression may match anywhere in it. A node without a name
         * has that of its first output.
         */
        readonly names?: readonly (string | RegExp)[] | undefined
        /** Operators, such as `Softmax`. */
        readonly operators?: readonly string[] | undefined
      }
    | undefined
  /**
   * Whether the model's inputs and outputs keep their types, so that what feeds it stays as it is; true unless given
   * (AutoCast's default is false). With false, float32 ones that converted nodes read or give take the new type.
   */
  readonly keepIO?: boolean | undefined
  /**
   * A node with a stored number beyond it, either way, stays in float32; 65504 (fp16) or 3.38e38 (bf16) unless given.
   */
  readonly initMax?: number | undefined
  /**
   * A node that reads or gives a value whose range goes beyond it stays in float32; 512 unless given. Only values in
   * `ranges` are looked at.
   */
  readonly dataMax?: number | undefined
  /**
   * What values were seen to be, by name, on data that is typical: the `ranges` of a `Calibration` of this model (`new
   * Calibrator(data, { algorithm: 'minmax' }).calibrate(model)` of `node-tensorrt/quantization`), or measured
   * elsewhere. Without them nobody knows what overflows float16 inside of the model.
   */
  readonly ranges?: Readonly<Record<string, ValueRange>> | ReadonlyMap<string, ValueRange | MeasuredRange> | undefined
  /**
   * A node that adds up more products or numbers than this for one element stays in float32, as far as shapes are
   * known; no limit unless given.
   */
  readonly maxReductionDepth?: number | undefined
}

const keepTable = {
  names: option(is.listOf('an array of texts and regular expressions', isNamePattern), []),
  operators: option(is.listOf('an array of texts', isText), []),
} satisfies OptionTable<NonNullable<PrecisionOptions['keep']>>

const table = {
  keep: option((keep) => checkedOptions(keep, keepTable, 'keep', 'keep.'), { names: [], operators: [] }),
  keepIO: option(is.boolean, true),
  initMax: option(is.number(0, Infinity)),
  dataMax: option(is.number(0, Infinity), 512),
  ranges: option(checkedRanges, new Map<string, ValueRange>()),
  maxReductionDepth: option(is.whole(1), Infinity),
} satisfies OptionTable<PrecisionOptions>

/** Options that were checked, complete. */
export interface PrecisionSettings extends Omit<Checked<typeof table>, 'keep' | 'initMax'> {
  readonly precision: HalfPrecision
  readonly initMax: number
  readonly keepNames: readonly NamePattern[]
  readonly keepOperators: ReadonlySet<string>
}

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedPrecisionOptions(precision: unknown, options: unknown): PrecisionSettings {
  if (precision !== 'fp16' && precision !== 'bf16')
    throw expected(quoted(['fp16', 'bf16'], ' or '), 'precision', precision)
  const {
    keep,
    initMax = precision === 'fp16' ? 65504 : 3.38e38,
    ...checked
  } = checkedOptions(options, table, 'convertPrecision')
  return { ...checked, precision, initMax, keepNames: keep.names, keepOperators: new Set(keep.operators) }
}

function checkedRanges(value: unknown): ReadonlyMap<string, ValueRange> {
  const entries = isMap(value)
    ? [...(value as Map<string, unknown>)]
    : Object.entries(checkedObject(value, 'ranges', 'ranges by value'))
  return new Map(entries.map(([name, range]) => [name, checkedRange(range, `the range of '${name}'`)]))
}

function checkedRange(value: unknown, name: string): ValueRange {
  const { amax, ...range } = checkedObject(value, name, '{ min, max }') as Partial<
    Record<'min' | 'max' | 'amax', unknown>
  >
  const { min = typeof amax === 'number' ? -amax : undefined, max = amax } = range
  return { min: checkedBound(min, `min in ${name}`), max: checkedBound(max, `max in ${name}`) }
}

/** Infinite ones are beyond any limit; what is no number says nothing. */
function checkedBound(value: unknown, name: string): number {
  if (typeof value === 'number' && !Number.isNaN(value)) return value
  throw expected('a number', name, value)
}
