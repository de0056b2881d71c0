// A tenth of the resizes, YUV and turned parts compared with what PIL, OpenCV and torch made of the same noise
// (oracles/resize.py), both ways: the addon's and JavaScript's. oracles.slow.test.ts has all resizes and the presets.
import t from 'tap'
import { yuvCoefficients, yuvMatrices, yuvRanges } from '../../lib/steps/pixels/yuv.js'
import { crop, rotatedCrop, stretch, toTensorSync, type RawImage } from '../../lib/vision/index.js'
import { Random } from '../support/random.js'
import { bothWays } from './helpers.js'
import { furthest, oracle, picture, testResizes } from './resizes.js'

testResizes(10)

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
