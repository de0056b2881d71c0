import { isFloat32Array } from 'node:util/types'
import { checkedArray, checkedText, checkedWhole } from '../base/checks.js'
import { shapeText } from '../base/dims.js'
import { type Checked, checkedOptions, is, option, type OptionTable } from '../base/option-table.js'
import { expected, TensorRTError } from '../errors.js'
import { elementCount, expectedTensor, Tensor } from '../tensor.js'
import { sigmoid } from './decoders/candidates.js'

/** Options of {@link softmax}. */
export interface SoftmaxOptions {
  /** The dimension along which the results sum to 1; a negative one counts from the last; default -1. */
  readonly axis?: number | undefined
}

const softmaxRows = { axis: option((axis) => axis, -1) } satisfies OptionTable<SoftmaxOptions>

/** Options of {@link topK}. */
export interface TopKOptions {
  /** The classes' names. */
  readonly labels?: readonly string[] | undefined
  /**
   * The class that `labels[0]` names; default 0. A model whose class 0 is the background (1001 outputs for 1000 names)
   * wants 1.
   */
  readonly labelOffset?: number | undefined
  /**
   * What makes the scores of what the model gives: `softmax` of logits where one class is right, `sigmoid` where each
   * may be; default `none`, for models that have done it.
   */
  readonly activation?: 'softmax' | 'sigmoid' | 'none' | undefined
}

/** A class with its score. */
export interface ClassScore {
  /** The number of the class, from 0. */
  readonly classIndex: number
  /** The score, as `activation` makes it. */
  readonly score: number
  /** The name of the class, where `labels` has one. */
  readonly label?: string | undefined
}

/**
 * exp(x) over the sum of exp, computed so that it does not overflow.
 * @param logits a tensor of any shape but `[]`, or the logits of one picture; not changed
 * @returns float32, of the same shape
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT
 */
export function softmax(logits: Float32Array, options?: SoftmaxOptions): Float32Array
export function softmax(logits: Tensor, options?: SoftmaxOptions): Tensor<'float32'>
export function softmax(logits: Tensor | Float32Array, options?: SoftmaxOptions): Tensor<'float32'> | Float32Array {
  const { data, shape } = numbersOf(logits, 'logits')
  const { axis } = checkedOptions(options, softmaxRows, 'softmax')
  const rank = shape.length
  if (rank === 0) throw expected('a tensor of at least one dimension', 'logits', logits)
  const along = (checkedWhole(axis, 'axis', -rank, rank - 1) + rank) % rank
  const inner = elementCount(shape.slice(along + 1))
  const length = shape[along] as number
  const result = new Float32Array(data.length)
  for (let start = 0; start < data.length; start += length * inner) {
    for (let i = 0; i < inner; i++) softmaxOf(data, result, start + i, inner, length)
  }
  return isFloat32Array(logits) ? result : new Tensor('float32', result, shape)
}

/** Of `length` numbers that are `step` apart. */
function softmaxOf(data: Float32Array, result: Float32Array, start: number, step: number, length: number): void {
  const end = start + length * step
  let most = -Infinity
  for (let at = start; at < end; at += step) most = Math.max(most, data[at]!)
  let sum = 0
  for (let at = start; at < end; at += step) sum += Math.exp(data[at]! - most)
  for (let at = start; at < end; at += step) result[at] = Math.exp(data[at]! - most) / sum
}

/**
 * The best classes, the best first; of equal ones the one with the lower number.
 * @param scores of one picture, or a tensor [C] or [N, C]
 * @param k at most so many; fewer where there are fewer classes
 * @returns a list of classes; of a tensor such a list for each picture
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT, also where a score is not a number; ERR_TRT_SHAPE
 */
export function topK(scores: Float32Array, k: number, options?: TopKOptions): ClassScore[]
export function topK(scores: Tensor, k: number, options?: TopKOptions): ClassScore[][]
export function topK(scores: Tensor | Float32Array, k: number, options?: TopKOptions): ClassScore[] | ClassScore[][] {
  const { data, shape } = numbersOf(scores, 'scores')
  if (shape.length !== 1 && shape.length !== 2)
    throw new TensorRTError('ERR_TRT_SHAPE', `Expected shape [C] or [N, C] for scores but received ${shapeText(shape)}`)
  const count = checkedWhole(k, 'k', 1)
  const checked = checkedOptions(options, topKRows, 'topK')
  const classes = shape.at(-1) as number
  const pictures = shape.length === 1 ? 1 : (shape[0] as number)
  const lists = Array.from({ length: pictures }, (_, index) =>
    bestOf(data.subarray(index * classes, (index + 1) * classes), count, checked, index * classes),
  )
  return isFloat32Array(scores) ? (lists[0] as ClassScore[]) : lists
}

const topKRows = {
  labels: option(checkedArray, []),
  labelOffset: option(is.whole(0), 0),
  activation: option(is.choice('softmax', 'sigmoid', 'none'), 'none'),
} satisfies OptionTable<TopKOptions>

type TopK = Checked<typeof topKRows>

/** Ranked by what the model gave: an activation keeps that order, but rounds scores that are near 1 to equal ones. */
function bestOf(raw: Float32Array, k: number, { labels, labelOffset, activation }: TopK, start: number): ClassScore[] {
  const wrong = raw.findIndex((score) => Number.isNaN(score))
  if (wrong >= 0) throw expected('a number', `scores[${start + wrong}]`, raw[wrong])
  const scoreOf = scorer(raw, activation)
  return bestIndices(raw, k).map((classIndex) => {
    const at = classIndex - labelOffset
    const label = at >= 0 && at < labels.length ? { label: checkedText(labels[at], `labels[${at}]`) } : {}
    return { classIndex, score: scoreOf(classIndex), ...label }
  })
}

function scorer(raw: Float32Array, activation: TopK['activation']): (index: number) => number {
  if (activation === 'sigmoid') return (index) => sigmoid(raw[index]!)
  const scores = activation === 'softmax' ? softmax(raw) : raw
  return (index) => scores[index]!
}

/** Kept sorted while the scores go by: k is small. */
function bestIndices(scores: Float32Array, k: number): number[] {
  const best: number[] = []
  for (let index = 0; index < scores.length; index++) {
    const score = scores[index]!
    if (best.length === k && score <= scores[best[k - 1]!]!) continue
    let at = best.length
    while (at > 0 && score > scores[best[at - 1]!]!) at--
    best.splice(at, 0, index)
    if (best.length > k) best.pop()
  }
  return best
}

function numbersOf(value: unknown, name: string): { readonly data: Float32Array; readonly shape: readonly number[] } {
  if (isFloat32Array(value)) return { data: value, shape: [value.length] }
  if (!(value instanceof Tensor)) throw expectedTensor('a Tensor or a Float32Array', name, value)
  return { data: value.toFloat32().data, shape: value.shape }
}
