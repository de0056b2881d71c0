import { nameOf } from './graph.js'
import type { Inserted } from './insert.js'
import type { Placement } from './placement.js'
import type { Calibration, TensorRange } from './calibration.js'

/** A node with weights, or a product of two computed matrices, and what became of it. */
export interface QuantizedLayer {
  /** The node's name. */
  readonly name: string
  /** The node's operator. */
  readonly operator: string
  /** Whether it computes in INT8. */
  readonly quantized: boolean
  /** Why it stays in floating point, where it does. */
  readonly reason?: string | undefined
  /** Multiply-adds of one inference at the shapes of the first batch; absent where those are not known. */
  readonly multiplyAdds?: number | undefined
}

/** The range of a value that was quantized. */
export interface QuantizedTensor extends TensorRange {
  /** The name of the value. */
  readonly name: string
  /** What one step of INT8 stands for: a 127th of `amax`. */
  readonly scale: number
  /** The share of the values that lie beyond the range, where that was measured: they saturate. */
  readonly saturated?: number | undefined
}

/** What was done to a model, and what was not. */
export interface QuantizationReport {
  /** All nodes with weights, and products of two computed matrices. */
  readonly layers: readonly QuantizedLayer[]
  /** Skip connections and pools that are quantized beside them. */
  readonly others: readonly {
    /** The node's name. */
    readonly name: string
    /** The node's operator. */
    readonly operator: string
    /** Whether it is a skip connection or a pool. */
    readonly role: 'skip' | 'pool'
  }[]
  /** All values that were quantized. */
  readonly tensors: readonly QuantizedTensor[]
  /** Values that have one scale, since they are concatenated. */
  readonly shared: readonly (readonly string[])[]
  /** Multiply-adds of one inference; layers whose shapes are not known are in `uncounted` alone. */
  readonly multiplyAdds: {
    /** All of them. */
    readonly all: number
    /** Those of layers that compute in INT8. */
    readonly quantized: number
    /** The share of `quantized` in `all`, from 0 to 1. */
    readonly share: number
    /** How many layers have shapes that are not known. */
    readonly uncounted: number
  }
  /** Bytes of the weights that were quantized. */
  readonly weightBytes: {
    /** Before. */
    readonly before: number
    /** After. */
    readonly after: number
  }
  /**
   * Values that float16 does not hold (beyond 65504) on the data that was measured: what computes with them must stay
   * in float32 beside INT8. `convertPrecision(model, 'fp16', { ranges })` with the ranges of the calibration sees to
   * it; a build with `precision: ['int8', 'fp16']` knows no ranges.
   */
  readonly beyondFloat16: readonly {
    /** The name of the value. */
    readonly name: string
    /** Its smallest number. */
    readonly min: number
    /** Its largest number. */
    readonly max: number
  }[]
  /** Layers that were left in floating point to reach the cosine that was asked for. */
  readonly kept: readonly string[]
}

export function reportOf(
  placement: Placement,
  { ranges, weightBytes }: Inserted,
  calibration: Calibration,
  kept: readonly string[],
): QuantizationReport {
  const layers = placement.decisions.map(({ node, reason, multiplyAdds }) => ({
    name: nameOf(node),
    operator: node.opType,
    quantized: reason === undefined,
    reason,
    multiplyAdds,
  }))
  const all = sum(layers)
  const quantized = sum(layers.filter((layer) => layer.quantized))
  const uncounted = layers.filter((layer) => layer.multiplyAdds === undefined).length
  return {
    layers,
    others: placement.others.map(({ node, role }) => ({ name: nameOf(node), operator: node.opType, role })),
    tensors: Array.from(ranges, ([name, amax]) => tensorOf(name, amax, calibration.ranges.get(name))),
    shared: placement.shared,
    multiplyAdds: { all, quantized, share: all === 0 ? 0 : quantized / all, uncounted },
    weightBytes,
    beyondFloat16: beyondFloat16(calibration),
    kept,
  }
}

const largestFloat16 = 65504

function beyondFloat16({ ranges }: Calibration): QuantizationReport['beyondFloat16'] {
  return Array.from(ranges, ([name, { amax, min = -amax, max = amax }]) => ({ name, min, max })).filter(
    ({ min, max }) => Math.max(-min, max) > largestFloat16,
  )
}

function sum(layers: readonly { readonly multiplyAdds?: number | undefined }[]): number {
  return layers.reduce((total, { multiplyAdds }) => total + (multiplyAdds ?? 0), 0)
}

function tensorOf(name: string, amax: number, range: TensorRange | undefined): QuantizedTensor {
  const saturated = range?.histogram && shareBeyond(range.histogram, amax)
  return { ...range, name, amax, scale: Math.fround(amax / 127), saturated }
}

/** By whole bins: of the bin that the range ends in nothing counts. */
function shareBeyond({ width, counts }: NonNullable<TensorRange['histogram']>, amax: number): number {
  let all = 0
  let beyond = 0
  for (let i = 0; i < counts.length; i++) {
    all += counts[i]!
    if (i * width >= amax) beyond += counts[i]!
  }
  return all === 0 ? 0 : beyond / all
}
