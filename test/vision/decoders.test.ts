// Decoders that no library could be asked about, or whose library says only a part, by hand: each box from its formula.
import t from 'tap'
import {
  anchorsOfCorners,
  decodeCenterFace,
  decodeCtc,
  decodeDbNet,
  decodeEfficientDet,
  decodeRetinaFace,
  decodeRtDetr,
  decodeSsd,
  suppress,
  Tensor,
} from './decoders-helpers.js'
import { failure } from '../support/errors.js'
import { Random } from '../support/random.js'
import { logit } from '../support/values.js'
import { close, rowsOf } from './decoders-helpers.js'
import { bothWays } from './helpers.js'

const zeros = (...shape: number[]): Tensor<'float32'> => Tensor.zeros('float32', shape)

function filled(shape: readonly number[], value: number): Tensor<'float32'> {
  return new Tensor('float32', new Float32Array(shape.reduce((product, side) => product * side, 1)).fill(value), shape)
}

bothWays((t) => {
  // TensorFlow's coder: a dozen boxes that are known, as offsets times 10, 10, 5, 5 from anchors of levels 3 to 7 of
  // 128 x 128
  const random = new Random(5)
  const [first, counts] = [
    [0, 2304, 2880, 3024, 3060],
    [16, 8, 4, 2, 1],
  ]
  const [scores, offsets] = [filled([1, 3069, 2], -9), zeros(1, 3069, 4)]
  const wanted = Array.from({ length: 12 }, (_, i) => {
    const level = i % 5
    const side = counts[level]!
    const [row, column, octave] = [random.below(side), random.below(side), random.below(3)]
    const number = first[level]! + (row * side + column) * 9 + octave * 3
    const stride = 128 / side
    const anchor = { x: (column + 0.5) * stride, y: (row + 0.5) * stride, side: 4 * stride * 2 ** (octave / 3) }
    const box = {
      x: random.next() * 128,
      y: random.next() * 128,
      width: 10 + random.next() * 90,
      height: 10 + random.next() * 90,
    }
    const code = [
      ((box.y - anchor.y) / anchor.side) * 10,
      ((box.x - anchor.x) / anchor.side) * 10,
      Math.log(box.height / anchor.side) * 5,
      Math.log(box.width / anchor.side) * 5,
    ]
    offsets.data.set(code, number * 4)
    scores.data[number * 2 + (i % 2)] = logit(0.95 - i * 0.02)
    return [box.x - box.width / 2, box.y - box.height / 2, box.x + box.width / 2, box.y + box.height / 2]
  })
  const [found] = decodeEfficientDet([scores, offsets], { size: 128, coder: 'tf', scoreThreshold: 0.3 })
  t.equal(found!.scores.length, 12)
  close(t, found!.boxes, wanted.flat(), 0.001)
  t.same(
    [...found!.classes],
    Array.from({ length: 12 }, (_, i) => i % 2),
  )
  close(
    t,
    found!.scores,
    Array.from({ length: 12 }, (_, i) => 0.95 - i * 0.02),
    1e-6,
  )
}, "EfficientDet, TensorFlow's coder")

bothWays((t) => {
  // face-api's: corners in parts of the input, 3 columns of which the second is a face
  const corners = [[0.1, 0.2, 0.3, 0.6], [0.5, 0.5, 0.9, 0.7]] // prettier-ignore
  const anchors = anchorsOfCorners(Float32Array.from(corners.flat()), { size: 512 })
  close(t, anchors, [0.4 * 512, 0.2 * 512, 0.4 * 512, 0.2 * 512, 0.6 * 512, 0.7 * 512, 0.2 * 512, 0.4 * 512], 1e-4)
  const offsets = new Tensor(
    'float32',
    Float32Array.of(10, -10, 5 * Math.log(2), 0, 0, 0, 0, 5 * Math.log(0.5)),
    [1, 2, 4],
  )
  const scores = new Tensor('float32', Float32Array.of(9, logit(0.7), 9, -9, logit(0.9), 9), [1, 2, 3])
  const [found] = decodeSsd([offsets, scores], { anchors, classes: 1 })
  t.same([...found!.classes], [0, 0])
  close(t, found!.scores, [0.9, 0.7])
  const [height, width] = [0.2 * 512, 0.4 * 512]
  const [x, y] = [0.4 * 512 - width, 0.2 * 512 + height]
  close(
    t,
    found!.boxes,
    [0.55 * 512, 0.5 * 512, 0.65 * 512, 0.9 * 512, x - width / 2, y - height, x + width / 2, y + height],
    1e-3,
  )
  t.equal(decodeSsd([offsets, scores], { anchors })[0]!.scores.length, 2, 'or the best of two columns')
}, "SSD, TensorFlow's")

bothWays((t) => {
  const logits = filled([1, 3, 4], -9)
  logits.data.set([logit(0.9), logit(0.7), -9, -9], 0)
  logits.data.set([-9, -9, logit(0.8), -9], 8)
  const boxes = new Tensor('float32', Float32Array.of(0.5, 0.5, 0.2, 0.4, 0, 0, 1, 1, 0.25, 0.75, 0.5, 0.5), [1, 3, 4])
  const size = { width: 640, height: 320 }
  const expectedBoxes = [[256, 96, 384, 224], [0, 160, 320, 320], [256, 96, 384, 224]] // prettier-ignore
  const [raw] = decodeRtDetr([logits, boxes], { size })
  t.same([...raw!.classes], [0, 2, 1], 'a box may be of two classes')
  close(t, raw!.boxes, expectedBoxes.flat(), 1e-3)
  t.same([...decodeRtDetr([logits, boxes], { size, multiLabel: false })[0]!.classes], [0, 2])

  const joined = new Tensor(
    'float32',
    Float32Array.of(0.5, 0.5, 0.2, 0.4, 0.9, 7, 0.25, 0.75, 0.5, 0.5, 0.8, 3, 0, 0, 1, 1, 0.6, 1),
    [1, 3, 6],
  )
  const [exported] = decodeRtDetr(joined, { size })
  t.same([...exported!.classes], [7, 3], 'of ultralytics')
  close(t, exported!.boxes, expectedBoxes.slice(0, 2).flat(), 1e-3)
  const older = new Tensor('float32', Float32Array.of(0.5, 0.5, 0.2, 0.4, 0.1, 0.7, 0.65), [1, 1, 7])
  t.same([...decodeRtDetr(older, { size })[0]!.classes], [1, 2])

  const labels = new Tensor('int64', BigInt64Array.of(5n, 79n, 0n), [1, 3])
  const corners = new Tensor('float32', Float32Array.of(0, 0, 1, 1, 10, 20, 30, 40, 5, 6, 7, 8), [1, 3, 4])
  const scores = new Tensor('float32', Float32Array.of(0.3, 0.7, 0.9), [1, 3])
  const [done] = decodeRtDetr({ labels, boxes: corners, scores })
  t.same([...done!.classes], [0, 79])
  t.same(rowsOf(done!.boxes, 4), [[5, 6, 7, 8], [10, 20, 30, 40]]) // prettier-ignore
}, 'RT-DETR')

bothWays((t) => {
  const size = { width: 32, height: 64 }
  const maps = [1, 2, 2, 10].map((channels) => zeros(1, channels, 16, 8))
  const [heat, scale, offset, points] = maps as [
    Tensor<'float32'>,
    Tensor<'float32'>,
    Tensor<'float32'>,
    Tensor<'float32'>,
  ]
  const cell = 3 * 8 + 5 // row 3, column 5
  heat.data[cell] = 0.9
  heat.data[0] = 0.5
  scale.data.set([Math.log(3)], cell) // height 12
  scale.data.set([Math.log(2)], 128 + cell) // width 8
  offset.data.set([0.25], cell)
  offset.data.set([-0.5], 128 + cell)
  for (let point = 0; point < 5; point++) {
    points.data[point * 2 * 128 + cell] = point / 4 // y
    points.data[(point * 2 + 1) * 128 + cell] = 0.5 // x
  }
  const [found] = decodeCenterFace(maps, { size })
  t.same(rowsOf(found!.boxes, 4), [[16, 9, 24, 21]], 'at 0.5 is not above it') // prettier-ignore
  t.same(rowsOf(found!.landmarks!, 2), [[20, 9], [20, 12], [20, 15], [20, 18], [20, 21]]) // prettier-ignore
  const [both] = decodeCenterFace(maps.slice(0, 3), { size, scoreThreshold: 0.2 })
  t.same(rowsOf(both!.boxes, 4)[1], [0, 0, 4, 4], 'left and top are clipped before the size is added')
}, 'CenterFace')

bothWays((t) => {
  const [scores, offsets, points] = [zeros(2, 42, 2), zeros(2, 42, 4), zeros(2, 42, 10)]
  // 32 x 32: 4 x 4, 2 x 2 and 1 x 1 cells of two priors
  scores.data[(42 + 2 * 5 + 1) * 2 + 1] = 0.8 // of the second picture: row 1, column 1, of 32
  offsets.data.set([1, -1, 5 * Math.log(2), 0], (42 + 11) * 4)
  points.data.set([0, 0, 10, 10, 0, 0, 0, 0, 0, 0], (42 + 11) * 10)
  const [none, one] = decodeRetinaFace([offsets, scores, points], { size: 32 })
  t.same([none!.scores.length, none!.boxes.length, none!.landmarks!.length], [0, 0, 0])
  const [x, y] = [12 + 0.1 * 32, 12 - 0.1 * 32]
  close(t, one!.boxes, [x - 32, y - 16, x + 32, y + 16], 1e-4)
  close(t, one!.landmarks!, [12, 12, 44, 44, 12, 12, 12, 12, 12, 12], 1e-4)
  t.same([...suppress(one!, { iouThreshold: 0.4, pixelAreas: true })], [0])
}, 'RetinaFace')

t.test('CTC', async (t) => {
  const steps = [0, 1, 1, 0, 1, 2, 2, 3, 0]
  const values = filled([1, 9, 4], 0)
  for (const [step, best] of steps.entries()) values.data[step * 4 + best] = 0.5 + step * 0.05
  const [line] = decodeCtc(values, { characters: ['a', 'b', ' '] })
  t.same([line!.text, ...line!.steps], ['aab ', 1, 4, 5, 7])
  close(t, line!.scores, [0.55, 0.7, 0.75, 0.85])
  close(t, [line!.score], [(0.55 + 0.7 + 0.75 + 0.85) / 4])
  const [last] = decodeCtc(values, { characters: ['x', 'a', 'b'], blank: 3 })
  t.equal(last!.text, 'xaxabx')
  const logits = new Tensor('float32', Float32Array.of(0, Math.log(3), 0, -Infinity), [1, 1, 4])
  close(t, decodeCtc(logits, { characters: ['a', 'b', 'c'], activation: 'softmax' })[0]!.scores, [0.6])
  t.same(
    { ...decodeCtc(zeros(1, 0, 2), { characters: ['a'] })[0] },
    { text: '', score: 0, scores: new Float32Array(), steps: new Int32Array() },
  )
  t.throws(
    () => decodeCtc(values, { characters: ['a'] }),
    failure('ERR_TRT_SHAPE', /Expected \[N, steps, 2\] \(1 characters and the blank\) but received \[1, 9, 4\]/),
  )
})

bothWays((t) => {
  const map = zeros(2, 1, 40, 60)
  const paint = (left: number, top: number, width: number, height: number, value: number): void => {
    for (let y = top; y < top + height; y++) map.data.fill(value, y * 60 + left, y * 60 + left + width)
  }
  paint(10, 10, 31, 11, 0.9)
  paint(0, 30, 20, 2, 0.9) // too thin
  paint(30, 28, 20, 8, 0.4) // not sure enough
  const [found, none] = decodeDbNet(map)
  t.same(none, [])
  t.equal(found!.length, 1)
  // between centres of pixels it is 30 x 10: it grows by 300 * 1.6 / 80 = 6 on each side
  t.same(
    found![0]!.corners,
    [
      [4, 4],
      [46, 4],
      [46, 26],
      [4, 26],
    ].map(([x, y]) => [x, y]),
    'from the upper left, clockwise',
  )
  close(t, [found![0]!.score], [0.9], 1e-6)
  t.equal(decodeDbNet(map, { scoreThreshold: 0.3 })[0]!.length, 2)
  t.equal(decodeDbNet(map, { scoreThreshold: 0.3, maxCandidates: 1 })[0]!.length, 1)
  t.equal(decodeDbNet(map, { minSide: 0 })[0]!.length, 2)
  const dot = filled([1, 1, 1, 1], 1)
  t.same(decodeDbNet(dot), [[]])
}, 'DBNet')

t.test('Another shape than the model should give is an error that says both', async (t) => {
  const maps = [zeros(1, 1, 16, 16), zeros(1, 2, 16, 16), zeros(1, 2, 16, 16)]
  const wrong: [() => unknown, RegExp][] = [
    [
      () => decodeRetinaFace([zeros(1, 16800, 4), zeros(1, 16800, 2)], { size: 320 }),
      /^Expected \[N, 4200, 4\], \[N, 4200, 2\] and perhaps \[N, 4200, 10\] for an input of 320 x 320 but received \[1, 16800, 4\] and \[1, 16800, 2\]$/,
    ],
    [() => decodeRetinaFace([zeros(1, 4200, 4)], { size: 320 }), /received \[1, 4200, 4\]$/],
    [() => decodeRetinaFace([zeros(1, 4200, 4), zeros(2, 4200, 2)], { size: 320 }), /of one N but received/],
    [
      () => decodeCenterFace(maps, { size: 96 }),
      /\[N, 1, 24, 24\], \[N, 2, 24, 24\], \[N, 2, 24, 24\] and perhaps \[N, 10, 24, 24\] for an input of 96 x 96/,
    ],
    [() => decodeCenterFace(maps.slice(1), { size: 64 }), /received \[1, 2, 16, 16\] and \[1, 2, 16, 16\]/],
    [
      () => decodeEfficientDet([zeros(1, 100, 90), zeros(1, 100, 4)], { size: 640 }),
      /\[N, 76725, classes\] and \[N, 76725, 4\] for an input of 640 x 640 but received \[1, 100, 90\]/,
    ],
    [
      () => decodeEfficientDet([zeros(1, 810, 8, 8), zeros(1, 36, 8, 8)], { size: 640, classes: 90 }),
      /5 maps of classes, \[N, 810, 80, 80\] and so on, and 5 of boxes, \[N, 36, 80, 80\]/,
    ],
    [
      () => decodeSsd([zeros(1, 10, 4), zeros(1, 10, 3)], { anchors: new Float32Array(8) }),
      /Expected \[N, 2, 4\] and \[N, 2, more than 1\], for the 2 anchors/,
    ],
    [
      () => decodeRtDetr([zeros(1, 300, 80), zeros(1, 200, 4)], { size: 640 }),
      /logits and boxes.*received \[1, 300, 80\] and \[1, 200, 4\]/,
    ],
    [() => decodeRtDetr([zeros(1, 300), zeros(1, 300, 4), zeros(1, 300)], { size: 640 }), /labels, boxes, scores/],
    [() => decodeDbNet(zeros(1, 2, 8, 8)), /Expected \[N, 1, height, width\] but received \[1, 2, 8, 8\]/],
  ]
  for (const [call, message] of wrong) t.throws(call, failure('ERR_TRT_SHAPE', message))
  const invalid: [() => unknown, RegExp][] = [
    [() => decodeCenterFace(maps, { size: 65 }), /multiples of 32 pixels for size but received string "65 x 65"/],
    [() => decodeSsd([zeros(1, 2, 4), zeros(1, 2, 3)], {} as never), /\(cx, cy, w, h\) of each anchor for anchors/],
    [
      () => decodeSsd([zeros(1, 2, 4), zeros(1, 2, 3)], { anchors: new Float32Array(8), classes: 3 }),
      /from 1 to 2 for classes/,
    ],
    [() => decodeRtDetr([zeros(1, 3, 80), zeros(1, 3, 4)]), /for size/],
    [
      () => decodeRetinaFace([zeros(1, 42, 4), zeros(1, 42, 2)], { size: 32, variances: [0.1] as never }),
      /\[of centres, of sizes\] for variances/,
    ],
    [() => decodeCtc(zeros(1, 1, 2), { characters: [3] as never }), /a string for characters\[0\]/],
  ]
  for (const [call, message] of invalid) t.throws(call, failure('ERR_TRT_INVALID_ARGUMENT', message))
})
