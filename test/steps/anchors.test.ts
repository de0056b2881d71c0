import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import t from 'tap'
import {
  anchorsOfCorners,
  cellsOf,
  efficientDetAnchors,
  retinaFacePriors,
  ssdAnchors,
  yoloAnchors,
  yoloStrides,
} from '../../lib/steps/anchors.js'
import { failure } from '../support/errors.js'

/** (cx, cy, w, h) of one of them as (top, left, bottom, right), as google/automl writes its anchors. */
function edges(anchors: Float32Array, index: number): number[] {
  const [x = NaN, y = NaN, width = NaN, height = NaN] = anchors.subarray(index * 4, index * 4 + 4)
  return [y - height / 2, x - width / 2, y + height / 2, x + width / 2]
}

t.test('EfficientDet has as many anchors as its authors count', async (t) => {
  const sizes = { D0: 512, D1: 640, D2: 768, D3: 896, D4: 1024, D5: 1280 }
  const counts = { D0: 49104, D1: 76725, D2: 110484, D3: 150381, D4: 196416, D5: 306900 }
  for (const [name, size] of Object.entries(sizes))
    t.equal(efficientDetAnchors({ size }).length / 4, counts[name as keyof typeof counts], name)
  t.equal(efficientDetAnchors({ size: 1536, anchorScale: 5 }).length / 4, 441936, 'D7')
  t.equal(efficientDetAnchors({ size: 1536, maxLevel: 8 }).length / 4, 442260, 'D7x')
})

t.test('Where they lie', async (t) => {
  const anchors = efficientDetAnchors({ size: 640 })
  t.same(edges(anchors, 0), [-12, -12, 20, 20], 'the first one, a square of four cells')
  t.same(edges(efficientDetAnchors({ size: 1536, anchorScale: 5 }), 0), [-16, -16, 24, 24], 'of D7')
  // the second is twice as wide as high, of the same area
  const [, , width = NaN, height = NaN] = anchors.subarray(4, 8)
  t.match(
    [width / height, width * height].map((value) => value.toFixed(3)),
    ['2.000', '1024.000'],
  )
  // octaves follow the forms: the fourth is a square again, 2^(1/3) times as large
  t.match(
    [...anchors.subarray(14, 16)].map((side) => side.toFixed(4)),
    [(32 * 2 ** (1 / 3)).toFixed(4), (32 * 2 ** (1 / 3)).toFixed(4)],
  )
  t.same([...anchors.subarray(36, 40)], [12, 4, 32, 32], 'the next cell of the row')
  t.same([...anchors.subarray(80 * 36, 80 * 36 + 4)], [4, 12, 32, 32], 'the next row')
  const second = 80 * 80 * 9
  t.same([...anchors.subarray(second * 4, second * 4 + 4)], [8, 8, 64, 64], 'the next level')
  t.same([...anchors.subarray(-36, -32)], [576, 576, 512, 512], 'the last cell: 5 x 5 cells of 128')
})

t.test('Of sides that no level divides, cells lie evenly', async (t) => {
  const anchors = efficientDetAnchors({
    size: { width: 100, height: 60 },
    minLevel: 3,
    maxLevel: 3,
    octaves: 1,
    aspects: [[2, 1]],
  })
  t.equal(anchors.length / 4, 13 * 8)
  const [x = NaN, y = NaN, width = NaN, height = NaN] = anchors
  t.match(
    [x, y, width, height].map((value) => value.toFixed(4)),
    [50 / 13, 30 / 8, 800 / 13, 240 / 8].map((value) => value.toFixed(4)),
  )
})

t.test('RetinaFace has its priors', async (t) => {
  t.equal(retinaFacePriors(640).length / 4, 16800)
  const priors = retinaFacePriors({ width: 640, height: 480 })
  t.equal(priors.length / 4, 12600)
  t.same([...priors.subarray(0, 12)], [4, 4, 16, 16, 4, 4, 32, 32, 12, 4, 16, 16])
  const second = 80 * 60 * 2
  t.same([...priors.subarray(second * 4, second * 4 + 4)], [8, 8, 64, 64])
  t.same([...priors.subarray(-4)], [624, 464, 512, 512])
  t.equal(
    retinaFacePriors({ width: 641, height: 480 }).length / 4,
    2 * (81 * 60 + 41 * 30 + 21 * 15),
    'a cell begun is a cell',
  )
  t.same([...retinaFacePriors(16, { steps: [16], minSizes: [[10]] })], [8, 8, 10, 10])
})

t.test('Cells of a model without anchors', async (t) => {
  const cells = cellsOf(640)
  t.equal(cells.length / 3, 8400)
  t.same([...cells.subarray(0, 6)], [0, 0, 8, 1, 0, 8])
  t.same([...cells.subarray(6400 * 3, 6400 * 3 + 3)], [0, 0, 16])
  t.same([...cells.subarray(-3)], [19, 19, 32])
  t.same([...cellsOf({ width: 64, height: 32 }, [32])], [0, 0, 32, 1, 0, 32])
})

t.test('YOLO v5 and v7 have three anchors for each level', async (t) => {
  for (const version of ['v5', 'v7'] as const) {
    t.same(
      yoloAnchors[version].map((level) => level.length),
      [3, 3, 3],
    )
    const areas = yoloAnchors[version].flat().map(([width, height]) => width * height)
    t.ok(areas[0]! < areas[4]! && areas[4]! < areas[8]!, 'the finest level has the smallest')
  }
  t.equal(
    yoloStrides.reduce((sum, stride) => sum + 3 * (640 / stride) ** 2, 0),
    25200,
  )
})

t.test('What is wrong is said', async (t) => {
  const wrong: [() => unknown, RegExp][] = [
    [() => efficientDetAnchors({ size: 0 }), /an integer from 1 to 16384 for size/],
    [() => efficientDetAnchors({} as never), /number of pixels or \{ width, height \} for size/],
    [() => efficientDetAnchors({ size: 64, minLevel: 5, maxLevel: 4 }), /from 5 to 10 for maxLevel/],
    [() => efficientDetAnchors({ size: 64, aspects: [] }), /1 to 16 forms for aspects/],
    [() => efficientDetAnchors({ size: 64, aspects: [0] }), /greater than 0 for aspects\[0\]/],
    [() => efficientDetAnchors({ size: 64, scale: 3 } as never), /Unknown option "scale" for efficientDetAnchors/],
    [() => retinaFacePriors({ width: 3, height: NaN }), /for size\.height/],
    [() => retinaFacePriors(64, { steps: [8] }), /1 lists, one for each step/],
    [() => retinaFacePriors(64, { minSizes: [[], [1], [1]] }), /1 to 16 numbers for minSizes\[0\]/],
    [() => cellsOf(64, []), /1 to 16 numbers for strides/],
    [() => cellsOf(64, [0]), /for strides\[0\]/],
    [() => cellsOf(16384), /at most 2097152 anchors for size/],
  ]
  for (const [call, message] of wrong) t.throws(call, failure('ERR_TRT_INVALID_ARGUMENT', message))
})

/** The tensor of this name among the weights of face-api's SSD. */
async function faceApiTensor(name: string): Promise<Float32Array> {
  const folder = join(dirname(createRequire(import.meta.url).resolve('@vladmandic/face-api/package.json')), 'model')
  const manifest = JSON.parse(await readFile(join(folder, 'ssd_mobilenetv1_model-weights_manifest.json'), 'utf8')) as {
    weights: { name: string; shape: number[]; quantization?: { dtype: string } }[]
  }[]
  const bytes = await readFile(join(folder, 'ssd_mobilenetv1_model.bin'))
  let at = 0
  for (const { name: each, shape, quantization } of manifest.flatMap(({ weights }) => weights)) {
    const length = shape.reduce((product, side) => product * side, quantization?.dtype === 'uint8' ? 1 : 4)
    if (each === name) return new Float32Array(Uint8Array.from(bytes.subarray(at, at + length)).buffer)
    at += length
  }
  throw new Error(`no ${name}`)
}

t.test("an SSD's anchors are those that face-api's model has among its weights", async (t) => {
  const wanted = anchorsOfCorners(await faceApiTensor('Output/extra_dim'), { size: 512 })
  const anchors = ssdAnchors({ size: 512 })
  t.equal(anchors.length, 5118 * 4)
  t.ok(anchors.every((value, i) => Math.abs(value - wanted[i]!) < 1e-3))
  const wide = ssdAnchors({ size: { width: 300, height: 150 }, levels: 2, minScale: 0.1, maxScale: 0.5 })
  t.equal(wide.length / 4, 19 * 10 * 3 + 10 * 5 * 6, 'a cell begun is a cell')
  t.ok(Math.abs(wide[2]! - 15) < 1e-4 && Math.abs(wide[3]! - 7.5) < 1e-4, 'half of the least scale, of each side')
  t.throws(
    () => ssdAnchors({ size: 512, minScale: 0.5, maxScale: 0.2 }),
    failure('ERR_TRT_INVALID_ARGUMENT', /for maxScale/),
  )
  t.throws(() => ssdAnchors({ size: 512, levels: 1 }), failure('ERR_TRT_INVALID_ARGUMENT', /for levels/))
})
