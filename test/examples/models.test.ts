// The seeded networks of the examples: the small ones whole. models.slow.test.ts has the others.
import t from 'tap'
import { retinaFace, yoloV5 } from '../support/networks/index.js'
import { retinaFacePriors } from '../../lib/steps/anchors.js'
import { writeModel } from '../../lib/onnx/index.js'
import { Tensor } from '../../lib/tensor.js'
import { answersOf, architectures, checkArchitecture, isSmall } from './architectures.js'

for (const architecture of architectures.filter(isSmall))
  t.test(architecture.name, (t) => checkArchitecture(t, architecture))

t.test('weights are by the seed', async (t) => {
  const bytes = (seed: number) => Buffer.from(writeModel(retinaFace.modelOf({ size: 32, seed })))
  t.ok(bytes(1).equals(bytes(1)))
  t.notOk(bytes(1).equals(bytes(2)))
})

t.test('YOLOv5 answers in pixels: each row within two cells of its own, no larger than four anchors', async (t) => {
  const { output0 } = await answersOf(
    yoloV5.modelOf({ size: { width: 96, height: 64 } }),
    new Tensor('float32', new Float32Array(3 * 64 * 96), [1, 3, 64, 96]),
  )
  const rows = output0!.data as Float32Array
  let row = 0
  for (const [stride, sizes] of [
    [
      8,
      [
        [10, 13],
        [16, 30],
        [33, 23],
      ],
    ],
    [
      16,
      [
        [30, 61],
        [62, 45],
        [59, 119],
      ],
    ],
    [
      32,
      [
        [116, 90],
        [156, 198],
        [373, 326],
      ],
    ],
  ] as const)
    for (const [width, height] of sizes)
      for (let y = 0; y < 64; y += stride)
        for (let x = 0; x < 96; x += stride, row++) {
          const [cx, cy, w, h] = rows.subarray(row * 85, row * 85 + 4) as unknown as [number, number, number, number]
          const near = Math.abs(cx - (x + stride / 2)) <= stride && Math.abs(cy - (y + stride / 2)) <= stride
          if (!near || w > 4 * width || h > 4 * height || w < 0 || h < 0) t.fail(`row ${row}: ${cx} ${cy} ${w} ${h}`)
        }
  t.equal(row * 85, rows.length)
})

t.test('RetinaFace has a row for each prior at sides that no stride divides', async (t) => {
  const size = { width: 70, height: 50 }
  const { loc } = await answersOf(
    retinaFace.modelOf({ size }),
    new Tensor('float32', new Float32Array(3 * 50 * 70), [1, 3, 50, 70]),
  )
  t.equal(loc!.shape[1], retinaFacePriors(size).length / 4)
})
