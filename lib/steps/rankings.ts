/** Which output is which, by shapes: as the decoders of lib/vision have it. */
import {
  checkedLevels,
  checkedVariances,
  type EfficientDetAnchorOptions,
  efficientDetAnchors,
  type LevelAnchors,
  type LevelArea,
  levelArea,
  type RetinaFacePriorOptions,
  retinaFacePriors,
} from './anchors/index.js'
import { checkedChoice, checkedWhole } from '../base/checks.js'
import { expected } from '../errors.js'
import type { Size } from './pixels/types.js'
import {
  centerFaceRanking,
  efficientDetRanking,
  type HeadLevel,
  type Ranking,
  retinaFaceRanking,
  yoloMapsRanking,
  yoloRanking,
  yoloRowsRanking,
  yoloxRanking,
} from './boxes.js'
import { type CheckedDetection, type Decoder, inputSizeOf } from './checked-detection.js'
import type { StepGraph } from './graph.js'
import { canBe, knownSide, type Output, wrongOutputs } from './outputs.js'
import { rtDetr } from './rt-detr.js'
import { ssd } from './ssd.js'

type Rank = (graph: StepGraph, outputs: readonly Output[], steps: CheckedDetection) => Ranking

/** @throws TensorRTError ERR_TRT_SHAPE where the outputs are not the decoder's, ERR_TRT_INVALID_ARGUMENT */
export function rankingOf(graph: StepGraph, outputs: readonly Output[], steps: CheckedDetection): Ranking {
  return rankings[steps.decoder](graph, outputs, steps)
}

const rankings: Readonly<Record<Decoder, Rank>> = {
  yolo,
  'yolo-anchors': withAnchors,
  yolox,
  retinaface,
  efficientdet,
  ssd,
  centerface,
  rtdetr: rtDetr,
}

function sizeText({ width, height }: Size): string {
  return `for an input of ${width} x ${height}`
}

/** The only one that can be of this shape. */
function only(outputs: readonly Output[], shape: readonly (number | undefined)[], wanted: string): Output {
  const [output, ...others] = outputs
  if (output === undefined || others.length > 0 || !canBe(output, shape)) throw wrongOutputs(wanted, outputs)
  return output
}

function yolo(graph: StepGraph, outputs: readonly Output[], { own }: CheckedDetection): Ranking {
  const coefficients = checkedWhole(own['coefficients'] ?? 0, 'coefficients', 0, 65536)
  const wanted = `[N, 4 + classes${coefficients > 0 ? ` + ${coefficients}` : ''}, boxes]`
  // prototypes have four dimensions, and stay
  const output = only(
    coefficients > 0 ? outputs.filter(({ shape }) => shape?.length !== 4) : outputs,
    [undefined, undefined, undefined],
    wanted,
  )
  const channels = knownSide(output, 1, wanted)
  if (channels <= 4 + coefficients) throw wrongOutputs(wanted, outputs)
  return yoloRanking(graph, { name: output.name, channels, count: knownSide(output, 2, wanted), coefficients })
}

function withAnchors(graph: StepGraph, outputs: readonly Output[], steps: CheckedDetection): Ranking {
  const levels = checkedLevels(steps.own['anchors'])
  const [first] = outputs
  if (outputs.length === 1 && first?.shape?.length === 3) {
    const wanted = '[N, boxes, 5 + classes]'
    const width = knownSide(first, 2, wanted)
    if (width < 5) throw wrongOutputs(wanted, outputs)
    return yoloRowsRanking(graph, { name: first.name, width, count: knownSide(first, 1, wanted) })
  }
  return yoloMaps(graph, outputs, levels, inputSizeOf(steps))
}

function yoloMaps(graph: StepGraph, outputs: readonly Output[], anchors: readonly LevelAnchors[], size: Size): Ranking {
  const wanted = `${anchors.length} maps [N, anchors * (5 + classes), rows, columns] ${sizeText(size)}`
  if (
    outputs.length !== anchors.length ||
    !outputs.every((output) => canBe(output, [undefined, undefined, undefined, undefined]))
  )
    throw wrongOutputs(wanted, outputs)
  const maps = outputs
    .map((output) => ({ output, rows: knownSide(output, 2, wanted), columns: knownSide(output, 3, wanted) }))
    .sort((a, b) => b.rows * b.columns - a.rows * a.columns)
  const widths = maps.map(({ output }, level) => knownSide(output, 1, wanted) / anchors[level]!.length)
  const [width = 0] = widths
  const isRight = maps.every(
    ({ rows, columns }) => size.width % columns === 0 && size.width * rows === size.height * columns,
  )
  if (!isRight || !Number.isInteger(width) || width < 5 || widths.some((each) => each !== width))
    throw wrongOutputs(wanted, outputs)
  return yoloMapsRanking(graph, {
    maps: maps.map(({ output, ...map }) => ({ name: output.name, ...map })),
    width,
    size,
    anchors,
  })
}

function yolox(graph: StepGraph, outputs: readonly Output[], steps: CheckedDetection): Ranking {
  const size = inputSizeOf(steps)
  const count = [8, 16, 32].reduce(
    (sum, stride) => sum + Math.ceil(size.width / stride) * Math.ceil(size.height / stride),
    0,
  )
  const wanted = `[N, ${count}, 5 + classes] ${sizeText(size)}`
  const output = only(outputs, [undefined, count, undefined], wanted)
  const width = knownSide(output, 2, wanted)
  if (width < 5) throw wrongOutputs(wanted, outputs)
  return yoloxRanking(graph, { name: output.name, width, size })
}

function retinaface(graph: StepGraph, outputs: readonly Output[], steps: CheckedDetection): Ranking {
  const size = inputSizeOf(steps)
  const { own } = steps
  const priors = { steps: own['steps'], minSizes: own['minSizes'] } as RetinaFacePriorOptions
  const count = retinaFacePriors(size, priors).length / 4
  const wanted = `[N, ${count}, 4], [N, ${count}, 2] and perhaps [N, ${count}, 10] ${sizeText(size)}`
  const ofWidth = (width: number): Output | undefined =>
    outputs.find((output) => output.shape?.[2] === width && canBe(output, [undefined, count, width]))
  const [boxes, scores, points] = [ofWidth(4), ofWidth(2), ofWidth(10)]
  if (boxes === undefined || scores === undefined || outputs.length !== (points === undefined ? 2 : 3))
    throw wrongOutputs(wanted, outputs)
  const isLogit = checkedChoice(own['activation'] ?? 'none', 'activation', ['none', 'softmax']) === 'softmax'
  const variances = checkedVariances(own['variances'])
  return retinaFaceRanking(graph, {
    boxes: boxes.name,
    scores: scores.name,
    points: points?.name,
    size,
    variances,
    priors,
    isLogit,
  })
}

function efficientdet(graph: StepGraph, outputs: readonly Output[], steps: CheckedDetection): Ranking {
  const size = inputSizeOf(steps)
  const { own } = steps
  const names = ['minLevel', 'maxLevel', 'anchorScale', 'octaves', 'aspects']
  const anchors = { size, ...Object.fromEntries(names.map((name) => [name, own[name]])) } as EfficientDetAnchorOptions
  const total = efficientDetAnchors(anchors).length / 4
  const isLogit = checkedChoice(own['activation'] ?? 'sigmoid', 'activation', ['sigmoid', 'none']) === 'sigmoid'
  const variances =
    checkedChoice(own['coder'] ?? 'automl', 'coder', ['automl', 'tf']) === 'tf'
      ? ([0.1, 0.2] as const)
      : ([1, 1] as const)
  const heads = headsOf(outputs, total, size, anchors)
  return efficientDetRanking(graph, { ...heads, anchors, variances, isLogit })
}

type Heads = {
  readonly levels: readonly HeadLevel[]
  readonly planar: boolean
  readonly classes: number
  readonly perCell: number
}

/** The heads of the levels, or both in one. */
function headsOf(
  outputs: readonly Output[],
  total: number,
  size: Size,
  { minLevel = 3, maxLevel = 7 }: EfficientDetAnchorOptions,
): Heads {
  const areas = Array.from({ length: maxLevel - minLevel + 1 }, (_, i) => levelArea(size, minLevel + i))
  const perCell = total / areas.reduce((sum, { rows, columns }) => sum + rows * columns, 0)
  const wanted = `[N, ${total}, classes] and [N, ${total}, 4], or ${areas.length} maps [N, ${perCell} * classes, rows, columns] and as many [N, ${perCell * 4}, rows, columns], ${sizeText(size)}`
  if (outputs.length === 2 && outputs.every((output) => canBe(output, [undefined, total, undefined]))) {
    const [classes, boxes] = pairOf(outputs, 2, 4, wanted)
    return {
      levels: [{ classes: classes.name, boxes: boxes.name, cells: total }],
      planar: false,
      classes: knownSide(classes, 2, wanted),
      perCell: 0,
    }
  }
  for (const planar of [true, false]) {
    const channel = planar ? 1 : 3
    const shapeAt = ({ rows, columns }: LevelArea): (number | undefined)[] =>
      planar ? [undefined, undefined, rows, columns] : [undefined, rows, columns, undefined]
    let rest = [...outputs]
    const levels = areas.map((area): (HeadLevel & { count: number }) | undefined => {
      const at = rest.filter((output) => typeof output.shape?.[channel] === 'number' && canBe(output, shapeAt(area)))
      const boxes = at.find(({ shape }) => shape?.[channel] === perCell * 4)
      const classes = at.find((output) => output !== boxes)
      if (boxes === undefined || classes === undefined) return undefined
      rest = rest.filter((output) => output !== boxes && output !== classes)
      // where both may be either, the first are the classes
      const isSwapped = classes.shape?.[channel] === perCell * 4
      const [first, second] = isSwapped ? [boxes, classes] : [classes, boxes]
      return {
        classes: first.name,
        boxes: second.name,
        cells: area.rows * area.columns,
        count: knownSide(first, channel, wanted) / perCell,
      }
    })
    const [first] = levels
    if (
      first === undefined ||
      rest.length > 0 ||
      !Number.isInteger(first.count) ||
      levels.some((level) => level?.count !== first.count)
    )
      continue
    return { levels: levels as HeadLevel[], planar, classes: first.count, perCell }
  }
  throw wrongOutputs(wanted, outputs)
}

/** Classes, and boxes: what has so many channels; where both have, the second. */
function pairOf(
  outputs: readonly Output[],
  channel: number,
  boxChannels: number,
  wanted: string,
): [classes: Output, boxes: Output] {
  const isBoxes = ({ shape }: Output): boolean => shape?.[channel] === boxChannels
  const classes = outputs.find((output) => !isBoxes(output)) ?? outputs[0]
  const boxes = outputs.find((output) => isBoxes(output) && output !== classes)
  if (classes === undefined || boxes === undefined) throw wrongOutputs(wanted, outputs)
  return [classes, boxes]
}

function centerface(graph: StepGraph, outputs: readonly Output[], steps: CheckedDetection): Ranking {
  const size = inputSizeOf(steps)
  if (size.width % 32 !== 0 || size.height % 32 !== 0)
    throw expected('multiples of 32 pixels', 'size', `${size.width} x ${size.height}`)
  const [rows, columns] = [size.height / 4, size.width / 4]
  const ofChannels = (channels: number): Output[] =>
    outputs.filter((output) => output.shape?.[1] === channels && canBe(output, [undefined, channels, rows, columns]))
  const [[scores], [sizes, offsets], [points]] = [ofChannels(1), ofChannels(2), ofChannels(10)]
  if (
    scores === undefined ||
    sizes === undefined ||
    offsets === undefined ||
    outputs.length !== (points === undefined ? 3 : 4)
  )
    throw wrongOutputs(
      `[N, 1, ${rows}, ${columns}], [N, 2, ${rows}, ${columns}] twice and perhaps [N, 10, ${rows}, ${columns}] ${sizeText(size)}`,
      outputs,
    )
  return centerFaceRanking(graph, {
    scores: scores.name,
    sizes: sizes.name,
    offsets: offsets.name,
    points: points?.name,
    size,
  })
}
