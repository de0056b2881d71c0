import t from 'tap'
import { Tensor } from '../../lib/index.js'
import { softmax, topK } from '../../lib/vision/index.js'
import { failure } from '../support/errors.js'
import { Random } from '../support/random.js'
import { answersOf } from './oracles/answers.js'

interface Answers {
  readonly softmax: readonly { seed: number; shape: number[]; spread: number; axis: number; values: number[] }[]
  readonly best: readonly {
    readonly seed: number
    readonly count: number
    readonly k: number
    readonly order: readonly number[]
    readonly scores: Readonly<Record<'softmax' | 'sigmoid' | 'none', readonly number[]>>
  }[]
}

const answers = answersOf<Answers>('classes')

function near(found: ArrayLike<number>, wanted: ArrayLike<number>): boolean {
  return (
    found.length === wanted.length &&
    Array.from(found).every((value, i) => Math.abs(value - (wanted[i] as number)) <= 1e-6)
  )
}

t.test("softmax is torch's, along each axis", (t) => {
  for (const { seed, shape, spread, axis, values } of answers.softmax) {
    const random = new Random(seed)
    const logits = Float32Array.from({ length: values.length }, () => (random.next() * 2 - 1) * spread)
    const given = logits.slice()
    const result = softmax(new Tensor('float32', logits, shape), { axis })
    t.same(result.shape, shape)
    t.ok(near(result.data, values), `shape [${shape.join(', ')}], axis ${axis}`)
    t.same(logits, given, 'what was given is untouched')
    if (shape.length === 1) t.same(softmax(logits), result.data)
  }
  t.same(softmax(Tensor.fromFloat32('float16', [1, 1])).data, Float32Array.of(0.5, 0.5), 'float16')
  t.end()
})

t.test("the best classes are torch's, ties by the lower number", (t) => {
  for (const { seed, count, k, order, scores } of answers.best) {
    const random = new Random(seed)
    const logits = Float32Array.from({ length: count }, () => (random.below(40) - 20) / 2)
    for (const activation of ['softmax', 'sigmoid', 'none'] as const) {
      const best = topK(logits, k, { activation })
      t.same(
        best.map(({ classIndex }) => classIndex),
        order,
        `${k} of ${count}`,
      )
      t.ok(
        near(
          best.map(({ score }) => score),
          scores[activation],
        ),
        activation,
      )
    }
    t.same(topK(new Tensor('float32', logits, [1, count]), k), [topK(logits, k)])
  }
  t.end()
})

t.test('labels, batches', (t) => {
  const batch = new Tensor('float32', Float32Array.of(0.25, 0.75, 0, 0.5, 0.125, 0.125), [2, 3])
  const cat = { classIndex: 0, score: 0.5, label: 'cat' }
  const dog = { classIndex: 1, score: 0.75, label: 'dog' }
  t.same(topK(batch, 1, { labels: ['cat', 'dog'] }), [[dog], [cat]])
  const known = [
    { classIndex: 1, score: 0.75, label: 'cat' },
    { classIndex: 0, score: 0.25 },
    { classIndex: 2, score: 0, label: 'dog' },
  ]
  t.same(
    topK(batch, 9, { labels: ['cat', 'dog'], labelOffset: 1 })[0],
    known,
    'the background has no name; fewer classes than k',
  )
  t.same(topK(new Tensor('float32', new Float32Array(), [0, 3]), 2), [])
  t.same(topK(new Float32Array(), 2), [])
  t.same(topK(Float32Array.of(-Infinity, 1), 2, { activation: 'softmax' })[1], { classIndex: 0, score: 0 })
  t.same(
    topK(Float32Array.of(50, 60), 1, { activation: 'sigmoid' })[0]?.classIndex,
    1,
    'by the logit, where both scores are 1',
  )
  t.end()
})

t.test('misuse', (t) => {
  const invalid = (message: RegExp) => failure('ERR_TRT_INVALID_ARGUMENT', message)
  const scores = Float32Array.of(1, 2)
  t.throws(() => softmax([1, 2] as never), invalid(/a Tensor or a Float32Array for logits/))
  t.throws(() => softmax(scores, { axis: 1 }), invalid(/from -1 to 0 for axis/))
  t.throws(() => softmax(Tensor.zeros('float32', [])), invalid(/at least one dimension for logits/))
  t.throws(() => topK(null as never, 1), invalid(/a Tensor or a Float32Array for scores/))
  t.throws(() => topK(scores, 0), invalid(/an integer from 1 for k/))
  t.throws(() => topK(Float32Array.of(1, NaN), 1), invalid(/a number for scores\[1\] but received number NaN/))
  t.throws(() => topK(Tensor.zeros('float32', [1, 1, 2]), 1), failure('ERR_TRT_SHAPE', /\[C\] or \[N, C\] for scores/))
  t.throws(() => topK(scores, 1, { activation: 'tanh' as never }), invalid(/for activation/))
  t.throws(() => topK(scores, 1, { labels: 'cat' as never }), invalid(/an array for labels/))
  t.throws(() => topK(scores, 1, { labels: ['cat', 3 as never] }), invalid(/a non-empty string for labels\[1\]/))
  t.throws(() => topK(scores, 1, { labelOffset: -1 }), invalid(/an integer from 0 for labelOffset/))
  t.end()
})
