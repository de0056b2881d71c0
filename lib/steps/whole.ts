/**
 * Resizes to bytes as the host and PIL make them, to the last one. float32 cannot hold sums of bytes by weights of 22
 * bits, so weights come in two parts whose sums it holds (and TF32 the parts).
 */
import type { StepGraph } from './graph.js'
import { wholeUnit } from './pixels/whole.js'

const lowUnit = 2 ** 12
const highUnit = wholeUnit / lowUnit

/** Whole numbers, each `high` * {@link lowUnit} + `low`. */
interface Parts {
  readonly high: string
  readonly low: string
}

/** The weights of an axis as a matrix, and what its outputs see of the fill, if anything: it is added to their sums. */
export interface WholeAxis {
  readonly weights: Parts
  readonly filled?: Parts | undefined
}

/** Whole numbers that are known, in parts. */
export function storedParts(graph: StepGraph, numbers: Float32Array, shape: readonly number[]): Parts {
  const high = numbers.map((number) => Math.round(number / lowUnit))
  const low = numbers.map((number, i) => number - high[i]! * lowUnit)
  return { high: graph.floats(high, shape), low: graph.floats(low, shape) }
}

/** Whole numbers that are computed, of float32. */
export function computedParts(graph: StepGraph, numbers: string): Parts {
  const high = rounded(graph, graph.mul(numbers, graph.float(1 / lowUnit)))
  return { high, low: graph.sub(numbers, graph.mul(high, graph.float(lowUnit))) }
}

export function changed({ high, low }: Parts, change: (part: string) => string): Parts {
  return { high: change(high), low: change(low) }
}

/** Columns, rounded, then rows. */
export function combinedWhole(graph: StepGraph, planes: string, down: WholeAxis, across: WholeAxis): string {
  const narrow = bytesOf(graph, across, (weights) => graph.node('MatMul', [planes, weights]))
  return bytesOf(graph, down, (weights) => graph.node('MatMul', [weights, narrow]))
}

/** The bytes of the sums that weights come to: a half is added, and what is below a whole one is left off. */
function bytesOf(graph: StepGraph, { weights, filled }: WholeAxis, summed: (weights: string) => string): string {
  const sums = (part: keyof Parts): string => {
    const seen = summed(weights[part])
    return filled === undefined ? seen : graph.add(seen, filled[part])
  }
  const carried = graph.node('Floor', [graph.mul(sums('low'), graph.float(1 / lowUnit))])
  return graph.roundedUpByte(graph.mul(graph.add(sums('high'), carried), graph.float(1 / highUnit)))
}

/** To the nearest, halves up. */
export function rounded(graph: StepGraph, values: string): string {
  return graph.node('Floor', [graph.add(values, graph.float(0.5))])
}
