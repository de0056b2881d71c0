// Models that say what they are: ultralytics' metadata gives the preset, the names of the classes and the size.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { create } from '@bufbuild/protobuf'
import t from 'tap'
import { StringStringEntryProtoSchema, writeModel } from '../../lib/onnx/index.js'
import { parseModel } from '../../lib/onnx/model.js'
import { descriptionOf } from '../../lib/tasks/described.js'
import { Classifier, Detector, FaceBlur, imagenet } from '../../lib/tasks/index.js'
import { type RawImage, writeImage } from '../../lib/vision/index.js'
import { failureOf } from '../support/errors.js'
import { temporaryFolder } from '../support/folders.js'
import { trt } from '../cli/rig.js'
import { answering, filled } from './models.js'

const folder = temporaryFolder(t)

/** As ultralytics' exporter writes it, the values by `str()`. */
const exported = (task: string, names: string, imgsz = '[64, 64]'): Readonly<Record<string, string>> => ({
  description: `Ultralytics YOLO11n${task === 'detect' ? '' : `-${task}`} model trained on a.yaml`,
  author: 'Ultralytics',
  version: '8.4.190',
  stride: '32',
  task,
  batch: '1',
  imgsz,
  names,
})

function said(model: Uint8Array, metadata: Readonly<Record<string, string>>): Uint8Array {
  const parsed = parseModel(model)
  parsed.metadataProps = Object.entries(metadata).map(([key, value]) =>
    create(StringStringEntryProtoSchema, { key, value }),
  )
  return writeModel(parsed)
}

const two = "{0: 'cat', 1: \"a dog's \\\\ dog\"}"
const names = ['cat', "a dog's \\ dog"]
/** One box of class 1 in the middle of 64 x 64. */
const rows = filled(
  [1, 6, 84],
  [
    [[0, 0, 0], 32],
    [[0, 1, 0], 32],
    [[0, 2, 0], 24],
    [[0, 3, 0], 20],
    [[0, 5, 0], 0.9],
  ],
)
const boxes = answering([rows])
const picture: RawImage = { width: 64, height: 64, format: 'rgb', data: new Uint8Array(64 * 64 * 3) }
const cpu = { backend: 'cpu' } as const

t.test('a detector needs no preset, and knows its labels', async (t) => {
  const model = said(boxes, exported('detect', two))
  const path = join(folder, 'yolo11n.onnx')
  writeFileSync(path, model)
  for (const source of [path, model]) {
    await using detector = await Detector.load(source, cpu)
    t.match(await detector.detect(picture), [{ classIndex: 1, label: names[1], box: [20, 22, 24, 20] }])
  }
  await using own = await Detector.load(path, { ...cpu, labels: ['one', 'two'] })
  t.match(await own.detect(picture), [{ label: 'two' }], 'labels that are given go first')
  await using known = await Detector.load(path, { ...cpu, preset: 'yolo11', scoreThreshold: 0.5 })
  t.match(await known.detect(picture), [{ label: names[1] }], 'a preset that is given has the labels, too')
  await using faces = await FaceBlur.load(path, cpu)
  t.equal((await faces.blur(picture)).regions.length, 1)
  const photo = join(folder, 'photo.png')
  await writeImage(picture, photo)
  const run = await trt(['run', path, photo, '--backend', 'cpu'])
  t.match(run, {
    code: 0,
    stdout: /^found .*\na dog's /,
    stderr: /The model says what it is: preset ultralytics, 2 classes\n/,
  })
})

t.test('tensors stay tensors, whatever the model says', async (t) => {
  const [path, tensors] = [join(folder, 'said.onnx'), join(folder, 'tensors')]
  writeFileSync(path, said(boxes, exported('depth', two)))
  mkdirSync(tensors)
  const bytes = new Float32Array(3 * 64 * 64)
  for (const name of ['images.bin', 'images.dat', 'images.raw']) writeFileSync(join(tensors, name), bytes)
  for (const given of [join(tensors, 'images.bin'), join(tensors, 'images.dat'), tensors])
    t.match(await trt(['run', path, given, '--backend', 'cpu']), { code: 0, stdout: /out0/ }, given)
  const photos = join(folder, 'photos')
  mkdirSync(photos)
  await writeImage(picture, join(photos, 'photo.png'))
  t.match(
    await trt(['run', path, photos, '--backend', 'cpu']),
    { code: 2, stderr: /for "depth"/ },
    'a folder of pictures',
  )
})

t.test('trt inspect shows it', async (t) => {
  const path = join(folder, 'inspected.onnx')
  const long = `{${Array.from({ length: 80 }, (_, i) => `${i}: 'class ${i}'`).join(', ')}}`
  writeFileSync(path, said(boxes, exported('detect', long)))
  const { code, stdout } = await trt(['inspect', path])
  t.match(
    { code, stdout },
    { code: 0, stdout: /metadata +description: Ultralytics YOLO11n model[^]*names: {0: 'class 0', [^…]*…\n/ },
  )
  t.match(JSON.parse((await trt(['inspect', path, '--json'])).stdout), { metadata: { names: long } })
})

t.test('pose and OBB choose their presets, and have their keypoints and angles in the table and in JSON', async (t) => {
  const photo = join(folder, 'posed.png')
  await writeImage(picture, photo)
  const one = (channels: readonly number[]) =>
    answering([filled([1, channels.length, 84], channels.map((value, k) => [[0, k, 0], value]))]) // prettier-ignore
  const box = [32, 32, 24, 20, 0, 0.9]
  const cases = [
    ['pose', one([...box, 20, 21, 0.75, 30, 31, 0.25]), /keypoints seen\n.* 1 of 2\n/, { keypoints: [{ x: 20, y: 21, score: 0.75 }, {}] }],
    ['obb', one([...box, 0.5]), /degrees\n.* 28\.6\n/, { angle: 0.5, corners: [[], [], [], []] }],
  ] as const // prettier-ignore
  for (const [task, model, table, wanted] of cases) {
    const path = join(folder, `${task}.onnx`)
    writeFileSync(path, said(model, { ...exported(task, two), ...(task === 'pose' && { kpt_shape: '[2, 3]' }) }))
    await using detector = await Detector.load(path, cpu)
    const [found] = await detector.detect(picture)
    t.match(found, { label: names[1] })
    t.match(JSON.parse(JSON.stringify(found, (_, value: unknown) => (typeof value === 'number' ? Math.round(value * 1e4) / 1e4 : value))), wanted) // prettier-ignore
    const out = join(folder, `${task}.out.png`)
    t.match(await trt(['run', path, photo, '--backend', 'cpu', '-o', out]), { code: 0, stdout: table })
  }
})

t.test('an input of any size has the size of the export', async (t) => {
  const wide = filled(
    [1, 6, 126],
    [
      [[0, 0, 0], 32],
      [[0, 1, 0], 32],
      [[0, 2, 0], 24],
      [[0, 3, 0], 20],
      [[0, 5, 0], 0.9],
    ],
  )
  const open = answering([wide], { input: [1, 3, 'height', 'width'] })
  await using detector = await Detector.load(said(open, exported('detect', two, '[64, 96]')), cpu)
  const [found] = await detector.detect({ ...picture, width: 96, data: new Uint8Array(96 * 64 * 3) })
  t.match(found, { box: [20, 22, 24, 20] }, '96 x 64 is put where it is')
})

t.test('a classifier', async (t) => {
  const scores = answering([filled([1, 2], [[[0, 1], 1]])])
  await using classifier = await Classifier.load(said(scores, exported('classify', two)), cpu)
  t.match(await classifier.classify(picture), [{ classIndex: 1, label: names[1] }, { classIndex: 0 }])
})

t.test('a model of another task is told as such', async (t) => {
  for (const task of ['depth', 'constructor']) {
    const model = said(boxes, exported(task, two))
    const message = new RegExp(`ultralytics' for "${task}", whose outputs nothing here reads`)
    for (const preset of [undefined, 'yolov8'] as const)
      t.match(await failureOf(() => Detector.load(model, { ...cpu, preset })), { code: 'ERR_TRT_UNSUPPORTED', message })
  }
  const classifies = said(boxes, exported('classify', two))
  t.match(await failureOf(() => Detector.load(classifies, cpu)), { message: /Classifier\.load takes it/ })
  t.match(await failureOf(() => Classifier.load(said(boxes, exported('detect', two)), cpu)), {
    code: 'ERR_TRT_INVALID_ARGUMENT',
    message: /Detector\.load takes it, and Classifier does not/,
  })
  t.match(
    await failureOf(() => Detector.load(boxes, cpu)),
    { message: /a preset, or input and output of your own/ },
    'one that says nothing',
  )
  const other = said(boxes, { names: two, task: 'detect' })
  t.match(
    await failureOf(() => Detector.load(other, cpu)),
    { message: /a preset, or input and output of your own/ },
    'one of somebody else',
  )
})

t.test('sizes, and texts that are none', async (t) => {
  const spaces = ' '.repeat(1_000_000)
  const cases: readonly [string, object | undefined][] = [
    ['[64, 96]', { height: 64, width: 96 }],
    ['[64]', { height: 64, width: 64 }],
    ['64', { height: 64, width: 64 }],
    ['[0, 96]', undefined],
    ['[64, 96, 3]', undefined],
    [`${spaces}x`, undefined],
    [`[64${spaces}x`, undefined],
  ]
  for (const [imgsz, size] of cases)
    t.strictSame((await descriptionOf(said(boxes, exported('detect', two, imgsz))))?.size, size, imgsz.slice(0, 20))
  t.equal((await descriptionOf(said(boxes, exported('detect', `{0:${spaces}x`))))?.names, undefined)
})

t.test("ImageNet's names", async (t) => {
  t.equal(imagenet.length, 1000)
  t.strictSame(
    [0, 1, 281, 999].map((i) => imagenet[i]),
    ['tench', 'goldfish', 'tabby', 'toilet tissue'],
  )
  const scores = answering([filled([1, 1000], [[[0, 281], 1]])])
  await using classifier = await Classifier.load(scores, {
    ...cpu,
    input: {},
    output: { activation: 'none' },
    labels: 'imagenet',
    top: 1,
  })
  t.match(await classifier.classify(picture), [{ classIndex: 281, label: 'tabby' }])
})

t.test('names, as Python and JSON write them', async (t) => {
  const cases: readonly [string, readonly string[] | undefined][] = [
    [two, names],
    ["['a', 'b']", ['a', 'b']],
    ['["a", "b\\u00e9", "\\n"]', ['a', 'bé', '\n']],
    ["{0: 'x'}", ['x']],
    ["{1: 'x'}", undefined],
    ["{0: 'x', 2: 'y'}", undefined],
    ["{0: 'x' 1: 'y'}", undefined],
    ["{0: 'x'", undefined],
    ['{}', undefined],
    ['x', undefined],
    [`{0: '${'\\'.repeat(9999)}`, undefined],
  ]
  for (const [text, expected] of cases)
    t.strictSame((await descriptionOf(said(boxes, { names: text })))?.names, expected, text.slice(0, 40))
})
