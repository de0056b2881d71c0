import { type Checked, checkedOptions, is, option, type OptionTable } from '../base/option-table.js'
import type { StepGraph } from './graph.js'

/** How boxes suppress each other inside of a model: the option `suppress` of `detections`. */
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

const table = {
  iouThreshold: option(is.number(0, 1), 0.45),
  inclusive: option(is.boolean, false),
  perClass: option(is.boolean, true),
  pixelAreas: option(is.boolean, false),
  rounds: option(is.whole(1, 1000), 16),
} satisfies OptionTable<SuppressionSteps>

export type SuppressionRules = Checked<typeof table>

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedSuppression(steps: unknown): SuppressionRules {
  return checkedOptions(steps, table, 'suppress')
}

/**
 * What goes in, the best first: boxes [N, K, 4] xyxy, classes [N, K] int32, valid [N, K]: 1 for what is a candidate,
 * else 0.
 */
export interface Ranked {
  readonly boxes: string
  readonly classes: string
  readonly valid: string
  readonly count: number
}

/**
 * Greedy suppression of ordinary operators: with S[i, j] = 1 where the better box j overlaps i too much, a box stays
 * that none overlaps which stays: k = valid (1 - max_j S[i, j] k[j]). Beginning with all, each step decides at least
 * one more link of each chain of boxes; what a step leaves as it is is the greedy answer, the only one of that
 * equation.
 * @returns kept: [N, K], 1 for what stays; converged: [N] int32, 1 where one more step changed nothing
 */
export function suppressed(
  graph: StepGraph,
  ranked: Ranked,
  rules: SuppressionRules,
): { kept: string; converged: string } {
  const beats = beatenBy(graph, ranked, rules)
  const valid = graph.unsqueeze(ranked.valid, 1)
  const step = (kept: string): string => {
    const beaten = graph.transpose(graph.reduceMax(graph.mul(beats, kept), [2]), [0, 2, 1])
    return graph.mul(valid, graph.sub(graph.float(1), beaten))
  }
  let kept = valid
  for (let round = 0; round < rules.rounds; round++) kept = step(kept)
  const change = graph.reduceMax(graph.node('Abs', [graph.sub(step(kept), kept)]), [1, 2], 0)
  return { kept: graph.squeeze(kept, 1), converged: graph.cast(graph.less(change, graph.float(0.5)), 'int32') }
}

/** [N, K, K]: 1 where the box of the column is better than that of the row and overlaps it too much. */
function beatenBy(
  graph: StepGraph,
  { boxes, classes, count }: Ranked,
  { iouThreshold, inclusive, perClass, pixelAreas }: SuppressionRules,
): string {
  const turned = graph.transpose(boxes, [0, 2, 1])
  const [left, top, right, bottom] = [0, 1, 2, 3].map((side) => ({
    row: graph.slice(boxes, 2, side, side + 1),
    column: graph.slice(turned, 1, side, side + 1),
  })) as [Side, Side, Side, Side]
  const longer = (length: string): string => (pixelAreas ? graph.add(length, graph.float(1)) : length)
  const shared = (low: Side, high: Side): string =>
    graph.max(longer(graph.sub(graph.min(high.row, high.column), graph.max(low.row, low.column))), graph.float(0))
  const both = graph.mul(shared(left, right), shared(top, bottom))
  const area = (of: keyof Side): string =>
    graph.mul(longer(graph.sub(right[of], left[of])), longer(graph.sub(bottom[of], top[of])))
  const either = graph.sub(graph.add(area('row'), area('column')), both)
  // by a product: no division by 0
  const limit = graph.mul(either, graph.float(iouThreshold))
  const above = inclusive
    ? graph.node('And', [graph.node('Not', [graph.less(both, limit)]), graph.greater(both, graph.float(0))])
    : graph.greater(both, limit)
  const rivals = perClass
    ? graph.node('And', [above, graph.equal(graph.unsqueeze(classes, 2), graph.unsqueeze(classes, 1))])
    : above
  const places = Array.from({ length: count }, (_, i) => i)
  const better = graph.less(graph.floats(places, [1, count]), graph.floats(places, [count, 1]))
  return graph.cast(graph.node('And', [rivals, better]), 'float32')
}

interface Side {
  readonly row: string
  readonly column: string
}
