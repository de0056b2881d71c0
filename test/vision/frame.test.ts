import t, { type Test } from 'tap'
import {
  clipBox,
  crop,
  letterbox,
  padToSquare,
  stretch,
  type Box,
  type Frame,
  type Size,
} from '../../lib/vision/index.js'
import { failure } from '../support/errors.js'
import { Random } from '../support/random.js'

const invalid = (message: RegExp) => failure('ERR_TRT_INVALID_ARGUMENT', message)

function near(t: Test, actual: Box, wanted: Box, name: string): void {
  t.ok(
    actual.every((value, i) => Math.abs(value - Number(wanted[i])) < 1e-9 * (1 + Math.abs(value))),
    `${name}: [${actual.join(', ')}] is [${wanted.join(', ')}]`,
  )
}

t.test('boxes go to the picture by formula', (t) => {
  const size = { width: 1920, height: 1280 }
  near(t, stretch(size, { width: 192, height: 64 }).toImage([1, 2, 3, 4]), [10, 40, 30, 80], 'stretch')
  near(t, padToSquare(size, 416).toImage([13, 26, 52, 104]), [60, 120, 240, 480], 'padToSquare')
  near(t, letterbox(size, 640).toImage([0, 106, 640, 427]), [0, 0, 1920, 1280], 'letterbox, 427 rows from row 106')
  near(t, letterbox(size, 640).toImage([64, 106 + 42.7, 6.4, 4.27]), [192, 128, 19.2, 12.8], 'letterbox')
  near(t, crop(size, [100, 200, 50, 25], 10).toImage([2, 4, 6, 2]), [110, 210, 30, 5], 'crop')
  near(
    t,
    crop(size, [100.5, 200.2, 50, 25], 10).toImage([0, 0, 10, 10]),
    [100, 200, 51, 26],
    'crop, widened to whole pixels',
  )
  t.end()
})

t.test('there and back again, for sizes and boxes by chance', (t) => {
  const random = new Random(7)
  const between = (low: number, high: number): number => Math.floor(low + random.next() * (high - low))
  const makers: readonly ((size: Size, to: Size) => Frame)[] = [
    stretch,
    letterbox,
    (size, to) => padToSquare(size, to.width),
    (size, to) => crop(size, [between(-50, 500), between(-50, 500), between(1, 900), between(1, 900)], to),
  ]
  for (let i = 0; i < 200; i++) {
    const size = { width: between(1, 5000), height: between(1, 5000) }
    const frame = makers[i % 4]?.(size, { width: between(1, 700), height: between(1, 700) })
    const box: Box = [between(-500, 5000), between(-500, 5000), between(0, 2000), between(0, 2000)]
    if (frame !== undefined) near(t, frame.toImage(frame.toModel(box)), box, `${size.width} x ${size.height}`)
  }
  t.end()
})

t.test('a letterbox keeps proportions to half a pixel and stands in the middle', (t) => {
  for (const size of [
    { width: 3000, height: 3 },
    { width: 17, height: 4000 },
    { width: 10, height: 10 },
    { width: 641, height: 640 },
  ]) {
    const { target, width, height } = letterbox(size, { width: 320, height: 240 })
    const scale = Math.min(320 / size.width, 240 / size.height)
    t.ok(
      Math.abs(target[2] - Math.max(1, size.width * scale)) <= 0.5 &&
        Math.abs(target[3] - Math.max(1, size.height * scale)) <= 0.5,
    )
    t.ok([0, 1].includes(width - target[2] - 2 * target[0]) && [0, 1].includes(height - target[3] - 2 * target[1]))
  }
  t.end()
})

t.test('clipped only when asked', (t) => {
  const frame = stretch({ width: 100, height: 50 }, 10)
  t.same(frame.toImage([-1, -1, 12, 12]), [-10, -5, 120, 60])
  t.same(frame.toImage([-1, -1, 12, 12], { clip: true }), [0, 0, 100, 50])
  t.same(clipBox([200, 10, 30, 10], { width: 100, height: 50 }), [100, 10, 0, 10], 'nothing of it is in the picture')
  t.end()
})

t.test('misuse', (t) => {
  const size = { width: 10, height: 10 }
  t.throws(
    () => stretch({ width: 10 } as Size, 4),
    invalid(/an integer from 1 to 1048576 for image.height but received undefined/),
  )
  t.throws(() => stretch(size, 0), invalid(/an integer from 1 to 1048576 for size but received number 0/))
  t.throws(() => letterbox(size, 2.5), invalid(/ for size /))
  t.throws(
    () => letterbox(size, 8, { fill: 256 }),
    invalid(/a finite number from 0 to 255 for fill but received number 256/),
  )
  t.throws(() => letterbox(size, 8, { fill: [1, 2] as never }), invalid(/ for fill /))
  t.throws(() => padToSquare(size, { width: 3, height: 4 } as never), invalid(/a number for size/))
  t.throws(() => padToSquare(size, 3, null as never), invalid(/an object for the options of /))
  t.throws(() => crop(size, [0, 0, 0, 5], 4), invalid(/of at least 1|from 1/))
  t.throws(() => crop(size, [0, 0, -1, 5], 4), invalid(/a box/))
  t.throws(
    () => crop(size, [0, 0, 1] as never, 4),
    invalid(/a box \[x, y, width, height\] .* but received array \[0, 0, 1\]/),
  )
  t.throws(() => stretch(size, 4).toImage([0, 0, NaN, 1]), invalid(/for box/))
  t.throws(() => stretch(size, 4).toModel('box' as never), invalid(/for box/))
  t.end()
})
