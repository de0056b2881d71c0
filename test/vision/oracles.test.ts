// Resizes against what PIL, OpenCV and torchvision made of the same noise (oracles/resize.py), both ways: the addon's
// and JavaScript's.
import t from 'tap'
import { yuvCoefficients, yuvMatrices, yuvRanges } from '../../lib/steps/pixels/yuv.js'
import {
  centerCrop,
  crop,
  rotatedCrop,
  stretch,
  toTensorSync,
  type RawImage,
  type TensorOptions,
} from '../../lib/vision/index.js'
import { Random } from '../support/random.js'
import { bothWays } from './helpers.js'
import { answersOf } from './oracles/answers.js'

type Samples = Readonly<Record<string, readonly number[]>>

interface Oracle {
  readonly versions: Readonly<Record<string, string>>
  readonly cases: readonly Samples[]
  readonly presets: readonly Samples[]
  readonly turned: readonly (readonly number[])[]
  readonly yuv: readonly Samples[]
}

const oracle = answersOf<Oracle>('resize')

function picture(random: Random, width: number, height: number): RawImage {
  return { width, height, format: 'rgb', data: random.bytes(width * height * 3) }
}

/** By its logarithm, so that small ones are as frequent. */
function side(random: Random, most: number): number {
  return Math.floor(Math.exp(random.next() * Math.log(most))) || 1
}

/** How far values are from the samples that the oracle took by this seed, at most. */
function furthest(seed: number, values: Float32Array | Uint8Array, samples: readonly number[]): number {
  const random = new Random(seed + 100_000)
  return samples.reduce((most, sample) => Math.max(most, Math.abs(sample - values[random.below(values.length)]!)), 0)
}

/**
 * Whose resize, which of ours, and how far apart they may be: those of PIL not at all, others of whole numbers by 1,
 * since each rounds in its own way.
 */
const peers: readonly (readonly [peer: string, TensorOptions, tolerance: number])[] = [
  ['triangle', { filter: 'triangle', dtype: 'uint8' }, 0],
  ['torch', { filter: 'triangle', dtype: 'uint8' }, 1],
  ['torch32', { filter: 'triangle' }, 0.005],
  ['cubic', { filter: 'cubic', dtype: 'uint8' }, 0],
  ['lanczos', { filter: 'lanczos', dtype: 'uint8' }, 0],
  ['nearest', { filter: 'nearest', dtype: 'uint8' }, 0],
  ['linear', { filter: 'linear', dtype: 'uint8' }, 1],
  ['linear32', { filter: 'linear' }, 0.03],
]

bothWays((t) => {
  const worst = new Map<string, number>()
  oracle.cases.forEach((samples, index) => {
    const random = new Random(index + 1)
    const [width, height, toWidth, toHeight] = [300, 300, 120, 120].map((most) => side(random, most)) as [
      number,
      number,
      number,
      number,
    ]
    const image = picture(random, width, height)
    const frame = stretch(image, { width: toWidth, height: toHeight })
    for (const [peer, options] of peers) {
      const wanted = samples[peer]
      if (wanted === undefined) continue
      const { data } = toTensorSync(image, frame, { ...options, layout: 'NHWC' })
      worst.set(peer, Math.max(worst.get(peer) ?? 0, furthest(index + 1, data as Float32Array, wanted)))
    }
  })
  t.equal(oracle.cases.length, 1000)
  for (const [peer, , tolerance] of peers)
    t.ok(worst.get(peer)! <= tolerance, `${peer}: ${worst.get(peer)} of 255 at most`)
}, 'resizes are those of PIL, OpenCV and torchvision')

const imagenet = { range: '0-1', mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225], layout: 'NHWC' } as const

bothWays((t) => {
  oracle.presets.forEach((samples, index) => {
    const seed = 2001 + index
    const random = new Random(seed)
    const width = 100 + random.below(500)
    const height = 100 + random.below(500)
    const image = picture(random, width, height)
    for (const [version, resize] of [
      ['v1', 256],
      ['v2', 232],
    ] as const) {
      const frame = centerCrop(image, 224, { resize })
      const { data } = toTensorSync(image, frame, { ...imagenet, filter: 'triangle', round: true })
      const difference = furthest(seed, data, samples[version]!)
      const [, , toWidth, toHeight] = frame.target
      // Pillow 13, with which this was recorded, takes rows first there: one step of a pixel
      const isTall = height - toHeight > 2 * (width - toWidth)
      t.ok(difference <= (isTall ? 0.018 : 1e-5), `${version} of ${image.width} x ${image.height}: ${difference}`)
    }
  })
}, "a ResNet-50's preset is torchvision's")

bothWays((t) => {
  oracle.yuv.forEach((samples, index) => {
    const seed = 3001 + index
    const random = new Random(seed)
    const width = 2 * (1 + random.below(30))
    const height = 2 * (1 + random.below(30))
    const data = random
      .bytes((width * height * 3) / 2)
      .map((value, i) => (i < width * height ? Math.max(value, 16) : value))
    for (const format of ['i420', 'nv12'] as const) {
      const image: RawImage = { width, height, format, data }
      const tensor = toTensorSync(image, stretch(image, image), { dtype: 'uint8', layout: 'NHWC' })
      // OpenCV's coefficients have three digits
      t.ok(furthest(seed, tensor.data, samples[format]!) <= 2, `${format} of ${width} x ${height}`)
    }
  })
}, "YUV is OpenCV's")

t.test('YUV at each width, from even and odd columns on', async (t) => {
  const f = Math.fround
  const byte = (value: number): number => Math.floor(Math.min(Math.max(f(value + 0.5), 0), 255))
  for (const [index, matrix] of yuvMatrices.entries())
    for (let width = 1; width <= 70; width++) {
      const seed = 5001 + 100 * index + width
      const random = new Random(seed)
      const [height, chroma, format] = [3, (width + 1) >> 1, random.below(2) === 0 ? 'i420' : 'nv12'] as const
      const range = yuvRanges[random.below(2)]!
      const data = random.bytes(width * height + 4 * chroma)
      const image: RawImage = { width, height, format, data, matrix, range }
      const from = random.below(width)
      const yuv = yuvCoefficients(matrix, range)
      const [luma, red, blue, greenU, greenV] = [yuv.luma, yuv.red, yuv.blue, yuv.greenU, yuv.greenV].map(f) as [
        number,
        number,
        number,
        number,
        number,
      ]
      const expected = []
      for (let y = 0; y < height; y++)
        for (let x = from; x < width; x++) {
          const pair = (y >> 1) * chroma + (x >> 1)
          const [atU, atV] = format === 'i420' ? [pair, 2 * chroma + pair] : [2 * pair, 2 * pair + 1]
          const [u, v] = [data[width * height + atU]! - 128, data[width * height + atV]! - 128]
          const level = f(luma * (data[y * width + x]! - yuv.black))
          const green = f(f(level - f(greenU * u)) - f(greenV * v))
          expected.push(byte(f(level + f(red * v))), byte(green), byte(f(level + f(blue * u))))
        }
      const part = { width: width - from, height }
      const found = toTensorSync(image, crop(image, [from, 0, part.width, height], part), {
        dtype: 'uint8',
        layout: 'NHWC',
      })
      if (Buffer.compare(found.data, Uint8Array.from(expected)) !== 0)
        t.fail(`${format} of ${matrix}, ${range}, ${width} from ${from}; seed ${seed}`)
    }
  t.pass('as rounded products and sums of 32 bits')
})

bothWays((t) => {
  oracle.turned.forEach((samples, index) => {
    const seed = 4001 + index
    const random = new Random(seed)
    const width = 20 + random.below(80)
    const image = picture(random, width, 20 + random.below(80))
    const degrees = random.next() * 720 - 360
    const side = 16 * (0.3 + random.next() * 2)
    const frame = rotatedCrop(image, [(image.width - side) / 2, (image.height - side) / 2, side, side], degrees, 16)
    const difference = furthest(seed, toTensorSync(image, frame, { layout: 'NHWC' }).data, samples)
    t.ok(difference < 0.002, `${side} of ${image.width} x ${image.height} by ${degrees} degrees: ${difference} of 255`)
  })
}, "a turned part is torch's grid_sample")
