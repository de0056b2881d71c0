import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { type Mask, maskIoU, type Polygon, polygons, type Ring } from '../../lib/vision/index.js'
import { failure } from '../support/errors.js'
import { Random } from '../support/random.js'
import { maskCases, portably, recordedMask } from './mask-cases.js'

/** Twice the area, positive for a ring that goes clockwise as one sees it. */
function area(ring: Ring): number {
  return ring.reduce((sum, [x, y], i) => {
    const [nextX, nextY] = ring[(i + 1) % ring.length] as readonly [number, number]
    return sum + (x * nextY - nextX * y) / 2
  }, 0)
}

/** The pixels whose centres lie in an odd number of the rings. */
function filled(outlines: readonly Polygon[], { width, height }: { width: number; height: number }): Mask {
  const data = new Uint8Array(width * height)
  const rings = outlines.flatMap(({ outer, holes }) => [outer, ...holes])
  for (let row = 0; row < height; row++) {
    const y = row + 0.5
    for (const ring of rings) {
      ring.forEach(([x, from], i) => {
        const [nextX, to] = ring[(i + 1) % ring.length] as readonly [number, number]
        if (from > y === to > y) return
        const crossing = x + ((y - from) * (nextX - x)) / (to - from)
        for (let column = Math.max(0, Math.ceil(crossing - 0.5)); column < width; column++)
          data[row * width + column]! ^= 1
      })
    }
  }
  return { width, height, data }
}

function binary({ width, height, data }: Mask): Mask {
  return { width, height, data: data.map((value) => Number(value > 0)) }
}

t.test('filling the outlines gives the mask again, exactly', async (t) => {
  let holes = 0
  const wrong: string[] = []
  for (const one of maskCases.filter(({ parts }) => parts !== undefined)) {
    const mask = recordedMask(one)
    for (const connectivity of [8, 4] as const) {
      const outlines = await polygons(mask, { connectivity })
      const areas = outlines.map(({ outer, holes }) => area(outer) + holes.reduce((sum, hole) => sum + area(hole), 0))
      const wanted = one.parts?.[connectivity].map(([area]) => area) ?? []
      const right = {
        'the pixels of the mask': isDeepStrictEqual(filled(outlines, mask), binary(mask)),
        "as many pixels as OpenCV's parts": isDeepStrictEqual(areas.toSorted((a, b) => a - b), wanted), // prettier-ignore
        'clockwise, and holes the other way': outlines.every(
          ({ outer, holes }) => area(outer) > 0 && holes.every((hole) => area(hole) < 0),
        ),
        'the same in JavaScript': isDeepStrictEqual(await portably(() => polygons(mask, { connectivity })), outlines),
      }
      for (const [what, isRight] of Object.entries(right))
        if (!isRight) wrong.push(`seed ${one.seed}, connectivity ${connectivity}: not ${what}`)
      holes += outlines.reduce((sum, { holes }) => sum + holes.length, 0)
    }
  }
  t.same(wrong, [])
  t.ok(holes > 100, `${holes} holes`)
})

t.test('corners only, clockwise', async (t) => {
  const draw = (...rows: string[]): Mask => {
    return {
      width: rows[0]?.length ?? 0,
      height: rows.length,
      data: Uint8Array.from(rows.join(''), (c) => Number(c !== '.')),
    }
  }
  const square = [[0, 0], [1, 0], [1, 1], [0, 1]] // prettier-ignore
  t.same(await polygons(draw('#')), [{ outer: square, holes: [] }])
  t.same(await polygons(draw('....')), [])
  const [ring] = await polygons(draw('###', '#.#', '###'))
  t.same(ring?.outer, [[0, 0], [3, 0], [3, 3], [0, 3]]) // prettier-ignore
  t.same(
    ring?.holes.map((hole) => new Set(hole.map(String))),
    [new Set(['1,1', '1,2', '2,2', '2,1'])],
  )
  t.equal((await polygons(draw('#.', '.#'))).length, 1)
  t.equal((await polygons(draw('#.', '.#'), { connectivity: 4 })).length, 2)
  t.equal((await polygons(draw('##.', '#.#', '.##')))[0]?.holes.length, 1, 'a hole between corners that touch')
  t.equal(
    (await polygons({ width: 3, height: 1, data: Uint8Array.of(1, 2, 2) }, { classIndex: 2 }))[0]?.outer[0]?.[0],
    1,
  )
})

/** How far a point is from the nearest side of a ring. */
function distance([x, y]: readonly [number, number], ring: Ring): number {
  const distances = ring.map(([ax, ay], i) => {
    const [bx, by] = ring[(i + 1) % ring.length] as readonly [number, number]
    const along = ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / ((bx - ax) ** 2 + (by - ay) ** 2)
    const at = Math.min(1, Math.max(0, along))
    return Math.hypot(x - ax - at * (bx - ax), y - ay - at * (by - ay))
  })
  return Math.min(...distances)
}

t.test('a tolerance leaves points out, and none of them is farther away than that', async (t) => {
  const random = new Random(8)
  for (const tolerance of [0.5, 1, 2, 5]) {
    const [centre, radius] = [60 + random.next(), 40 + 10 * random.next()]
    const inside = (i: number): boolean =>
      Math.hypot((i % 120) + 0.5 - centre, Math.floor(i / 120) + 0.5 - centre) < radius
    const disc: Mask = {
      width: 120,
      height: 120,
      data: Uint8Array.from({ length: 120 * 120 }, (_, i) => Number(inside(i))),
    }
    const exact = await polygons(disc)
    const simple = await polygons(disc, { tolerance })
    const [before, after] = [exact[0]?.outer ?? [], simple[0]?.outer ?? []]
    t.ok(
      after.length >= 3 && after.length < before.length / (tolerance < 1 ? 1.2 : 2),
      `${before.length} points become ${after.length}`,
    )
    t.ok(before.every((point) => distance(point, after) <= tolerance + 1e-9))
    t.ok(maskIoU(filled(simple, disc), disc) > 1 - tolerance / 20)
  }
  const [dot] = await polygons({ width: 1, height: 1, data: Uint8Array.of(1) }, { tolerance: 10 })
  t.equal(dot?.outer.length, 4, 'what would vanish stays as it is')
})

t.test('abort and misuse', async (t) => {
  const mask: Mask = { width: 2, height: 1, data: new Uint8Array(2) }
  const reason = new Error('enough')
  await t.rejects(polygons(mask, { signal: AbortSignal.abort(reason) }), reason)
  const invalid = (message: RegExp) => failure('ERR_TRT_INVALID_ARGUMENT', message)
  await t.rejects(polygons(mask, { tolerance: -1 }), invalid(/at least 0 for tolerance/))
  await t.rejects(polygons(mask, { tolerance: Infinity }), invalid(/for tolerance/))
  await t.rejects(polygons({ ...mask, data: new Uint8Array(3) }), invalid(/2 bytes \(2 x 1\) for mask.data/))
  await t.rejects(polygons(mask, { connectivity: '8' as never }), invalid(/8 or 4 for connectivity/))
})
