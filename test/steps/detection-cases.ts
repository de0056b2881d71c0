import { anchorsOfCorners, cellsOf, efficientDetAnchors, retinaFacePriors } from '../../lib/steps/anchors.js'
import { type DetectionSteps, type Dim, GraphBuilder, type ModelProto } from '../../lib/onnx/index.js'
import { Tensor } from '../../lib/tensor.js'
import {
  type Decoded,
  decodeCenterFace,
  decodeEfficientDet,
  decodeRetinaFace,
  decodeRtDetr,
  decodeSsd,
  decodeYolo,
  decodeYoloAnchors,
  decodeYolox,
} from '../../lib/vision/index.js'
import { Random } from '../support/random.js'

/** A model whose outputs are what is given to it; `whole` names those that it gives as int64. */
export function echo(
  shapes: Readonly<Record<string, readonly Dim[]>>,
  opset = 17,
  whole: readonly string[] = [],
): ModelProto {
  const g = new GraphBuilder({ name: 'echo', opset })
  for (const [name, shape] of Object.entries(shapes)) {
    const x = g.input(`${name}_in`, 'float32', shape)
    const isWhole = whole.includes(name)
    const y = isWhole ? g.node('Cast', [x], { to: 7 }, { output: name }) : g.node('Identity', [x], {}, { output: name })
    g.output(y, isWhole ? 'int64' : 'float32', shape)
  }
  return g.toModel()
}

export type Answers = Readonly<Record<string, Tensor<'float32'>>>

export function echoOf(answers: Answers, opset?: number, whole?: readonly string[]): ModelProto {
  return echo(
    Object.fromEntries(Object.entries(answers).map(([name, { shape }]) => [name, ['N', ...shape.slice(1)]])),
    opset,
    whole,
  )
}

/** Numbers by a rule, each picture others. */
export function filled(
  shape: readonly number[],
  of: (random: Random, index: number) => number,
  seed = 1,
): Tensor<'float32'> {
  const random = new Random(seed)
  return new Tensor(
    'float32',
    Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, i) => of(random, i)),
    shape,
  )
}

export const probability = (random: Random): number => random.next() ** 6
const small = (random: Random): number => random.around() * 0.5

export interface Case {
  readonly answers: Answers
  readonly steps: Omit<DetectionSteps, 'kind'>
  /** The outputs that are int64. */
  readonly whole?: readonly string[]
  readonly host: (outputs: Answers, options: { scoreThreshold: number; maxCandidates: number }) => Decoded[]
}

export const size = 96
const cells = cellsOf(size, [8, 16, 32]).length / 3
export const priors = retinaFacePriors(size).length / 4
const anchors = efficientDetAnchors({ size: 128 }).length / 4

/** [N, P, 5 + C] or with 4: boxes around the middle, so that they overlap. */
const rows = (count: number, width: number, from: number, seed: number): Tensor<'float32'> =>
  filled(
    [2, count, width],
    (random, i) =>
      i % width < 2
        ? random.next() * size
        : i % width < 4
          ? 8 + random.next() * 30
          : i % width < from
            ? random.next()
            : probability(random),
    seed,
  )

/** [2, count, width]: boxes as parts of the input's sides, and what follows them. */
const parts = (
  count: number,
  width: number,
  rest: (random: Random, column: number) => number,
  seed: number,
): Tensor<'float32'> =>
  filled(
    [2, count, width],
    (random, i) =>
      i % width < 2 ? random.next() : i % width < 4 ? 0.05 + random.next() * 0.3 : rest(random, i % width),
    seed,
  )

/** 60 anchors of a model's own, around which offsets lie. */
const ownAnchors = anchorsOfCorners(
  Float32Array.from({ length: 240 }, (_, i) => ((i >> 2) % 8) / 10 + (i % 4 < 2 ? 0 : 0.15 + (i % 5) / 20)),
  { size },
)

export function turned({ data, shape: [n = 0, a = 0, b = 0] }: Tensor<'float32'>): Tensor<'float32'> {
  const out = new Float32Array(data.length)
  for (let k = 0; k < n; k++)
    for (let i = 0; i < a; i++) for (let j = 0; j < b; j++) out[(k * b + j) * a + i] = data[(k * a + i) * b + j]!
  return new Tensor('float32', out, [n, b, a])
}

export const detectionCases: Readonly<Record<string, Case>> = {
  'YOLO v8': {
    answers: { output0: turned(rows(cells, 7, 4, 1)) },
    steps: { decoder: 'yolo' },
    host: (outputs, options) => decodeYolo(outputs, { size, ...options }),
  },
  'YOLO v8, every class': {
    answers: { output0: turned(rows(cells, 7, 4, 2)) },
    steps: { decoder: 'yolo', multiLabel: true },
    host: (outputs, options) => decodeYolo(outputs, { multiLabel: true, ...options }),
  },
  'YOLO v8 with masks': {
    answers: { output0: turned(rows(cells, 13, 13, 3)), output1: filled([2, 6, 4, 4], small) },
    steps: { decoder: 'yolo', coefficients: 6, outputs: ['output0'] },
    host: (outputs, options) => decodeYolo(outputs, { coefficients: 6, ...options }),
  },
  'YOLO v5, decoded': {
    answers: { output: rows(120, 9, 5, 4) },
    steps: { decoder: 'yolo-anchors' },
    host: (outputs, options) => decodeYoloAnchors(outputs, options),
  },
  'YOLO v7, maps': {
    answers: {
      a: filled([2, 24, 12, 12], (random) => random.around() * 3),
      b: filled([2, 24, 6, 6], (random) => random.around() * 3, 2),
      c: filled([2, 24, 3, 3], (random) => random.around() * 3, 3),
    },
    steps: { decoder: 'yolo-anchors', size, anchors: 'v7' },
    host: (outputs, options) => decodeYoloAnchors(outputs, { size, anchors: 'v7', ...options }),
  },
  YOLOX: {
    answers: {
      output: filled([2, cells, 8], (random, i) => (i % 8 < 4 ? random.around() : probability(random) ** 0.3)),
    },
    steps: { decoder: 'yolox', size },
    host: (outputs, options) => decodeYolox(outputs, { size, ...options }),
  },
  RetinaFace: {
    answers: {
      boxes: filled([2, priors, 4], small),
      scores: filled([2, priors, 2], probability),
      landmarks: filled([2, priors, 10], small),
    },
    steps: { decoder: 'retinaface', size },
    host: (outputs, options) => decodeRetinaFace(outputs, { size, ...options }),
  },
  'RetinaFace, logits without points': {
    answers: { loc: filled([2, priors, 4], small), conf: filled([2, priors, 2], (random) => random.around() * 4) },
    steps: { decoder: 'retinaface', size, activation: 'softmax' },
    host: (outputs, options) => decodeRetinaFace(outputs, { size, activation: 'softmax', ...options }),
  },
  'EfficientDet, heads of levels': {
    answers: Object.fromEntries(
      [16, 8, 4, 2, 1].flatMap((side, i) => [
        [`class${i}`, filled([2, 27, side, side], (random) => random.around() * 4 - 2, i)],
        [`box${i}`, filled([2, 36, side, side], small, i + 9)],
      ]),
    ),
    steps: { decoder: 'efficientdet', size: 128 },
    host: (outputs, options) => decodeEfficientDet(outputs, { size: 128, ...options }),
  },
  "TensorFlow's EfficientDet": {
    answers: {
      scores: filled([2, anchors, 5], probability),
      boxes: filled([2, anchors, 4], (random) => random.around() * 3),
    },
    steps: { decoder: 'efficientdet', size: 128, coder: 'tf', activation: 'none', multiLabel: true },
    host: (outputs, options) =>
      decodeEfficientDet(outputs, { size: 128, coder: 'tf', activation: 'none', multiLabel: true, ...options }),
  },
  "face-api's SSD, one class of three columns": {
    answers: { scores: filled([2, 60, 3], (random) => random.around() * 4), boxes: filled([2, 60, 4], small) },
    steps: { decoder: 'ssd', anchors: ownAnchors, classes: 1 },
    host: (outputs, options) => decodeSsd(outputs, { anchors: ownAnchors, classes: 1, ...options }),
  },
  "torchvision's SSD": {
    answers: { boxes: filled([2, 60, 4], small, 5), scores: filled([2, 60, 4], (random) => random.around() * 4, 6) },
    steps: {
      decoder: 'ssd',
      anchors: ownAnchors,
      order: 'xy',
      activation: 'softmax',
      variances: [0.2, 0.3],
      multiLabel: true,
    },
    host: (outputs, options) =>
      decodeSsd(outputs, {
        anchors: ownAnchors,
        order: 'xy',
        activation: 'softmax',
        variances: [0.2, 0.3],
        multiLabel: true,
        ...options,
      }),
  },
  'RT-DETR, raw': {
    answers: { logits: filled([2, 40, 5], (random) => random.around() * 4 - 1), boxes: parts(40, 4, () => 0, 7) },
    steps: { decoder: 'rtdetr', size: { width: 96, height: 64 } },
    host: (outputs, options) => decodeRtDetr(outputs, { size: { width: 96, height: 64 }, ...options }),
  },
  'RT-DETR of ultralytics, ended': {
    answers: {
      output0: parts(40, 6, (random, column) => (column === 4 ? probability(random) ** 0.3 : random.below(5)), 8),
    },
    steps: { decoder: 'rtdetr', size },
    host: (outputs, options) => decodeRtDetr(outputs, { size, ...options }),
  },
  'RT-DETR of ultralytics, probabilities': {
    answers: { output0: parts(40, 9, probability, 9) },
    steps: { decoder: 'rtdetr', size, multiLabel: false },
    host: (outputs, options) => decodeRtDetr(outputs, { size, multiLabel: false, ...options }),
  },
  "RT-DETR's own export": {
    answers: {
      labels: filled([2, 40], (random) => random.below(5)),
      boxes: filled([2, 40, 4], (random, i) => (i % 4 < 2 ? 0 : 40) + random.next() * 40),
      scores: filled([2, 40], (random) => random.next()),
    },
    whole: ['labels'],
    steps: { decoder: 'rtdetr' },
    host: ({ labels, ...outputs }, options) =>
      decodeRtDetr({ ...outputs, labels: new Tensor('int32', Int32Array.from(labels!.data), labels!.shape) }, options),
  },
  CenterFace: {
    answers: {
      heat: filled([2, 1, 24, 24], probability),
      scale: filled([2, 2, 24, 24], (random) => 1 + random.next()),
      offset: filled([2, 2, 24, 24], small, 2),
      points: filled([2, 10, 24, 24], (random) => random.next()),
    },
    steps: { decoder: 'centerface', size },
    host: (outputs, options) => decodeCenterFace(outputs, { size, ...options }),
  },
}
