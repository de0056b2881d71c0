import t from 'tap'
import { crop, padToSquare, stretch, toTensorSync, type Image, type TensorOptions } from '../../lib/vision/index.js'
import { failure } from '../support/errors.js'
import { noise, plain } from './helpers.js'

const image = noise(7, 5)
const same = stretch(image, image)

t.test('layouts, orders and types at the size of the picture', (t) => {
  const at = (channel: number, y: number, x: number): number => Number(image.data[(y * 7 + x) * 3 + channel])
  for (const layout of ['NCHW', 'NHWC'] as const) {
    for (const order of ['RGB', 'BGR'] as const) {
      for (const dtype of ['float32', 'uint8'] as const) {
        const tensor = toTensorSync(image, same, { layout, order, dtype })
        t.same(tensor.shape, layout === 'NCHW' ? [1, 3, 5, 7] : [1, 5, 7, 3])
        t.equal(tensor.dtype, dtype)
        const wanted = Array.from({ length: 105 }, (_, i) => {
          const place = layout === 'NCHW' ? Math.floor(i / 35) : i % 3
          const position = layout === 'NCHW' ? i % 35 : Math.floor(i / 3)
          return at(order === 'RGB' ? place : 2 - place, Math.floor(position / 7), position % 7)
        })
        t.same([...tensor.data], wanted, `${layout} ${order} ${dtype}`)
      }
    }
  }
  t.end()
})

t.test('pixels side by side, and bytes out of range, at every width', (t) => {
  for (let width = 1; width <= 70; width++) {
    const wide = noise(width, 2)
    t.same(
      [...toTensorSync(wide, stretch(wide, wide), { layout: 'NHWC', dtype: 'uint8' }).data],
      [...wide.data],
      `width ${width}`,
    )
    // lanczos goes beyond 0 and 255 at edges; in one direction only, since bytes are also rounded between the two
    const squares = { ...wide, data: wide.data.map((_, i) => ((i / 12) & 1 ? 255 : 0)) }
    const larger = stretch(wide, { width: width * 2, height: 2 })
    const floats = toTensorSync(squares, larger, { layout: 'NHWC', filter: 'lanczos' }).data
    const bytes = toTensorSync(squares, larger, { layout: 'NHWC', filter: 'lanczos', dtype: 'uint8' }).data
    const off = bytes.reduce(
      (most, byte, i) => Math.max(most, Math.abs(byte - Math.min(255, Math.max(0, floats[i]!)))),
      0,
    )
    t.ok(off <= 1, `width ${width}: ${off}`)
  }
  t.end()
})

t.test('normalization is (x - mean) * scale, or / std, by channel', (t) => {
  const grey = plain(2, 2, [10, 20, 30])
  const frame = stretch(grey, 1)
  const values = (options: TensorOptions<'float32'>): number[] => [...toTensorSync(grey, frame, options).data]
  t.same(values({ mean: [1, 2, 3], scale: [2, 4, 8] }), [18, 72, 216])
  t.same(values({ mean: [1, 2, 3], std: [0.5, 0.25, 0.125] }), [18, 72, 216])
  t.same(values({ mean: 10, scale: 0.5, order: 'BGR' }), [10, 5, 0])
  t.same(values({ mean: [0, 0, 30], order: 'BGR' }), [0, 20, 10], 'means are in the order red, green, blue')
  t.end()
})

t.test('the fill is normalized like the picture', (t) => {
  const frame = padToSquare(plain(4, 2, [255, 255, 255]), 4, { fill: [40, 50, 60] })
  const { data } = toTensorSync(plain(4, 2, [255, 255, 255]), frame, { mean: [40, 40, 40], scale: 1 / 10 })
  t.same([data[12], data[16 + 12], data[32 + 12]], [0, 1, 2])
  t.end()
})

t.test('nothing is rounded in float32; uint8 is rounded to the nearest', (t) => {
  const ramp: Image = { width: 2, height: 1, channels: 3, data: Uint8Array.of(0, 0, 0, 3, 2, 1) }
  const frame = stretch(ramp, { width: 4, height: 1 })
  const half = toTensorSync(ramp, frame, { layout: 'NHWC' })
  t.same([...half.data], [0, 0, 0, 0.75, 0.5, 0.25, 2.25, 1.5, 0.75, 3, 2, 1])
  t.same([...toTensorSync(ramp, frame, { layout: 'NHWC', dtype: 'uint8' }).data], [0, 0, 0, 1, 0, 0, 2, 2, 1, 3, 2, 1])
  t.end()
})

t.test('a batch is its pictures one after the other', (t) => {
  const images = [noise(9, 4, 2), noise(3, 8, 3), noise(5, 5, 4)]
  const frames = images.map((each) => padToSquare(each, 6))
  const batch = toTensorSync(images, frames, { mean: 3, scale: 0.1 })
  t.same(batch.shape, [3, 3, 6, 6])
  images.forEach((each, i) => {
    const alone = toTensorSync(each, padToSquare(each, 6), { mean: 3, scale: 0.1 })
    t.same(batch.data.subarray(i * 108, (i + 1) * 108), alone.data)
  })
  t.end()
})

t.test('misuse', (t) => {
  const invalid = (message: RegExp) => failure('ERR_TRT_INVALID_ARGUMENT', message)
  const call = (options: unknown) => () => toTensorSync(image, same, options as TensorOptions)
  t.throws(() => toTensorSync([], []), invalid(/at least one picture/))
  t.throws(
    () => toTensorSync([image], [same, same]),
    invalid(/1 \(one for each picture\) for the number of frames but received number 2/),
  )
  t.throws(() => toTensorSync(image, {} as never), invalid(/a Frame for frames\[0\]/))
  t.throws(() => toTensorSync(noise(5, 7), same), invalid(/a frame of a picture of 5 x 7/))
  t.throws(
    () => toTensorSync([image, image], [same, stretch(image, 4)]),
    failure('ERR_TRT_SHAPE', /one size for a batch .* 7 x 5 and 4 x 4/),
  )
  t.throws(
    () => toTensorSync({ ...image, data: image.data.subarray(1) }, same),
    invalid(/105 bytes \(7 x 5 x 3\) for images\[0\].data but received number 104/),
  )
  t.throws(
    () => toTensorSync({ ...image, channels: 4 } as unknown as Image, same),
    invalid(/140 bytes \(rgba, 7 x 5, stride 28\) for images\[0\].data but received number 105/),
  )
  t.throws(
    () => toTensorSync({ ...image, data: [...image.data] } as unknown as Image, same),
    invalid(/a Uint8Array for images\[0\].data/),
  )
  t.throws(
    () => toTensorSync({ ...image, width: 0 }, same),
    invalid(/an integer from 1 to 1048576 for images\[0\].width/),
  )
  t.throws(
    () => toTensorSync(null as unknown as Image, same),
    invalid(/a picture \(its path, .*\) for images\[0\] but received null/),
  )
  t.throws(call(null), invalid(/an object for the options of /))
  t.throws(
    call({ coordinates: 'pytorch_half_pixel' }),
    invalid(/one of 'half_pixel', 'asymmetric', 'align_corners' for coordinates/),
  )
  t.throws(call({ layout: 'HWC' }), invalid(/ for layout /))
  t.throws(call({ order: 'rgb' }), invalid(/ for order /))
  t.throws(call({ dtype: 'int8' }), invalid(/ for dtype /))
  t.throws(call({ mean: [1, 2] }), invalid(/a number or three numbers for mean but received array \[1, 2\]/))
  t.throws(call({ mean: NaN }), invalid(/a finite number for mean/))
  t.throws(call({ std: [1, 0, 1] }), invalid(/other than 0 for std/))
  t.throws(call({ std: 2, scale: 2 }), invalid(/either scale or std/))
  t.throws(call({ dtype: 'uint8', mean: 3 }), invalid(/no mean, scale, std or range 0-1 with dtype uint8/))
  t.end()
})

t.test('a crop beyond the picture is all fill', (t) => {
  const { data } = toTensorSync(image, crop(image, [100, 100, 4, 4], 2, { fill: 9 }))
  t.ok(data.every((value) => value === 9))
  t.end()
})
