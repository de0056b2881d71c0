// What the steps in a graph make of a model's answer is what the host makes of it.
import t, { type Test } from 'tap'
import { cellsOf, efficientDetAnchors, retinaFacePriors } from '../../../lib/anchors/index.js'
import {
  type DetectionSteps,
  type Dim,
  GraphBuilder,
  type ModelProto,
  modelInfo,
  type PostprocessingSteps,
  withPostprocessing,
  writeModel,
} from '../../../lib/onnx/index.js'
import { Tensor } from '../../../lib/tensor.js'
import {
  type Decoded,
  decodeCenterFace,
  decodeEfficientDet,
  decodeRetinaFace,
  decodeYolo,
  decodeYoloAnchors,
  decodeYolox,
  softmax,
  stretch,
  suppress,
  type SuppressOptions,
  topK,
  toMaskSync,
} from '../../../lib/vision/index.js'
import { Random } from '../../support/random.js'
import { failureOf } from '../../support/errors.js'
import { near, type Result, run } from '../helpers.js'

/** A model whose outputs are what is given to it. */
function echo(shapes: Readonly<Record<string, readonly Dim[]>>, opset = 17): ModelProto {
  const g = new GraphBuilder({ name: 'echo', opset })
  for (const [name, shape] of Object.entries(shapes))
    g.output(g.node('Identity', [g.input(`${name}_in`, 'float32', shape)], {}, { output: name }), 'float32', shape)
  return g.toModel()
}

type Answers = Readonly<Record<string, Tensor<'float32'>>>

async function answered(model: ModelProto, answers: Answers): Promise<Record<string, Result>> {
  const feeds = Object.entries(answers).map(([name, { data, shape }]) => [`${name}_in`, { data, shape }] as const)
  return run(writeModel(model), Object.fromEntries(feeds))
}

function echoOf(answers: Answers, opset?: number): ModelProto {
  return echo(Object.fromEntries(Object.entries(answers).map(([name, { shape }]) => [name, ['N', ...shape.slice(1)]])), opset)
}

const numbers = (result: Result | undefined): number[] => Array.from((result?.data ?? []) as ArrayLike<number>)

/** The host's boxes: decoded, the best of them suppressed. */
function hostBoxes(
  decoded: readonly Decoded[],
  rules: SuppressOptions,
): { boxes: number[]; scores: number[]; classes: number[]; landmarks: number[] }[] {
  return decoded.map((found) => {
    const kept = suppress(found, rules)
    const rows = (values: ArrayLike<number> | undefined, width: number): number[] =>
      values === undefined ? [] : Array.from(kept).flatMap((row) => Array.from({ length: width }, (_, i) => values[row * width + i]!))
    return {
      boxes: rows(found.boxes, 4), scores: rows(found.scores, 1), classes: rows(found.classes, 1),
      landmarks: rows(found.landmarks, 10).concat(rows(found.coefficients, found.coefficients === undefined ? 0 : found.coefficients.length / found.scores.length)),
    } // prettier-ignore
  })
}

function sameBoxes(t: Test, found: Readonly<Record<string, Result>>, wanted: ReturnType<typeof hostBoxes>, scale = 1e-4): void {
  const counts = numbers(found['count'])
  t.same(counts, wanted.map(({ scores }) => scores.length), 'as many') // prettier-ignore
  const most = found['scores']?.shape[1] ?? 0
  wanted.forEach(({ boxes, scores, classes, landmarks }, picture) => {
    const rows = (name: string): number[] => {
      const all = numbers(found[name])
      const width = all.length / counts.length / most
      return all.slice(picture * most * width, (picture * most + scores.length) * width)
    }
    near(t, rows('scores'), scores, 1e-5, 'scores')
    t.same(rows('classes'), classes, 'classes')
    near(t, rows('boxes'), boxes, scale, 'boxes')
    near(t, rows('landmarks').concat(rows('coefficients')), landmarks, scale, 'points or coefficients')
  })
  t.ok(
    numbers(found['scores']).every((score, i) => i % most < counts[Math.floor(i / most)]! || score === 0),
    'and nothing else',
  )
}

/** Numbers by a rule, each picture others. */
function filled(shape: readonly number[], of: (random: Random, index: number) => number, seed = 1): Tensor<'float32'> {
  const random = new Random(seed)
  return new Tensor(
    'float32',
    Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, i) => of(random, i)),
    shape,
  )
}

const probability = (random: Random): number => random.next() ** 6
const small = (random: Random): number => random.around() * 0.5

interface Case {
  readonly answers: Answers
  readonly steps: Omit<DetectionSteps, 'kind'>
  readonly host: (outputs: Answers, options: { scoreThreshold: number; maxCandidates: number }) => Decoded[]
}

const size = 96
const cells = cellsOf(size, [8, 16, 32]).length / 3
const priors = retinaFacePriors(size).length / 4
const anchors = efficientDetAnchors({ size: 128 }).length / 4

/** [N, P, 5 + C] or with 4: boxes around the middle, so that they overlap. */
const rows = (count: number, width: number, from: number, seed: number): Tensor<'float32'> =>
  filled([2, count, width], (random, i) => (i % width < 2 ? random.next() * size : i % width < 4 ? 8 + random.next() * 30 : i % width < from ? random.next() : probability(random)), seed) // prettier-ignore

function turned({ data, shape: [n = 0, a = 0, b = 0] }: Tensor<'float32'>): Tensor<'float32'> {
  const out = new Float32Array(data.length)
  for (let k = 0; k < n; k++) for (let i = 0; i < a; i++) for (let j = 0; j < b; j++) out[(k * b + j) * a + i] = data[(k * a + i) * b + j]!
  return new Tensor('float32', out, [n, b, a])
}

const cases: Readonly<Record<string, Case>> = {
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
    steps: { decoder: 'yoloAnchors' },
    host: (outputs, options) => decodeYoloAnchors(outputs, options),
  },
  'YOLO v7, maps': {
    answers: { a: filled([2, 24, 12, 12], (random) => random.around() * 3), b: filled([2, 24, 6, 6], (random) => random.around() * 3, 2), c: filled([2, 24, 3, 3], (random) => random.around() * 3, 3) },
    steps: { decoder: 'yoloAnchors', size, anchors: 'v7' },
    host: (outputs, options) => decodeYoloAnchors(outputs, { size, anchors: 'v7', ...options }),
  },
  'YOLOX': {
    answers: { output: filled([2, cells, 8], (random, i) => (i % 8 < 4 ? random.around() : probability(random) ** 0.3)) },
    steps: { decoder: 'yolox', size },
    host: (outputs, options) => decodeYolox(outputs, { size, ...options }),
  },
  'RetinaFace': {
    answers: { boxes: filled([2, priors, 4], small), scores: filled([2, priors, 2], probability), landmarks: filled([2, priors, 10], small) },
    steps: { decoder: 'retinaface', size },
    host: (outputs, options) => decodeRetinaFace(outputs, { size, ...options }),
  },
  'RetinaFace, logits without points': {
    answers: { loc: filled([2, priors, 4], small), conf: filled([2, priors, 2], (random) => random.around() * 4) },
    steps: { decoder: 'retinaface', size, activation: 'softmax' },
    host: (outputs, options) => decodeRetinaFace(outputs, { size, activation: 'softmax', ...options }),
  },
  'EfficientDet, heads of levels': {
    answers: Object.fromEntries([16, 8, 4, 2, 1].flatMap((side, i) => [[`class${i}`, filled([2, 27, side, side], (random) => random.around() * 4 - 2, i)], [`box${i}`, filled([2, 36, side, side], small, i + 9)]])),
    steps: { decoder: 'efficientdet', size: 128 },
    host: (outputs, options) => decodeEfficientDet(outputs, { size: 128, ...options }),
  },
  "TensorFlow's EfficientDet": {
    answers: { scores: filled([2, anchors, 5], probability), boxes: filled([2, anchors, 4], (random) => random.around() * 3) },
    steps: { decoder: 'efficientdet', size: 128, coder: 'tf', activation: 'none', multiLabel: true },
    host: (outputs, options) => decodeEfficientDet(outputs, { size: 128, coder: 'tf', activation: 'none', multiLabel: true, ...options }),
  },
  'CenterFace': {
    answers: { heat: filled([2, 1, 24, 24], probability), scale: filled([2, 2, 24, 24], (random) => 1 + random.next()), offset: filled([2, 2, 24, 24], small, 2), points: filled([2, 10, 24, 24], (random) => random.next()) },
    steps: { decoder: 'centerface', size },
    host: (outputs, options) => decodeCenterFace(outputs, { size, ...options }),
  },
} // prettier-ignore

for (const [name, { answers, steps, host }] of Object.entries(cases)) {
  await t.test(name, async (t) => {
    for (const rules of [
      { iouThreshold: 0.45 },
      { iouThreshold: 0.3, inclusive: true, perClass: false },
      { iouThreshold: 0.4, pixelAreas: true },
    ]) {
      const limits = { scoreThreshold: 0.2, maxCandidates: 150 }
      const model = withPostprocessing(echoOf(answers), { kind: 'detections', ...steps, ...limits, suppress: { ...rules, rounds: 12 } })
      const found = await answered(model, answers)
      t.same(numbers(found['converged']), [1, 1], 'converged')
      const wanted = hostBoxes(host(answers, limits), rules)
      t.ok(wanted.every(({ scores }) => scores.length > 3), `${wanted.map(({ scores }) => scores.length).join(' and ')} boxes`) // prettier-ignore
      sameBoxes(t, found, wanted, 1e-3)
    }
  })
}

t.test('boxes that the host suppresses', async (t) => {
  const { answers, host } = cases['YOLO v8'] as Case
  const limits = { scoreThreshold: 0.2, maxCandidates: 40 }
  const model = withPostprocessing(echoOf(answers, 11), {
    kind: 'detections',
    decoder: 'yolo',
    ...limits,
    suppress: false,
    prefix: 'found_',
  })
  const found = await answered(model, answers)
  t.same(Object.keys(found), ['found_boxes', 'found_scores', 'found_classes', 'found_count'])
  const named = Object.fromEntries(Object.entries(found).map(([name, result]) => [name.slice(6), result]))
  sameBoxes(t, named, hostBoxes(host(answers, limits), { iouThreshold: 1 }), 1e-3)
})

t.test('crowds: exactly greedy where it says so, and it says where it is not', async (t) => {
  // a chain: each box overlaps only its neighbours, so that each step decides one more of them
  const length = 40
  const data = new Float32Array(5 * length)
  for (let i = 0; i < length; i++) data.set([10 + i * 4, 20, 10, 10, 0.9 - i * 0.01], i * 5)
  const answers = { output0: turned(new Tensor('float32', data, [1, length, 5])) }
  const wanted = hostBoxes(decodeYolo(answers), { iouThreshold: 0.3 })
  t.equal(wanted[0]?.scores.length, length / 2)
  const detections = (rounds: number) =>
    withPostprocessing(echoOf(answers), { kind: 'detections', decoder: 'yolo', suppress: { iouThreshold: 0.3, rounds } })
  const few = await answered(detections(8), answers)
  t.same(numbers(few['converged']), [0])
  const enough = await answered(detections(length), answers)
  t.same(numbers(enough['converged']), [1])
  sameBoxes(t, enough, wanted)
})

t.test('nothing found, and fewer boxes than candidates', async (t) => {
  const answers = { output0: new Tensor('float32', new Float32Array(2 * 6 * 3), [2, 6, 3]) }
  const found = await answered(withPostprocessing(echoOf(answers), { kind: 'detections', decoder: 'yolo', maxDetections: 2 }), answers)
  t.same(numbers(found['count']), [0, 0])
  t.same(found['boxes']?.shape, [2, 2, 4])
  t.ok(['boxes', 'scores', 'classes'].every((name) => numbers(found[name]).every((value) => value === 0)))
})

t.test('masks', async (t) => {
  const logits = filled([2, 3, 12, 10], (random) => random.around())
  const argmax: PostprocessingSteps = { kind: 'argmax', size: { width: 25, height: 31 } }
  const { y } = await answered(withPostprocessing(echoOf({ y: logits }, 12), argmax), { y: logits })
  t.same(y?.shape, [2, 31, 25])
  const frames = [0, 1].map(() => stretch({ width: 25, height: 31 }, { width: 10, height: 12 }))
  t.same(
    numbers(y),
    toMaskSync(logits, frames).flatMap(({ data }) => [...data]),
  )
  const one = new Tensor('float32', logits.data.slice(0, 240), [2, 1, 12, 10])
  const steps: PostprocessingSteps = { kind: 'threshold', threshold: 0.1, crop: [2, 3, 6, 8], size: 20, value: 255 }
  const mask = (await answered(withPostprocessing(echoOf({ y: one }), steps), { y: one }))['y']
  t.same(mask?.shape, [2, 1, 20, 20])
  const part = [0, 1].flatMap((n) =>
    Array.from({ length: 8 }, (_, row) => one.data.slice(n * 120 + (row + 3) * 10 + 2, n * 120 + (row + 3) * 10 + 8)),
  )
  const cut = new Tensor('float32', Float32Array.from(part.flatMap((row) => [...row])), [2, 1, 8, 6])
  const squares = [0, 1].map(() => stretch({ width: 20, height: 20 }, { width: 6, height: 8 }))
  t.same(
    numbers(mask),
    toMaskSync(cut, squares, { threshold: 0.1 }).flatMap(({ data }) => [...data].map((yes) => yes * 255)),
  )
})

t.test('classes', async (t) => {
  const logits = filled([3, 50], (random) => Math.round(random.around() * 20) / 4)
  const soft = await answered(withPostprocessing(echoOf({ y: logits }, 9), { kind: 'softmax' }), { y: logits })
  near(t, numbers(soft['y']), softmax(logits).data, 1e-6, 'softmax')
  for (const activation of ['softmax', 'sigmoid', 'none'] as const) {
    const found = await answered(withPostprocessing(echoOf({ y: logits }), { kind: 'topK', k: 7, activation }), { y: logits })
    const wanted = topK(logits, 7, { activation }).flat()
    t.same(numbers(found['classes']), wanted.map(({ classIndex }) => classIndex), 'of equal ones the first') // prettier-ignore
    near(t, numbers(found['scores']), wanted.map(({ score }) => score), 1e-6, activation) // prettier-ignore
  }
  const all = withPostprocessing(echoOf({ y: logits }), { kind: 'topK', k: 3840, prefix: 'best_' })
  t.same(modelInfo(all).outputs.map(({ name, shape, dtype }) => [name, dtype, shape]), [['best_scores', 'float32', ['N', 50]], ['best_classes', 'int32', ['N', 50]]]) // prettier-ignore
})

t.test('names that are taken: outputs get theirs, and others make room; other outputs stay', async (t) => {
  const g = new GraphBuilder({ name: 'names' })
  const x = g.input('x', 'float32', ['N', 6, 8])
  const boxes = g.node('Abs', [x], {}, { output: 'boxes' })
  g.output(g.node('Relu', [boxes], {}, { output: 'scores' }), 'float32', ['N', 6, 8])
  g.output(g.node('Neg', [boxes], {}, { output: 'other' }), 'float32', ['N', 6, 8])
  const model = g.toModel()
  const before = writeModel(model)
  const detecting = withPostprocessing(model, { kind: 'detections', decoder: 'yolo', outputs: ['scores'] })
  t.same(writeModel(model), before, 'the model is not changed')
  t.same(modelInfo(detecting).outputs.map(({ name }) => name), ['other', 'boxes', 'scores', 'classes', 'count', 'converged']) // prettier-ignore
  const data = new Float32Array(48).fill(-0.5)
  const found = await run(writeModel(detecting), { x: { data, shape: [1, 6, 8] } })
  t.same(numbers(found['other']), Array(48).fill(-0.5))
  t.same([numbers(found['count']), found['boxes']?.shape], [[1], [1, 8, 4]])
})

t.test('what is not the model of the steps is said with what was expected', async (t) => {
  const model = echo({ y: ['N', 84, 100] })
  const failing = (steps: unknown, from: ModelProto = model) => failureOf(() => withPostprocessing(from, steps as never))
  t.match(await failing({ kind: 'detections', decoder: 'retinaface', size: 96 }), {
    code: 'ERR_TRT_SHAPE',
    message: `Expected [N, ${priors}, 4], [N, ${priors}, 2] and perhaps [N, ${priors}, 10] for an input of 96 x 96 but the model gives y [N, 84, 100]`,
  })
  t.match(await failing({ kind: 'detections', decoder: 'yolox' }), {
    code: 'ERR_TRT_INVALID_ARGUMENT',
    message: /the size of the model's input/,
  })
  t.match(await failing({ kind: 'detections', decoder: 'yolo', anchors: 'v5' }), {
    code: 'ERR_TRT_INVALID_ARGUMENT',
    message: /Unknown option "anchors"/,
  })
  t.match(await failing({ kind: 'detections', decoder: 'yolo', maxCandidates: 3841 }), {
    code: 'ERR_TRT_INVALID_ARGUMENT',
    message: /1 to 3840/,
  })
  t.match(await failing({ kind: 'detections', decoder: 'yolo', outputs: ['z'] }), { message: /one of the model's outputs \(y\)/ })
  t.match(await failing({ kind: 'argmax' }), { code: 'ERR_TRT_SHAPE', message: /\[N, C, height, width\]/ })
  t.match(await failing({ kind: 'topK', k: 5 }), { code: 'ERR_TRT_SHAPE', message: /scores \[N, C\]/ })
  t.match(await failing({ kind: 'nms' }), { code: 'ERR_TRT_INVALID_ARGUMENT' })
  t.match(await failing({ kind: 'softmax' }, echo({ y: ['N', 5] }, 6)), {
    code: 'ERR_TRT_INVALID_ARGUMENT',
    message: /The model is of opset 6; .* needs 13/,
  })
})
