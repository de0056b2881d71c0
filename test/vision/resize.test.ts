import ort from 'onnxruntime-node'
import t from 'tap'
import { GraphBuilder, writeModel } from '../../lib/onnx/index.js'
import { Tensor } from '../../lib/tensor.js'
import {
  crop,
  letterbox,
  padToSquare,
  stretch,
  toTensorSync,
  type Coordinates,
  type Frame,
  type Image,
  type Size,
} from '../../lib/vision/index.js'
import { noise } from './helpers.js'

/** ONNX's Resize on NCHW, as onnxruntime computes it. */
async function resizeByRuntime(
  planes: Float32Array,
  from: Size,
  to: Size,
  coordinates: Coordinates,
): Promise<Float32Array> {
  const graph = new GraphBuilder({ name: 'resize' })
  const sizes = graph.constant(
    'sizes',
    new Tensor('int64', BigInt64Array.of(1n, 3n, BigInt(to.height), BigInt(to.width)), [4]),
  )
  const x = graph.input('x', 'float32', [1, 3, from.height, from.width])
  const attributes = { mode: 'linear', coordinate_transformation_mode: coordinates }
  graph.output(graph.node('Resize', [x, '', '', sizes], attributes, { output: 'y' }), 'float32', [
    1,
    3,
    to.height,
    to.width,
  ])
  const session = await ort.InferenceSession.create(writeModel(graph.toModel()))
  const { y } = await session.run({ x: new ort.Tensor('float32', planes, [1, 3, from.height, from.width]) })
  await session.release()
  return y?.data as Float32Array
}

/**
 * The part of a picture that `box` covers, as planes, with `fill` outside the picture: what a frame's `source` means.
 */
function planesOf(image: Image, [left, top, width, height]: Frame['source'], fill: readonly number[]): Float32Array {
  const planes = new Float32Array(3 * width * height)
  for (let i = 0; i < planes.length; i++) {
    const channel = Math.floor(i / (width * height))
    const x = left + (i % width)
    const y = top + (Math.floor(i / width) % height)
    const inside = x >= 0 && y >= 0 && x < image.width && y < image.height
    planes[i] = Number(inside ? image.data[(y * image.width + x) * 3 + channel] : fill[channel])
  }
  return planes
}

function largestDifference(a: Float32Array, b: Float32Array): number {
  return a.length === b.length
    ? a.reduce((largest, value, i) => Math.max(largest, Math.abs(value - Number(b[i]))), 0)
    : Infinity
}

/** Of 255, on noise: onnxruntime computes coordinates in single precision. */
const tolerance = 0.03

const coordinates = ['half_pixel', 'asymmetric', 'align_corners'] as const
const sizes: readonly (readonly [Size, Size])[] = [
  [
    { width: 64, height: 48 },
    { width: 23, height: 17 },
  ],
  [
    { width: 23, height: 17 },
    { width: 64, height: 48 },
  ],
  [
    { width: 301, height: 7 },
    { width: 40, height: 40 },
  ],
  [
    { width: 1, height: 1 },
    { width: 5, height: 3 },
  ],
  [
    { width: 9, height: 9 },
    { width: 1, height: 1 },
  ],
  [
    { width: 31, height: 33 },
    { width: 31, height: 33 },
  ],
  [
    { width: 640, height: 427 },
    { width: 416, height: 416 },
  ],
]

for (const mode of coordinates) {
  t.test(`${mode} is ONNX's Resize`, async (t) => {
    for (const [from, to] of sizes) {
      const image = noise(from.width, from.height)
      const ours = toTensorSync(image, stretch(image, to), { coordinates: mode })
      const theirs = await resizeByRuntime(planesOf(image, [0, 0, from.width, from.height], [0, 0, 0]), from, to, mode)
      const difference = largestDifference(ours.data, theirs)
      t.ok(
        difference < tolerance,
        `${from.width} x ${from.height} to ${to.width} x ${to.height} differs by ${difference} of 255`,
      )
    }
  })

  t.test(`${mode} of what is cut out or filled up is Resize after Slice or Pad`, async (t) => {
    const image = noise(60, 37)
    const fill = [10, 200, 90] as const
    const frames = [
      padToSquare(image, 32, { fill }),
      crop(image, [-7, 5, 50, 40], { width: 41, height: 20 }, { fill }),
      crop(image, [70, 50, 5, 5], 4, { fill }),
    ]
    for (const frame of frames) {
      const [, , width, height] = frame.source
      const ours = toTensorSync(image, frame, { coordinates: mode })
      const theirs = await resizeByRuntime(planesOf(image, frame.source, fill), { width, height }, frame, mode)
      const difference = largestDifference(ours.data, theirs)
      t.ok(difference < tolerance, `[${frame.source.join(', ')}] differs by ${difference} of 255`)
    }
  })
}

t.test('a letterbox is Resize, and the fill around it', async (t) => {
  const image = noise(50, 20)
  const frame = letterbox(image, { width: 32, height: 30 }, { fill: [1, 2, 3] })
  t.same(frame.target, [0, 8, 32, 13])
  const { data } = toTensorSync(image, frame)
  const resized = await resizeByRuntime(
    planesOf(image, frame.source, [0, 0, 0]),
    image,
    { width: 32, height: 13 },
    'half_pixel',
  )
  for (const channel of [0, 1, 2]) {
    const plane = data.subarray(channel * 32 * 30, (channel + 1) * 32 * 30)
    t.ok(
      largestDifference(plane.slice(8 * 32, 21 * 32), resized.slice(channel * 32 * 13, (channel + 1) * 32 * 13)) <
        tolerance,
    )
    t.ok(
      [...plane.subarray(0, 8 * 32), ...plane.subarray(21 * 32)].every((value) => value === channel + 1),
      'filled above and below',
    )
  }
})
