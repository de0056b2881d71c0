import t, { type Test } from 'tap'
import { FaceDetector, type Face } from '../../examples/face-detector/detector.js'
import { faceDetectorModel } from '../../examples/face-detector/model.js'
import { Engine } from '../../lib/engine.js'
import { intersectionOverUnion, readImage } from '../../lib/vision/index.js'
import { loadReference } from './reference.js'
import { chosenVariants, photographs, randomVariant } from './variants.js'
import { size } from '../support/tiers.js'

const randomCount = size(24, 300)

const engine = await Engine.load(await faceDetectorModel(), { backend: 'cpu' })
const detector = new FaceDetector(engine)
const reference = await loadReference()
let faceCount = 0
let smallestIou = 1

/** The IoU of each of their faces with the nearest of ours, of which each is taken once. */
function agreement(ours: readonly Face[], theirs: readonly Face[]): number[] {
  const free = new Set(ours)
  return theirs.map(({ box }) => {
    const nearest = [...free].sort((a, b) => intersectionOverUnion(b.box, box) - intersectionOverUnion(a.box, box))[0]
    if (nearest === undefined) return 0
    free.delete(nearest)
    return intersectionOverUnion(nearest.box, box)
  })
}

async function compare(t: Test, name: string, source: string | Uint8Array): Promise<number> {
  const image = await readImage(source)
  const ours = await detector.detect(image)
  const theirs = await reference(image)
  t.equal(ours.length, theirs.length, `${name}, ${image.width} x ${image.height}: as many faces`)
  const ious = agreement(ours, theirs)
  t.ok(
    ious.every((iou) => iou >= 0.9999),
    `${name}: the same boxes (${ious.map((iou) => iou.toFixed(6)).join(', ')})`,
  )
  faceCount += theirs.length
  smallestIou = Math.min(smallestIou, ...ious)
  return theirs.length
}

t.test('the photographs of the package', async (t) => {
  const counts = []
  for (const path of photographs) counts.push(await compare(t, path, path))
  t.same(counts, [3, 1, 3, 4, 5, 5], 'the reference finds what it is known to find')
})

t.test('one variant for each difficulty', async (t) => {
  for (const { name, bytes } of chosenVariants) await compare(t, name, await bytes())
})

t.test('variants by chance', async (t) => {
  for (let seed = 1; seed <= randomCount; seed++) {
    const { name, bytes } = randomVariant(seed)
    await compare(t, name, await bytes())
  }
})

t.teardown(async () => {
  t.comment(`${faceCount} faces, smallest IoU ${smallestIou}`)
  await engine.close()
})
