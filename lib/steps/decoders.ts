/** The decoders of lib/vision/decoders in nodes: which output is which follows from shapes, as there. */
import { type Checked, is, needed, option, type OptionRow } from '../base/option-table.js'
import { type Size, sizeOf } from '../base/size.js'
import { expected } from '../errors.js'
import { cellsOf, efficientDetAnchors, retinaFacePriors, yoloStrides } from './anchors.js'
import {
  centredRows,
  columns,
  cornersOf,
  forPoints,
  fromAnchors,
  objectScores,
  type Picked,
  type Ranking,
  swappedPairs,
} from './boxes.js'
import {
  canBe,
  centerFaceOutputs,
  centerFaceStride,
  checkCells,
  checkedAnchors,
  coders,
  efficientDetLevels,
  familyRows,
  forInput,
  knownSide,
  retinaFaceOutputs,
  rtDetrDone,
  rtDetrJoined,
  rtDetrRaw,
  ssdOutputs,
  yoloMaps,
} from './families.js'
import type { StepGraph } from './graph.js'
import { type Output, wrongOutputs } from './outputs.js'

function checkedInput(size: unknown, decoder: string): Size {
  if (size !== undefined) return sizeOf(size)
  throw expected("the size of the model's input", `size of decoder '${decoder}'`, size)
}

const sizeFor = (decoder: string): OptionRow<Size> => needed((size) => checkedInput(size, decoder))
const sizeIfGiven = option<Size | undefined>(sizeOf)

/** The options that each decoder knows besides those of all. */
export const ownRows = {
  'yolo': { coefficients: option(is.whole(0, 65536), 0) },
  'yolo-anchors': { size: sizeIfGiven, ...familyRows.yoloAnchors },
  'yolox': { size: sizeFor('yolox') },
  'retinaface': { size: sizeFor('retinaface'), ...familyRows.retinaFace },
  'efficientdet': { size: sizeFor('efficientdet'), ...familyRows.efficientDet },
  'ssd': { anchors: needed(checkedAnchors), ...familyRows.ssd },
  'centerface': { size: sizeFor('centerface') },
  'rtdetr': { size: sizeIfGiven },
} // prettier-ignore

/**
 * Whose outputs are decoded, by the names that presets of `node-tensorrt/tasks` have for decoders.
 * @useDeclaredType
 */
export type Decoder = keyof typeof ownRows

type Own<D extends Decoder> = Checked<(typeof ownRows)[D]>

/** The names of the options that only some of them know. */
export type OwnOption = { [D in Decoder]: keyof (typeof ownRows)[D] }[Decoder]

/** What a decoder makes of a model's outputs. @throws TensorRTError ERR_TRT_SHAPE where they are not the decoder's */
type Rank<Options> = (graph: StepGraph, outputs: readonly Output[], own: Options) => Ranking

const ranks: { readonly [D in Decoder]: Rank<Own<D>> } = {
  yolo,
  'yolo-anchors': withAnchors,
  yolox,
  retinaface,
  efficientdet,
  ssd,
  centerface,
  rtdetr: rtDetr,
}

/** The decoder with its options, which are among those that were checked. */
export function rankBy(
  decoder: Decoder,
  given: Readonly<Record<string, unknown>>,
): (graph: StepGraph, outputs: readonly Output[]) => Ranking {
  const rank = ranks[decoder] as Rank<object>
  const own = Object.fromEntries(Object.keys(ownRows[decoder]).map((name) => [name, given[name]]))
  return (graph, outputs) => rank(graph, outputs, own)
}

/** Those of presets that are not written into models, and why. */
export const onHostAlone: Readonly<Record<string, string>> = {
  'ultralytics': "'yolo' is its decoder of [N, 4 + classes, boxes]",
  'yolo-end-to-end': 'such a model has decoded and suppressed by itself',
  'finished': 'such a model has decoded and suppressed by itself',
  'dbnet': 'contours are followed through its map, which takes a loop; decodeDbNet of node-tensorrt/vision does it',
  'ctc': 'text of any length is no tensor; decodeCtc of node-tensorrt/vision reads it',
  'grid': 'decodeGrid of node-tensorrt/vision does it',
} // prettier-ignore

/** The only one that can be of three dimensions, with `count` boxes where that is known. */
function only(outputs: readonly Output[], count: number | undefined, wanted: string): Output {
  const [output] = outputs
  if (output !== undefined && outputs.length === 1 && canBe(output, [undefined, count, undefined])) return output
  throw wrongOutputs(wanted, outputs)
}

/** YOLO v8, 11: [N, 4 + C + M, P]. */
function yolo(graph: StepGraph, outputs: readonly Output[], { coefficients: masks }: Own<'yolo'>): Ranking {
  const wanted = `[N, 4 + classes${masks > 0 ? ` + ${masks}` : ''}, boxes]`
  // prototypes have four dimensions, and stay
  const candidates = masks > 0 ? outputs.filter(({ shape }) => shape?.length !== 4) : outputs
  const output = only(candidates, undefined, wanted)
  const channels = knownSide(output, 1, wanted, wrongOutputs)
  const classes = channels - 4 - masks
  if (classes <= 0) throw wrongOutputs(wanted, outputs)
  const rows = graph.transpose(output.name, [0, 2, 1])
  const coefficients = ({ pick }: Picked): string => pick(columns(graph, rows, 4 + classes, channels))
  return {
    scores: columns(graph, rows, 4, 4 + classes),
    count: knownSide(output, 2, wanted, wrongOutputs),
    classes,
    boxes: ({ pick }) => centredRows(graph, pick(columns(graph, rows, 0, 4))),
    coefficients: masks === 0 ? undefined : { length: masks, of: coefficients },
  }
}

/** YOLO v5, v7, decoded by the model, [N, P, 5 + C], or maps of the levels. */
function withAnchors(graph: StepGraph, outputs: readonly Output[], own: Own<'yolo-anchors'>): Ranking {
  const [first] = outputs
  if (outputs.length > 1 || first?.shape?.length !== 3) return byMaps(graph, outputs, own)
  const { name } = first
  const wanted = '[N, boxes, 5 + classes]'
  const width = knownSide(first, 2, wanted, wrongOutputs)
  if (width < 5) throw wrongOutputs(wanted, outputs)
  return {
    ...objectScores(graph, name, width),
    count: knownSide(first, 1, wanted, wrongOutputs),
    boxes: ({ pick }) => centredRows(graph, pick(columns(graph, name, 0, 4))),
  }
}

function byMaps(graph: StepGraph, outputs: readonly Output[], { size: given, anchors }: Own<'yolo-anchors'>): Ranking {
  const size = checkedInput(given, 'yolo-anchors')
  const wanted = `${anchors.length} maps [N, anchors * (5 + classes), rows, columns] ${forInput(size)}`
  const maps = yoloMaps(outputs, anchors, wanted, wrongOutputs)
  checkCells(maps, size, wrongOutputs)
  const { channels } = maps[0]!
  const parts = maps.map(({ output: { name }, rows, columns, anchors: { length }, isSplit }) => {
    const byCell = isSplit
      ? name
      : graph.transpose(graph.reshape(name, [0, length, channels, rows * columns]), [0, 1, 3, 2])
    return graph.reshape(byCell, [0, length * rows * columns, channels])
  })
  // of sigmoids, since scores are products of them
  const rows = graph.node('Sigmoid', [graph.concat(parts, 1)])
  const numbers = maps.flatMap(({ rows, columns, anchors }) =>
    anchors.flatMap((sides) =>
      Array.from({ length: rows * columns }, (_, cell) => {
        const stride = size.width / columns
        return [cell % columns, Math.floor(cell / columns), stride, stride, ...sides]
      }),
    ),
  )
  return {
    ...objectScores(graph, rows, channels),
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
function yolox(graph: StepGraph, outputs: readonly Output[], { size }: Own<'yolox'>): Ranking {
  const cells = cellsOf(size, yoloStrides)
  const count = cells.length / 3
  const wanted = `[N, ${count}, 5 + classes] ${forInput(size)}`
  const output = only(outputs, count, wanted)
  const width = knownSide(output, 2, wanted, wrongOutputs)
  if (width < 5) throw wrongOutputs(wanted, outputs)
  return {
    ...objectScores(graph, output.name, width),
    count,
    boxes: ({ pick, pickStored }) => {
      const rows = pick(columns(graph, output.name, 0, 4))
      const own = pickStored(cells, 3)
      const stride = columns(graph, own, 2, 3)
      const centres = graph.mul(graph.add(columns(graph, rows, 0, 2), columns(graph, own, 0, 2)), stride)
      return cornersOf(graph, centres, graph.mul(graph.node('Exp', [columns(graph, rows, 2, 4)]), stride))
    },
  }
}

/** RetinaFace: [N, P, 4], [N, P, 2] and [N, P, 10]. */
function retinaface(graph: StepGraph, outputs: readonly Output[], own: Own<'retinaface'>): Ranking {
  const { size, variances, activation, ...levels } = own
  const priors = retinaFacePriors(size, levels)
  const count = priors.length / 4
  const { boxes, scores, points } = retinaFaceOutputs(outputs, count, size, wrongOutputs)
  // logits of two classes
  const isLogit = activation === 'softmax'
  const [other, face] = [columns(graph, scores.name, 0, 1), columns(graph, scores.name, 1, 2)]
  const landmarks = ({ pick, pickStored }: Picked): string => {
    const prior = pickStored(priors, 4)
    const repeated = (from: number): string => forPoints(graph, columns(graph, prior, from, from + 2))
    return graph.add(repeated(0), graph.mul(graph.mul(pick(points!.name), graph.float(variances[0])), repeated(2)))
  }
  return {
    scores: isLogit ? graph.sub(face, other) : face,
    sigmoid: isLogit,
    count,
    classes: 1,
    boxes: ({ pick, pickStored }) => fromAnchors(graph, pick(boxes.name), pickStored(priors, 4), variances),
    landmarks: points && landmarks,
  }
}

/** EfficientDet: a box is (ty, tx, th, tw). */
function efficientdet(graph: StepGraph, outputs: readonly Output[], own: Own<'efficientdet'>): Ranking {
  const { activation, coder, ...options } = own
  const anchors = efficientDetAnchors(options)
  const count = anchors.length / 4
  const levels = efficientDetLevels(outputs, own, count, undefined, wrongOutputs)
  const { classes } = levels[0]!
  const joined = (head: 'scores' | 'boxes', width: number): string => {
    const rows = levels.map(({ [head]: { name, shape }, planar, cells, anchorsPerCell }) => {
      if (shape?.length === 3) return name
      return graph.reshape(planar ? graph.transpose(name, [0, 2, 3, 1]) : name, [0, cells * anchorsPerCell, width])
    })
    return graph.concat(rows, 1)
  }
  const boxes = joined('boxes', 4)
  return {
    scores: joined('scores', classes),
    sigmoid: activation === 'sigmoid',
    count,
    classes,
    boxes: ({ pick, pickStored }) =>
      fromAnchors(graph, swappedPairs(graph, pick(boxes), 4), pickStored(anchors, 4), coders[coder]),
  }
}

/** SSD: offsets from anchors that are the model's own, and scores with the background among them. */
function ssd(graph: StepGraph, outputs: readonly Output[], own: Own<'ssd'>): Ranking {
  const { anchors, activation, order, variances, firstClass } = own
  const count = anchors.length / 4
  const { boxes, scores, classes } = ssdOutputs(outputs, count, own, wrongOutputs)
  const all = activation === 'softmax' ? graph.node('Softmax', [scores.name], { axis: 2 }) : scores.name
  return {
    scores: columns(graph, all, firstClass, firstClass + classes),
    sigmoid: activation === 'sigmoid',
    count,
    classes,
    boxes: ({ pick, pickStored }) => {
      const offsets = order === 'yx' ? swappedPairs(graph, pick(boxes.name), 4) : pick(boxes.name)
      return fromAnchors(graph, offsets, pickStored(anchors, 4), variances)
    },
  }
}

/** CenterFace: maps [N, 1 / 2 / 2 / 10, rows, columns] of a quarter of the input's sides. */
function centerface(graph: StepGraph, outputs: readonly Output[], { size }: Own<'centerface'>): Ranking {
  const { scores, sizes, offsets, points, rows, columns: across } = centerFaceOutputs(outputs, size, wrongOutputs)
  const count = rows * across
  const cells = cellsOf(size, [centerFaceStride])
  const stride = graph.float(centerFaceStride)
  const rowsOf = ({ name }: Output, channels: number): string =>
    graph.transpose(graph.reshape(name, [0, channels, count]), [0, 2, 1])
  // y comes before x
  const pickedPairs = ({ pick }: Picked, map: Output, channels: number): string =>
    swappedPairs(graph, pick(rowsOf(map, channels)), channels)
  const sidesOf = (picked: Picked): string => graph.mul(graph.node('Exp', [pickedPairs(picked, sizes, 2)]), stride)
  const limit = graph.floats([size.width, size.height], [1, 1, 2])
  return {
    scores: rowsOf(scores, 1),
    count,
    classes: 1,
    boxes: (picked) => {
      const sides = sidesOf(picked)
      const corner = graph.add(columns(graph, picked.pickStored(cells, 3), 0, 2), pickedPairs(picked, offsets, 2))
      const middle = graph.mul(graph.add(corner, graph.float(0.5)), stride)
      const first = graph.sub(middle, graph.mul(sides, graph.float(0.5)))
      const start = graph.min(graph.max(first, graph.float(0)), limit)
      return graph.concat([start, graph.min(graph.add(start, sides), limit)], 2)
    },
    landmarks:
      points &&
      ((picked, boxes) => {
        const moved = graph.mul(pickedPairs(picked, points, 10), forPoints(graph, sidesOf(picked)))
        return graph.add(moved, forPoints(graph, columns(graph, boxes, 0, 2)))
      }),
  }
}

/** RT-DETR in its three forms, as `decodeRtDetr` of lib/vision tells them apart. */
function rtDetr(graph: StepGraph, outputs: readonly Output[], { size }: Own<'rtdetr'>): Ranking {
  if (outputs.length === 3) {
    const { labels, boxes, scores, count } = rtDetrDone(outputs, wrongOutputs)
    return {
      scores: graph.unsqueeze(scores.name, 2),
      count,
      classes: 1,
      labels: graph.unsqueeze(graph.cast(labels.name, 'int32'), 2),
      boxes: ({ pick }) => pick(boxes.name),
    }
  }
  // centre and sides in 0 to 1
  const inPixels = (rows: string): string => {
    const { width, height } = checkedInput(size, 'rtdetr')
    return centredRows(graph, graph.mul(rows, graph.floats([width, height, width, height])))
  }
  if (outputs.length === 2) {
    const { logits, boxes, count, classes } = rtDetrRaw(outputs, undefined, wrongOutputs)
    return { scores: logits.name, sigmoid: true, count, classes, boxes: ({ pick }) => inPixels(pick(boxes.name)) }
  }
  const { rows, count, isLabelled, classes } = rtDetrJoined(outputs, undefined, wrongOutputs)
  return {
    scores: columns(graph, rows.name, 4, 4 + classes),
    count,
    classes,
    labels: isLabelled ? graph.node('Round', [columns(graph, rows.name, 5, 6)]) : undefined,
    boxes: ({ pick }) => inPixels(pick(columns(graph, rows.name, 0, 4))),
  }
}
