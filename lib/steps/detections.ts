import { checkedArray, checkedChoice, checkedWhole, isOneOf } from '../base/checks.js'
import { type Checked, checkedOptions, is, option, type OptionTable } from '../base/option-table.js'
import { expected, TensorRTError } from '../errors.js'
import type { EfficientDetAnchorOptions, LevelAnchors, RetinaFacePriorOptions } from './anchors.js'
import type { Picked, Ranking } from './boxes.js'
import { type Decoder, onHostAlone, type OwnOption, ownRows, rankBy } from './decoders.js'
import { checkedThreshold, type Variances } from './families.js'
import type { StepGraph } from './graph.js'
import { batchOf, type Given, type Output, replaceOutputs } from './outputs.js'
import type { Size } from './pixels/types.js'
import { checkedSuppression, suppressed, type SuppressionRules, type SuppressionSteps } from './suppression.js'

/** TensorRT's TopK takes no more. */
export const mostPicked = 3840

/** Boxes of a detector, decoded as `lib/vision`'s decoder of that name does it, and suppressed as `suppress` does. */
export interface DetectionSteps extends Omit<EfficientDetAnchorOptions, 'size'>, RetinaFacePriorOptions {
  /** Boxes are decoded and suppressed. */
  readonly kind: 'detections'
  /** The family of models whose outputs are decoded. */
  readonly decoder: Decoder
  /** The outputs that are decoded; when not given, all: which is which their shapes say. */
  readonly outputs?: readonly string[] | undefined
  /**
   * Of the model's input; not needed for `yolo`, for `ssd`, and where boxes come decoded, of `yolo-anchors` and
   * `rtdetr`.
   */
  readonly size?: number | Size | undefined
  /** Only boxes with a greater score; default 0.25. */
  readonly scoreThreshold?: number | undefined
  /** How many of the best are suppressed, at most 3840; default 300. */
  readonly maxCandidates?: number | undefined
  /** How many are given, at most; default as many as candidates. */
  readonly maxDetections?: number | undefined
  /**
   * A box counts once for each class, not only for its best one; default false, of `rtdetr` true, as its authors have
   * it.
   */
  readonly multiLabel?: boolean | undefined
  /**
   * `false`: boxes are ranked and decoded, and suppressed by who gets them. Default: suppressed, but for `rtdetr`,
   * which leaves nothing to be suppressed.
   */
  readonly suppress?: SuppressionSteps | false | undefined
  /** Of `yolo`: how many mask coefficients follow the classes; default 0. */
  readonly coefficients?: number | undefined
  /**
   * Of `yolo-anchors` whose maps are not decoded; default `v5`. Of `ssd`, which has no default: (cx, cy, w, h) of each
   * in pixels of the model's input.
   */
  readonly anchors?: 'v5' | 'v7' | readonly LevelAnchors[] | Float32Array | undefined
  /** Of `retinaface` and `ssd`, default [0.1, 0.2]. */
  readonly variances?: Variances | undefined
  /** Of `retinaface` (default `none`; `softmax`: of two logits), `efficientdet` and `ssd` (default `sigmoid`). */
  readonly activation?: 'none' | 'softmax' | 'sigmoid' | undefined
  /** Of `efficientdet`; default `automl`. */
  readonly coder?: 'automl' | 'tf' | undefined
  /** Of `ssd`: whether y comes before x in each pair; default `yx`. */
  readonly order?: 'yx' | 'xy' | undefined
  /** Of `ssd`: the column of scores that is class 0; default 1, since 0 is the background. */
  readonly firstClass?: number | undefined
  /** Of `ssd`: how many columns from there on are classes; default all. */
  readonly classes?: number | undefined
  /** What the names of outputs begin with; default nothing: boxes, scores … */
  readonly prefix?: string | undefined
}

const table = {
  kind: option((value) => value),
  decoder: option((value) => value),
  outputs: option((value, name) => checkedArray(value, name) as string[]),
  scoreThreshold: option(checkedThreshold, 0.25),
  maxCandidates: option(is.whole(1, mostPicked), 300),
  maxDetections: option((value) => value), // at most maxCandidates
  multiLabel: option(is.boolean),
  suppress: option((value) => value !== false && checkedSuppression(value)),
  prefix: option(checkedPrefix, ''),
} satisfies OptionTable<Omit<DetectionSteps, OwnOption>>

/** Steps that were checked, complete. */
export interface CheckedDetection extends Omit<Checked<typeof table>, 'suppress' | 'kind'> {
  readonly decoder: Decoder
  readonly rank: (graph: StepGraph, outputs: readonly Output[]) => Ranking
  readonly maxDetections: number
  readonly suppress: SuppressionRules | false
}

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedDetection(steps: unknown): CheckedDetection {
  const decoder = checkedDecoder((steps as Partial<DetectionSteps>).decoder)
  const given = checkedOptions(steps, { ...table, ...ownRows[decoder] }, `decoder '${decoder}'`)
  // RT-DETR leaves nothing to be suppressed
  const isFinal = decoder === 'rtdetr'
  return {
    ...given,
    decoder,
    rank: rankBy(decoder, given),
    maxDetections: checkedWhole(given.maxDetections ?? given.maxCandidates, 'maxDetections', 1, given.maxCandidates),
    multiLabel: given.multiLabel ?? isFinal,
    suppress: given.suppress ?? (isFinal ? false : checkedSuppression(undefined)),
  }
}

function checkedDecoder(decoder: unknown): Decoder {
  if (isOneOf(decoder, Object.keys(onHostAlone)))
    throw new TensorRTError(
      'ERR_TRT_INVALID_ARGUMENT',
      `Decoder '${decoder}' cannot be written into a model: ${onHostAlone[decoder]}`,
    )
  return checkedChoice(decoder, 'decoder', Object.keys(ownRows) as Decoder[])
}

/** It may be empty. */
export function checkedPrefix(prefix: unknown, name: string): string {
  if (typeof prefix === 'string') return prefix
  throw expected('a string', name, prefix)
}

/** Puts boxes in the place of a detector's outputs. */
export function addDetections(graph: StepGraph, outputs: readonly Output[], steps: CheckedDetection): void {
  const ranking = steps.rank(graph, outputs)
  const { scores, classes, rows, count } = ranked(graph, ranking, steps)
  const picked = pickedBy(graph, rows)
  const boxes = ranking.boxes(picked)
  const valid = validRows(graph, scores, boxes, steps.scoreThreshold)
  const [landmarks, coefficients] = [ranking.landmarks?.(picked, boxes), ranking.coefficients?.of(picked)]
  const { kept, converged } = steps.suppress
    ? suppressed(graph, { boxes, classes, valid, count }, steps.suppress)
    : { kept: valid }
  const batch = batchOf(outputs[0]!)
  const most = Math.min(steps.maxDetections, count)
  // not by products: NaN times 0 is NaN
  const zero = graph.float(0)
  const staying = graph.where(graph.greater(kept, zero), scores, zero)
  const [best, places] = graph.best(staying, most)
  const last = pickedBy(graph, places)
  const number = graph.reduceSum(graph.cast(graph.greater(best, zero), 'float32'), [1], 0)
  const there = graph.greater(graph.unsqueeze(best, 2), zero)
  const numbers = (value: string): string => graph.where(there, last.pick(value), zero)
  const classNumbers = graph.squeeze(numbers(graph.unsqueeze(graph.cast(classes, 'float32'), 2)), 2)
  const given: Record<string, Given> = {}
  const give = (name: string, value: string | undefined, dtype: Given['dtype'], ...sides: number[]): void => {
    if (value !== undefined) given[steps.prefix + name] = { value, dtype, shape: [batch, ...sides] }
  }
  give('boxes', numbers(boxes), 'float32', most, 4)
  give('scores', best, 'float32', most)
  give('classes', graph.cast(classNumbers, 'int32'), 'int32', most)
  give('landmarks', landmarks && numbers(landmarks), 'float32', most, 10)
  give('coefficients', coefficients && numbers(coefficients), 'float32', most, ranking.coefficients?.length ?? 0)
  give('count', graph.cast(number, 'int32'), 'int32')
  give('converged', converged, 'int32')
  replaceOutputs(graph, outputs.map(({ name }) => name), given) // prettier-ignore
}

/** The greatest number of float32. */
const greatest = (2 - 2 ** -23) * 2 ** 127

/**
 * [N, K]: 1 for what is above the threshold, and finite with its box, as the decoders of lib/vision have it; else 0.
 */
function validRows(graph: StepGraph, scores: string, boxes: string, threshold: number): string {
  const below = (value: string): string => graph.cast(graph.less(value, graph.float(greatest)), 'float32')
  const isFinite = graph.squeeze(graph.reduceMin(below(graph.node('Abs', [boxes])), [2]), 2)
  const isAbove = graph.cast(graph.greater(scores, graph.float(threshold)), 'float32')
  return graph.mul(graph.mul(isAbove, below(scores)), isFinite)
}

interface RankedRows {
  /** [N, K], probabilities. */
  readonly scores: string
  /** [N, K], int32. */
  readonly classes: string
  /** [N, K], the numbers of boxes. */
  readonly rows: string
  readonly count: number
}

/** The best, of equal ones the first. */
function ranked(
  graph: StepGraph,
  { scores, objectness, sigmoid, count, classes, labels }: Ranking,
  { maxCandidates, multiLabel }: CheckedDetection,
): RankedRows {
  const probability = (value: string): string => (sigmoid ? graph.node('Sigmoid', [value]) : value)
  if (multiLabel && classes > 1) {
    const all = objectness === undefined ? scores : graph.mul(scores, objectness)
    const most = Math.min(maxCandidates, count * classes)
    const [best, places] = bestOf(graph, graph.reshape(all, [0, count * classes]), most)
    const rows = graph.div(places, graph.ints([classes]))
    const numbers = graph.sub(places, graph.mul(rows, graph.ints([classes])))
    return { scores: probability(best), classes: graph.cast(numbers, 'int32'), rows, count: most }
  }
  const top = graph.squeeze(classes > 1 ? graph.reduceMax(scores, [2]) : scores, 2)
  const values = objectness === undefined ? top : graph.mul(top, graph.squeeze(objectness, 2))
  const most = Math.min(maxCandidates, count)
  const [best, rows] = bestOf(graph, values, most)
  const known =
    classes > 1 ? graph.node('ArgMax', [scores], { axis: 2, keepdims: 0 }) : labels && graph.squeeze(labels, 2)
  const number =
    known === undefined ? graph.mul(rows, graph.ints([0])) : graph.node('GatherElements', [known, rows], { axis: 1 })
  return { scores: probability(best), classes: graph.cast(number, 'int32'), rows, count: most }
}

/**
 * The best of [N, P], and where they stand. What is NaN comes last: it has no place in an order, and makes that of
 * others a matter of chance.
 */
function bestOf(graph: StepGraph, values: string, most: number): [best: string, places: string] {
  const least = graph.float(-greatest)
  const ordered = graph.where(graph.greater(values, least), values, least)
  return graph.best(ordered, most)
}

/** @param places [N, K], numbers of rows */
function pickedBy(graph: StepGraph, places: string): Picked {
  return {
    pick: (rows) => {
      const shape = graph.concat([graph.ints([1, 1]), graph.sizeAlong(graph.shapeOf(rows), 2)], 0)
      return graph.node('GatherElements', [rows, graph.node('Expand', [graph.unsqueeze(places, 2), shape])], {
        axis: 1,
      })
    },
    pickStored: (numbers, width) =>
      graph.node('Gather', [graph.floats(numbers, [numbers.length / width, width]), places], { axis: 0 }),
  }
}
