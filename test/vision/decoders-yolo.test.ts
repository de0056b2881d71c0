// The YOLO family, a dozen boxes each worked by hand: models' outputs are made of boxes that are known (formulas turned
// round), or of numbers whose answer is written down.
import t from 'tap'
import {
  decodeYolo,
  decodeYoloAnchors,
  decodeYoloEndToEnd,
  decodeYolox,
  instanceMasks,
  stretch,
  suppress,
  Tensor,
} from './decoders-helpers.js'
import { failure } from '../support/errors.js'
import { Random } from '../support/random.js'
import { logit } from '../support/values.js'
import { close, rowsOf } from './decoders-helpers.js'
import { bothWays } from './helpers.js'

/** [N, channels, boxes] of what a function says of each. */
function planar(channels: number, boxes: number, value: (channel: number, box: number) => number): Tensor<'float32'> {
  return new Tensor(
    'float32',
    Float32Array.from({ length: channels * boxes }, (_, i) => value(Math.floor(i / boxes), i % boxes)),
    [1, channels, boxes],
  )
}

bothWays(async (t) => {
  // three boxes of 84 for a picture of 64 x 64: 8 x 8 + 4 x 4 + 2 x 2 cells
  const known: Record<number, readonly number[]> = { 5: [10, 20, 4, 6], 70: [30.5, 30.5, 61, 61], 83: [-3, 70, 10, 20] }
  const scores: Record<number, readonly number[]> = { 5: [0.1, 0.9, 0.3], 70: [0.25, 0.25, 0.25], 83: [0.6, 0.2, 0.6] }
  const output = planar(
    7,
    84,
    (channel, box) => (channel < 4 ? known[box]?.[channel] : scores[box]?.[channel - 4]) ?? 0,
  )
  const [found] = decodeYolo(output, { size: 64, classes: 3 })
  t.equal(found?.format, 'xyxy')
  t.same(
    rowsOf(found!.boxes, 4),
    [
      [8, 17, 12, 23],
      [-8, 60, 2, 80],
    ],
    'a score of 0.25 is not above it',
  )
  t.same([...found!.classes], [1, 0], 'of equal classes the lower')
  close(t, found!.scores, [0.9, 0.6])
  t.notOk('coefficients' in found!)
  const [all] = decodeYolo({ output0: output }, { multiLabel: true, scoreThreshold: 0.2 })
  t.same([...all!.classes], [1, 0, 2, 2, 0, 1, 2])
  const [few] = decodeYolo([output], { multiLabel: true, scoreThreshold: 0.2, maxCandidates: 3 })
  t.same([...few!.classes], [1, 0, 2])
  t.same([...suppress(all!, { iouThreshold: 0.7, perClass: false })], [0, 1, 4], 'it is what suppress takes')
}, 'YOLO v8 and 11')

bothWays(async (t) => {
  const output = planar(4 + 2 + 3, 84, (channel, box) =>
    box !== 9 ? 0 : [32, 32, 32, 32, 0.2, 0.8, 1, 0, -1][channel]!,
  )
  const prototypes = new Tensor(
    'float32',
    Float32Array.from({ length: 3 * 64 }, (_, i) => (i < 64 ? 1 : 0)),
    [1, 3, 8, 8],
  )
  const [found] = decodeYolo([output, prototypes], { size: 64 })
  t.same([...found!.coefficients!], [1, 0, -1])
  t.same([...found!.classes], [1])
  const [mask] = await instanceMasks(found! as never, prototypes, stretch({ width: 64, height: 64 }, 64))
  t.same([mask!.x, mask!.y, mask!.width, mask!.height], [16, 16, 32, 32], 'it is what instanceMasks takes')
  t.ok(mask!.data.every((value) => value === 1))
  t.same([...decodeYolo(output, { coefficients: 3 })[0]!.coefficients!], [1, 0, -1], 'or as it is told')
}, 'YOLO v8 with masks')

bothWays(async (t) => {
  const rows = [[1, 2, 30, 40, 0.9, 3], [5, 6, 7, 8, 0.25, 1], [0, 0, 640, 640, 0.3, 79]] // prettier-ignore
  const output = new Tensor(
    'float32',
    Float32Array.from([...rows, ...rows.map((row) => row.map((value) => value / 2))].flat()),
    [2, 3, 6],
  )
  const [first, second] = decodeYoloEndToEnd(output)
  t.same(rowsOf(first!.boxes, 4), [[1, 2, 30, 40], [0, 0, 640, 640]]) // prettier-ignore
  t.same([...first!.classes], [3, 79])
  t.same(rowsOf(second!.boxes, 4), [[0.5, 1, 15, 20]], 'each picture of the batch') // prettier-ignore
  const masked = new Tensor('float32', Float32Array.of(1, 2, 3, 4, 0.5, 2, 0.1, 0.2), [1, 1, 8])
  close(t, decodeYoloEndToEnd([masked, Tensor.zeros('float32', [1, 2, 4, 4])])[0]!.coefficients!, [0.1, 0.2])
}, 'YOLO v10 and 26')

/** 12 boxes of a picture of 64 x 64 in maps of v5: what the network would have to say for them. */
function mapsOf(anchors: readonly (readonly (readonly [number, number])[])[], classes: number, seed: number) {
  const random = new Random(seed)
  const channels = 5 + classes
  const maps = [8, 4, 2].map((side) => new Float32Array(3 * channels * side * side).fill(-20))
  const boxes = Array.from({ length: 12 }, (_, i) => {
    const [level, anchor] = [i % 3, Math.floor(i / 3) % 3]
    const side = [8, 4, 2][level]!
    const stride = 64 / side
    const cell = (i * 7) % (side * side)
    const [column, row] = [cell % side, Math.floor(cell / side)]
    const [width, height] = anchors[level]![anchor]!
    const wanted = {
      x: (column + random.next() * 1.8 - 0.4) * stride,
      y: (row + random.next() * 1.8 - 0.4) * stride,
      width: width * (0.1 + random.next() * 3.5),
      height: height * (0.1 + random.next() * 3.5),
      objectness: 0.8 + random.next() * 0.15,
      classIndex: i % Math.max(classes, 1),
      probability: 0.75 + random.next() * 0.2,
      order: 192 * Math.min(level, 1) + 48 * (level === 2 ? 1 : 0) + anchor * side * side + cell,
    }
    const write = (channel: number, value: number): void => {
      maps[level]![((anchor * channels + channel) * side + row) * side + column] = value
    }
    write(0, logit((wanted.x / stride - column + 0.5) / 2))
    write(1, logit((wanted.y / stride - row + 0.5) / 2))
    write(2, logit(Math.sqrt(wanted.width / width) / 2))
    write(3, logit(Math.sqrt(wanted.height / height) / 2))
    write(4, logit(wanted.objectness))
    if (classes > 0) write(5 + wanted.classIndex, logit(wanted.probability))
    return { ...wanted, score: wanted.objectness * (classes > 0 ? wanted.probability : 1) }
  })
  return { maps, boxes: boxes.sort((a, b) => b.score - a.score) }
}

const v5 = [
  [
    [10, 13],
    [16, 30],
    [33, 23],
  ],
  [
    [30, 61],
    [62, 45],
    [59, 119],
  ],
  [
    [116, 90],
    [156, 198],
    [373, 326],
  ],
] as const
const v7 = [
  [
    [12, 16],
    [19, 36],
    [40, 28],
  ],
  [
    [36, 75],
    [76, 55],
    [72, 146],
  ],
  [
    [142, 110],
    [192, 243],
    [459, 401],
  ],
] as const

bothWays(async (t) => {
  for (const [name, anchors, classes] of [
    ['v5', v5, 4],
    ['v7', v7, 1],
    ['v5', v5, 0],
  ] as const) {
    const { maps, boxes } = mapsOf(anchors, classes, 3)
    const tensors = maps.map(
      (data, level) => new Tensor('float32', data, [1, 3 * (5 + classes), 8 >> level, 8 >> level]),
    )
    const split = tensors.map(({ data }, level) => {
      const side = 8 >> level
      const from = (i: number): number => {
        const [channel, cell, anchor] = [
          i % (5 + classes),
          Math.floor(i / (5 + classes)) % (side * side),
          Math.floor(i / (5 + classes) / (side * side)),
        ]
        return data[(anchor * (5 + classes) + channel) * side * side + cell]!
      }
      return new Tensor(
        'float32',
        data.map((_, i) => from(i)),
        [1, 3, side, side, 5 + classes],
      )
    })
    for (const outputs of [tensors, tensors.toReversed(), split]) {
      const [found] = decodeYoloAnchors(outputs, { size: 64, anchors: name })
      t.equal(found!.scores.length, 12)
      for (const [i, box] of boxes.entries()) {
        const { x, y, width, height } = box
        close(
          t,
          found!.boxes.subarray(i * 4, i * 4 + 4),
          [x - width / 2, y - height / 2, x + width / 2, y + height / 2],
          0.01,
        )
      }
      close(
        t,
        found!.scores,
        boxes.map(({ score }) => score),
        1e-6,
      )
      t.same(
        [...found!.classes],
        boxes.map(({ classIndex }) => classIndex),
      )
    }
  }
}, 'YOLO v5 and v7, maps')

bothWays(async (t) => {
  const { boxes } = mapsOf(v5, 4, 4)
  const rows = new Float32Array(252 * 9)
  for (const box of boxes)
    rows.set(
      [
        box.x,
        box.y,
        box.width,
        box.height,
        box.objectness,
        ...[0, 1, 2, 3].map((c) => (c === box.classIndex ? box.probability : 0.1)),
      ],
      box.order * 9,
    )
  const output = new Tensor('float32', rows, [1, 252, 9])
  const [found] = decodeYoloAnchors(output, { size: 64, classes: 4 })
  for (const [i, { x, y, width, height }] of boxes.entries())
    close(
      t,
      found!.boxes.subarray(i * 4, i * 4 + 4),
      [x - width / 2, y - height / 2, x + width / 2, y + height / 2],
      0.001,
    )
  close(
    t,
    found!.scores,
    boxes.map(({ score }) => score),
    1e-6,
  )
  t.same([...decodeYoloAnchors(output, { multiLabel: true, scoreThreshold: 0.01 })[0]!.scores].length, 48)
  const faces = new Tensor('float32', Float32Array.of(10, 10, 4, 4, 0.7), [1, 1, 5])
  close(t, decodeYoloAnchors(faces)[0]!.scores, [0.7])
}, 'YOLO v5 and v7, decoded')

bothWays(async (t) => {
  // of 64 x 32: 8 x 4, 4 x 2 and 2 x 1 cells
  const rows = new Float32Array(42 * 7)
  rows.set([0.5, 0.25, Math.log(2), Math.log(3), 0.9, 0.5, 0.8], 9 * 7) // column 1, row 1, stride 8
  rows.set([-1, 1, 0, 0, 0.5, 0.9, 0.1], (32 + 6) * 7) // column 2, row 1, stride 16
  rows.set([0, 0, 1000, 0, 1, 1, 1], 41 * 7) // of an infinite width
  rows.set([0, 0, 0, 0, 0.3, 0.3, 0.3], 0)
  const [found] = decodeYolox(new Tensor('float32', rows, [1, 42, 7]), { size: { width: 64, height: 32 } })
  t.same(
    rowsOf(found!.boxes, 4).map((box) => box.map((value) => Number(value.toFixed(4)))),
    [
      [4, -2, 20, 22],
      [8, 24, 24, 40],
    ],
  )
  t.same([...found!.classes], [1, 0])
  close(t, found!.scores, [0.72, 0.45])
}, 'YOLOX')

t.test('Another shape than the model should give is an error that says both', async (t) => {
  const zeros = (...shape: number[]): Tensor => Tensor.zeros('float32', shape)
  const wrong: [() => unknown, RegExp][] = [
    [
      () => decodeYolo(zeros(1, 84, 6300), { size: 640, classes: 80 }),
      /^Expected \[N, 84, 8400\] for an input of 640 x 640 but received \[1, 84, 6300\]$/,
    ],
    [() => decodeYolo(zeros(1, 4, 10)), /Expected \[N, 4 \+ classes, boxes\] but received \[1, 4, 10\]/],
    [() => decodeYolo(zeros(1, 85, 10), { classes: 80 }), /\[N, 84, boxes\] but received \[1, 85, 10\]/],
    [() => decodeYolo([zeros(1, 84, 10), zeros(1, 84, 10)]), /received \[1, 84, 10\] and \[1, 84, 10\]/],
    [() => decodeYolo([zeros(1, 8, 10), zeros(1, 4, 2, 2)]), /4 \+ classes \+ 4/],
    [() => decodeYoloEndToEnd(zeros(1, 84, 8400).reshape([1, 8400, 84]).reshape([84, 8400])), /boxes, 6\]/],
    [() => decodeYoloEndToEnd(zeros(1, 300, 5)), /\[N, boxes, 6\]/],
    [
      () => decodeYoloAnchors(zeros(1, 25200, 85), { size: 320 }),
      /Expected \[N, 6300, 5 \+ classes\] for an input of 320 x 320 but received \[1, 25200, 85\]/,
    ],
    [() => decodeYoloAnchors([zeros(1, 255, 8, 8)], { size: 64 }), /or 3 maps/],
    [() => decodeYoloAnchors([zeros(1, 254, 8, 8), zeros(1, 255, 4, 4), zeros(1, 255, 2, 2)], { size: 64 }), /3 maps/],
    [
      () => decodeYoloAnchors([zeros(1, 255, 8, 8), zeros(1, 255, 4, 4), zeros(1, 255, 3, 3)], { size: 64 }),
      /whole pixels for an input of 64 x 64/,
    ],
    [
      () => decodeYolox(zeros(1, 8400, 85), { size: 416 }),
      /Expected \[N, 3549, 5 \+ classes\] for an input of 416 x 416/,
    ],
  ]
  for (const [call, message] of wrong) t.throws(call, failure('ERR_TRT_SHAPE', message))
  t.throws(() => decodeYolo(Tensor.zeros('int32', [1, 84, 10])), failure('ERR_TRT_SHAPE', /received \[1, 84, 10\]/))
  t.throws(
    () => decodeYolo(Tensor.zeros('bool', [1, 84, 10])),
    failure('ERR_TRT_DTYPE', /floats for outputs but received bool/),
  )
  t.throws(() => decodeYolo([] as never), failure('ERR_TRT_INVALID_ARGUMENT', /at least one Tensor/))
  t.throws(() => decodeYolox(zeros(1, 8400, 85), {} as never), failure('ERR_TRT_INVALID_ARGUMENT', /for size/))
  t.throws(
    () => decodeYolo(zeros(1, 84, 10), { threshold: 0.3 } as never),
    failure('ERR_TRT_INVALID_ARGUMENT', /scoreThreshold is its name/),
  )
})

bothWays((t) => {
  for (const shape of [
    [0, 84, 8400],
    [1, 84, 0],
    [2, 84, 10],
  ]) {
    const found = decodeYolo(Tensor.zeros('float32', shape))
    t.same(
      found.map(({ boxes, scores, classes }) => [boxes.length, scores.length, classes.length]),
      Array.from({ length: shape[0]! }, () => [0, 0, 0]),
    )
  }
  const many = planar(5, 3000, (channel, box) => [box % 640, 320, 10, 10, 0.3 + box / 10000][channel]!)
  const [found] = decodeYolo(many)
  t.equal(found!.scores.length, 3000)
  t.same(rowsOf(found!.boxes.subarray(0, 4), 4), [[2999 % 640 - 5, 315, 2999 % 640 + 5, 325]]) // prettier-ignore
  many.data[2999] = NaN
  t.equal(decodeYolo(many)[0]!.scores.length, 2999, 'a box that is not finite is left out')
  many.data.fill(Infinity, 12000)
  t.throws(() => decodeYolo(many), failure('ERR_TRT_SHAPE', /a score of class 0 that is Infinity/))
}, 'nothing found, and thousands')
