import t from 'tap'
import { intersectionOverUnion, nonMaxSuppression, type Box, type Detection } from '../../lib/vision/index.js'
import { failure } from '../support/errors.js'
import { Random } from '../support/random.js'

t.test('intersection over union', (t) => {
  t.equal(intersectionOverUnion([0, 0, 2, 2], [0, 0, 2, 2]), 1)
  t.equal(intersectionOverUnion([0, 0, 2, 2], [1, 1, 2, 2]), 1 / 7)
  t.equal(intersectionOverUnion([0, 0, 2, 2], [2, 0, 2, 2]), 0, 'side by side')
  t.equal(intersectionOverUnion([-5, -5, 10, 10], [0, 0, 5, 5]), 0.25, 'one within the other')
  t.equal(intersectionOverUnion([1, 1, 0, 0], [1, 1, 0, 0]), 0, 'two empty boxes')
  t.end()
})

/** Areas counted on whole pixels: the boxes have whole coordinates. */
function iouByCounting(a: Box, b: Box): number {
  let shared = 0
  for (let y = a[1]; y < a[1] + a[3]; y++) {
    for (let x = a[0]; x < a[0] + a[2]; x++) {
      if (x >= b[0] && x < b[0] + b[2] && y >= b[1] && y < b[1] + b[3]) shared++
    }
  }
  const all = a[2] * a[3] + b[2] * b[3] - shared
  return all === 0 ? 0 : shared / all
}

/** Better: a greater score, or at equal scores an earlier place. */
function betterThan(detections: readonly Detection[], i: number, j: number): boolean {
  const difference = Number(detections[i]?.score) - Number(detections[j]?.score)
  return difference > 0 || (difference === 0 && i < j)
}

/** By the definition: one stays if and only if no better one that stays (and may rival it) overlaps it too much. */
function suppressByDefinition(detections: readonly Detection[], threshold: number, perClass: boolean): Detection[] {
  const indices = [...detections.keys()]
  const stays = new Map<number, boolean>()
  const decide = (i: number): boolean => {
    const known = stays.get(i)
    if (known !== undefined) return known
    const me = detections[i] as Detection
    const falls = indices.some((j) => {
      const other = detections[j] as Detection
      const rival = betterThan(detections, j, i) && (!perClass || other.classIndex === me.classIndex)
      return rival && iouByCounting(other.box, me.box) > threshold && decide(j)
    })
    stays.set(i, !falls)
    return !falls
  }
  const kept = indices.filter(decide).sort((i, j) => (betterThan(detections, i, j) ? -1 : 1))
  return kept.map((i) => detections[i] as Detection)
}

t.test('suppression is what its definition says, on boxes by chance', (t) => {
  const random = new Random(11)
  for (let round = 0; round < 60; round++) {
    // Few different scores, so that there are ties.
    const detections = Array.from({ length: random.below(60) }, (): Detection => {
      return {
        box: [random.below(20) - 5, random.below(20) - 5, random.below(14), random.below(14)],
        score: random.below(8) / 8,
        classIndex: random.below(3),
      }
    })
    const iouThreshold = [0, 0.25, 0.4, 0.5, 1][round % 5] as number
    for (const perClass of [true, false]) {
      const wanted = suppressByDefinition(detections, iouThreshold, perClass)
      t.same(
        nonMaxSuppression(detections, { iouThreshold, perClass }),
        wanted,
        `${wanted.length} of ${detections.length} stay`,
      )
      t.same(nonMaxSuppression(detections, { iouThreshold, perClass, maximum: 3 }), wanted.slice(0, 3))
    }
  }
  t.end()
})

t.test('what goes in comes out, untouched', (t) => {
  const detections = Object.freeze([
    { box: [0, 0, 1, 1], score: 0.1, name: 'b' } as const,
    { box: [5, 5, 1, 1], score: 0.9, name: 'a' } as const,
  ])
  const kept = nonMaxSuppression(detections)
  t.equal(kept[0], detections[1])
  t.equal(kept[1], detections[0])
  t.end()
})

t.test('misuse', (t) => {
  const invalid = (message: RegExp) => failure('ERR_TRT_INVALID_ARGUMENT', message)
  const one: Detection = { box: [0, 0, 1, 1], score: 0.5, classIndex: 0 }
  t.throws(() => nonMaxSuppression('boxes' as never), invalid(/an array for detections/))
  t.throws(() => nonMaxSuppression([one, null as never]), invalid(/an object for detections\[1\] but received null/))
  t.throws(() => nonMaxSuppression([{ ...one, box: [0, 0, -1, 1] }]), invalid(/detections\[0\].box/))
  t.throws(() => nonMaxSuppression([{ ...one, score: NaN }]), invalid(/a finite number for detections\[0\].score/))
  t.throws(() => nonMaxSuppression([], { iouThreshold: 1.1 }), invalid(/from 0 to 1 for iouThreshold/))
  t.throws(() => nonMaxSuppression([], { perClass: 1 as never }), invalid(/true or false for perClass/))
  t.throws(() => nonMaxSuppression([], { maximum: 0 }), invalid(/an integer from 1 for maximum/))
  t.throws(() => intersectionOverUnion([0, 0, 1, 1], [0, 0, 1] as never), invalid(/for b/))
  t.end()
})
