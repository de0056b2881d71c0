// Every option of every task, and everything inside of it, replaced by each of many wrong values: a task loads, or says
// what is wrong by a TensorRTError; so do its calls.
import t from 'tap'
import { Engine, Tensor, TensorRTError } from '../../lib/index.js'
import { Classifier, Detector, FaceBlur, presets, Segmenter } from '../../lib/tasks/index.js'
import { isPlain } from '../support/values.js'
import { noise } from '../vision/helpers.js'
import { answering, colours, filled } from './models.js'

const wrong: readonly unknown[] = [
  ...[
    null,
    true,
    false,
    0,
    -0,
    -1,
    0.5,
    3,
    NaN,
    Infinity,
    2 ** 31,
    2 ** 53,
    10n,
    '',
    'x',
    'a\0b',
    '/no/such',
    Symbol('s'),
    () => 1,
  ],
  ...[
    [],
    [1],
    [1, 2, 3],
    [null],
    {},
    Object.create(null),
    new Map(),
    { width: 3 },
    { width: 0, height: 3 },
    new Uint8Array(3),
    new Float32Array(8),
  ],
  ...[new URL('https://a/b'), new Proxy({}, {}), Tensor.zeros('float32', [1]), { then: 3 }],
]

/** `value` with one thing in it, or itself, replaced. */
function* replaced(value: unknown, path: string): Generator<[string, unknown]> {
  for (const [i, other] of wrong.entries()) yield [`${path} = wrong[${i}]`, other]
  if (Array.isArray(value))
    for (const [i, element] of value.entries())
      for (const [where, other] of replaced(element, `${path}[${i}]`)) yield [where, value.toSpliced(i, 1, other)]
  if (!isPlain(value)) return
  for (const [name, inner] of Object.entries(value))
    for (const [where, other] of replaced(inner, `${path}.${name}`)) yield [where, { ...value, [name]: other }]
  yield [`${path} with another`, { ...value, another: 1 }]
}

async function problemOf(call: () => Promise<unknown>): Promise<string | undefined> {
  try {
    await call()
    return undefined
  } catch (error) {
    return error instanceof TensorRTError
      ? undefined
      : String(error instanceof Error ? error.stack : error).slice(0, 500)
  }
}

const picture = noise(20, 10)

/** Closed again, after a picture. */
type Use = (engine: Engine, options: never) => Promise<void>

const numbers = {
  filter: 'linear',
  coordinates: 'half_pixel',
  round: true,
  range: '0-1',
  mean: [1, 2, 3],
  std: 2,
  layout: 'NCHW',
  order: 'BGR',
} as const
const tasks: Readonly<Record<string, { model: Uint8Array; options: object; use: Use }>> = {
  Classifier: {
    model: colours(),
    options: {
      preset: { ...presets.imagenet },
      input: {
        ...numbers,
        resize: 'letterbox',
        position: 'start',
        rounding: 'down',
        fill: 3,
        shortSide: undefined,
        size: 8,
      },
      output: { activation: 'none', labelOffset: 1, tensor: 0 },
      labels: ['a', 'b'],
      top: 2,
      inFlight: 2,
    },
    use: async (engine, options) => {
      await using task = await Classifier.load(engine, options)
      await task.classify(picture)
    },
  },
  Detector: {
    model: answering([filled([1, 6, 84], [[[0, 4, 3], 0.9]])]),
    options: {
      input: { resize: 'padToSquare', fillAfter: true, size: { multipleOf: 32, rounding: 'nearest', shortSide: 3 } },
      output: {
        decoder: 'yolo',
        clip: true,
        wholeSides: false,
        tensors: ['out0'],
        classes: 2,
        coefficients: 0,
        strides: [8, 16, 32],
        multiLabel: false,
        maxCandidates: 9,
        scoreThreshold: 0.2,
      },
      suppress: { iouThreshold: 0.5, method: 'soft-gaussian', sigma: 0.4, maximum: 9 },
      scoreThreshold: 0.1,
      labels: ['a', 'b'],
    },
    use: async (engine, options) => {
      await using task = await Detector.load(engine, options)
      await task.detect(picture)
    },
  },
  Segmenter: {
    model: answering([filled([1, 1, 8, 8], [[[0, 0, 3, 3], 1]])]),
    options: {
      preset: 'u2net',
      input: { resize: 'stretch', ownMaximum: false },
      output: { decide: 'matte', threshold: 0.4, filter: 'cubic', layout: 'NCHW', tensor: 'out0' },
    },
    use: async (engine, options) => {
      await using task = await Segmenter.load(engine, options)
      await task.segment(picture)
      await task.matte(picture)
    },
  },
  FaceBlur: {
    model: answering([filled([1, 6, 84], [[[0, 4, 3], 0.9]])]),
    options: {
      preset: 'yolov8',
      blur: { shape: 'ellipse', strength: 0.5, grow: 1.2, feather: 0.2, method: 'blur', color: [1, 2, 3] },
    },
    use: async (engine, options) => {
      await using task = await FaceBlur.load(engine, options)
      await task.blur(picture)
    },
  },
}
for (const [name, { model, options, use }] of Object.entries(tasks)) {
  t.test(name, async (t) => {
    await using engine = await Engine.load(model, { backend: 'cpu' })
    await use(engine, options as never)
    const problems: string[] = []
    let count = 0
    for (const [where, other] of replaced(options, 'options')) {
      count++
      const problem = await problemOf(() => use(engine, other as never))
      if (problem !== undefined) problems.push(`${where}: ${problem}`)
    }
    t.same(problems.slice(0, 3), [])
    t.comment(`${count} wrong options`)
  })
}

t.test('what a call is given', async (t) => {
  await using task = await Classifier.load(colours(), { input: {}, output: { activation: 'none' }, backend: 'cpu' })
  const problems: string[] = []
  const classify = (pictures: unknown, options?: unknown): Promise<unknown> | AsyncGenerator =>
    task.classify(pictures as never, options as never)
  const finished = async (answer: Promise<unknown> | AsyncGenerator): Promise<unknown> =>
    Symbol.asyncIterator in answer ? answer.next() : answer
  for (const [where, other] of [...replaced([{ ...picture }], 'pictures'), ...replaced({ ...picture }, 'picture')]) {
    const problem = await problemOf(() => finished(classify(other)))
    if (problem !== undefined) problems.push(`${where}: ${problem}`)
  }
  for (const [where, other] of replaced({ signal: new AbortController().signal, onProgress: () => {} }, 'options'))
    for (const pictures of [picture, [picture], new Set([picture])]) {
      const problem = await problemOf(() => finished(classify(pictures, other)))
      if (problem !== undefined) problems.push(`${where}: ${problem}`)
    }
  t.same(problems.slice(0, 3), [])
  for (const task of [Classifier, Detector, Segmenter, FaceBlur])
    for (const model of wrong) {
      const load = async (): Promise<void> => {
        await task.load(model as never, { preset: { task: 'classify' } } as never)
      }
      t.equal(await problemOf(load), undefined)
    }
})
