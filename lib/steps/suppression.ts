import type { StepGraph } from './graph.js'

/** How boxes suppress each other, in the words of `suppress` of lib/vision, all given. */
export interface SuppressionRules {
  readonly iouThreshold: number
  /** Whether a box falls at `iouThreshold`, not only above. */
  readonly inclusive: boolean
  readonly perClass: boolean
  /** Sides of boxes have one pixel more. */
  readonly pixelAreas: boolean
  /** How many steps are written into the graph. */
  readonly rounds: number
}

/**
 * What goes in, the best first: boxes [N, K, 4] xyxy, classes [N, K] int32, valid [N, 1, K]: 1 for what is a candidate,
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
 * @returns kept: [N, 1, K], 1 for what stays; converged: [N] int32, 1 where one more step changed nothing
 */
export function suppressed(
  graph: StepGraph,
  ranked: Ranked,
  rules: SuppressionRules,
): { kept: string; converged: string } {
  const beats = beatenBy(graph, ranked, rules)
  const step = (kept: string): string => {
    const beaten = graph.transpose(graph.reduceMax(graph.mul(beats, kept), [2]), [0, 2, 1])
    return graph.mul(ranked.valid, graph.sub(graph.float(1), beaten))
  }
  let kept = ranked.valid
  for (let round = 0; round < rules.rounds; round++) kept = step(kept)
  const change = graph.reduceMax(graph.node('Abs', [graph.sub(step(kept), kept)]), [1, 2], 0)
  return { kept, converged: graph.cast(graph.node('Less', [change, graph.float(0.5)]), 'int32') }
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
    ? graph.node('And', [
        graph.node('Not', [graph.node('Less', [both, limit])]),
        graph.node('Greater', [both, graph.float(0)]),
      ])
    : graph.node('Greater', [both, limit])
  const rivals = perClass
    ? graph.node('And', [above, graph.node('Equal', [graph.unsqueeze(classes, 2), graph.unsqueeze(classes, 1)])])
    : above
  const places = Array.from({ length: count }, (_, i) => i)
  const better = graph.node('Less', [graph.floats(places, [1, count]), graph.floats(places, [count, 1])])
  return graph.cast(graph.node('And', [rivals, better]), 'float32')
}

interface Side {
  readonly row: string
  readonly column: string
}
