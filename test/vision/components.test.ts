import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { type Components, connectedComponents, type Mask } from '../../lib/vision/index.js'
import { failure } from '../support/errors.js'
import { Random } from '../support/random.js'
import { same } from '../support/same.js'
import { maskCases, type Part, portably, recordedMask } from './mask-cases.js'

const connectivities = [8, 4] as const

/** As OpenCV tells them: centroids of pixels' numbers, in an order of its own. */
function partsOf({ parts }: Components): Part[] {
  const rows = parts.map(({ area, box, centroid: [x, y] }): Part => [area, ...box, x - 0.5, y - 0.5])
  return rows.map((row) => row.map((value) => Math.round(value * 1e6) / 1e6) as unknown as Part).sort(byNumbers)
}

function byNumbers(a: Part, b: Part): number {
  const at = a.findIndex((value, i) => value !== b[i])
  return at < 0 ? 0 : (a[at] as number) - (b[at] as number)
}

/** Each pixel has its part's label, and parts are numbered by their first pixels. */
function fits({ labels, parts }: Components, mask: Mask): boolean {
  const counted = new Map<number, number>()
  for (const label of labels) counted.set(label, (counted.get(label) ?? 0) + 1)
  counted.delete(0)
  const inOrder = [...counted.keys()].every((label, index) => label === index + 1)
  const areas = parts.every(({ area }, index) => counted.get(index + 1) === area)
  return (
    inOrder &&
    areas &&
    parts.length === counted.size &&
    labels.every((label, i) => label > 0 === (mask.data[i] as number) > 0)
  )
}

t.test("parts are OpenCV's, by any way", async (t) => {
  let compared = 0
  const wrong: string[] = []
  for (const one of maskCases.filter(({ parts }) => parts !== undefined)) {
    const mask = recordedMask(one)
    for (const connectivity of connectivities) {
      const found = await connectedComponents(mask, { connectivity })
      const wanted =
        one.parts?.[connectivity].map((row) => row.map((value) => Math.round(value * 1e6) / 1e6) as unknown as Part) ??
        []
      const right = {
        "OpenCV's parts": isDeepStrictEqual(partsOf(found), wanted.toSorted(byNumbers)),
        'labels in order': fits(found, mask),
        'the same in JavaScript': isDeepStrictEqual(
          await portably(() => connectedComponents(mask, { connectivity })),
          found,
        ),
      }
      for (const [what, isRight] of Object.entries(right))
        if (!isRight) wrong.push(`seed ${one.seed}, connectivity ${connectivity}: not ${what}`)
      compared += wanted.length
    }
  }
  t.same(wrong, [])
  t.ok(compared > 500, `${compared} parts`)
})

t.test('corners, sides, rings and nothing', async (t) => {
  const board: Mask = { width: 9, height: 7, data: Uint8Array.from({ length: 63 }, (_, i) => (i + 1) % 2) }
  t.equal((await connectedComponents(board)).parts.length, 1, 'a chessboard is one part')
  t.equal((await connectedComponents(board, { connectivity: 4 })).parts.length, 32)
  const spiral = ['######', '     #', '#### #', '#  # #', '# ## #', '#    #', '######'].join('') // joined at its very end
  const one: Mask = { width: 6, height: 7, data: Uint8Array.from(spiral, (c) => Number(c === '#')) }
  const { parts } = await connectedComponents(one, { connectivity: 4 })
  t.same(parts.map(({ area, box }) => ({ area, box })), [{ area: 27, box: [0, 0, 6, 7] }]) // prettier-ignore
  const nothing = await connectedComponents({ width: 3, height: 2, data: new Uint8Array(6) })
  t.same(nothing, { width: 3, height: 2, labels: new Int32Array(6), parts: [] })
  const classes: Mask = { width: 4, height: 1, data: Uint8Array.of(3, 3, 1, 3) }
  t.equal((await connectedComponents(classes)).parts.length, 1)
  const third = await connectedComponents(classes, { classIndex: 3 })
  t.same([...third.labels], [1, 1, 0, 2])
  t.same(third.parts[0], { area: 2, box: [0, 0, 2, 1], centroid: [1, 0.5] })
})

t.test('large masks of noise: both ways agree', async (t) => {
  const random = new Random(5)
  for (const density of [0.1, 0.5, 0.6, 0.9]) {
    const mask: Mask = {
      width: 211,
      height: 160,
      data: Uint8Array.from({ length: 211 * 160 }, () => Number(random.chance(density))),
    }
    for (const connectivity of connectivities) {
      const found = await connectedComponents(mask, { connectivity })
      t.ok(fits(found, mask), `${found.parts.length} parts`)
      same(t, await portably(() => connectedComponents(mask, { connectivity })), found)
    }
  }
})

t.test('abort and misuse', async (t) => {
  const mask: Mask = { width: 2, height: 1, data: new Uint8Array(2) }
  const reason = new Error('enough')
  await t.rejects(connectedComponents(mask, { signal: AbortSignal.abort(reason) }), reason)
  const invalid = (message: RegExp) => failure('ERR_TRT_INVALID_ARGUMENT', message)
  const wrong: [unknown, unknown, RegExp][] = [
    [null, {}, /an object for mask/],
    [{ ...mask, width: 0 }, {}, /for mask.width/],
    [{ ...mask, height: 2 }, {}, /4 bytes \(2 x 2\) for mask.data/],
    [mask, { connectivity: 6 }, /8 or 4 for connectivity but received number 6/],
    [mask, { classIndex: -1 }, /from 0 to 255 for classIndex/],
    [mask, { tolerance: 1 }, /Unknown option "tolerance"/],
  ]
  for (const [given, options, message] of wrong)
    await t.rejects(connectedComponents(given as never, options as never), invalid(message))
})
