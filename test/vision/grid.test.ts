import t from 'tap'
import { Tensor } from '../../lib/tensor.js'
import { decodeGrid, type GridOptions } from '../../lib/vision/index.js'
import { failure } from '../support/errors.js'
import { logit } from '../support/values.js'

const nothing = -50

/**
 * A grid of 2 x 3 cells, two anchors and two classes, in which nothing is found but what `cells` says: [row, column,
 * anchor, fields].
 */
function gridOf(
  cells: readonly (readonly [number, number, number, readonly number[]])[],
  layout: 'NCHW' | 'NHWC',
): Tensor {
  const data = new Float32Array(2 * 3 * 14).fill(nothing)
  for (const [row, column, anchor, fields] of cells) {
    fields.forEach((value, field) => {
      const channel = anchor * 7 + field
      data[layout === 'NCHW' ? channel * 6 + row * 3 + column : (row * 3 + column) * 14 + channel] = value
    })
  }
  return new Tensor('float32', data, layout === 'NCHW' ? [1, 14, 2, 3] : [1, 2, 3, 14])
}

const options: GridOptions = {
  anchors: [
    [1, 2],
    [3, 0.5],
  ],
  stride: 8,
  scoreThreshold: 0.3,
  classes: 2,
}

function near(actual: readonly number[], wanted: readonly number[]): boolean {
  return actual.length === wanted.length && actual.every((value, i) => Math.abs(value - Number(wanted[i])) < 1e-4)
}

for (const layout of ['NCHW', 'NHWC'] as const) {
  t.test(`boxes by formula, ${layout}`, (t) => {
    const fields = [logit(0.25), logit(0.5), Math.log(2), 0, logit(0.8), logit(0.1), logit(0.75)]
    const grid = gridOf([[1, 2, 1, fields]], layout)
    const [found] = decodeGrid(grid, { ...options, layout })[0] ?? []
    // Centre (2.25, 1.5) cells, size (2 * 3, 0.5) cells, of 8 pixels.
    t.ok(found && near(found.box, [(2.25 - 3) * 8, (1.5 - 0.25) * 8, 48, 4]), 'exp')
    t.ok(found && near([found.score, found.classIndex], [0.6, 1]))

    const [square] = decodeGrid(grid, { ...options, layout, encoding: 'square' })[0] ?? []
    // s(log 2) = 2/3: width (4/3)^2 * 3, height 1 * 0.5.
    const [width, height] = [(16 / 9) * 3, 0.5]
    t.ok(
      square &&
        near(square.box, [
          (2 * 0.25 - 0.5 + 2 - width / 2) * 8,
          (2 * 0.5 - 0.5 + 1 - height / 2) * 8,
          width * 8,
          height * 8,
        ]),
      'square',
    )
    t.end()
  })
}

t.test('by row, column and anchor; only scores above the threshold', (t) => {
  const fields = (objectness: number): number[] => [0, 0, 0, 0, objectness, 1, 0.5]
  const grid = gridOf(
    [
      [1, 0, 0, fields(0.5)],
      [0, 2, 1, fields(0.9)],
      [0, 2, 0, fields(0.8)],
      [0, 1, 0, fields(0.25)],
      [1, 1, 1, fields(NaN)],
    ],
    'NCHW',
  )
  const found = decodeGrid(grid, { ...options, activation: 'none', scoreThreshold: 0.25 })[0] ?? []
  t.ok(
    near(
      found.map(({ score }) => score),
      [0.8, 0.9, 0.5],
    ),
  )
  t.same(
    found.map(({ classIndex }) => classIndex),
    [0, 0, 0],
  )
  t.end()
})

t.test('each picture of a batch; no classes', (t) => {
  const data = Float32Array.of(0, 0, 0, 0, nothing, 0, 0, 0, 0, 3)
  const found = decodeGrid(new Tensor('float32', data, [2, 5, 1, 1]), {
    anchors: [[1, 1]],
    stride: 4,
    scoreThreshold: 0.5,
  })
  t.same(
    found.map(({ length }) => length),
    [0, 1],
  )
  t.same(found[1]?.[0], { box: [0, 0, 4, 4], score: 1 / (1 + Math.exp(-3)), classIndex: 0 })
  t.end()
})

t.test('misuse', (t) => {
  const grid = gridOf([], 'NCHW')
  const invalid = (message: RegExp) => failure('ERR_TRT_INVALID_ARGUMENT', message)
  const call = (change: object) => () => decodeGrid(grid, { ...options, ...change })
  t.throws(() => decodeGrid({} as never, options), invalid(/a Tensor for output/))
  t.throws(
    () => decodeGrid(new Tensor('int32', new Int32Array(84), [1, 14, 2, 3]), options),
    failure('ERR_TRT_DTYPE', /float32 tensor for output but received int32/),
  )
  t.throws(
    () => decodeGrid(grid.reshape([14, 2, 3]), options),
    failure('ERR_TRT_SHAPE', /\[N, 14, rows, columns\] .* \[14, 2, 3\]/),
  )
  t.throws(call({ classes: 3 }), failure('ERR_TRT_SHAPE', /\[N, 16, rows, columns\] .* \[1, 14, 2, 3\]/))
  t.throws(call({ layout: 'NHWC' }), failure('ERR_TRT_SHAPE', /\[N, rows, columns, 14\]/))
  t.throws(() => decodeGrid(grid, undefined as never), invalid(/an object for the options of /))
  t.throws(call({ anchors: 3 }), invalid(/an array for anchors/))
  t.throws(
    call({ anchors: [[1, 0]] }),
    invalid(/\[width, height\], both greater than 0 for anchors\[0\] but received array \[1, 0\]/),
  )
  t.throws(call({ stride: 0 }), invalid(/greater than 0 for stride/))
  t.throws(call({ scoreThreshold: 2 }), invalid(/ for scoreThreshold /))
  t.throws(call({ classes: 1.5 }), invalid(/an integer from 0 for classes/))
  t.throws(call({ layout: 'CHW' }), invalid(/ for layout /))
  t.throws(call({ encoding: 'v5' }), invalid(/ for encoding /))
  t.throws(call({ activation: 'softmax' }), invalid(/ for activation /))
  t.end()
})
