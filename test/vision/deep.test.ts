// Planes of 10 bits, and the matrix of ultra-high definition: read as swscale reads them, and as the standards' formula
// says.
import {
  encodeImage,
  type Image,
  letterbox,
  type PixelFormat,
  type RawImage,
  readImage,
  stretch,
  toTensor,
  toTensorSync,
} from '../../lib/vision/index.js'
import { failure } from '../support/errors.js'
import { Random } from '../support/random.js'
import { bothWays } from './helpers.js'
import { answersOf } from './oracles/answers.js'
import { layoutOf, type Meaning, planes, rgbOf, sidesOf } from './planes.js'

type Planar = Extract<PixelFormat, 'i420' | 'nv12' | 'i42010' | 'p010'>

/** A picture of these samples; what lies between rows, and in a word beside its ten bits, is not zero. */
function pictureOf(
  format: Planar,
  { width, height }: { width: number; height: number },
  meaning: Meaning,
  gap: number,
  sample: (plane: number, x: number, y: number) => number,
): RawImage {
  const { stride, bytes, place } = layoutOf(format, width, height, gap)
  const data = new Uint8Array(bytes).fill(251)
  for (const plane of planes) {
    const [across, down] = sidesOf(plane, width, height)
    for (let y = 0; y < down; y++)
      for (let x = 0; x < across; x++) {
        const [at, value] = [place(plane, x, y), sample(plane, x, y)]
        const word = format === 'p010' ? (value << 6) | 37 : value
        data[at] = word & 255
        if (format === 'i42010' || format === 'p010') data[at + 1] = word >> 8
      }
  }
  return { width, height, format, data, ...meaning, ...(gap > 0 && { stride }) }
}

const asBytes = (picture: Image | RawImage): Uint8Array =>
  toTensorSync(picture, stretch(picture, picture), { dtype: 'uint8', layout: 'NHWC' }).data

interface Answers {
  readonly side: number
  readonly cases: readonly (Meaning & {
    readonly format: Planar
    readonly yuv: readonly number[][]
    readonly rgb: readonly number[][]
  })[]
}

bothWays((t) => {
  const { side, cases } = answersOf<Answers>('deep')
  for (const { format, yuv, rgb, ...meaning } of cases) {
    const size = { width: side * yuv.length, height: side }
    const picture = pictureOf(
      format,
      size,
      meaning,
      0,
      (plane, x) => yuv[Math.floor((x * (plane === 0 ? 1 : 2)) / side)]![plane]!,
    )
    const read = asBytes(picture)
    const of = (i: number): number[] => [...read.subarray((side * i + side / 2) * 3, (side * i + side / 2) * 3 + 3)]
    const most = Math.max(
      ...rgb.flatMap((color, i) => color.map((value, channel) => Math.abs(value - of(i)[channel]!))),
    )
    t.ok(most <= 2, `${format}, ${JSON.stringify(meaning)}: ${most}`)
  }
}, 'as swscale reads them')

bothWays((t) => {
  const random = new Random(21)
  for (const matrix of ['bt601', 'bt709', 'bt2020'] as const)
    for (const range of ['limited', 'full'] as const)
      for (const format of ['i42010', 'p010', 'i420', 'nv12'] as const) {
        const bits = format === 'i42010' || format === 'p010' ? 10 : 8
        const size = { width: 1 + random.below(12), height: 1 + random.below(9) }
        const samples = planes.map((plane) => {
          const [across, down] = sidesOf(plane, size.width, size.height)
          return Array.from({ length: down }, () => Array.from({ length: across }, () => random.below(2 ** bits)))
        })
        const at = (plane: number, x: number, y: number): number => samples[plane]![y]![x]!
        const gap = random.below(4)
        const read = asBytes(pictureOf(format, size, { matrix, range }, gap, at))
        let most = 0
        for (let y = 0; y < size.height; y++)
          for (let x = 0; x < size.width; x++) {
            const wanted = rgbOf([at(0, x, y), at(1, x >> 1, y >> 1), at(2, x >> 1, y >> 1)], { matrix, range }, bits)
            wanted.forEach(
              (value, channel) => (most = Math.max(most, Math.abs(value - read[(y * size.width + x) * 3 + channel]!))),
            )
          }
        t.ok(most <= 0.501, `${format}, ${matrix}, ${range}, ${size.width} x ${size.height}, gap ${gap}: ${most}`)
      }
}, 'by the formula, odd sides and gaps between rows')

bothWays(async (t) => {
  const size = { width: 9, height: 7 }
  const random = new Random(4)
  const picture = pictureOf('p010', size, { matrix: 'bt2020', range: 'limited' }, 2, () => random.below(1024))
  const rgb: Image = { ...size, channels: 3, data: asBytes(picture) }
  const frame = letterbox(size, 16)
  t.same((await toTensor(picture, frame)).data, toTensorSync(rgb, frame).data, 'resized as its RGB is')
  t.same((await readImage(await encodeImage(picture, 'png'))).data, rgb.data, 'and written')
  // words that begin at an odd address
  const moved = new Uint8Array(picture.data.length + 1)
  moved.set(picture.data, 1)
  t.same(asBytes({ ...picture, data: moved.subarray(1) }), rgb.data)
  const refused = (given: object, message: RegExp): void => {
    t.throws(() => asBytes({ ...picture, ...given }), failure('ERR_TRT_INVALID_ARGUMENT', message))
  }
  refused({ stride: 19 }, /whole words of 16 bits \(p010\) for images\[0\]\.stride/)
  refused({ stride: 16 }, / for images\[0\]\.stride/)
  refused({ data: picture.data.subarray(1) }, /250 bytes \(p010, 9 x 7, stride 22\)/)
  refused({ matrix: 'bt2100' }, /images\[0\]\.matrix/)
}, 'one of 10 bits is a picture like others')
