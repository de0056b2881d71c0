import { nameOf } from './graph.js'
import type { Inserted } from './insert.js'
import type { Placement } from './placement.js'
import type { Calibration, TensorRange } from './calibration.js'

/** A node with weights, or a product of two computed matrices, and what became of it. */
export interface QuantizedLayer {
  readonly name: string
  readonly operator: string
  readonly quantized: boolean
  /** Why it stays in floating point. */
  readonly reason?: string | undefined
  /** Multiply-adds of one inference at the shapes of the first batch; nothing where they are not known. */
  readonly multiplyAdds?: number | undefined
}

/** The range of a value that was quantized. */
export interface QuantizedTensor extends TensorRange {
  readonly name: string
  /** What one step of INT8 stands for. */
  readonly scale: number
  /** The share of the values that lie beyond the range, where that was measured: they saturate. */
  readonly saturated?: number | undefined
}

/** What was done to a model, and what was not. */
export interface QuantizationReport {
  readonly layers: readonly QuantizedLayer[]
  /** Skip connections and pools that are quantized beside them. */
  readonly others: readonly { readonly name: string; readonly operator: string; readonly role: 'skip' | 'pool' }[]
  readonly tensors: readonly QuantizedTensor[]
  /** Values that share one scale, since they are concatenated. */
  readonly shared: readonly (readonly string[])[]
  /** Of one inference: all, those between Q/DQ, and the share. Layers whose shapes are not known are in none of these: `uncounted` says how many they are. */
  readonly multiplyAdds: { readonly all: number; readonly quantized: number; readonly share: number; readonly uncounted: number }
  /** Bytes of the weights that were quantized. */
  readonly weightBytes: { readonly before: number; readonly after: number }
  /**
   * Values that float16 does not hold (beyond 65504) on the data that was measured: what computes with them must stay
   * in float32 beside INT8. `convertPrecision(model, 'fp16', { ranges })` with the ranges of the calibration sees to
   * it; a build with `precision: ['int8', 'fp16']` knows no ranges.
   */
  readonly beyondFloat16: readonly { readonly name: string; readonly min: number; readonly max: number }[]
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
    ...(reason !== undefined && { reason }),
    ...(multiplyAdds !== undefined && { multiplyAdds }),
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

function sum(layers: readonly { readonly multiplyAdds?: number }[]): number {
  return layers.reduce((total, { multiplyAdds }) => total + (multiplyAdds ?? 0), 0)
}

function tensorOf(name: string, amax: number, range: TensorRange | undefined): QuantizedTensor {
  const saturated = range?.histogram && shareBeyond(range.histogram, amax)
  return { ...range, name, amax, scale: Math.fround(amax / 127), ...(saturated !== undefined && { saturated }) }
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
