/** What decoders in nodes are made of: what is ranked, and what the boxes of those are that were chosen. */
import type { Variances } from './families.js'
import type { StepGraph } from './graph.js'

/** Candidates of a model. */
export interface Ranking {
  /** [N, P, C]: scores, or logits of them. */
  readonly scores: string
  readonly sigmoid?: boolean | undefined
  /** [N, P, 1]: what scores are multiplied with. */
  readonly objectness?: string | undefined
  /** P, how many there are. */
  readonly count: number
  /** C. */
  readonly classes: number
  /** [N, P, 1], of a C of 1: the number of each row's class, where the model has decided; else all are of class 0. */
  readonly labels?: string | undefined
  /**
   * Boxes [N, K, 4], xyxy, of the chosen: `pick` takes the rows of [N, P, X] to [N, K, X], `pickStored` those of
   * numbers that are stored, [P, X].
   */
  readonly boxes: (picked: Picked) => string
  /** [N, K, 10]: x and y of points. */
  readonly landmarks?: ((picked: Picked, boxes: string) => string) | undefined
  /** [N, K, length]: mask coefficients. */
  readonly coefficients?: { readonly length: number; readonly of: (picked: Picked) => string } | undefined
}

export interface Picked {
  readonly pick: (rows: string) => string
  readonly pickStored: (numbers: Float32Array, width: number) => string
}

export function columns(graph: StepGraph, rows: string, from: number, to: number): string {
  return graph.slice(rows, 2, from, to)
}

/** [cx, cy, w, h] as corners. */
export function cornersOf(graph: StepGraph, centres: string, sides: string): string {
  const half = graph.mul(sides, graph.float(0.5))
  return graph.concat([graph.sub(centres, half), graph.add(centres, half)], 2)
}

export function centredRows(graph: StepGraph, rows: string): string {
  return cornersOf(graph, columns(graph, rows, 0, 2), columns(graph, rows, 2, 4))
}

/** Of [N, P, 5 + C], box, objectness and classes: without classes the objectness is the score. */
export function objectScores(
  graph: StepGraph,
  rows: string,
  width: number,
): Pick<Ranking, 'scores' | 'objectness' | 'classes'> {
  const objectness = columns(graph, rows, 4, 5)
  return width === 5
    ? { scores: objectness, classes: 1 }
    : { scores: columns(graph, rows, 5, width), objectness, classes: width - 5 }
}

/** Each pair of columns the other way round: y before x. */
export function swappedPairs(graph: StepGraph, rows: string, count: number): string {
  const order = Array.from({ length: count }, (_, i) => (i % 2 === 0 ? i + 1 : i - 1))
  return graph.gather(rows, order, 2)
}

/** A pair of columns for each of five points. */
export function forPoints(graph: StepGraph, pair: string): string {
  return graph.node('Tile', [pair, graph.ints([1, 1, 5])])
}

/** Offsets (x, y, w, h) [N, K, 4] from anchors (cx, cy, w, h) [N, K, 4]. */
export function fromAnchors(graph: StepGraph, offsets: string, anchors: string, [centre, side]: Variances): string {
  const sides = columns(graph, anchors, 2, 4)
  const moved = graph.mul(graph.mul(columns(graph, offsets, 0, 2), graph.float(centre)), sides)
  const sized = graph.mul(graph.node('Exp', [graph.mul(columns(graph, offsets, 2, 4), graph.float(side))]), sides)
  return cornersOf(graph, graph.add(columns(graph, anchors, 0, 2), moved), sized)
}
