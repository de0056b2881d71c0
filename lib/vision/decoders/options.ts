/** Options that decoders share. */
import { checkedBoolean, checkedNumber, checkedObject, checkedWhole } from '../../base/checks.js'
import { readOptions } from '../../base/options.js'
import { type Sides, type Size, sizeOf } from '../../base/size.js'
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

const shared = ['scoreThreshold', 'maxCandidates'] as const

/** The options of a decoder: all that have candidates know these. */
export function decoderOptions<K extends string>(
  options: unknown,
  names: readonly K[],
  owner: string,
): Partial<Record<K | (typeof shared)[number], unknown>> {
  if (options !== undefined) checkedObject(options, `the options of ${owner}`)
  return readOptions(options, [...shared, ...names], owner)
}

interface Defaults {
  readonly scoreThreshold: number
  readonly maxCandidates: number
  readonly sigmoid?: boolean | undefined
}

/** What is looked for. */
export function ruleOf(
  given: { readonly scoreThreshold?: unknown; readonly maxCandidates?: unknown; readonly multiLabel?: unknown },
  { scoreThreshold, maxCandidates, sigmoid = false }: Defaults,
): CandidateRule {
  return {
    sigmoid,
    // as float32, which scores are: 0.2 is not above 0.2
    threshold: Math.fround(checkedNumber(given.scoreThreshold ?? scoreThreshold, 'scoreThreshold', 0, 1)),
    everyClass: checkedBoolean(given.multiLabel ?? false, 'multiLabel'),
    most: checkedWhole(given.maxCandidates ?? maxCandidates, 'maxCandidates', 1, 1e6),
  }
}

/** The model's input. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function inputSize(size: unknown): Size {
  return sizeOf(size)
}

export function sizeText({ width, height }: Size): string {
  return `${width} x ${height}`
}

export type { Sides }
