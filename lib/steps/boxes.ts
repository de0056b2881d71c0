/**
 * The decoders of lib/vision/decoders in nodes: each says what is ranked, and what the boxes of those are that were
 * chosen.
 */
import {
  cellsOf,
  efficientDetAnchors,
  type EfficientDetAnchorOptions,
  retinaFacePriors,
  type RetinaFacePriorOptions,
  type Variances,
  yoloStrides,
} from './anchors/index.js'
import type { Size } from './pixels/types.js'
import type { StepGraph } from './graph.js'

/** Candidates of a model. */
export interface Ranking {
  /** [N, P, C]: scores, or logits of them. */
  readonly scores: string
  readonly sigmoid: boolean
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
  /** [N, K, X]: x and y of points, or mask coefficients. */
  readonly extras?:
    Readonly<Partial<Record<'landmarks' | 'coefficients', (picked: Picked, boxes: string) => string>>> | undefined
}

export interface Picked {
  readonly pick: (rows: string) => string
  readonly pickStored: (numbers: Float32Array, width: number) => string
}

export function columns(graph: StepGraph, rows: string, from: number, to: number): string {
  return graph.slice(rows, 2, from, to)
}

/** [cx, cy, w, h] as corners. */
function cornersOf(graph: StepGraph, centres: string, sides: string): string {
  const half = graph.mul(sides, graph.float(0.5))
  return graph.concat([graph.sub(centres, half), graph.add(centres, half)], 2)
}

/** YOLO v8, 11: [N, 4 + C + M, P]. */
export function yoloRanking(
  graph: StepGraph,
  { name, channels, count, coefficients }: { name: string; channels: number; count: number; coefficients: number },
): Ranking {
  const rows = graph.transpose(name, [0, 2, 1])
  const classes = channels - 4 - coefficients
  const own = columns(graph, rows, 4 + classes, channels)
  return {
    scores: columns(graph, rows, 4, 4 + classes),
    sigmoid: false,
    count,
    classes,
    boxes: ({ pick }) => centredRows(graph, pick(columns(graph, rows, 0, 4))),
    ...(coefficients > 0 && { extras: { coefficients: ({ pick }) => pick(own) } }),
  }
}

export function centredRows(graph: StepGraph, rows: string): string {
  return cornersOf(graph, columns(graph, rows, 0, 2), columns(graph, rows, 2, 4))
}

/** YOLO v5, v7, decoded by the model: [N, P, 5 + C]. */
export function yoloRowsRanking(
  graph: StepGraph,
  { name, width, count }: { name: string; width: number; count: number },
): Ranking {
  return {
    ...objectScores(graph, name, width),
    sigmoid: false,
    count,
    boxes: ({ pick }) => centredRows(graph, pick(columns(graph, name, 0, 4))),
  }
}

/** Without classes the objectness is the score. */
function objectScores(
  graph: StepGraph,
  rows: string,
  width: number,
): Pick<Ranking, 'scores' | 'objectness' | 'classes'> {
  const objectness = columns(graph, rows, 4, 5)
  return width === 5
    ? { scores: objectness, classes: 1 }
    : { scores: columns(graph, rows, 5, width), objectness, classes: width - 5 }
}

export interface LevelMap {
  readonly name: string
  readonly rows: number
  readonly columns: number
}

/** YOLO v5, v7, maps of the levels from the finest on: [N, A * (5 + C), rows, columns]. */
export function yoloMapsRanking(
  graph: StepGraph,
  {
    maps,
    width,
    size,
    anchors,
  }: {
    maps: readonly LevelMap[]
    width: number
    size: Size
    anchors: readonly (readonly (readonly [number, number])[])[]
  },
): Ranking {
  const parts = maps.map(({ name, ...map }, level) => {
    const own = anchors[level]!.length
    const cells = graph.transpose(graph.reshape(name, [0, own, width, map.rows * map.columns]), [0, 1, 3, 2])
    return graph.reshape(cells, [0, own * map.rows * map.columns, width])
  })
  // of sigmoids, since scores are products of them
  const rows = graph.node('Sigmoid', [graph.concat(parts, 1)])
  const numbers = maps.flatMap(({ rows, columns }, level) => {
    const stride = size.width / columns
    return anchors[level]!.flatMap(([across, down]) =>
      Array.from({ length: rows * columns }, (_, cell) => [
        cell % columns,
        Math.floor(cell / columns),
        stride,
        stride,
        across,
        down,
      ]),
    )
  })
  return {
    ...objectScores(graph, rows, width),
    sigmoid: false,
    count: numbers.length,
    boxes: ({ pick, pickStored }) => {
      const twice = graph.mul(pick(columns(graph, rows, 0, 4)), graph.float(2))
      const own = pickStored(Float32Array.from(numbers.flat()), 6)
      const centres = graph.add(graph.sub(columns(graph, twice, 0, 2), graph.float(0.5)), columns(graph, own, 0, 2))
      const sides = columns(graph, twice, 2, 4)
      return cornersOf(
        graph,
        graph.mul(centres, columns(graph, own, 2, 4)),
        graph.mul(graph.mul(sides, sides), columns(graph, own, 4, 6)),
      )
    },
  }
}

/** YOLOX: [N, P, 5 + C], whose boxes are not decoded. */
export function yoloxRanking(
  graph: StepGraph,
  { name, width, size }: { name: string; width: number; size: Size },
): Ranking {
  const cells = cellsOf(size, yoloStrides)
  const count = cells.length / 3
  return {
    ...objectScores(graph, name, width),
    sigmoid: false,
    count,
    boxes: ({ pick, pickStored }) => {
      const rows = pick(columns(graph, name, 0, 4))
      const own = pickStored(cells, 3)
      const stride = columns(graph, own, 2, 3)
      const centres = graph.mul(graph.add(columns(graph, rows, 0, 2), columns(graph, own, 0, 2)), stride)
      return cornersOf(graph, centres, graph.mul(graph.node('Exp', [columns(graph, rows, 2, 4)]), stride))
    },
  }
}

/** (y, x, h, w) as (x, y, w, h). */
export function swappedPairs(graph: StepGraph, rows: string): string {
  return graph.node('Gather', [rows, graph.ints([1, 0, 3, 2])], { axis: 2 })
}

/** Offsets (x, y, w, h) [N, K, 4] from anchors (cx, cy, w, h) [N, K, 4]. */
export function fromAnchors(graph: StepGraph, offsets: string, anchors: string, [centre, side]: Variances): string {
  const sides = columns(graph, anchors, 2, 4)
  const moved = graph.mul(graph.mul(columns(graph, offsets, 0, 2), graph.float(centre)), sides)
  const sized = graph.mul(graph.node('Exp', [graph.mul(columns(graph, offsets, 2, 4), graph.float(side))]), sides)
  return cornersOf(graph, graph.add(columns(graph, anchors, 0, 2), moved), sized)
}

export interface RetinaFaceParts {
  readonly boxes: string
  readonly scores: string
  readonly points: string | undefined
  readonly size: Size
  readonly variances: Variances
  readonly priors: RetinaFacePriorOptions
  /** Whether scores are logits of two classes. */
  readonly isLogit: boolean
}

/** RetinaFace: [N, P, 4], [N, P, 2] and [N, P, 10]. */
export function retinaFaceRanking(
  graph: StepGraph,
  { boxes, scores, points, size, variances, priors: options, isLogit }: RetinaFaceParts,
): Ranking {
  const priors = retinaFacePriors(size, options)
  const [other, face] = [columns(graph, scores, 0, 1), columns(graph, scores, 1, 2)]
  const landmarks = ({ pick, pickStored }: Picked): string => {
    const own = pickStored(priors, 4)
    const repeated = (from: number): string =>
      graph.node('Tile', [columns(graph, own, from, from + 2), graph.ints([1, 1, 5])])
    return graph.add(repeated(0), graph.mul(graph.mul(pick(points!), graph.float(variances[0])), repeated(2)))
  }
  return {
    scores: isLogit ? graph.sub(face, other) : face,
    sigmoid: isLogit,
    count: priors.length / 4,
    classes: 1,
    boxes: ({ pick, pickStored }) => fromAnchors(graph, pick(boxes), pickStored(priors, 4), variances),
    ...(points !== undefined && { extras: { landmarks } }),
  }
}

/** The heads of a level, [N, A * C, rows, columns] (or, not planar, [N, rows, columns, A * C]), as rows. */
export interface HeadLevel {
  readonly classes: string
  readonly boxes: string
  readonly cells: number
}

/** EfficientDet: a box is (ty, tx, th, tw). */
export function efficientDetRanking(
  graph: StepGraph,
  {
    levels,
    planar,
    classes,
    perCell,
    anchors: options,
    variances,
    isLogit,
  }: {
    levels: readonly HeadLevel[]
    planar: boolean
    classes: number
    perCell: number
    anchors: EfficientDetAnchorOptions
    variances: Variances
    isLogit: boolean
  },
): Ranking {
  const anchors = efficientDetAnchors(options)
  const rowsOf = (name: string, cells: number, width: number): string =>
    graph.reshape(planar ? graph.transpose(name, [0, 2, 3, 1]) : name, [0, cells * perCell, width])
  const joined = (of: 'classes' | 'boxes', width: number): string =>
    graph.concat(
      levels.map((level) => (perCell === 0 ? level[of] : rowsOf(level[of], level.cells, width))),
      1,
    )
  const boxes = joined('boxes', 4)
  return {
    scores: joined('classes', classes),
    sigmoid: isLogit,
    count: anchors.length / 4,
    classes,
    boxes: ({ pick, pickStored }) =>
      fromAnchors(graph, swappedPairs(graph, pick(boxes)), pickStored(anchors, 4), variances),
  }
}

/** CenterFace: maps [N, 1 / 2 / 2 / 10, rows, columns] of a quarter of the input's sides. */
export function centerFaceRanking(
  graph: StepGraph,
  maps: { scores: string; sizes: string; offsets: string; points: string | undefined; size: Size },
): Ranking {
  const { width, height } = maps.size
  const count = (width / 4) * (height / 4)
  const rowsOf = (name: string, channels: number): string =>
    graph.transpose(graph.reshape(name, [0, channels, count]), [0, 2, 1])
  const cells = cellsOf(maps.size, [4])
  const swapped = (rows: string): string => graph.node('Gather', [rows, graph.ints([1, 0])], { axis: 2 })
  const sidesOf = ({ pick }: Picked): string =>
    graph.mul(graph.node('Exp', [swapped(pick(rowsOf(maps.sizes, 2)))]), graph.float(4))
  const limit = graph.floats([width, height], [1, 1, 2])
  const within = (values: string): string => graph.min(graph.max(values, graph.float(0)), limit)
  const landmarks = (picked: Picked, boxes: string): string => {
    // y and x of each in turns
    const points = graph.node(
      'Gather',
      [picked.pick(rowsOf(maps.points!, 10)), graph.ints([1, 0, 3, 2, 5, 4, 7, 6, 9, 8])],
      { axis: 2 },
    )
    const repeated = (pair: string): string => graph.node('Tile', [pair, graph.ints([1, 1, 5])])
    return graph.add(graph.mul(points, repeated(sidesOf(picked))), repeated(columns(graph, boxes, 0, 2)))
  }
  return {
    scores: rowsOf(maps.scores, 1),
    sigmoid: false,
    count,
    classes: 1,
    boxes: (picked) => {
      const sides = sidesOf(picked)
      const middle = graph.add(
        graph.add(columns(graph, picked.pickStored(cells, 3), 0, 2), swapped(picked.pick(rowsOf(maps.offsets, 2)))),
        graph.float(0.5),
      )
      const start = within(graph.sub(graph.mul(middle, graph.float(4)), graph.mul(sides, graph.float(0.5))))
      return graph.concat([start, graph.min(graph.add(start, sides), limit)], 2)
    },
    ...(maps.points !== undefined && { extras: { landmarks } }),
  }
}
