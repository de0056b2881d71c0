// Which boxes are worth decoding: the addon and JavaScript, against sorting everything.
import t from 'tap'
import { findCandidates, findPortably, type CandidateRule, type Scores } from '../../lib/vision/decoders/candidates.js'
import { failure } from '../support/errors.js'
import { Random } from '../support/random.js'
import { same } from '../support/same.js'
import { bothWays } from './helpers.js'

interface Entry {
  readonly number: number
  readonly classIndex: number
  readonly score: number
  readonly rank: number
}

const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x))

/** Every score of every box, then what the rule leaves of them: another way than the code's. */
function plainly(parts: readonly Scores[], rule: CandidateRule): Entry[] {
  const logits = rule.sigmoid && !parts.some(({ objectness }) => objectness !== undefined)
  const probability = (x: number): number => (rule.sigmoid ? sigmoid(x) : x)
  const entries = parts.flatMap((part) =>
    Array.from({ length: part.count }, (_, i) => {
      const raw = Array.from({ length: part.classes }, (_, c) => part.values[i * part.step + c * part.classStep]!)
      const factor = part.objectness === undefined ? 1 : probability(part.objectness[i * (part.objectnessStep ?? 1)]!)
      const ofBox = raw.map((value, classIndex): Entry => {
        const score = Math.fround(factor * probability(value))
        return { number: part.first + i * part.firstStep, classIndex, score, rank: logits ? value : score }
      })
      return rule.everyClass ? ofBox : ofBox.filter(({ classIndex }) => classIndex === raw.indexOf(Math.max(...raw)))
    }).flat(),
  )
  return entries
    .filter(({ score }) => score > rule.threshold)
    .sort((a, b) => b.rank - a.rank || a.number - b.number || a.classIndex - b.classIndex)
    .slice(0, rule.most)
}

/** Scores laid out as the seed says: class after class, box after box, or with gaps; with ties where it is even. */
function partOf(seed: number, first: number): Scores {
  const random = new Random(seed)
  const [count, classes] = [1 + random.below(900), 1 + random.below(40)]
  const value = (): number => (seed % 2 === 0 ? random.below(16) / 16 : Math.fround(random.next()))
  const layout = seed % 3
  const [step, classStep] = layout === 0 ? [1, count + 3] : layout === 1 ? [classes + 5, 1] : [classes * 2, 2]
  const values = Float32Array.from({ length: (count - 1) * step + (classes - 1) * classStep + 1 }, value)
  const objectness =
    seed % 5 < 2 ? { objectness: Float32Array.from({ length: count * 2 }, value), objectnessStep: 2 } : {}
  return { values, count, classes, step, classStep, first, firstStep: 1 + (seed % 4), ...objectness }
}

/** The same as logits, exactly representable ones or not. */
function asLogits(part: Scores): Scores {
  const spread = (values: Float32Array): Float32Array => values.map((value) => (value - 0.5) * 8)
  return { ...part, values: spread(part.values), ...(part.objectness && { objectness: spread(part.objectness) }) }
}

bothWays((t) => {
  for (let seed = 0; seed < 60; seed++) {
    const plain = [partOf(seed, 0), partOf(seed + 7, 100000)]
    const isLogit = seed % 7 < 3
    const parts = isLogit ? plain.map(asLogits) : plain
    const rule = {
      sigmoid: isLogit,
      threshold: [0.3, 0.5, 0.9, 0, 0.61][seed % 5]!,
      everyClass: seed % 4 === 1,
      most: [40, 100000, 7][seed % 3]!,
    }
    const found = findCandidates(parts, rule)
    const wanted = plainly(parts, rule)
    same(
      t,
      [...found.indices],
      wanted.map(({ number }) => number),
      `boxes of ${seed}`,
    )
    same(
      t,
      [...found.classes],
      wanted.map(({ classIndex }) => classIndex),
      `classes of ${seed}`,
    )
    t.ok(
      wanted.every(({ score }, i) => Math.abs(score - found.scores[i]!) < 1e-7),
      `scores of ${seed}`,
    )
  }
})

bothWays((t) => {
  const scores = (values: readonly number[], classes: number): Scores => {
    return {
      values: Float32Array.from(values),
      count: values.length / classes,
      classes,
      step: classes,
      classStep: 1,
      first: 0,
      firstStep: 1,
    }
  }
  const rule = { sigmoid: false, threshold: 0.5, everyClass: false, most: 10 }
  t.same(
    [...findCandidates([scores([0.5, 0.50001, NaN, 0.7, NaN, NaN], 1)], rule).indices],
    [3, 1],
    'above, not at; NaN is above nothing',
  )
  t.same([...findCandidates([scores([NaN, 0.6, 0.7, NaN, NaN, NaN], 2)], rule).classes], [0, 1], 'NaN is no best class')
  t.same([...findCandidates([scores([0.6, 0.6], 2)], rule).classes], [0], 'of equal classes the lower')
  t.same(findCandidates([], rule).indices.length, 0)
  t.same(findCandidates([scores([], 3)], rule).indices.length, 0)
  t.same(findCandidates([scores([9, 100, -100], 1)], { ...rule, sigmoid: true }).scores.length, 2)
  t.same(
    [...findCandidates([scores([20, 30, 25], 1)], { ...rule, sigmoid: true }).indices],
    [1, 2, 0],
    'by logits where probabilities are all 1',
  )
  t.same(findCandidates([scores([9, 100, -100], 1)], { ...rule, sigmoid: true, threshold: 1 }).indices.length, 0)
}, 'the corners of it')

t.test('The addon refuses what would be read beyond its end', async (t) => {
  const part = { values: new Float32Array(10), count: 5, classes: 2, step: 2, classStep: 1, first: 0, firstStep: 1 }
  const rule = { sigmoid: false, threshold: 0, everyClass: false, most: 10 }
  same(t, findCandidates([part], rule), findPortably([part], rule))
  const wrong: [Partial<Record<keyof Scores, unknown>>, RegExp][] = [
    [{ count: 6 }, /12 elements in values/],
    [{ classStep: 2 ** 31 }, /a count for classStep/],
    [{ step: -1 }, /a count for step/],
    [{ objectness: new Float32Array(4), objectnessStep: 1 }, /5 elements in objectness/],
    [{ first: 2 ** 31 - 3 }, /numbers of boxes below/],
  ]
  for (const [change, message] of wrong)
    t.throws(
      () => findCandidates([{ ...part, ...change } as never], rule),
      failure('ERR_TRT_INVALID_ARGUMENT', message),
    )
  t.throws(() => findCandidates([part], { ...rule, most: 0 }), failure('ERR_TRT_INVALID_ARGUMENT', /from 1 for most/))
})
