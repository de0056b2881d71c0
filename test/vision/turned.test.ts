import t from 'tap'
import {
  alignedCrop,
  arcfacePoints,
  type Box,
  type Frame,
  type Point,
  rotatedCrop,
  toTensorSync,
} from '../../lib/vision/index.js'
import { failure } from '../support/errors.js'
import { Random } from '../support/random.js'
import { noise, pixel } from './helpers.js'

const image = noise(40, 30)

function values(frame: Frame, x: number, y: number): number[] {
  const { data } = toTensorSync(image, frame, { layout: 'NHWC', dtype: 'uint8' })
  return [...data.subarray((y * frame.width + x) * 3, (y * frame.width + x) * 3 + 3)]
}

t.test('quarter turns are pixels in another order', (t) => {
  const box: Box = [10, 5, 8, 8]
  const at: Readonly<Record<number, (x: number, y: number) => Point>> = {
    0: (x, y) => [10 + x, 5 + y],
    90: (x, y) => [10 + 7 - y, 5 + x],
    180: (x, y) => [10 + 7 - x, 5 + 7 - y],
    270: (x, y) => [10 + y, 5 + 7 - x],
  }
  for (const [degrees, place] of Object.entries(at)) {
    const frame = rotatedCrop(image, box, Number(degrees), 8)
    for (let y = 0; y < 8; y++)
      for (let x = 0; x < 8; x++)
        t.same(values(frame, x, y), pixel(image, ...place(x, y)), `${degrees} degrees, (${x}, ${y})`)
  }
  t.end()
})

t.test('points go there and back; a box becomes the upright box around it', (t) => {
  const random = new Random(3)
  for (let i = 0; i < 50; i++) {
    const frame = rotatedCrop(
      image,
      [random.next() * 20, random.next() * 20, 1 + random.next() * 20, 1 + random.next() * 20],
      random.around() * 400,
      { width: 17, height: 9 },
    )
    const point: Point = [random.next() * 17, random.next() * 9]
    const back = frame.pointToModel(frame.pointToImage(point))
    t.ok(Math.hypot(back[0] - point[0], back[1] - point[1]) < 1e-9)
    const [x, y, width, height] = frame.toImage([0, 0, 17, 9])
    const [left, top, sourceWidth, sourceHeight] = frame.source
    t.ok(
      x >= left - 1e-9 &&
        y >= top - 1e-9 &&
        x + width <= left + sourceWidth + 1e-9 &&
        y + height <= top + sourceHeight + 1e-9,
    )
  }
  const quarter = rotatedCrop(image, [10, 5, 8, 4], 90, { width: 8, height: 4 })
  t.same(
    quarter.toImage([0, 0, 2, 4]).map((value) => Math.round(value * 1e6) / 1e6),
    [12, 3, 4, 2],
  )
  t.same(
    quarter.toModel([12, 3, 4, 2]).map((value) => Math.round(value * 1e6) / 1e6),
    [0, 0, 2, 4],
  )
  t.end()
})

t.test('landmarks of a face come to where the model wants them', (t) => {
  const turn = (12 * Math.PI) / 180
  const landmarks = arcfacePoints.map(([x, y]): Point => [
    5 + 0.2 * (x * Math.cos(turn) - y * Math.sin(turn)),
    3 + 0.2 * (x * Math.sin(turn) + y * Math.cos(turn)),
  ])
  const frame = alignedCrop(image, landmarks, arcfacePoints, 112)
  landmarks.forEach((landmark, i) => {
    const [x, y] = frame.pointToModel(landmark)
    t.ok(Math.hypot(x - arcfacePoints[i]![0], y - arcfacePoints[i]![1]) < 1e-9)
  })
  // what no turn and scale brings there: the least squares are less than those of any near it
  const moved = landmarks.map(([x, y], i): Point => [x + (i % 2), y - (i % 3)])
  const best = alignedCrop(image, moved, arcfacePoints, 112)
  const [a, b, c, d, e, f] = best.transform!
  const error = (m: readonly number[]): number =>
    arcfacePoints.reduce((sum, [x, y], i) => {
      return (
        sum + (m[0]! * x + m[1]! * y + m[2]! - moved[i]![0]) ** 2 + (m[3]! * x + m[4]! * y + m[5]! - moved[i]![1]) ** 2
      )
    }, 0)
  const least = error([a, b, c, d, e, f])
  for (const step of [1e-4, -1e-4]) {
    t.ok(error([a + step, b, c, d, e + step, f]) > least)
    t.ok(error([a, b - step, c, d + step, e, f]) > least)
    t.ok(error([a, b, c + step, d, e, f]) > least)
    t.ok(error([a, b, c, d, e, f + step]) > least)
  }
  t.end()
})

t.test('far outside it is all fill', (t) => {
  const frame = rotatedCrop(image, [1e6, 1e6, 10, 10], 33, 4, { fill: [1, 2, 3] })
  for (let x = 0; x < 4; x++) t.same(values(frame, x, x), [1, 2, 3])
  t.end()
})

t.test('misuse', (t) => {
  const invalid = (message: RegExp) => failure('ERR_TRT_INVALID_ARGUMENT', message)
  t.throws(() => rotatedCrop(image, [0, 0, 0, 4], 3, 4), invalid(/a box that is not empty for box/))
  t.throws(() => rotatedCrop(image, [0, 0, 4, 4], NaN, 4), invalid(/for degrees/))
  t.throws(() => rotatedCrop(image, [0, 0, 1e9, 1e9], 3, 4), invalid(/at most 1048576 pixels a side/))
  t.throws(() => alignedCrop(image, [[0, 0]], [[0, 0]], 4), invalid(/two points or more/))
  t.throws(() => alignedCrop(image, [[0, 0]], arcfacePoints, 4), invalid(/two points or more/))
  t.throws(
    () => alignedCrop(image, arcfacePoints.slice(1), arcfacePoints, 4),
    invalid(/5 points, as many as template has, for points but received number 4/),
  )
  t.throws(
    () =>
      alignedCrop(
        image,
        arcfacePoints.map(() => [3, 3] as const),
        arcfacePoints,
        4,
      ),
    invalid(/not all in one place/),
  )
  t.throws(
    () =>
      alignedCrop(
        image,
        [
          [1, 2],
          [3, NaN],
        ],
        [
          [1, 2],
          [3, 4],
        ],
        4,
      ),
    invalid(/a point \[x, y\] of finite numbers for points\[1\]/),
  )
  const frame = rotatedCrop(image, [0, 0, 4, 4], 3, 4)
  t.throws(
    () => toTensorSync(image, frame, { filter: 'triangle' }),
    invalid(/the filter linear, by half_pixel, for a turned part/),
  )
  t.end()
})
