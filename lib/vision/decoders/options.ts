/** Options that decoders share. */
import { is, needed, option } from '../../base/option-table.js'
import { type Size, sizeOf } from '../../base/size.js'
import { yoloStrides } from '../../steps/anchors.js'
import { checkedThreshold } from '../../steps/families.js'
import type { CandidateRule } from './candidates.js'

/** Which candidates of a model a decoder gives. */
export interface CandidateOptions {
  /** Only candidates with a greater score are returned; 0 to 1. */
  readonly scoreThreshold?: number | undefined
  /** At most so many, the best, before suppression. */
  readonly maxCandidates?: number | undefined
}

/** The same for models with several classes. */
export interface ManyClassesOptions extends CandidateOptions {
  /** A box counts once for each class above the threshold, not only for its best one; default false. */
  readonly multiLabel?: boolean | undefined
}

/** Rows of {@link CandidateOptions} with these defaults. */
export function candidateRows(scoreThreshold: number, maxCandidates: number) {
  return {
    scoreThreshold: option(checkedThreshold, Math.fround(scoreThreshold)),
    maxCandidates: option(is.whole(1, 1e6), maxCandidates),
  }
}

/** Rows of {@link ManyClassesOptions} with these defaults. */
export function manyClassesRows(scoreThreshold: number, maxCandidates: number, multiLabel = false) {
  return { ...candidateRows(scoreThreshold, maxCandidates), multiLabel: option(is.boolean, multiLabel) }
}

/** The size of the model's input. */
export const sizeRow = needed((size) => sizeOf(size))
export const sizeIfGiven = option<Size | undefined>((size) => sizeOf(size))

/** Pixels between the cells of each level, which {@link cellsOf} checks. */
export const stridesRow = option((strides) => strides as readonly number[], yoloStrides)

export const classesIfGiven = option(is.whole(1, 65536))

interface Limits {
  readonly scoreThreshold: number
  readonly maxCandidates: number
  readonly multiLabel?: boolean
}

/** What is looked for, among scores or, with `sigmoid`, among logits. */
export function ruleOf({ scoreThreshold, maxCandidates, multiLabel = false }: Limits, sigmoid = false): CandidateRule {
  return { sigmoid, threshold: scoreThreshold, everyClass: multiLabel, most: maxCandidates }
}

export type { Sides } from '../../base/size.js'
