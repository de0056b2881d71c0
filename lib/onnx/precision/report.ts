import type { HalfPrecision } from './options.js'

/**
 * Why a node stays in float32:
 * - `name`, `operator`: as the option `keep` says
 * - `unsupported`: the operator has no 16 bits in ONNX, or is none of those that are converted (other domains, If,
 *   Loop, Scan, NonMaxSuppression …), or TensorRT-RTX builds it in float32 alone (HardSwish, Mish and GRU in bfloat16,
 *   an LSTM with sequence_lens …)
 * - `opset`: the operator takes the type from a later opset on than the model has
 * - `type`: it is not known what some input or output of it is
 * - `integers`: it computes with integers whose size is not known (a Cast of int32 or int64), which have to be exact
 * - `weights`: a stored number is beyond `initMax`
 * - `mask`: it computes with what such a number makes, as a mask of attention is
 * - `small`: of a stored tensor nothing would be left but zeros, such as an epsilon of 1e-12; or a scale of a
 *   quantizing node would lose digits
 * - `range`: a value goes beyond `dataMax`
 * - `depth`: it adds up more than `maxReductionDepth`
 * - `shapes`: it computes with sizes, which have to be exact
 * - `dequantized`: it is in one kernel of INT8 with a node that stays in float32
 * - `between`: it only moves elements, between nodes that stay in float32
 */
export type KeptReason =
  | 'name'
  | 'operator'
  | 'unsupported'
  | 'opset'
  | 'type'
  | 'shapes'
  | 'integers'
  | 'weights'
  | 'mask'
  | 'small'
  | 'range'
  | 'depth'
  | 'dequantized'
  | 'between'

/** Why a node stays. */
export interface Kept {
  /** Why it stays, for programs. */
  readonly reason: KeptReason
  /** The same for people. */
  readonly detail: string
}

/** A node that stays in float32. */
export interface KeptNode extends Kept {
  /** The node's name, or that of its first output. */
  readonly node: string
  /** The node's operator. */
  readonly operator: string
}

/** What became of a model. Plain data. */
export interface PrecisionReport {
  /** The precision that the model was converted to. */
  readonly precision: HalfPrecision
  /** How many nodes that computed in float32 do it in 16 bits now. */
  readonly converted: number
  /** Those that do not, in the order of the graph. Nodes without any float32 are in neither. */
  readonly kept: readonly KeptNode[]
  /** How many Cast nodes were put in. */
  readonly casts: number
  /**
   * Values in float32 that go below the lowest number of the type, as a mask of -1e9 does, and become that number
   * (-65504, -3.39e38) where they are cast, not an infinite one: of a row that is masked whole a softmax would be NaN.
   */
  readonly clamped: readonly string[]
  /** Of what the main graph stores in float32. */
  readonly weights: {
    /** Bytes before. */
    readonly bytesBefore: number
    /** Bytes after, of the same tensors and of copies that were made of them. */
    readonly bytesAfter: number
    /** How many of `bytesBefore` were halved. */
    readonly bytesConverted: number
    /** How many stored numbers became 0 that were not; the smallest that float16 has is about 6e-8. */
    readonly flushed: number
  }
  /** The version of ONNX's operators, where it had to be raised. */
  readonly opset?:
    | {
        /** The version before. */
        readonly from: number
        /** The version after. */
        readonly to: number
      }
    | undefined
}
