// Photographs from their files to labels, against torchvision's preset and onnxruntime in Python with the same model
// (test/vision/oracles/classifier.py).
import { createHash } from 'node:crypto'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import t from 'tap'
import { mobileNetV2 } from '../support/networks/index.js'
import { writeModel } from '../../lib/onnx/index.js'
import { Classifier } from '../../lib/tasks/index.js'
import { readImage } from '../../lib/vision/index.js'
import { answersOf } from '../vision/oracles/answers.js'

interface Oracle {
  readonly categories: readonly string[]
  readonly photographs: readonly {
    readonly name: string
    readonly pixels: string
    readonly top: readonly string[]
    readonly probabilities: readonly number[]
  }[]
}

const { categories, photographs } = answersOf<Oracle>('classifier')
const folder = join(dirname(createRequire(import.meta.url).resolve('@vladmandic/face-api/package.json')), 'demo')

t.test('labels are those of torchvision, in the same order, and probabilities within 1e-4', async (t) => {
  const model = writeModel(mobileNetV2.modelOf())
  await using classifier = await Classifier.load(model, {
    backend: 'cpu',
    preset: 'imagenet',
    labels: categories,
    top: categories.length,
  })
  t.equal(photographs.length, 6)
  for (const { name, pixels, top, probabilities } of photographs) {
    const path = join(folder, name)
    const { data } = await readImage(path)
    t.equal(createHash('sha256').update(data).digest('hex'), pixels, `${name}: decoded to the same pixels`)
    const scores = await classifier.classify(path)
    t.same(
      scores.slice(0, 5).map(({ label }) => label),
      top,
      name,
    )
    const worst = scores.reduce(
      (most, { classIndex, score }) => Math.max(most, Math.abs(score - probabilities[classIndex]!)),
      0,
    )
    t.ok(worst <= 1e-4, `${name}: probabilities differ by ${worst} at most`)
  }
})
