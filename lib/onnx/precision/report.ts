import type { HalfPrecision } from './options.js'

/**
 * Why a node stays in float32:
 * - `name`, `operator`: as the option `keep` says
 * - `unsupported`: the operator has no 16 bits in ONNX, or is none of those that are converted (other domains, If, Loop, Scan, NonMaxSuppression …)
 * - `opset`: the operator takes the type from a later opset on than the model has
 * - `type`: it is not known what some input or output of it is
 * - `weights`: a stored number is beyond `initMax`
 * - `small`: of a stored tensor nothing would be left but zeros, such as an epsilon of 1e-12; or a scale of a quantizing node would lose digits
 * - `range`: a value goes beyond `dataMax`
 * - `depth`: it adds up more than `maxReductionDepth`
 * - `shapes`: it computes with sizes, which have to be exact
 * - `between`: it only moves elements, between nodes that stay in float32
 */
export type KeptReason =
  'name' | 'operator' | 'unsupported' | 'opset' | 'type' | 'weights' | 'small' | 'range' | 'depth' | 'shapes' | 'between'

/** A node that stays in float32. */
export interface KeptNode {
  /** Its name, or that of its first output. */
  readonly node: string
  readonly operator: string
  readonly reason: KeptReason
  /** In words. */
  readonly detail: string
}

/** What became of a model. Plain data. */
export interface PrecisionReport {
  readonly precision: HalfPrecision
  /** How many nodes that computed in float32 do it in 16 bits now. */
  readonly converted: number
  /** Those that do not, in the order of the graph. Nodes without any float32 are in neither. */
  readonly kept: readonly KeptNode[]
  /** How many Cast nodes were put in. */
  readonly casts: number
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
  readonly opset?: { readonly from: number; readonly to: number }
}
