// Masks made visible: classes in colours, a thing without its background; by the addon and in JavaScript.
import sharp from 'sharp'
import t from 'tap'
import {
  type Alpha,
  blurMask,
  type Color,
  cutOut,
  type CutOutOptions,
  encodeImage,
  type Image,
  overlay,
  type PlacedMask,
} from '../../lib/vision/index.js'
import { failure } from '../support/errors.js'
import { Random } from '../support/random.js'
import { bothWays, inEachWay, noise, plain } from './helpers.js'

const invalid = (message: RegExp) => failure('ERR_TRT_INVALID_ARGUMENT', message)
const [width, height] = [61, 40]
const image = noise(width, height)

/** Mostly nothing, and classes 1 to 255. */
const classes: PlacedMask = {
  width,
  height,
  data: Uint8Array.from({ length: width * height }, (_, i) => (i % 7 === 0 ? (i / 7) % 256 : 0)),
}

/** How far bytes are, at most, from what a formula says of each pixel's channel. */
function furthest(data: Uint8Array, channels: number, wanted: (pixel: number, channel: number) => number): number {
  return data.reduce(
    (most, value, i) => Math.max(most, Math.abs(value - wanted(Math.floor(i / channels), i % channels))),
    0,
  )
}

const under = (pixel: number, channel: number): number => image.data[pixel * 3 + channel]!
const mix = (a: number, b: number, share: number): number => a + (b - a) * share
const ofColor = (color: Color, channel: number): number => color[channel as 0 | 1 | 2]

bothWays(async (t) => {
  const palette: Color[] = [
    [255, 0, 0],
    [0, 255, 0],
    [9, 80, 255],
  ]
  const before = image.data.slice()
  for (const opacity of [0, 0.3, 1]) {
    const colored = await overlay(image, classes, { palette, opacity })
    const wanted = (pixel: number, channel: number): number => {
      const kind = classes.data[pixel]!
      return kind === 0
        ? under(pixel, channel)
        : mix(under(pixel, channel), ofColor(palette[(kind - 1) % 3]!, channel), opacity)
    }
    t.ok(furthest(colored.data, 3, wanted) <= 0.51, `opacity ${opacity}`)
    const one = await overlay(image, classes, { color: [1, 2, 3], opacity })
    t.ok(
      furthest(one.data, 3, (pixel, channel) =>
        classes.data[pixel] === 0 ? under(pixel, channel) : mix(under(pixel, channel), channel + 1, opacity),
      ) <= 0.51,
    )
  }
  t.same(image.data, before, 'the picture itself is left alone')
  const all = { width: 255, height: 1, data: Uint8Array.from({ length: 255 }, (_, i) => i + 1) }
  const { data } = await overlay(plain(255, 1, [0, 0, 0]), all, { opacity: 1 })
  t.same([...data.subarray(0, 3)], [255, 64, 64])
  const colors = new Set(Array.from({ length: 255 }, (_, i) => data.subarray(i * 3, i * 3 + 3).join()))
  t.ok(colors.size > 240, `each class has a colour of its own, nearly: ${colors.size}`)
}, 'a mask in colours')

bothWays(async (t) => {
  const keeps = await cutOut(image, classes)
  t.match(keeps, { width, height, channels: 4 })
  t.equal(
    furthest(keeps.data, 4, (pixel, channel) =>
      channel < 3 ? under(pixel, channel) : classes.data[pixel] === 0 ? 0 : 255,
    ),
    0,
  )
  const alpha: Alpha = {
    width,
    height,
    data: Float32Array.from(classes.data, (value, i) => (i === 3 ? NaN : i === 4 ? -1 : i === 5 ? 7 : value / 255)),
  }
  const share = (pixel: number): number => (pixel === 5 ? 1 : pixel === 3 || pixel === 4 ? 0 : alpha.data[pixel]!)
  const soft = await cutOut(image, alpha)
  t.ok(furthest(soft.data, 4, (pixel, channel) => (channel < 3 ? under(pixel, channel) : share(pixel) * 255)) <= 0.51)
  for (const background of [[10, 20, 30] as const, noise(width, height, 9)]) {
    const behind = (pixel: number, channel: number): number =>
      'data' in background ? background.data[pixel * 3 + channel]! : ofColor(background, channel)
    const before = await cutOut(image, alpha, { background })
    t.match(before, { width, height, channels: 3 })
    t.ok(
      furthest(before.data, 3, (pixel, channel) => mix(behind(pixel, channel), under(pixel, channel), share(pixel))) <=
        0.51,
    )
  }
}, 'cut out')

bothWays(async (t) => {
  const part = {
    x: 11,
    y: 7,
    width: 20,
    height: 9,
    data: new Random(4).bytes(180).map((value) => (value < 128 ? 0 : value)),
  }
  const whole = { width, height, data: new Uint8Array(width * height) }
  for (let y = 0; y < 9; y++) whole.data.set(part.data.subarray(y * 20, y * 20 + 20), (y + 7) * width + 11)
  t.same(await overlay(image, part), await overlay(image, whole))
  t.same(await cutOut(image, part), await cutOut(image, whole))
  t.same(await blurMask(image, part), await blurMask(image, whole))
  const soft = (mask: PlacedMask): Alpha => ({ ...mask, data: Float32Array.from(mask.data, (value) => value / 255) })
  t.same(
    await cutOut(image, soft(part), { background: [1, 2, 3] }),
    await cutOut(image, soft(whole), { background: [1, 2, 3] }),
  )
}, 'a mask of a part, placed')

t.test('the addon and JavaScript agree', async (t) => {
  const random = new Random(6)
  for (let i = 0; i < 20; i++) {
    const size = { width: 1 + random.below(50), height: 1 + random.below(50) }
    const picture = noise(size.width, size.height, i)
    const data = random.bytes(size.width * size.height).map((value) => (value < 90 ? 0 : value))
    const background = random.pick<CutOutOptions['background']>([
      undefined,
      [1, 200, 3],
      noise(size.width, size.height, i + 100),
    ])
    const alpha = { ...size, data: Float32Array.from(data, (value) => value / 200) }
    for (const make of [
      () => overlay(picture, { ...size, data }, { opacity: random.pick([0.5]) }),
      () => cutOut(picture, { ...size, data }, { background }),
      () => cutOut(picture, alpha, { background }),
    ]) {
      const [addon, portable] = await inEachWay(t, make as () => Promise<Image>)
      if (addon.channels !== portable.channels || !Buffer.from(addon.data).equals(portable.data))
        t.fail(`${i}: ${make.toString()}`)
    }
  }
})

t.test('what was cut out can be written', async (t) => {
  const cut = await cutOut(image, classes)
  const png = await sharp(await encodeImage(cut, 'png'))
    .raw()
    .toBuffer({ resolveWithObject: true })
  t.equal(png.info.channels, 4)
  t.ok(png.data.equals(cut.data), 'PNG gives back what it was given')
  t.equal((await sharp(await encodeImage(cut, 'webp')).metadata()).channels, 4)
  await t.rejects(
    encodeImage(cut, 'jpeg'),
    invalid(/3 \(a jpeg has no transparency\) for image\.channels but received number 4/),
  )
  await t.rejects(encodeImage({ ...cut, data: cut.data.subarray(1) }, 'png'), invalid(/9760 bytes/))
})

bothWays(async (t) => {
  const reason = new Error('enough')
  const signal = AbortSignal.abort(reason)
  await t.rejects(overlay(3 as never, classes, { signal }), reason)
  await t.rejects(cutOut(3 as never, classes, { signal }), reason)
  for (const call of [overlay, cutOut, blurMask] as ((
    image: Image,
    mask: never,
    options?: never,
  ) => Promise<unknown>)[]) {
    await t.rejects(call({ ...image, width: 60 }, classes as never), invalid(/ for image\.data/))
    await t.rejects(call(image, null as never), invalid(/an object for mask/))
    await t.rejects(call(image, { ...classes, width: 60 } as never), invalid(/the picture's size/))
    await t.rejects(
      call(image, { width: 2, height: 2, data: new Uint8Array(4) } as never),
      invalid(/the picture's size \(61 x 40\) for mask/),
    )
    for (const x of [-1, 60, 1.5, NaN, 1e9])
      await t.rejects(
        call(image, { x, width: 2, height: 2, data: new Uint8Array(4) } as never),
        invalid(/where all of it lies in the picture .* for mask\.x/),
      )
    await t.rejects(
      call(image, { y: 39, width: 2, height: 2, data: new Uint8Array(4) } as never),
      invalid(/ for mask\.y/),
    )
    await t.rejects(call(image, { ...classes, data: [...classes.data] } as never), invalid(/ for mask\.data/))
    await t.rejects(call(image, classes as never, { colour: 1 } as never), invalid(/Unknown option "colour"/))
  }
  await t.rejects(
    overlay(image, { ...classes, data: new Float32Array(width * height) } as never),
    invalid(/a Uint8Array for mask\.data/),
  )
  await t.rejects(overlay(image, classes, { opacity: 2 }), invalid(/ for opacity/))
  await t.rejects(overlay(image, classes, { palette: [] }), invalid(/at least one colour for palette/))
  await t.rejects(
    overlay(image, classes, {
      palette: [
        [1, 2, 3],
        [1, 2, -3],
      ],
    }),
    invalid(/palette\[1\]/),
  )
  await t.rejects(overlay(image, classes, { palette: [[1, 2, 3]], color: [1, 2, 3] }), invalid(/color or palette/))
  await t.rejects(cutOut(image, classes, { background: [1, 2] as never }), invalid(/ for background/))
  await t.rejects(
    cutOut(image, classes, { background: noise(3, 3) }),
    invalid(/the picture's size \(61 x 40\) for background/),
  )
  await t.rejects(cutOut(image, classes, { background: 'red' as never }), invalid(/ for background/))
}, 'misuse')
