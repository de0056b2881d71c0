/** The decoders of lib/vision/decoders in nodes: which output is which follows from shapes, as there. */
import {
  cellsOf,
  checkedAnchors,
  checkedVariances,
  type EfficientDetAnchorOptions,
  efficientDetAnchors,
  levelArea,
  type LevelArea,
  type RetinaFacePriorOptions,
  retinaFacePriors,
} from './anchors/index.js'
import { checkedChoice, checkedWhole } from '../base/checks.js'
import { expected } from '../errors.js'
import {
  centredRows,
  columns,
  type DecoderSteps,
  forPoints,
  fromAnchors,
  inputSizeOf,
  type Picked,
  type Rank,
  type Ranking,
  sizeText,
  swappedPairs,
} from './boxes.js'
import type { StepGraph } from './graph.js'
import { canBe, isWhole, knownSide, type Output, wrongOutputs } from './outputs.js'
import type { Size } from './pixels/types.js'
import { withAnchors, yolo, yolox } from './yolo.js'

/** The options that each knows besides those of all, and what it makes of the model's outputs. */
export const rankings = {
  yolo: { options: ['coefficients'], rank: yolo },
  'yolo-anchors': { options: ['size', 'anchors'], rank: withAnchors },
  yolox: { options: ['size'], rank: yolox },
  retinaface: { options: ['size', 'variances', 'activation', 'steps', 'minSizes'], rank: retinaface },
  efficientdet: {
    options: ['size', 'activation', 'coder', 'minLevel', 'maxLevel', 'anchorScale', 'octaves', 'aspects'],
    rank: efficientdet,
  },
  ssd: { options: ['anchors', 'variances', 'order', 'activation', 'firstClass', 'classes'], rank: ssd },
  centerface: { options: ['size'], rank: centerface },
  rtdetr: { options: ['size'], rank: rtDetr },
} as const satisfies Record<string, { readonly options: readonly string[]; readonly rank: Rank }>

/**
 * Whose outputs are decoded, by the names that presets of `node-tensorrt/tasks` have for decoders.
 * @useDeclaredType
 */
export type Decoder = keyof typeof rankings

/** Those of presets that are not written into models, and why. */
export const onHostAlone: Readonly<Record<string, string>> = {
  'ultralytics': "'yolo' is its decoder of [N, 4 + classes, boxes]",
  'yolo-end-to-end': 'such a model has decoded and suppressed by itself',
  'dbnet': 'contours are followed through its map, which takes a loop; decodeDbNet of node-tensorrt/vision does it',
  'ctc': 'text of any length is no tensor; decodeCtc of node-tensorrt/vision reads it',
  'grid': 'decodeGrid of node-tensorrt/vision does it',
} // prettier-ignore

/** Classes, and boxes: what has so many channels; where both have, the second. */
function pairOf(
  outputs: readonly Output[],
  channel: number,
  boxChannels: number,
): readonly [classes: Output, boxes: Output] | undefined {
  const isBoxes = ({ shape }: Output): boolean => shape?.[channel] === boxChannels
  const classes = outputs.find((output) => !isBoxes(output)) ?? outputs[0]
  const boxes = outputs.find((output) => isBoxes(output) && output !== classes)
  return classes && boxes && [classes, boxes]
}

/** RetinaFace: [N, P, 4], [N, P, 2] and [N, P, 10]. */
function retinaface(graph: StepGraph, outputs: readonly Output[], steps: DecoderSteps): Ranking {
  const size = inputSizeOf(steps)
  const { own } = steps
  const priors = retinaFacePriors(size, { steps: own['steps'], minSizes: own['minSizes'] } as RetinaFacePriorOptions)
  const count = priors.length / 4
  const wanted = `[N, ${count}, 4], [N, ${count}, 2] and perhaps [N, ${count}, 10] ${sizeText(size)}`
  const ofWidth = (width: number): Output | undefined =>
    outputs.find((output) => output.shape?.[2] === width && canBe(output, [undefined, count, width]))
  const [boxes, scores, points] = [ofWidth(4), ofWidth(2), ofWidth(10)]
  if (boxes === undefined || scores === undefined || outputs.length !== (points === undefined ? 2 : 3))
    throw wrongOutputs(wanted, outputs)
  // logits of two classes
  const isLogit = checkedChoice(own['activation'] ?? 'none', 'activation', ['none', 'softmax']) === 'softmax'
  const variances = checkedVariances(own['variances'])
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
function efficientdet(graph: StepGraph, outputs: readonly Output[], steps: DecoderSteps): Ranking {
  const size = inputSizeOf(steps)
  const { size: _, activation = 'sigmoid', coder = 'automl', ...own } = steps.own
  const names = ['minLevel', 'maxLevel', 'anchorScale', 'octaves', 'aspects']
  const options = { size, ...Object.fromEntries(names.map((name) => [name, own[name]])) } as EfficientDetAnchorOptions
  const anchors = efficientDetAnchors(options)
  const sigmoid = checkedChoice(activation, 'activation', ['sigmoid', 'none']) === 'sigmoid'
  const isTf = checkedChoice(coder, 'coder', ['automl', 'tf']) === 'tf'
  const { boxes, ...heads } = headsOf(graph, outputs, anchors.length / 4, size, options)
  return {
    ...heads,
    sigmoid,
    count: anchors.length / 4,
    boxes: ({ pick, pickStored }) =>
      fromAnchors(graph, swappedPairs(graph, pick(boxes), 4), pickStored(anchors, 4), isTf ? [0.1, 0.2] : [1, 1]),
  }
}

/** The heads of the levels, [N, A * C, rows, columns] or [N, rows, columns, A * C], or both in one, as rows. */
function headsOf(
  graph: StepGraph,
  outputs: readonly Output[],
  total: number,
  size: Size,
  { minLevel = 3, maxLevel = 7 }: EfficientDetAnchorOptions,
): { readonly scores: string; readonly boxes: string; readonly classes: number } {
  const areas = Array.from({ length: maxLevel - minLevel + 1 }, (_, i) => levelArea(size, minLevel + i))
  const perCell = total / areas.reduce((sum, { rows, columns }) => sum + rows * columns, 0)
  const wanted = `[N, ${total}, classes] and [N, ${total}, 4], or ${areas.length} maps [N, ${perCell} * classes, rows, columns] and as many [N, ${perCell * 4}, rows, columns], ${sizeText(size)}`
  if (outputs.length === 2 && outputs.every((output) => canBe(output, [undefined, total, undefined]))) {
    const [scores, boxes] = pairOf(outputs, 2, 4) ?? []
    if (scores === undefined || boxes === undefined) throw wrongOutputs(wanted, outputs)
    return { scores: scores.name, boxes: boxes.name, classes: knownSide(scores, 2, wanted) }
  }
  for (const channel of [1, 3] as const) {
    const levels = levelHeads(outputs, areas, channel, perCell * 4)
    const classes = Number(levels?.[0]?.[0].shape?.[channel]) / perCell
    if (!Number.isInteger(classes) || levels?.some(([scores]) => scores.shape?.[channel] !== classes * perCell))
      continue
    const joined = (heads: readonly Output[], width: number): string =>
      graph.concat(
        heads.map(({ name }, level) => {
          const cells = areas[level]!.rows * areas[level]!.columns
          const byPixel = channel === 1 ? graph.transpose(name, [0, 2, 3, 1]) : name
          return graph.reshape(byPixel, [0, cells * perCell, width])
        }),
        1,
      )
    const [scores, boxes] = [levels!.map(([head]) => head), levels!.map(([, head]) => head)]
    return { boxes: joined(boxes, 4), scores: joined(scores, classes), classes }
  }
  throw wrongOutputs(wanted, outputs)
}

/** Classes and boxes of each level; nothing where one has none, or some belong to none. */
function levelHeads(
  outputs: readonly Output[],
  areas: readonly LevelArea[],
  channel: 1 | 3,
  boxChannels: number,
): readonly (readonly [classes: Output, boxes: Output])[] | undefined {
  let rest = outputs
  const pairs = areas.flatMap(({ rows, columns }) => {
    const shape = channel === 1 ? [undefined, undefined, rows, columns] : [undefined, rows, columns, undefined]
    const fitting = rest.filter((output) => typeof output.shape?.[channel] === 'number' && canBe(output, shape))
    const pair = pairOf(fitting, channel, boxChannels)
    rest = rest.filter((output) => !pair?.includes(output))
    return pair === undefined ? [] : [pair]
  })
  return rest.length > 0 || pairs.length < areas.length ? undefined : pairs
}

/**
 * SSD: offsets [N, P, 4] from anchors that are the model's own, and scores [N, P, columns], the background among them.
 * Of two with 4 columns the first are the boxes.
 */
function ssd(graph: StepGraph, outputs: readonly Output[], { own }: DecoderSteps): Ranking {
  const activation = checkedChoice(own['activation'] ?? 'sigmoid', 'activation', ['sigmoid', 'softmax', 'none'])
  const isDown = checkedChoice(own['order'] ?? 'yx', 'order', ['yx', 'xy']) === 'yx'
  const variances = checkedVariances(own['variances'])
  const anchors = checkedAnchors(own['anchors'])
  const firstClass = checkedWhole(own['firstClass'] ?? 1, 'firstClass', 0, 65535)
  const count = anchors.length / 4
  const wanted = `[N, ${count}, 4] and [N, ${count}, more than ${firstClass}], for the ${count} anchors that were given,`
  const boxes = outputs.find((output) => output.shape?.[2] === 4 && canBe(output, [undefined, count, 4]))
  const scores = outputs.find((output) => output !== boxes && canBe(output, [undefined, count, undefined]))
  if (outputs.length !== 2 || boxes === undefined || scores === undefined) throw wrongOutputs(wanted, outputs)
  const width = knownSide(scores, 2, wanted)
  if (width <= firstClass) throw wrongOutputs(wanted, outputs)
  const classes = checkedWhole(own['classes'] ?? width - firstClass, 'classes', 1, width - firstClass)
  const all = activation === 'softmax' ? graph.node('Softmax', [scores.name], { axis: 2 }) : scores.name
  return {
    scores: columns(graph, all, firstClass, firstClass + classes),
    sigmoid: activation === 'sigmoid',
    count,
    classes,
    boxes: ({ pick, pickStored }) => {
      const offsets = isDown ? swappedPairs(graph, pick(boxes.name), 4) : pick(boxes.name)
      return fromAnchors(graph, offsets, pickStored(anchors, 4), variances)
    },
  }
}

/** CenterFace: maps [N, 1 / 2 / 2 / 10, rows, columns] of a quarter of the input's sides. */
function centerface(graph: StepGraph, outputs: readonly Output[], steps: DecoderSteps): Ranking {
  const size = inputSizeOf(steps)
  const { width, height } = size
  if (width % 32 !== 0 || height % 32 !== 0) throw expected('multiples of 32 pixels', 'size', `${width} x ${height}`)
  const [rows, across] = [height / 4, width / 4]
  const ofChannels = (channels: number): Output[] =>
    outputs.filter((output) => output.shape?.[1] === channels && canBe(output, [undefined, channels, rows, across]))
  const [[scores], [sizes, offsets], [points]] = [ofChannels(1), ofChannels(2), ofChannels(10)]
  const wanted = `[N, 1, ${rows}, ${across}], [N, 2, ${rows}, ${across}] twice and perhaps [N, 10, ${rows}, ${across}] ${sizeText(size)}`
  const isComplete = outputs.length === (points === undefined ? 3 : 4)
  if (scores === undefined || sizes === undefined || offsets === undefined || !isComplete)
    throw wrongOutputs(wanted, outputs)
  const count = rows * across
  const cells = cellsOf(size, [4])
  const rowsOf = ({ name }: Output, channels: number): string =>
    graph.transpose(graph.reshape(name, [0, channels, count]), [0, 2, 1])
  // y comes before x
  const pickedPairs = ({ pick }: Picked, map: Output, channels: number): string =>
    swappedPairs(graph, pick(rowsOf(map, channels)), channels)
  const sidesOf = (picked: Picked): string =>
    graph.mul(graph.node('Exp', [pickedPairs(picked, sizes, 2)]), graph.float(4))
  const limit = graph.floats([width, height], [1, 1, 2])
  return {
    scores: rowsOf(scores, 1),
    count,
    classes: 1,
    boxes: (picked) => {
      const sides = sidesOf(picked)
      const corner = graph.add(columns(graph, picked.pickStored(cells, 3), 0, 2), pickedPairs(picked, offsets, 2))
      const middle = graph.mul(graph.add(corner, graph.float(0.5)), graph.float(4))
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

const rtDetrForms =
  '[N, Q, classes] and [N, Q, 4] (logits and boxes), or [N, Q], [N, Q, 4] and [N, Q] (labels, boxes, scores), or [N, Q, 6] or [N, Q, 4 + classes] (box, then score and class or probabilities)'

/** RT-DETR in its three forms, as `decodeRtDetr` of lib/vision tells them apart. */
function rtDetr(graph: StepGraph, outputs: readonly Output[], steps: DecoderSteps): Ranking {
  if (outputs.length === 3) return doneRtDetr(graph, outputs)
  // centre and sides in 0 to 1
  const inPixels = (rows: string): string => {
    const { width, height } = inputSizeOf(steps)
    return centredRows(graph, graph.mul(rows, graph.floats([width, height, width, height])))
  }
  const [first, ...others] = outputs
  if (others.length === 1) {
    const [logits, boxes] = pairOf(outputs, 2, 4) ?? []
    const count = logits && knownSide(logits, 1, rtDetrForms)
    const isRight = outputs.every((each) => each.shape?.length === 3 && each.shape[1] === count && !isWhole(each))
    if (logits === undefined || boxes === undefined || count === undefined || !isRight)
      throw wrongOutputs(rtDetrForms, outputs)
    const classes = knownSide(logits, 2, rtDetrForms)
    return { scores: logits.name, sigmoid: true, count, classes, boxes: ({ pick }) => inPixels(pick(boxes.name)) }
  }
  if (first?.shape?.length !== 3 || isWhole(first)) throw wrongOutputs(rtDetrForms, outputs)
  const { name } = first
  const [count, width] = [knownSide(first, 1, rtDetrForms), knownSide(first, 2, rtDetrForms)]
  if (width < 5) throw wrongOutputs(rtDetrForms, outputs)
  const classes = width === 6 ? 1 : width - 4
  return {
    scores: columns(graph, name, 4, 4 + classes),
    count,
    classes,
    labels: width === 6 ? graph.node('Round', [columns(graph, name, 5, 6)]) : undefined,
    boxes: ({ pick }) => inPixels(pick(columns(graph, name, 0, 4))),
  }
}

/** Its authors' export has decoded, in pixels of what its second input said. */
function doneRtDetr(graph: StepGraph, outputs: readonly Output[]): Ranking {
  const find = (ofWholes: boolean, rank: number): Output | undefined =>
    outputs.find((output) => isWhole(output) === ofWholes && output.shape?.length === rank)
  const [labels, boxes, scores] = [find(true, 2), find(false, 3), find(false, 2)]
  if (labels === undefined || boxes?.shape?.[2] !== 4 || scores === undefined) throw wrongOutputs(rtDetrForms, outputs)
  const count = knownSide(boxes, 1, rtDetrForms)
  if (labels.shape?.[1] !== count || scores.shape?.[1] !== count) throw wrongOutputs(rtDetrForms, outputs)
  return {
    scores: graph.unsqueeze(scores.name, 2),
    count,
    classes: 1,
    labels: graph.unsqueeze(graph.cast(labels.name, 'int32'), 2),
    boxes: ({ pick }) => pick(boxes.name),
  }
}
