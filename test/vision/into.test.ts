// Where tensors come from and go to: rows of another tensor, layouts of pixels, many at once.
import t from 'tap'
import { Tensor } from '../../lib/index.js'
import {
  centerCrop,
  crop,
  encodeImage,
  type Image,
  letterbox,
  padToSquare,
  type PixelFormat,
  type RawImage,
  stretch,
  toTensor,
  toTensorSync,
} from '../../lib/vision/index.js'
import { failure, failureOf } from '../support/errors.js'
import { Random } from '../support/random.js'
import { bothWays, noise } from './helpers.js'

const image = noise(9, 7)
const frame = letterbox(image, 8)

bothWays(async (t) => {
  const into = Tensor.from(new Float32Array(4 * 3 * 8 * 8).fill(7), [4, 3, 8, 8])
  const result = await toTensor([image, image], frame, { into, at: 1 })
  t.equal(result, into)
  const wanted = toTensorSync(image, frame).data
  const row = (index: number): Float32Array => into.data.subarray(index * 192, (index + 1) * 192)
  t.ok(
    row(0).every((value) => value === 7) && row(3).every((value) => value === 7),
    'rows before and after are left alone',
  )
  t.same(row(1), wanted)
  t.same(row(2), wanted)
  const bytes = Tensor.zeros('uint8', [1, 8, 8, 3])
  t.equal(
    (await toTensor(image, frame, { into: bytes, layout: 'NHWC' })).dtype,
    'uint8',
    'the data type is that of into',
  )
  const later = await toTensor(image, frame, { at: 2 })
  t.same(later.shape, [3, 3, 8, 8])
  t.ok(
    later.data.subarray(0, 384).every((value) => value === 0),
    'rows before are zeros',
  )
}, 'into rows of a tensor')

t.test('what into may not be', async (t) => {
  const shape = (message: RegExp) => failure('ERR_TRT_SHAPE', message)
  t.throws(
    () => toTensorSync(image, frame, { into: Tensor.zeros('float32', [1, 3, 8, 9]) }),
    shape(/\[1 or more, 3, 8, 8\] for into/),
  )
  t.throws(
    () => toTensorSync([image, image], frame, { into: Tensor.zeros('float32', [1, 3, 8, 8]) }),
    shape(/\[2 or more, 3, 8, 8\]/),
  )
  t.throws(
    () => toTensorSync(image, frame, { into: Tensor.zeros('float32', [2, 3, 8, 8]), at: 2 }),
    shape(/\[3 or more, 3, 8, 8\]/),
  )
  t.throws(
    () => toTensorSync(image, frame, { into: Tensor.zeros('int8', [1, 3, 8, 8]) as never }),
    failure('ERR_TRT_DTYPE', /float32, float16, uint8 for into but received int8/),
  )
  t.throws(
    () => toTensorSync(image, frame, { into: Tensor.zeros('uint8', [1, 3, 8, 8]) as never, dtype: 'float32' }),
    failure('ERR_TRT_DTYPE', /float32 for into but received uint8/),
  )
  const detached = Tensor.zeros('float32', [1, 3, 8, 8])
  structuredClone(detached.data, { transfer: [detached.data.buffer as ArrayBuffer] })
  const problem = await failureOf(() => toTensor(image, frame, { into: detached }))
  t.match(problem, failure('ERR_TRT_INVALID_ARGUMENT', /a tensor whose memory is not detached for into/))
})

t.test('pictures of every kind; a frame for each of them made by its size', async (t) => {
  const png = await encodeImage(image, 'png')
  const raw: RawImage = { ...image, format: 'rgb' }
  const tensor = await toTensor([image, raw, png], (size) => letterbox(size, 8))
  const wanted = toTensorSync(image, frame).data
  for (let i = 0; i < 3; i++) t.same(tensor.data.subarray(i * 192, (i + 1) * 192), wanted)
  const problem = await failureOf(() => toTensor(png, (() => 3) as never))
  t.match(problem, failure('ERR_TRT_INVALID_ARGUMENT', /a Frame for what frames\[0\] returns/))
  t.match(await failureOf(() => toTensor('/no/such.png', () => frame)), { code: 'ERR_TRT_FILE' })
})

/** The same pixels in another layout, a few bytes between rows, and bytes around it that are not to be looked at. */
function packed(format: Exclude<PixelFormat, 'i420' | 'nv12' | 'i42010' | 'p010'>, gap: number): RawImage {
  const places = { rgb: [0, 1, 2], bgr: [2, 1, 0], rgba: [0, 1, 2, -1], bgra: [2, 1, 0, -1], gray: [0] }[format]
  const stride = 9 * places.length + gap
  const data = new Uint8Array(stride * 6 + 9 * places.length).fill(99)
  for (let y = 0; y < 7; y++)
    for (let x = 0; x < 9; x++)
      places.forEach((channel, i) => {
        if (channel >= 0) data[y * stride + x * places.length + i] = image.data[(y * 9 + x) * 3 + channel]!
      })
  return { width: 9, height: 7, format, data, ...(gap > 0 && { stride }) }
}

bothWays((t) => {
  const wanted = toTensorSync(image, frame).data
  for (const gap of [0, 5]) {
    for (const format of ['rgb', 'bgr', 'rgba', 'bgra'] as const)
      t.same(toTensorSync(packed(format, gap), frame).data, wanted, `${format}, ${gap} bytes between rows`)
    const { data } = toTensorSync(packed('gray', gap), frame)
    for (const channel of [0, 1, 2])
      t.same(data.subarray(channel * 64, channel * 64 + 64), wanted.subarray(0, 64), 'grey in all channels')
  }
  const short: RawImage = { ...packed('rgba', 5), data: packed('rgba', 5).data.subarray(1) }
  t.throws(
    () => toTensorSync(short, frame),
    failure(
      'ERR_TRT_INVALID_ARGUMENT',
      /282 bytes \(rgba, 9 x 7, stride 41\) for images\[0\].data but received number 281/,
    ),
  )
  const nv12: RawImage = { width: 9, height: 7, format: 'nv12', data: new Uint8Array(102) }
  t.throws(() => toTensorSync(nv12, frame), failure('ERR_TRT_INVALID_ARGUMENT', /103 bytes/))
}, 'layouts of pixels')

/** Of one plane of Y and two of U and V, each of a size that does not divide by two. */
bothWays((t) => {
  const grey = new Uint8Array(9 * 7 + 2 * 5 * 4).fill(128)
  for (let i = 0; i < 63; i++) grey[i] = 16 + i
  const odd: RawImage = { width: 9, height: 7, format: 'i420', data: grey }
  const { data } = toTensorSync(odd, stretch(odd, odd), { layout: 'NHWC' })
  for (let i = 0; i < 63; i++)
    t.same([...data.subarray(i * 3, i * 3 + 3)], Array(3).fill(Math.round((i * 255) / 219)), `${i}`)
  const full = toTensorSync({ ...odd, range: 'full', matrix: 'bt709' }, stretch(odd, odd), {
    order: 'GRAY',
    dtype: 'uint8',
  })
  t.same(full.data, grey.subarray(0, 63))
}, 'YUV of odd sides')

/**
 * I420 as NV12, with so many bytes between rows of Y; UV has rows of twice the half of them, rounded up, as ffmpeg
 * packs them.
 */
function interleaved({ width, height, data, ...rest }: RawImage, gap: number): RawImage {
  const [half, rows, stride] = [Math.ceil(width / 2), Math.ceil(height / 2), width + gap]
  const row = 2 * Math.ceil(stride / 2)
  const out = new Uint8Array(stride * height + row * rows).fill(7)
  for (let y = 0; y < height; y++) out.set(data.subarray(y * width, (y + 1) * width), y * stride)
  for (let y = 0; y < rows; y++)
    for (let x = 0; x < half; x++)
      for (const plane of [0, 1])
        out[stride * height + y * row + 2 * x + plane] = data[width * height + (plane * rows + y) * half + x]!
  return { ...rest, width, height, format: 'nv12', data: out, ...(gap > 0 && { stride }) }
}

bothWays((t) => {
  for (const [width, height] of [
    [3, 3],
    [9, 7],
    [1, 1],
    [8, 5],
    [5, 8],
  ] as const) {
    const bytes = width * height + 2 * Math.ceil(width / 2) * Math.ceil(height / 2)
    const planes: RawImage = { width, height, format: 'i420', data: new Random(width).bytes(bytes) }
    const wanted = toTensorSync(planes, stretch(planes, planes)).data
    for (const gap of [0, 1, 2, 3]) {
      const pairs = interleaved(planes, gap)
      t.same(toTensorSync(pairs, stretch(pairs, pairs)).data, wanted, `${width} x ${height}, ${gap} bytes between rows`)
    }
    t.equal(interleaved(planes, 0).data.length, bytes, 'no byte between rows')
  }
}, 'NV12 of odd sides is I420 in turns')

/**
 * Some of all colours, those among them where 0.299 R + 0.587 G + 0.114 B rounds to another byte than PIL's whole
 * weights.
 */
bothWays((t) => {
  const [width, height] = [512, 96]
  const data = new Random(11).bytes(width * height * 3)
  const colours: Image = { width, height, channels: 3, data }
  const wanted = Uint8Array.from(
    { length: width * height },
    (_, i) => (19595 * data[3 * i]! + 38470 * data[3 * i + 1]! + 7471 * data[3 * i + 2]! + 32768) >> 16,
  )
  const others = wanted.filter(
    (value, i) => value !== Math.round(0.299 * data[3 * i]! + 0.587 * data[3 * i + 1]! + 0.114 * data[3 * i + 2]!),
  )
  t.ok(others.length > 5, `${others.length} colours tell the formulas apart`)
  const whole = stretch(colours, colours)
  for (const filter of ['linear', 'triangle'] as const) {
    for (const layout of ['NCHW', 'NHWC'] as const)
      t.ok(
        Buffer.from(toTensorSync(colours, whole, { order: 'GRAY', dtype: 'uint8', filter, layout }).data).equals(
          wanted,
        ),
        `${filter}, ${layout}`,
      )
    const floats = toTensorSync(colours, whole, { order: 'GRAY', round: true, filter })
    t.ok(Buffer.from(Uint8Array.from(floats.data)).equals(wanted), `${filter}, float32`)
  }
  // what is resized is whole before it is grey
  const small = stretch(colours, { width: 100, height: 40 })
  for (const filter of ['linear', 'triangle'] as const) {
    const rgb = toTensorSync(colours, small, { dtype: 'uint8', filter, layout: 'NHWC' }).data
    const grey = toTensorSync(colours, small, { order: 'GRAY', dtype: 'uint8', filter }).data
    t.same(
      grey,
      grey.map((_, i) => (19595 * rgb[3 * i]! + 38470 * rgb[3 * i + 1]! + 7471 * rgb[3 * i + 2]! + 32768) >> 16),
      `${filter}, resized`,
    )
  }
}, "grey bytes are those of PIL's convert('L')")

bothWays((t) => {
  const gray = toTensorSync(image, frame, { order: 'GRAY', mean: 3, std: 2 })
  t.same(gray.shape, [1, 1, 8, 8])
  const colour = toTensorSync(image, frame).data
  for (let i = 0; i < 64; i++) {
    const luma = 0.299 * colour[i]! + 0.587 * colour[64 + i]! + 0.114 * colour[128 + i]!
    t.ok(Math.abs(gray.data[i]! - (luma - 3) / 2) < 1e-4)
  }
  t.throws(
    () => toTensorSync(image, frame, { order: 'GRAY', mean: [1, 2, 3] }),
    failure('ERR_TRT_INVALID_ARGUMENT', /one number with order GRAY for mean/),
  )
}, 'grey')

bothWays((t) => {
  const options = { range: '0-1', mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] } as const
  const floats = toTensorSync(image, frame, options).data
  t.same(toTensorSync(image, frame, { ...options, dtype: 'float16' }).data, Tensor.fromFloat32('float16', floats).data)
  const bytes = toTensorSync(image, frame, { mean: [123.675, 116.28, 103.53], std: [58.395, 57.12, 57.375] }).data
  t.ok(
    floats.every((value, i) => Math.abs(value - bytes[i]!) < 1e-5),
    'means of 0 to 1 and of 0 to 255',
  )
  // subnormal, too large, beyond what rounds to the largest
  for (const scale of [1e-7, 1e-9, 257.1, 300]) {
    const scaled = toTensorSync(image, frame, { scale }).data
    t.same(
      toTensorSync(image, frame, { scale, dtype: 'float16' }).data,
      Tensor.fromFloat32('float16', scaled).data,
      `${scale}`,
    )
  }
}, 'float16, and units of means')

bothWays((t) => {
  // the same with the fill around it in memory
  const padded: RawImage = { width: 39, height: 37, format: 'rgb', data: new Uint8Array(39 * 37 * 3) }
  for (let i = 0; i < padded.data.length; i++) padded.data[i] = [200, 100, 50][i % 3]!
  for (let y = 0; y < 7; y++) padded.data.set(image.data.subarray(y * 27, y * 27 + 27), ((y + 20) * 39 + 10) * 3)
  for (const filter of ['linear', 'triangle', 'cubic', 'lanczos', 'nearest'] as const) {
    for (const size of [
      { width: 6, height: 5 },
      { width: 50, height: 60 },
    ]) {
      const inside = toTensorSync(padded, stretch(padded, size), { filter }).data
      const beyond = toTensorSync(image, crop(image, [-10, -20, 39, 37], size, { fill: [200, 100, 50] }), {
        filter,
      }).data
      t.ok(
        inside.every((value, i) => Math.abs(value - beyond[i]!) < 2e-4),
        `${filter} to ${size.width} x ${size.height}`,
      )
    }
  }
}, 'what a box has beyond the picture')

t.test('the middle of a picture, as torchvision counts', (t) => {
  // width, height, resize, crop: where the resized picture stands in the crop, by torchvision's Resize and CenterCrop
  const cases: [number, number, number | undefined, number, readonly number[]][] = [
    [500, 375, 256, 224, [-58, -16, 341, 256]],
    [375, 500, 256, 224, [-16, -58, 256, 341]],
    [101, 101, undefined, 50, [-26, -26, 101, 101]],
    [103, 103, undefined, 50, [-26, -26, 103, 103]],
    [10, 13, undefined, 15, [2, 1, 10, 13]],
  ]
  for (const [width, height, resize, size, target] of cases)
    t.same(centerCrop({ width, height }, size, { resize }).target, target, `${width} x ${height}`)
  t.end()
})

t.test('letterbox: where, and how it is rounded', (t) => {
  t.same(letterbox({ width: 1280, height: 721 }, 640, { rounding: 'even' }).target, [0, 140, 640, 360])
  t.same(letterbox({ width: 1280, height: 721 }, 640).target, [0, 139, 640, 361])
  t.same(
    letterbox({ width: 154, height: 10 }, 320, { rounding: 'down', position: 'start' }).target,
    [0, 0, 319, 20],
    'as int(w * r) is in Python',
  )
  const small = letterbox({ width: 1280, height: 721 }, 640, { multipleOf: 32, rounding: 'even' })
  t.same([small.width, small.height, small.target], [640, 384, [0, 12, 640, 360]])
  t.same(padToSquare({ width: 5, height: 8 }, 4, { position: 'center' }).source, [-1, 0, 8, 8])
  t.end()
})
