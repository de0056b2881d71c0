import type { EfficientDetAnchorOptions, LevelAnchors, RetinaFacePriorOptions, Variances } from './anchors/index.js'
import { checkedArray, checkedBoolean, checkedChoice, checkedNumber, checkedWhole, isOneOf } from '../base/checks.js'
import { readOptions } from '../base/options.js'
import { expected, TensorRTError } from '../errors.js'
import { sizeOf } from '../base/size.js'
import type { Size } from './pixels/types.js'
import type { Picked, Ranking } from './boxes.js'
import { type CheckedDetection, type Decoder, decoders, onHostAlone } from './checked-detection.js'
import type { StepGraph } from './graph.js'
import { batchOf, type Given, type Output, replaceOutputs } from './outputs.js'
import { rankingOf } from './rankings.js'
import { suppressed, type SuppressionRules } from './suppression.js'

/** TensorRT's TopK takes no more. */
export const mostPicked = 3840

/** How boxes suppress each other inside of a model: {@link DetectionSteps.suppress}. */
export interface SuppressionSteps {
  /**
   * A box is removed that overlaps a better one by more than this; default 0.45, as `suppress` of
   * `node-tensorrt/vision`.
   */
  readonly iouThreshold?: number | undefined
  /** Whether a box is removed at `iouThreshold`, too; default false. */
  readonly inclusive?: boolean | undefined
  /** Whether only boxes of one class compete; default true. */
  readonly perClass?: boolean | undefined
  /** Whether sides are counted with one pixel more; default false. */
  readonly pixelAreas?: boolean | undefined
  /**
   * How many steps are written, each as much work as all boxes against all; default 16. Whether they were enough is an
   * output.
   */
  readonly rounds?: number | undefined
}

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

const shared = [
  'kind',
  'decoder',
  'outputs',
  'scoreThreshold',
  'maxCandidates',
  'maxDetections',
  'multiLabel',
  'suppress',
  'prefix',
] as const

/** What each decoder knows besides. */
const own = {
  yolo: ['coefficients'],
  'yolo-anchors': ['size', 'anchors'],
  yolox: ['size'],
  retinaface: ['size', 'variances', 'activation', 'steps', 'minSizes'],
  efficientdet: ['size', 'activation', 'coder', 'minLevel', 'maxLevel', 'anchorScale', 'octaves', 'aspects'],
  ssd: ['anchors', 'variances', 'order', 'activation', 'firstClass', 'classes'],
  centerface: ['size'],
  rtdetr: ['size'],
} as const satisfies Record<Decoder, readonly string[]>

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedDetection(steps: unknown): CheckedDetection {
  const decoder = checkedDecoder((steps as Partial<DetectionSteps>).decoder)
  const given = readOptions(steps, [...shared, ...own[decoder]] as string[], `decoder '${decoder}'`)
  const maxCandidates = checkedWhole(given['maxCandidates'] ?? 300, 'maxCandidates', 1, mostPicked)
  return {
    decoder,
    outputs: given['outputs'] === undefined ? undefined : (checkedArray(given['outputs'], 'outputs') as string[]),
    size: given['size'] === undefined ? undefined : sizeOf(given['size']),
    // as float32, which scores are: 0.2 is not above 0.2
    scoreThreshold: Math.fround(checkedNumber(given['scoreThreshold'] ?? 0.25, 'scoreThreshold', 0, 1)),
    maxCandidates,
    maxDetections: checkedWhole(given['maxDetections'] ?? maxCandidates, 'maxDetections', 1, maxCandidates),
    multiLabel: checkedBoolean(given['multiLabel'] ?? decoder === 'rtdetr', 'multiLabel'),
    suppress: (given['suppress'] ?? decoder !== 'rtdetr') === false ? undefined : checkedSuppression(given['suppress']),
    prefix: checkedPrefix(given['prefix'] ?? ''),
    own: given,
  }
}

function checkedDecoder(decoder: unknown): Decoder {
  if (isOneOf(decoder, Object.keys(onHostAlone)))
    throw new TensorRTError(
      'ERR_TRT_INVALID_ARGUMENT',
      `Decoder '${decoder}' cannot be written into a model: ${onHostAlone[decoder]}`,
    )
  return checkedChoice(decoder, 'decoder', decoders)
}

function checkedPrefix(prefix: unknown): string {
  if (typeof prefix === 'string') return prefix
  throw expected('a string', 'prefix', prefix)
}

function checkedSuppression(steps: unknown): SuppressionRules {
  const given = readOptions(steps, ['iouThreshold', 'inclusive', 'perClass', 'pixelAreas', 'rounds'], 'suppress')
  return {
    iouThreshold: checkedNumber(given.iouThreshold ?? 0.45, 'iouThreshold', 0, 1),
    inclusive: checkedBoolean(given.inclusive ?? false, 'inclusive'),
    perClass: checkedBoolean(given.perClass ?? true, 'perClass'),
    pixelAreas: checkedBoolean(given.pixelAreas ?? false, 'pixelAreas'),
    rounds: checkedWhole(given.rounds ?? 16, 'rounds', 1, 1000),
  }
}

/** Puts boxes in the place of a detector's outputs. */
export function addDetections(graph: StepGraph, outputs: readonly Output[], steps: CheckedDetection): void {
  const ranking = rankingOf(graph, outputs, steps)
  const { scores, classes, rows, count } = ranked(graph, ranking, steps)
  const picked = pickedBy(graph, rows)
  const boxes = ranking.boxes(picked)
  const valid = validRows(graph, scores, boxes, steps.scoreThreshold)
  const extras = Object.entries(ranking.extras ?? {}).map(([name, of]) => [name, of(picked, boxes)] as const)
  const { kept, converged } =
    steps.suppress === undefined
      ? { kept: valid }
      : suppressedRows(graph, { boxes, classes, valid, count }, steps.suppress)
  const batch = batchOf(outputs[0]!)
  const most = Math.min(steps.maxDetections, count)
  // not by products: NaN times 0 is NaN
  const zero = graph.float(0)
  const staying = graph.node('Where', [graph.node('Greater', [kept, zero]), scores, zero])
  const [best, places] = graph.nodeWithOutputs('TopK', [staying, graph.ints([most])], 2) as [string, string]
  const last = pickedBy(graph, places)
  const number = graph.cast(
    graph.reduceSum(graph.cast(graph.node('Greater', [best, zero]), 'float32'), [1], 0),
    'int32',
  )
  const there = graph.node('Greater', [graph.unsqueeze(best, 2), zero])
  const numbers = (value: string): string => graph.node('Where', [there, last.pick(value), zero])
  const given: Record<string, Given> = {
    boxes: { value: numbers(boxes), dtype: 'float32', shape: [batch, most, 4] },
    scores: { value: best, dtype: 'float32', shape: [batch, most] },
    classes: { value: graph.cast(graph.squeeze(numbers(graph.unsqueeze(graph.cast(classes, 'float32'), 2)), 2), 'int32'), dtype: 'int32', shape: [batch, most] },
  } // prettier-ignore
  for (const [name, value] of extras)
    given[name] = { value: numbers(value), dtype: 'float32', shape: [batch, most, extraLength(name, steps)] }
  given['count'] = { value: number, dtype: 'int32', shape: [batch] }
  if (converged !== undefined) given['converged'] = { value: converged, dtype: 'int32', shape: [batch] }
  const named = Object.fromEntries(Object.entries(given).map(([name, each]) => [steps.prefix + name, each]))
  replaceOutputs(graph, outputs.map(({ name }) => name), named) // prettier-ignore
}

/** The greatest number of float32. */
const greatest = (2 - 2 ** -23) * 2 ** 127

/**
 * [N, K]: 1 for what is above the threshold, and finite with its box, as the decoders of lib/vision have it; else 0.
 */
function validRows(graph: StepGraph, scores: string, boxes: string, threshold: number): string {
  const below = (value: string): string => graph.cast(graph.node('Less', [value, graph.float(greatest)]), 'float32')
  const isFinite = graph.squeeze(graph.reduceMin(below(graph.node('Abs', [boxes])), [2]), 2)
  const isAbove = graph.cast(graph.node('Greater', [scores, graph.float(threshold)]), 'float32')
  return graph.mul(graph.mul(isAbove, below(scores)), isFinite)
}

function extraLength(name: string, { own: { coefficients } }: CheckedDetection): number {
  return name === 'landmarks' ? 10 : (coefficients as number)
}

function suppressedRows(
  graph: StepGraph,
  { boxes, classes, valid, count }: { boxes: string; classes: string; valid: string; count: number },
  rules: SuppressionRules,
): { kept: string; converged: string } {
  const { kept, converged } = suppressed(graph, { boxes, classes, valid: graph.unsqueeze(valid, 1), count }, rules)
  return { kept: graph.squeeze(kept, 1), converged }
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
  const ordered = graph.node('Where', [graph.node('Greater', [values, least]), values, least])
  return graph.nodeWithOutputs('TopK', [ordered, graph.ints([most])], 2) as [string, string]
}

/** @param places [N, K], numbers of rows */
function pickedBy(graph: StepGraph, places: string): Picked {
  return {
    pick: (rows) => {
      const shape = graph.concat([graph.ints([1, 1]), graph.sizeAlong(graph.node('Shape', [rows]), 2)], 0)
      return graph.node('GatherElements', [rows, graph.node('Expand', [graph.unsqueeze(places, 2), shape])], {
        axis: 1,
      })
    },
    pickStored: (numbers, width) =>
      graph.node('Gather', [graph.floats(numbers, [numbers.length / width, width]), places], { axis: 0 }),
  }
}
