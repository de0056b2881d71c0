// Regions and masks that are hidden: nothing can be seen in them, nothing beyond them is changed, by the addon and in
// JavaScript.
import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { blurMask, blurRegions, type BlurOptions, type Box, type Image } from '../../lib/vision/index.js'
import { pixelAddon } from '../../lib/vision/threads.js'
import { failure } from '../support/errors.js'
import { Random } from '../support/random.js'
import { bothWays, inEachWay, noise, pixel, plain } from './helpers.js'
import { answersOf } from './oracles/answers.js'

const invalid = (message: RegExp) => failure('ERR_TRT_INVALID_ARGUMENT', message)

/** The standard deviation of the red channel within a square. */
function contrast(image: Image, left: number, top: number, side: number): number {
  const values = Array.from({ length: side * side }, (_, i) =>
    Number(pixel(image, left + (i % side), top + Math.floor(i / side))[0]),
  )
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length)
}

function checkerboard(width: number, height: number): Image {
  const value = (i: number): number => ((i % width) + Math.floor(i / width)) % 2
  return {
    width,
    height,
    channels: 3,
    data: Uint8Array.from({ length: width * height * 3 }, (_, i) => 255 * value(Math.floor(i / 3))),
  }
}

/** How far apart two pictures are, at most. */
const furthest = (a: Image, b: Image): number =>
  a.data.reduce((most, value, i) => Math.max(most, Math.abs(value - b.data[i]!)), 0)

/** The first pixel that differs though it may not. */
function changedWhere(a: Image, b: Image, allowed: (x: number, y: number) => boolean): string | undefined {
  const place = (i: number): [number, number] => [Math.floor(i / 3) % a.width, Math.floor(i / 3 / a.width)]
  const wrong = a.data.findIndex((value, i) => value !== b.data[i] && !allowed(...place(i)))
  return wrong < 0 ? undefined : place(wrong).join()
}

/**
 * Of what deviates by 74, as noise does, a gaussian of sigma 6 leaves 74 / (2 sqrt(pi) 6) = 3.5, and the mean of 6 x 6
 * pixels 74 / 6 = 12.3; a third more, since these are few.
 */
const methods = [
  ['blur', 4.6],
  ['pixelate', 16],
  ['fill', 0],
] as const

const same = (a: Image, b: Image): boolean =>
  a.width === b.width && a.height === b.height && Buffer.from(a.data).equals(b.data)

const box: Box = [40, 30, 60, 50]
const within = (x: number, y: number): boolean => x >= 34 && x < 106 && y >= 25 && y < 85

bothWays(async (t) => {
  for (const image of [noise(160, 120), checkerboard(160, 120)]) {
    const before = Buffer.from(image.data)
    for (const shape of ['ellipse', 'rectangle'] as const) {
      for (const [method, most] of methods) {
        const name = `${method}, ${shape}`
        const hidden = await blurRegions(image, [box], { shape, method, feather: 0.2, color: [9, 8, 7] })
        t.ok(before.equals(image.data), 'the picture itself is left alone')
        t.ok(contrast(image, 60, 45, 20) > 60)
        t.ok(contrast(hidden, 60, 45, 20) <= most, `${name}: ${contrast(hidden, 60, 45, 20)}`)
        t.equal(changedWhere(image, hidden, within), undefined, name)
        t.equal(
          pixel(hidden, 41, 31).join() === pixel(image, 41, 31).join(),
          shape === 'ellipse',
          `${name}: the corner of its box`,
        )
        if (method === 'fill') t.same(pixel(hidden, 70, 55), [9, 8, 7])
      }
    }
  }
}, 'what is hidden cannot be seen, the rest is untouched')

bothWays(async (t) => {
  const image = noise(60, 50)
  const { data } = await blurRegions(image, [[10, 10, 20, 20]], {
    method: 'pixelate',
    shape: 'rectangle',
    strength: 0.25,
    feather: 0,
  })
  for (const [left, top] of [
    [10, 10],
    [15, 20],
    [25, 25],
  ] as const) {
    for (let channel = 0; channel < 3; channel++) {
      const of = (from: Uint8Array): number[] =>
        Array.from({ length: 25 }, (_, i) => from[((top + Math.floor(i / 5)) * 60 + left + (i % 5)) * 3 + channel]!)
      const mean = of(image.data).reduce((sum, value) => sum + value, 0) / 25
      t.ok(
        of(data).every((value) => value === Math.floor(mean + 0.5)),
        `${left}, ${top}: the mean of 5 x 5 pixels`,
      )
    }
  }
}, 'squares of one colour')

bothWays(async (t) => {
  const image = plain(90, 70, [90, 140, 200])
  for (const method of ['blur', 'pixelate'] as const)
    for (const each of [
      [10, 10, 40, 50],
      [-20, -20, 60, 60],
      [60, 40, 300, 300],
    ] as const)
      t.same(await blurRegions(image, [each], { method, feather: 0.5, strength: 0.3 }), image)
}, 'a plain stays plain: no seams')

bothWays(async (t) => {
  const image = noise(50, 40)
  t.same(await blurRegions(image, []), image, 'none')
  const outside: Box[] = [
    [60, 5, 10, 10],
    [0, 0, 0, 0],
    [20.5, 5, 0, 9],
    [-30, -30, 10, 10],
    [1e9, 0, 5, 5],
    [0, -1e300, 5, 5],
    [5, 5, 1e-300, 9],
  ]
  t.same(await blurRegions(image, outside, { feather: 0 }), image, 'outside the picture, or empty')
  for (const method of ['blur', 'pixelate'] as const) {
    for (const huge of [
      [-1000, -1000, 2050, 2040],
      [-1e9, -1e9, 2e9, 2e9],
      [-1e300, -1e300, 2e300, 1.7e308],
    ] as const) {
      const everywhere = await blurRegions(image, [huge], { method, strength: 1, grow: 10 })
      t.ok(contrast(everywhere, 0, 0, 40) < 2, `${method}, ${huge.join()}: ${contrast(everywhere, 0, 0, 40)}`)
    }
  }
  const small = await blurRegions(
    image,
    [
      [10, 10, 0.5, 0.5],
      [48.7, 38.2, 9, 9],
    ],
    { grow: 2 },
  )
  t.equal(
    changedWhere(image, small, (x, y) => (x >= 9 && x < 12 && y >= 9 && y < 12) || (x >= 43 && y >= 33)),
    undefined,
  )
  t.match(await blurRegions(noise(1, 1), [[0, 0, 1, 1]]), { width: 1, height: 1 })
}, 'regions of any size and place')

/** The picture of oracles/blur.py. */
function oraclePicture(): Image {
  const [width, height] = [240, 200]
  const value = (x: number, y: number, c: number): number => {
    const random = (Math.imul(x, 73856093) ^ Math.imul(y, 19349663) ^ Math.imul(c, 83492791)) >>> 8
    return (((x >> 4) ^ (y >> 4)) & 1) * 120 + ((x * (c + 1)) % 97) + (random & 31)
  }
  const data = Uint8Array.from({ length: width * height * 3 }, (_, i) =>
    value(Math.floor(i / 3) % width, Math.floor(i / 3 / width), i % 3),
  )
  return { width, height, channels: 3, data }
}

interface Answers {
  readonly checksum: number
  readonly cases: readonly { readonly box: Box; readonly strength: number; readonly data: string }[]
}

bothWays(async (t) => {
  const image = oraclePicture()
  const { checksum, cases } = answersOf<Answers>('blur')
  t.equal(
    image.data.reduce((sum, value) => sum + value, 0),
    checksum,
    'the same picture',
  )
  for (const { box, strength, data } of cases) {
    const wanted = Buffer.from(data, 'base64')
    const blurred = await blurRegions(image, [box], { shape: 'rectangle', feather: 0, strength })
    const [x, y, width, height] = box
    let [sum, most, at] = [0, 0, 0]
    for (let row = y; row < y + height; row += 3) {
      for (let column = x; column < x + width; column += 3) {
        for (const value of pixel(blurred, column, row)) {
          const difference = Math.abs(value - wanted[at++]!)
          sum += difference
          most = Math.max(most, difference)
        }
      }
    }
    t.equal(at, wanted.length)
    t.ok(
      sum / at < 0.5 && most <= 8,
      `${box.join()}, sigma ${Math.max(width, height) * strength}: ${(sum / at).toFixed(3)} in the mean, ${most} at most`,
    )
  }
}, 'as OpenCV blurs')

t.test('the addon and JavaScript agree to 1 of 255', async (t) => {
  const random = new Random(3)
  const side = (): number => random.pick([0.5, 3, 20, 60, 200]) * (0.5 + random.next())
  for (let i = 0; i < 60; i++) {
    const image = noise(1 + random.below(120), 1 + random.below(90), i)
    const boxes = Array.from(
      { length: 3 },
      () => [random.around() * 120, random.around() * 90, side(), side()] as const,
    )
    const options: BlurOptions = {
      shape: random.pick(['ellipse', 'rectangle']),
      method: random.pick(['blur', 'blur', 'pixelate', 'fill']),
      strength: random.pick([0.01, 0.1, 0.3, 1]),
      feather: random.pick([0, 0.15, 2]),
      grow: random.pick([0.5, 1, 1.5]),
      color: [random.below(256), 1, 255],
    }
    const [addon, portable] = await inEachWay(t, () => blurRegions(image, boxes, options))
    // one that is rounded otherwise is seen by the next region, too
    if (furthest(addon, portable) > 1)
      t.fail(`${i}: ${furthest(addon, portable)} ${JSON.stringify([image.width, image.height, boxes, options])}`)
    const mask = {
      width: image.width,
      height: image.height,
      data: Uint8Array.from(image.data.subarray(0, image.data.length / 3), (v) => (v < 40 ? v : 0)),
    }
    const { method, strength, color } = options
    const [hidden, other] = await inEachWay(t, () => blurMask(image, mask, { method, strength, color }))
    if (furthest(hidden, other) > 1) t.fail(`mask ${i}: ${furthest(hidden, other)}`)
  }
})

bothWays(async (t) => {
  const image = noise(160, 120)
  const disc = (x: number, y: number): boolean => (x - 80) ** 2 + (y - 60) ** 2 < 900
  const mask = {
    width: 160,
    height: 120,
    data: Uint8Array.from({ length: 160 * 120 }, (_, i) => (disc(i % 160, Math.floor(i / 160)) ? 1 + (i % 255) : 0)),
  }
  for (const [method, most] of methods) {
    const hidden = await blurMask(image, mask, { method })
    t.ok(contrast(hidden, 70, 50, 20) <= most, `${method}: ${contrast(hidden, 70, 50, 20)}`)
    t.equal(changedWhere(image, hidden, disc), undefined, method)
  }
  t.ok(same(await blurMask(image, { ...mask, data: new Uint8Array(160 * 120) }), image), 'nothing to hide')
  const all = await blurMask(
    image,
    { ...mask, data: new Uint8Array(160 * 120).fill(255) },
    { method: 'fill', color: [1, 2, 3] },
  )
  t.ok(same(all, plain(160, 120, [1, 2, 3])), 'all of it')
}, 'what a mask names is hidden')

bothWays(async (t) => {
  // noise around the picture's own bytes, and around the mask's
  const [around, guard] = [noise(30, 30), 7]
  const data = around.data.slice(0, 2 * guard + 20 * 10 * 3)
  const before = data.slice()
  const image: Image = { width: 20, height: 10, channels: 3, data: data.subarray(guard, -guard) }
  const copy = { ...image, data: image.data.slice() }
  const everywhere: Box[] = [
    [-5, -5, 40, 40],
    [15, 5, 40, 40],
    [-30, -30, 45, 45],
  ]
  t.same(
    await blurRegions(image, everywhere, { feather: 2 }),
    await blurRegions(copy, everywhere, { feather: 2 }),
    'what lies around is not read',
  )
  t.same(data, before, 'nor written')
}, 'a picture amid other bytes')

t.test('it can be given up, and the event loop goes on', async (t) => {
  const image = noise(600, 400)
  const reason = new Error('enough')
  await t.rejects(
    blurRegions(3 as never, [], { signal: AbortSignal.abort(reason) }),
    reason,
    'aborted already: nothing is looked at',
  )
  await t.rejects(blurMask(3 as never, 3 as never, { signal: AbortSignal.abort(reason) }), reason)
  if (pixelAddon() === undefined) return t.comment('no addon here: JavaScript is done at once')
  const controller = new AbortController()
  let settled = false
  const calls = Array.from({ length: 16 }, () => blurRegions(image, [[0, 0, 600, 400]], { signal: controller.signal }))
  const all = Promise.allSettled(calls).finally(() => (settled = true))
  await turn()
  t.notOk(settled, 'a turn of the event loop passes while threads work')
  controller.abort(reason)
  for (const result of await all) if (result.status === 'rejected') t.equal(result.reason, reason)
  t.ok(
    (await all).some(({ status }) => status === 'rejected'),
    'those that waited were not begun',
  )
  t.match(await blurRegions(image, [[0, 0, 600, 400]], { signal: new AbortController().signal }), { width: 600 })
})

bothWays(async (t) => {
  const image = plain(4, 4, [0, 0, 0])
  const mask = { width: 4, height: 4, data: new Uint8Array(16) }
  await t.rejects(blurRegions({ ...image, width: 3 }, []), invalid(/36 bytes/))
  await t.rejects(
    blurRegions({ ...image, channels: 4 as never }, []),
    invalid(/64 bytes \(rgba, 4 x 4, stride 16\) for image\.data but received number 48/),
  )
  await t.rejects(blurRegions(image, {} as never), invalid(/an array for regions/))
  for (const wrong of [[0, 0, 1, -1], [NaN, 0, 1, 1], [0, 0, Infinity, 1], [0, 0, 1], '0,0,1,1', null])
    await t.rejects(blurRegions(image, [[0, 0, 1, 1], wrong as never]), invalid(/regions\[1\]/))
  await t.rejects(blurRegions(image, [], { shape: 'star' as never }), invalid(/ for shape /))
  await t.rejects(blurRegions(image, [], { method: 'hide' as never }), invalid(/ for method /))
  await t.rejects(blurRegions(image, [], { strength: 0 }), invalid(/ for strength /))
  await t.rejects(blurRegions(image, [], { grow: NaN }), invalid(/ for grow /))
  await t.rejects(blurRegions(image, [], { feather: -1 }), invalid(/ for feather /))
  await t.rejects(blurRegions(image, [], { color: [0, 0, 256] }), invalid(/ for color /))
  await t.rejects(blurRegions(image, [], { signal: 1 as never }), invalid(/ for signal /))
  await t.rejects(blurRegions(image, [], [] as never), invalid(/an object for the options of /))
  await t.rejects(blurRegions(image, [3 as never]), invalid(/regions\[0\]/))
  await t.rejects(
    blurMask(image, { ...mask, width: 3 }),
    invalid(/the picture's size \(4 x 4\) for mask but received string "3 x 4"/),
  )
  await t.rejects(blurMask(image, { ...mask, data: new Uint8Array(15) }), invalid(/16 values \(4 x 4\) for mask\.data/))
  await t.rejects(
    blurMask(image, { ...mask, data: new Float32Array(16) as never }),
    invalid(/a Uint8Array for mask\.data/),
  )
  await t.rejects(blurMask(image, undefined as never), invalid(/an object for mask/))
  await t.rejects(blurMask(image, mask, { feather: 1 } as never), invalid(/Unknown option "feather" for blurMask/))
}, 'misuse')
