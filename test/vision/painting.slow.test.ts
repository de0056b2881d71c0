// Pictures painted where they lie: Y, U and V as by the way over RGB, and nothing beyond what is painted.
import t, { type Test } from 'tap'
import {
  blurMask,
  blurRegions,
  type Box,
  cutOut,
  drawBoxes,
  drawPolygons,
  encodeImage,
  type Image,
  type InPlace,
  letterbox,
  overlay,
  type PixelFormat,
  type PlacedMask,
  type Point,
  type RawImage,
  toTensor,
  toTensorSync,
} from '../../lib/vision/index.js'
import { pixelAddon } from '../../lib/vision/threads.js'
import { failure, failureOf } from '../support/errors.js'
import { Random } from '../support/random.js'
import { bothWays, inEachWay, noise } from './helpers.js'
import { layoutOf, type Meaning, meanings, planes, planesOf, sampleOf, sidesOf, waves } from './planes.js'

const inPlace: InPlace = { inPlace: true }
const invalid = (message: RegExp) => failure('ERR_TRT_INVALID_ARGUMENT', message)
const inUse = failure('ERR_TRT_BUFFER_IN_USE', /^The bytes of .+ are (painted|read) by another call: await that first$/)

type Bounds = readonly [left: number, top: number, right: number, bottom: number]

interface Case {
  readonly name: string
  /** Unless that of what is rounded. */
  readonly tolerance?: number
  /** What it may touch. */
  readonly bounds: readonly Bounds[]
  readonly copied: (picture: RawImage) => Promise<Image>
  readonly painted: <P extends Image | RawImage>(picture: P) => Promise<P>
}

const around = ([x, y, width, height]: Box, by: number): Bounds => [x - by, y - by, x + width + by, y + height + by]

/** Each at odd and even places, and at none. */
function* casesOf(width: number, height: number): Generator<Case> {
  const boxes: Box[] = [
    [5, 4, 13, 11],
    [22.3, 5.8, 11.5, 12.25],
    [4, 24, 12, 10],
    [width - 13, height - 12, 30, 30],
  ]
  for (const method of ['blur', 'pixelate', 'fill'] as const)
    for (const shape of ['ellipse', 'rectangle'] as const) {
      const options = {
        method,
        shape,
        strength: 0.2,
        feather: shape === 'ellipse' ? 0.3 : 0,
        color: [200, 60, 90],
      } as const
      yield {
        name: `${method}, ${shape}`,
        bounds: boxes.map((box) => around(box, 0.15 * Math.max(box[2], box[3]))),
        copied: (picture) => blurRegions(picture, boxes, options),
        painted: (picture) => blurRegions(picture, boxes, { ...options, ...inPlace }),
      }
    }
  const drawn = boxes.map((box) => ({ box, landmarks: [[box[0] + box[2] / 2, box[1] + box[3] / 2]] as Point[] }))
  const lines = { color: [30, 190, 120], lineWidth: 2.5 } as const
  yield {
    name: 'boxes',
    bounds: boxes.map((box) => around(box, 3)),
    copied: (picture) => drawBoxes(picture, drawn, lines),
    painted: (picture) => drawBoxes(picture, drawn, { ...lines, ...inPlace }),
  }
  const labelled = [{ box: [3, 15, 20, 12] as const, label: 'face' }]
  yield {
    name: 'a label',
    bounds: [[0, 0, width, 30]],
    copied: (picture) => drawBoxes(picture, labelled, { fontSize: 10 }),
    painted: (picture) => drawBoxes(picture, labelled, { fontSize: 10, ...inPlace }),
  }
  const line: Point[][] = [
    [
      [3, 3],
      [25.5, 8],
    ],
  ]
  yield {
    name: 'a line',
    bounds: [[0, 0, 29, 12]],
    copied: (picture) => drawPolygons(picture, line, lines),
    painted: (picture) => drawPolygons(picture, line, { ...lines, ...inPlace }),
  }
  const outline: Point[] = [
    [3, 3],
    [25.5, 8],
    [12, 24.2],
  ]
  yield {
    name: 'a polygon',
    // where lines meet, the second one is laid over the mean of two by two pixels, not over each of them
    tolerance: 16,
    bounds: [[0, 0, 29, 28]],
    copied: (picture) => drawPolygons(picture, [outline], lines),
    painted: (picture) => drawPolygons(picture, [outline], { ...lines, ...inPlace }),
  }
  const disc = Uint8Array.from({ length: 19 * 15 }, (_, i) =>
    ((i % 19) - 9) ** 2 + (Math.floor(i / 19) - 7) ** 2 < 50 ? 1 + (i % 3) : 0,
  )
  const mask: PlacedMask = { x: 7, y: 6, width: 19, height: 15, data: disc }
  const bounds: Bounds[] = [[7, 6, 26, 21]]
  for (const method of ['blur', 'pixelate'] as const)
    yield {
      name: `a mask, ${method}`,
      bounds,
      copied: (picture) => blurMask(picture, mask, { method, strength: 0.3 }),
      painted: (picture) => blurMask(picture, mask, { method, strength: 0.3, ...inPlace }),
    }
  yield {
    name: 'classes',
    bounds,
    copied: (picture) => overlay(picture, mask),
    painted: (picture) => overlay(picture, mask, inPlace),
  }
}

const copyOf = <P extends Image | RawImage>(picture: P): P => ({ ...picture, data: picture.data.slice() })

/** How far the planes are from those of what was painted as RGB; a change beyond the bounds is a failure. */
function furthest(
  t: Test,
  painted: RawImage,
  before: RawImage,
  wanted: Image,
  { name, bounds }: Case,
  meaning: Meaning,
  gap: number,
): number {
  const { width, height, format } = before
  const { place } = layoutOf(format, width, height, gap)
  const samples = new Set<number>()
  let [most, wrong] = [0, '']
  for (const plane of planes) {
    const [across, down] = sidesOf(plane, width, height)
    const size = plane === 0 ? 1 : 2
    for (let y = 0; y < down; y++)
      for (let x = 0; x < across; x++) {
        const at = place(plane, x, y)
        samples.add(at)
        const may = bounds.some(
          ([a, b, c, d]) => x * size < c && (x + 1) * size > a && y * size < d && (y + 1) * size > b,
        )
        if (may) most = Math.max(most, Math.abs(painted.data[at]! - sampleOf(wanted, plane, x, y, meaning)))
        else if (painted.data[at] !== before.data[at]) wrong ||= `plane ${plane} at ${x}, ${y}`
      }
  }
  painted.data.forEach((value, at) => {
    if (!samples.has(at) && value !== before.data[at]) wrong ||= `byte ${at}, of no sample`
  })
  if (wrong !== '') t.fail(`${name}, ${JSON.stringify(meaning)}, ${format}: ${wrong} is changed`)
  return most
}

bothWays(async (t) => {
  for (const [index, meaning] of meanings.entries()) {
    for (const [width, height, gap] of index % 2 === 0
      ? ([
          [48, 40, 0],
          [45, 41, 5],
        ] as const)
      : ([
          [47, 39, 0],
          [46, 39, 3],
        ] as const)) {
      const image = waves(width, height, index + 1)
      const [i420, nv12] = [planesOf(image, 'i420', meaning, gap), planesOf(image, 'nv12', meaning, gap)]
      for (const each of casesOf(width, height)) {
        const wanted = await each.copied(i420)
        const results = await Promise.all([copyOf(i420), copyOf(nv12)].map(each.painted))
        for (const [i, before] of [i420, nv12].entries()) {
          const most = furthest(t, results[i]!, before, wanted, each, meaning, gap)
          // each way rounds two or three times, in units of 255 / 219 of each other at most
          if (most > (each.tolerance ?? 2.6))
            t.fail(
              `${each.name}, ${JSON.stringify(meaning)}, ${before.format} ${width} x ${height}: ${most.toFixed(2)} away`,
            )
        }
        const { place } = layoutOf('i420', width, height, gap)
        const turns = layoutOf('nv12', width, height, gap)
        for (const plane of planes) {
          const [across, down] = sidesOf(plane, width, height)
          for (let y = 0; y < down; y++)
            for (let x = 0; x < across; x++)
              if (results[0]!.data[place(plane, x, y)] !== results[1]!.data[turns.place(plane, x, y)])
                t.fail(`${each.name}: ${plane}, ${x}, ${y}`)
        }
      }
    }
  }
}, 'Y, U and V, within what is rounded of the way over RGB')

/** Pixels in another layout, with bytes between rows; alpha is the number of the pixel. */
function packed(image: Image, format: PixelFormat, gap: number): RawImage {
  const places = { rgb: [0, 1, 2], bgr: [2, 1, 0], rgba: [0, 1, 2, -1], bgra: [2, 1, 0, -1], gray: [0] }[
    format as 'rgb'
  ]
  const stride = image.width * places.length + gap
  const data = new Uint8Array(stride * image.height).fill(99)
  for (let pixel = 0; pixel < image.width * image.height; pixel++) {
    const at = Math.floor(pixel / image.width) * stride + (pixel % image.width) * places.length
    places.forEach((channel, i) => (data[at + i] = channel < 0 ? pixel : image.data[pixel * 3 + channel]!))
  }
  return { width: image.width, height: image.height, format, data, stride }
}

bothWays(async (t) => {
  const image = noise(43, 37)
  for (const each of casesOf(43, 37)) {
    const wanted = await each.copied({ ...image, format: 'rgb' })
    const own = copyOf(image)
    t.equal(await each.painted(own), own, 'the very picture')
    t.ok(Buffer.from(own.data).equals(wanted.data), `${each.name}: RGB without gaps`)
    for (const format of ['rgb', 'bgr', 'rgba', 'bgra'] as const) {
      const raw = packed(image, format, 4)
      t.equal(await each.painted(raw), raw)
      t.ok(
        Buffer.from(raw.data).equals(packed(wanted, format, 4).data),
        `${each.name}: ${format}, alpha and gaps as they were`,
      )
    }
    const grey = packed(image, 'gray', 3)
    const before = grey.data.slice()
    const asRgb = await each.copied({ ...grey, data: before })
    await each.painted(grey)
    const luma = (i: number): number =>
      0.299 * asRgb.data[3 * i]! + 0.587 * asRgb.data[3 * i + 1]! + 0.114 * asRgb.data[3 * i + 2]!
    for (let i = 0; i < 43 * 37; i++) {
      const value = grey.data[Math.floor(i / 43) * 46 + (i % 43)]!
      if (Math.abs(value - luma(i)) > 1.5) t.fail(`${each.name}, grey: ${value} instead of ${luma(i)}`)
    }
    for (let y = 0; y < 37; y++) t.same([...grey.data.subarray(y * 46 + 43, y * 46 + 46)], [99, 99, 99])
  }
}, 'RGB in any order, and grey')

t.test('the addon and JavaScript agree to 1 of 255', async (t) => {
  const random = new Random(7)
  for (let i = 0; i < 12; i++) {
    const [width, height] = [1 + random.below(70), 1 + random.below(60)]
    const meaning = random.pick(meanings)
    const picture = planesOf(noise(width, height, i), random.pick(['i420', 'nv12'] as const), meaning, random.below(4))
    for (const each of casesOf(width, height)) {
      if (each.name.includes('mask') || each.name === 'classes') continue // they need a picture of their size
      const [addon, portable] = await inEachWay(t, () => each.painted(copyOf(picture)))
      const most = addon.data.reduce((far, value, at) => Math.max(far, Math.abs(value - portable.data[at]!)), 0)
      if (most > 1) t.fail(`${i}: ${each.name}, ${width} x ${height}: ${most}`)
    }
  }
})

bothWays(async (t) => {
  const image = planesOf(waves(40, 30), 'nv12', meanings[0]!)
  const wanted = await blurRegions(copyOf(image), [[3, 3, 20, 20]], inPlace)
  const pictures = [copyOf(image), copyOf(image)]
  const many = await blurRegions(pictures, [[[3, 3, 20, 20]], []], inPlace)
  t.equal(many[0], pictures[0])
  t.ok(Buffer.from(many[0]!.data).equals(wanted.data))
  t.ok(Buffer.from(many[1]!.data).equals(image.data), 'no region: no byte')
  // what belongs to somebody else before and behind it
  const data = new Uint8Array(image.data.length + 20).fill(7)
  data.set(image.data, 9)
  await blurRegions({ ...image, data: data.subarray(9, 9 + image.data.length) }, [[-9, -9, 90, 90]], {
    ...inPlace,
    feather: 2,
  })
  t.same([...data.subarray(0, 9), ...data.subarray(9 + image.data.length)], new Array(20).fill(7))
}, 'many, and amid other bytes')

bothWays(async (t) => {
  const image = planesOf(waves(64, 48), 'i420', meanings[0]!)
  const boxes: Box[] = [[4, 4, 40, 40]]
  for (const wrong of ['a.png', new URL('file:///a.png'), new Uint8Array(9)])
    await t.rejects(
      blurRegions(wrong as never, boxes, inPlace),
      invalid(/pixels \(a file is not painted in place\) for image/),
    )
  for (const format of ['i42010', 'p010'] as const) {
    const deep: RawImage = { width: 64, height: 48, format, data: new Uint8Array(64 * 48 * 3) }
    await t.rejects(
      drawBoxes(deep, [], inPlace),
      invalid(/a format of 8 bits \(10 bits are not painted in place\) for image\.format but received string "/),
    )
    t.match(await drawBoxes(deep, []), { channels: 3, width: 64 }, 'a copy is of 8 bits')
  }
  await t.rejects(blurRegions(image, boxes, { inPlace: 1 } as never), invalid(/ for inPlace/))
  const detached = copyOf(image)
  structuredClone(detached.data, { transfer: [detached.data.buffer as ArrayBuffer] })
  await t.rejects(blurRegions(detached, boxes, inPlace), failure('ERR_TRT_DETACHED', /buffer of image\.data/))
  const shared = { ...image, data: new Uint8Array(new SharedArrayBuffer(image.data.length)) }
  await t.rejects(blurRegions(shared, boxes, inPlace), invalid(/memory that is not shared for image\.data/))
  shared.data.set(image.data)
  t.same(toTensorSync(shared, letterbox(image, 8)), toTensorSync(image, letterbox(image, 8)), 'read by a copy')
  await t.rejects(
    cutOut(image, { width: 64, height: 48, data: new Uint8Array(64 * 48) }, inPlace as never),
    invalid(/Unknown option "inPlace"/),
  )
}, 'misuse')

/** Why those of the calls were refused that were. */
async function refusedOf(calls: readonly Promise<unknown>[]): Promise<unknown[]> {
  return (await Promise.allSettled(calls)).flatMap((each) =>
    each.status === 'rejected' ? [each.reason as unknown] : [],
  )
}

bothWays(async (t) => {
  const image = planesOf(waves(64, 48), 'i420', meanings[0]!)
  const boxes: Box[] = [[4, 4, 40, 40]]
  const [first, second] = await Promise.allSettled([blurRegions(image, boxes, inPlace), drawBoxes(image, [], inPlace)])
  t.equal(first.status, 'fulfilled')
  t.match(second, { status: 'rejected', reason: inUse }, 'while it is painted')
  await drawBoxes(image, [], inPlace)
  t.match(
    await Promise.allSettled([drawBoxes([image, image], [[], []], inPlace)]),
    [{ status: 'rejected', reason: inUse }],
    'twice in one call',
  )
  const all: RawImage = { ...image, height: 24, data: image.data.subarray(0, 64 * 36) }
  const rest: RawImage = { ...image, format: 'gray', height: 12, data: image.data.subarray(64 * 36) }
  await Promise.all([blurRegions(all, boxes, inPlace), blurRegions(rest, boxes, inPlace)])
  t.pass('other bytes of the same memory')
  const mask: PlacedMask = { width: 64, height: 48, data: image.data.subarray(0, 64 * 48) }
  t.match(await failureOf(() => overlay(image, mask, inPlace)), inUse, 'a mask that is the picture')
  const frame = letterbox(image, 8)
  t.match(await refusedOf([drawBoxes(image, [], inPlace), toTensor(image, frame)]), [inUse])
  t.match(await refusedOf([drawBoxes(image, [], inPlace), Promise.resolve().then(() => toTensorSync(image, frame))]), [
    inUse,
  ])
  const rgb = noise(20, 20)
  const boxed = (label: string): Promise<Image> => drawBoxes(rgb, [{ box: [1, 1, 5, 5], label }], inPlace)
  t.match(await refusedOf([boxed('a'), encodeImage(rgb, 'png')]), [inUse])
  t.match(await refusedOf([boxed('b'), drawBoxes(rgb, [])]), [inUse])
  await toTensor(image, letterbox(image, 8))
}, 'bytes that are painted are used by nobody else')

t.test('who gives up leaves the bytes when nobody paints them any more', async (t) => {
  if (pixelAddon() === undefined) return t.comment('no addon here: JavaScript is done at once')
  const image = planesOf(noise(800, 600), 'nv12', meanings[1]!)
  const controller = new AbortController()
  const reason = new Error('enough')
  const painting = blurRegions(image, [[0, 0, 800, 600]], { ...inPlace, signal: controller.signal })
  await Promise.resolve()
  controller.abort(reason)
  await t.rejects(painting, reason)
  // at some time it ends; until then the bytes are in use
  for (;;) {
    const before = image.data.slice()
    const outcome = await Promise.allSettled([drawBoxes(image, [], inPlace)])
    if (outcome[0].status === 'fulfilled') {
      t.ok(Buffer.from(before).equals(image.data), 'nobody paints any more')
      break
    }
    t.match(outcome[0].reason, inUse)
    await new Promise(setImmediate)
  }
})
