// What the steps in a graph make of a model's answer is what the host makes of it.
import t, { type Test } from 'tap'
import {
  GraphBuilder,
  type ModelProto,
  inspectModel,
  type PostprocessingSteps,
  withPostprocessing,
  writeModel,
} from '../../lib/onnx/index.js'
import { Tensor } from '../../lib/tensor.js'
import {
  type Decoded,
  decodeYolo,
  softmax,
  stretch,
  suppress,
  type SuppressOptions,
  topK,
  toMask,
} from '../../lib/vision/index.js'
import { failure, failureOf } from '../support/errors.js'
import { near, type Result, run } from '../onnx/helpers.js'
import {
  type Answers,
  type Case,
  detectionCases as cases,
  echo,
  echoOf,
  filled,
  priors,
  turned,
} from './detection-cases.js'

async function answered(model: ModelProto, answers: Answers): Promise<Record<string, Result>> {
  const feeds = Object.entries(answers).map(([name, { data, shape }]) => [`${name}_in`, { data, shape }] as const)
  return run(writeModel(model), Object.fromEntries(feeds))
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
      values === undefined
        ? []
        : Array.from(kept).flatMap((row) => Array.from({ length: width }, (_, i) => values[row * width + i]!))
    return {
      boxes: rows(found.boxes, 4),
      scores: rows(found.scores, 1),
      classes: rows(found.classes, 1),
      landmarks: rows(found.landmarks, 10).concat(
        rows(
          found.coefficients,
          found.coefficients === undefined ? 0 : found.coefficients.length / found.scores.length,
        ),
      ),
    }
  })
}

function sameBoxes(
  t: Test,
  found: Readonly<Record<string, Result>>,
  wanted: ReturnType<typeof hostBoxes>,
  scale = 1e-4,
): void {
  const counts = numbers(found['count'])
  t.same(
    counts,
    wanted.map(({ scores }) => scores.length),
    'as many',
  )
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

for (const [name, { answers, steps, whole, host }] of Object.entries(cases)) {
  await t.test(name, async (t) => {
    for (const rules of [
      { iouThreshold: 0.45 },
      { iouThreshold: 0.3, inclusive: true, perClass: false },
      { iouThreshold: 0.4, pixelAreas: true },
    ]) {
      const limits = { scoreThreshold: 0.2, maxCandidates: 150 }
      const model = withPostprocessing(echoOf(answers, 17, whole), {
        kind: 'detections',
        ...steps,
        ...limits,
        suppress: { ...rules, rounds: 12 },
      })
      const found = await answered(model, answers)
      t.same(numbers(found['converged']), [1, 1], 'converged')
      const wanted = hostBoxes(host(answers, limits), rules)
      t.ok(
        wanted.every(({ scores }) => scores.length > 3),
        `${wanted.map(({ scores }) => scores.length).join(' and ')} boxes`,
      )
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
    withPostprocessing(echoOf(answers), {
      kind: 'detections',
      decoder: 'yolo',
      suppress: { iouThreshold: 0.3, rounds },
    })
  const few = await answered(detections(8), answers)
  t.same(numbers(few['converged']), [0])
  const enough = await answered(detections(length), answers)
  t.same(numbers(enough['converged']), [1])
  sameBoxes(t, enough, wanted)
})

t.test('RT-DETR leaves nothing to be suppressed: every class of a box, and no word of convergence', async (t) => {
  const { answers, host } = cases['RT-DETR, raw'] as Case
  const steps: PostprocessingSteps = {
    kind: 'detections',
    decoder: 'rtdetr',
    size: { width: 96, height: 64 },
    scoreThreshold: 0.6,
  }
  const found = await answered(withPostprocessing(echoOf(answers), steps), answers)
  t.same(Object.keys(found), ['boxes', 'scores', 'classes', 'count'])
  sameBoxes(t, found, hostBoxes(host(answers, { scoreThreshold: 0.6, maxCandidates: 300 }), { iouThreshold: 1 }), 1e-3)
})

t.test('nothing found, and fewer boxes than candidates', async (t) => {
  const answers = { output0: new Tensor('float32', new Float32Array(2 * 6 * 3), [2, 6, 3]) }
  const found = await answered(
    withPostprocessing(echoOf(answers), { kind: 'detections', decoder: 'yolo', maxDetections: 2 }),
    answers,
  )
  t.same(numbers(found['count']), [0, 0])
  t.same(found['boxes']?.shape, [2, 2, 4])
  t.ok(['boxes', 'scores', 'classes'].every((name) => numbers(found[name]).every((value) => value === 0)))
})

t.test(
  'what is not finite is left out, and takes nothing else with it: boxes as by the host, which refuses scores',
  async (t) => {
    const count = 6
    // boxes beside each other, the last the best; of two classes the first
    const rows = Array.from({ length: count }, (_, i) => [10 + 20 * i, 10, 8, 8, 0.3 + i * 0.1, 0.1])
    const cases: Readonly<Record<string, (row: number[]) => void>> = {
      'scores that are NaN': (row) => row.fill(NaN, 4),
      'a score without end': (row) => (row[4] = Infinity),
      'a box without end': (row) => (row[2] = Infinity),
      'a box that is NaN': (row) => (row[0] = NaN),
      'a box without end below the threshold': (row) => row.splice(2, 4, Infinity, 8, 0, 0),
    }
    for (const [name, change] of Object.entries(cases))
      for (const place of [0, 3, 5])
        for (const multiLabel of [false, true]) {
          const changed = rows.map((row) => [...row])
          change(changed[place]!)
          const answers = { output0: turned(new Tensor('float32', Float32Array.from(changed.flat()), [1, count, 6])) }
          const found = await answered(
            withPostprocessing(echoOf(answers), { kind: 'detections', decoder: 'yolo', multiLabel }),
            answers,
          )
          const isScore = name.includes('score')
          if (isScore)
            t.throws(
              () => decodeYolo(answers, { multiLabel }),
              failure('ERR_TRT_SHAPE', /scores of 0 to 1 .*(NaN|Infinity)/),
            )
          const others = changed.map((row, i) => (isScore && i === place ? row.fill(0, 4) : row))
          const finite = turned(new Tensor('float32', Float32Array.from(others.flat()), [1, count, 6]))
          const wanted = hostBoxes(decodeYolo(finite, { multiLabel }), {})
          t.equal(wanted[0]?.scores.length, count - 1)
          sameBoxes(t, found, wanted)
          t.ok(
            ['boxes', 'scores'].every((output) => numbers(found[output]).every(Number.isFinite)),
            `${name}, ${place}`,
          )
        }
  },
)

t.test('masks', async (t) => {
  const logits = filled([2, 3, 12, 10], (random) => random.around())
  const argmax: PostprocessingSteps = { kind: 'argmax', size: { width: 25, height: 31 } }
  const { y } = await answered(withPostprocessing(echoOf({ y: logits }, 12), argmax), { y: logits })
  t.same(y?.shape, [2, 31, 25])
  const frames = [0, 1].map(() => stretch({ width: 25, height: 31 }, { width: 10, height: 12 }))
  t.same(
    numbers(y),
    (await toMask(logits, frames)).flatMap(({ data }) => [...data]),
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
    (await toMask(cut, squares, { threshold: 0.1 })).flatMap(({ data }) => [...data].map((yes) => yes * 255)),
  )
})

t.test('classes', async (t) => {
  const logits = filled([3, 50], (random) => Math.round(random.around() * 20) / 4)
  const soft = await answered(withPostprocessing(echoOf({ y: logits }, 9), { kind: 'softmax' }), { y: logits })
  near(t, numbers(soft['y']), softmax(logits).data, 1e-6, 'softmax')
  for (const activation of ['softmax', 'sigmoid', 'none'] as const) {
    const found = await answered(withPostprocessing(echoOf({ y: logits }), { kind: 'topK', k: 7, activation }), {
      y: logits,
    })
    const wanted = topK(logits, 7, { activation }).flat()
    t.same(
      numbers(found['classes']),
      wanted.map(({ classIndex }) => classIndex),
      'of equal ones the first',
    )
    near(
      t,
      numbers(found['scores']),
      wanted.map(({ score }) => score),
      1e-6,
      activation,
    )
  }
  const all = withPostprocessing(echoOf({ y: logits }), { kind: 'topK', k: 3840, prefix: 'best_' })
  t.same(
    inspectModel(all).outputs.map(({ name, shape, dtype }) => [name, dtype, shape]),
    [
      ['best_scores', 'float32', ['N', 50]],
      ['best_classes', 'int32', ['N', 50]],
    ],
  )
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
  t.same(
    inspectModel(detecting).outputs.map(({ name }) => name),
    ['other', 'boxes', 'scores', 'classes', 'count', 'converged'],
  )
  const data = new Float32Array(48).fill(-0.5)
  const found = await run(writeModel(detecting), { x: { data, shape: [1, 6, 8] } })
  t.same(numbers(found['other']), Array(48).fill(-0.5))
  t.same([numbers(found['count']), found['boxes']?.shape], [[1], [1, 8, 4]])
})

t.test('what is not the model of the steps is said with what was expected', async (t) => {
  const model = echo({ y: ['N', 84, 100] })
  const failing = (steps: unknown, from: ModelProto = model) =>
    failureOf(() => withPostprocessing(from, steps as never))
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
  t.match(await failing({ kind: 'detections', decoder: 'ssd' }), {
    code: 'ERR_TRT_INVALID_ARGUMENT',
    message:
      /a Float32Array, or an array of numbers, of \(cx, cy, w, h\) of each anchor for anchors but received undefined/,
  })
  t.match(await failing({ kind: 'detections', decoder: 'ssd', anchors: new Float32Array(12) }), {
    code: 'ERR_TRT_SHAPE',
    message:
      'Expected [N, 3, 4] and [N, 3, more than 1], for the 3 anchors that were given, but the model gives y [N, 84, 100]',
  })
  t.match(await failing({ kind: 'detections', decoder: 'rtdetr' }), {
    message: /the size of the model's input for size of decoder 'rtdetr'/,
  })
  t.match(
    await failing({ kind: 'detections', decoder: 'rtdetr', size: 64 }, echo({ a: ['N', 30, 7], b: ['N', 31, 4] })),
    {
      code: 'ERR_TRT_SHAPE',
      message: /^Expected \[N, Q, classes\] and \[N, Q, 4\].* but the model gives a \[N, 30, 7\], b \[N, 31, 4\]$/,
    },
  )
  for (const [decoder, why] of [
    ['dbnet', /'dbnet' cannot be written into a model: contours .* decodeDbNet/],
    ['ctc', /'ctc' cannot be written into a model: .* decodeCtc/],
    ['grid', /'grid' cannot be written .* decodeGrid/],
    ['ultralytics', /'ultralytics' cannot be written .* 'yolo'/],
    ['yolo-end-to-end', /'yolo-end-to-end' cannot be written .* suppressed by itself/],
  ] as const)
    t.match(await failing({ kind: 'detections', decoder }), { code: 'ERR_TRT_INVALID_ARGUMENT', message: why })
  t.match(await failing({ kind: 'detections', decoder: 'yoloAnchors' }), {
    message: /one of 'yolo', 'yolo-anchors', 'yolox'/,
  })
  t.match(await failing({ kind: 'detections', decoder: 'yolo', maxCandidates: 3841 }), {
    code: 'ERR_TRT_INVALID_ARGUMENT',
    message: /1 to 3840/,
  })
  t.match(await failing({ kind: 'detections', decoder: 'yolo', outputs: ['z'] }), {
    message: /one of the model's outputs \(y\)/,
  })
  t.match(await failing({ kind: 'argmax' }), { code: 'ERR_TRT_SHAPE', message: /\[N, C, height, width\]/ })
  t.match(await failing({ kind: 'topK', k: 5 }), { code: 'ERR_TRT_SHAPE', message: /scores \[N, C\]/ })
  t.match(await failing({ kind: 'nms' }), { code: 'ERR_TRT_INVALID_ARGUMENT' })
  t.match(await failing({ kind: 'softmax' }, echo({ y: ['N', 5] }, 6)), {
    code: 'ERR_TRT_INVALID_ARGUMENT',
    message: /The model is of opset 6; .* needs 13/,
  })
})
