// trt run on pictures: the answers of the tasks, drawn and written.
import { execFileSync } from 'node:child_process'
import { copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import t from 'tap'
import { faceDetectorModel } from '../../examples/face-detector/model.js'
import { anySizeCenterFace } from '../../examples/models/index.js'
import { facePhoto } from '../../examples/support/program.js'
import { writeModel } from '../../lib/onnx/index.js'
import { Detector, FaceBlur, presets, Segmenter } from '../../lib/tasks/index.js'
import { cutOut, drawBoxes, encodeImage, overlay, readImage, writeImage } from '../../lib/vision/index.js'
import { readTensor } from '../../lib/index.js'
import { centerFacePath, skipWithoutCenterFace } from '../support/tensorrt.js'
import { answering, colours, filled } from '../tasks/models.js'
import { trt } from './rig.js'

const folder = t.testdir({})
const at = (...names: string[]): string => join(folder, ...names)
const ran = async (...args: string[]) => trt(['run', ...args, '--quiet'])
const document = async (...args: string[]): Promise<any> => {
  const { code, stdout, stderr } = await ran(...args, '--json')
  if (code !== 0) throw new Error(`exit code ${code}: ${stderr}`)
  return JSON.parse(stdout)
}
const [colour, classes, faces] = [at('colours.onnx'), at('classes.onnx'), at('faces.onnx')]
const tiny = ['--preset', 'tiny-face-api']

/** Left of `from` the class is 0, from there on 5. */
const halves = [...Array.from({ length: 64 * 64 }, (_, i) => [[0, i % 64 < 48 ? 0 : 5, Math.floor(i / 64), i % 64], 1] as const)]

t.before(async () => {
  await writeFile(colour, colours())
  await writeFile(classes, answering([filled([1, 21, 64, 64], halves)]))
  await writeFile(faces, await faceDetectorModel())
  await mkdir(at('photos'))
  for (const [name, rgb] of [
    ['red', [255, 0, 0]],
    ['green', [0, 255, 0]],
    ['blue', [0, 0, 255]],
  ] as const)
    // prettier-ignore
    await writeImage({ width: 16, height: 16, channels: 3, data: Uint8Array.from({ length: 768 }, (_, i) => rgb[i % 3]!) }, at('photos', `${name}.png`))
  await writeFile(at('labels.txt'), 'rouge\nvert\nbleu\n')
  await copyFile(facePhoto(1), at('three.jpg'))
  await copyFile(facePhoto(3), at('others.jpg'))
})

t.test('a pipe is no picture: it is refused, and not waited for', async (t) => {
  execFileSync('mkfifo', [at('pipe.png')])
  t.match(await ran(colour, at('pipe.png'), '--preset', 'imagenet'), { code: 1, stderr: /pipe\.png is not an ordinary file/ })
})

t.test('classify: the best classes of each picture, by name', async (t) => {
  const args = ['--preset', 'imagenet', '--labels', at('labels.txt'), '--top', '1']
  const found = await document(colour, at('photos'), ...args)
  t.match(found, { backend: 'cpu', task: 'classify', failed: [] })
  t.same(
    found.results.map(({ file, classes: [best] }: any) => [basename(file), best.label, best.classIndex]),
    [['blue.png', 'bleu', 2], ['green.png', 'vert', 1], ['red.png', 'rouge', 0]], // prettier-ignore
  )
  const { stdout } = await ran(colour, at('photos'), ...args)
  t.match(stdout, /^picture +class +score\nblue\.png +bleu +0\.\d{4}\ngreen\.png +vert +0\.\d{4}\nred\.png +rouge +0\.\d{4}\n$/)
  await ran(colour, at('photos'), ...args, '-o', at('answers.jsonl'))
  const lines = (await readFile(at('answers.jsonl'), 'utf8')).trimEnd().split('\n')
  t.same(
    lines.map((line) => JSON.parse(line) as unknown),
    found.results,
  )
  await ran(colour, at('photos'), ...args, '-o', at('answers.json'))
  t.same(JSON.parse(await readFile(at('answers.json'), 'utf8')), found)
  t.match((await ran(colour, at('photos', 'red.png'), ...args)).stdout, /^class +score\nrouge +0\.\d{4}\n$/, 'of one, no name')
})

t.test('--batch: pictures together, the same answers; a model that has one row is refused', async (t) => {
  const open = at('open-batch.onnx')
  await writeFile(open, colours(['n', 3, 8, 8]))
  const args = [at('photos'), '--preset', 'imagenet']
  const [alone, together] = [await document(open, ...args), await document(open, ...args, '--batch', '2')]
  t.equal(together.results.length, 3)
  t.same(together, alone)
  t.match(await ran(colour, ...args, '--batch', '2'), { code: 1, stderr: /dynamic/ })
  t.match(await ran(open, '--random', '--shapes', 'images:1x3x8x8', '--batch', '2'), {
    code: 2,
    stderr: /--batch is of classify, detect, segment, blur/,
  })
})

t.test('a bad picture among others is told by its name', async (t) => {
  await writeFile(at('photos', 'damaged.png'), 'no picture')
  const { code, stdout, stderr } = await ran(colour, at('photos', '*.png'), '--preset', 'imagenet', '--json')
  t.equal(code, 1)
  t.match(JSON.parse(stdout), { results: { length: 3 }, failed: [{ file: /damaged\.png$/, code: 'ERR_TRT_IMAGE' }] })
  t.match(stderr, /error: Cannot read .*damaged\.png/)
})

t.test('detect: a real model finds faces, and draws them as the library does', async (t) => {
  const found = await document(faces, at('three.jpg'), ...tiny, '-o', at('drawn'), '--threshold', '0.5')
  await using detector = await Detector.load(faces, { backend: 'cpu', preset: 'tiny-face-api', scoreThreshold: 0.5 })
  const image = await readImage(at('three.jpg'))
  const wanted = await detector.detect(image)
  t.ok(wanted.length >= 3, `${wanted.length} faces`)
  t.same(found.results[0].found, JSON.parse(JSON.stringify(wanted)))
  const boxes = wanted.map(({ box, score }) => ({ box, label: score.toFixed(2) }))
  const drawn = await encodeImage(await drawBoxes(image, boxes), 'jpeg')
  t.ok(Buffer.from(drawn).equals(await readFile(at('drawn', 'three-detected.jpg'))))
  const { stdout } = await ran(faces, at('three.jpg'), at('photos', 'red.png'), ...tiny)
  t.match(stdout, /^picture +found +score +left +top +width +height\nthree\.jpg +class 0 +0\.\d{4} +\d+\.\d/)
  t.match(stdout, /\nred\.png +nothing\n/)
  t.ok(
    stdout.split('\n').every((line) => line.length <= 80),
    'fits',
  )
})

t.test('blur: a detector whose input is fixed at next to nothing is warned of', async (t) => {
  const small = at('small-grid.onnx')
  await writeFile(small, answering([filled([1, 5, 21], [])], { input: [1, 3, 32, 32] }))
  const { code, stderr } = await ran(small, at('three.jpg'), '--preset', 'yolov8', '--task', 'blur', '-o', at('unhidden'))
  t.equal(code, 0)
  t.match(stderr, /^warning: Input \S+ is fixed at 1x3x32x32: /)
  t.equal((await ran(faces, at('three.jpg'), ...tiny)).stderr, '')
})

t.test('blur: pictures in which faces are hidden', async (t) => {
  const { stdout, code } = await ran(faces, at('three.jpg'), at('others.jpg'), ...tiny, '--task', 'blur', '-o', at('blurred'))
  t.same({ code, stdout }, { code: 0, stdout: `2 files written to ${at('blurred')}\n` })
  await using blur = await FaceBlur.load(faces, { backend: 'cpu', preset: 'tiny-face-api' })
  for (const name of ['three', 'others']) {
    const wanted = await encodeImage(await blur.blur(await readImage(at(`${name}.jpg`))), 'jpeg')
    t.ok(Buffer.from(wanted).equals(await readFile(at('blurred', `${name}-blurred.jpg`))), name)
  }
  await ran(faces, at('three.jpg'), ...tiny, '--task', 'blur', '-o', at('one.webp'))
  t.equal((await readImage(at('one.webp'))).width, (await readImage(at('three.jpg'))).width)
})

t.test('segment: classes by their share; the picture under colours, the classes alone, the picture cut out', async (t) => {
  const args = [classes, at('photos', 'red.png'), '--preset', 'voc', '--labels', 'voc']
  const found = await document(...args, '-o', at('parts'))
  t.same(found.results[0].classes, [
    { classIndex: 0, label: '__background__', pixels: 192, share: 0.75 },
    { classIndex: 5, label: 'bottle', pixels: 64, share: 0.25 },
  ])
  t.match((await ran(...args)).stdout, /^class +pixels +share\n__background__ +192 +75\.0 %\nbottle +64 +25\.0 %\n$/)
  const image = await readImage(at('photos', 'red.png'))
  await using segmenter = await Segmenter.load(classes, { backend: 'cpu', preset: 'voc' })
  const mask = await segmenter.segment(image)
  t.same((await readImage(at('parts', 'red-segmented.png'))).data, (await overlay(image, mask)).data)
  await ran(...args, '-o', at('parts'), '--draw', 'mask')
  t.same(
    (await readImage(at('parts', 'red-mask.png'))).data.filter((_, i) => i % 3 === 0),
    mask.data,
  )
  await ran(...args, '-o', at('parts'), '--draw', 'cutout')
  const background = [255, 255, 255] as const
  t.same((await readImage(at('parts', 'red-cutout.png'), { background })).data, (await cutOut(image, mask, { background })).data)
})

t.test('tensors: what the preset makes of pictures, without a task', async (t) => {
  await document(colour, at('photos', 'red.png'), '--preset', 'imagenet', '--task', 'tensors', '-o', at('red.npy'))
  const { mean, std } = presets.imagenet.input as unknown as { mean: number[]; std: number[] }
  const wanted = [1, 0, 0].map((value, i) => (value - mean[i]!) / std[i]!)
  const { data } = await readTensor(at('red.npy'))
  wanted.forEach((value, i) => t.ok(Math.abs(value - (data as Float32Array)[i]!) < 1e-5))
})

t.test("a preset of one's own, in a file", async (t) => {
  await writeFile(at('own.json'), JSON.stringify({ ...presets.imagenet, output: { activation: 'none' } }))
  const found = await document(colour, at('photos', 'green.png'), '--preset', at('own.json'), '--top', '1')
  t.ok(found.results[0].classes[0].score > 1.5, 'no probability')
  await writeFile(at('own.json'), '{"task": "detect"}')
  t.match((await ran(colour, at('photos', 'green.png'), '--preset', at('own.json'))).stderr, /expected a preset, \{ "task"/)
})

t.test("--activation goes before the preset's; a model that ends in a softmax needs none", async (t) => {
  const model = at('ended.onnx')
  await writeFile(
    model,
    answering([
      filled(
        [1, 3],
        [0.2, 0.7, 0.1].map((value, i) => [[0, i], value] as const),
      ),
    ]),
  )
  const args = [model, at('photos', 'red.png'), '--preset', 'imagenet', '--top', '1']
  t.match(await ran(...args), { code: 1, stderr: /Expected logits .*activation: 'none'/ })
  const found = await document(...args, '--activation', 'none')
  t.ok(Math.abs(found.results[0].classes[0].score - 0.7) < 1e-6)
  t.match(await ran(faces, at('three.jpg'), ...tiny, '--activation', 'none'), { code: 2, stderr: /--activation is of classify/ })
  t.match(await ran(...args, '--preset', 'tf-efficientdet-d0'), { code: 2, stderr: /'efficientdet-d0', for effdet's/ })
})

t.test('what is wrong with the command line', async (t) => {
  const picture = at('photos', 'red.png')
  const wrong = [
    [[picture], /is a picture: --preset says how it becomes the input.*\n +classify: imagenet/],
    [['--preset', 'imagenet'], /--task classify needs pictures/],
    [[picture, '--preset', 'imagenet', '-o', at('drawn')], /classify draws nothing/],
    [[picture, ...tiny, '--task', 'blur'], /--task blur needs --output/],
    [[picture, ...tiny, '--task', 'blur', '-o', 'a.json'], /blur gives pictures/],
    [[picture, at('three.jpg'), ...tiny, '-o', at('one.png')], /--output takes a folder for 2 pictures/],
    [[picture, ...tiny, '-o', at('one.bmp')], /--output takes a folder, or a file that ends in \.json/],
    [[picture, ...tiny, '--random'], /--input and --random are for tensors/],
  ] as const
  for (const [args, message] of wrong) {
    const { code, stderr } = await ran(at('no-model.onnx'), ...args)
    t.equal(code, 2, args.join(' '))
    t.match(stderr, message)
  }
  const { code, stderr } = await ran(colour, picture, '--preset', 'imagnet')
  t.equal(code, 2)
  t.match(stderr, /one of these for --preset, but received "imagnet":\n +classify: imagenet,/)
  t.match((await ran(colour, picture, '--preset', 'voc')).stderr, /ERR_TRT_SHAPE/, 'a model of another family')
})

t.test('ctrl-C: the exit code of a shell, and no half file', async (t) => {
  await mkdir(at('stopped'))
  const photos = Array.from({ length: 40 }, (_, i) => at(i % 2 === 0 ? 'three.jpg' : 'others.jpg').replace('.jpg', `-${i}.jpg`))
  for (const [i, path] of photos.entries()) await copyFile(facePhoto(i % 2 === 0 ? 1 : 3), path)
  const { code, stderr, stdout } = await trt(['run', faces, ...photos, ...tiny, '--task', 'blur', '-o', at('stopped')], (session) => {
    const look = setInterval(() => void readdir(at('stopped')).then((names) => names.length > 0 && session.interrupt('SIGINT')), 5)
    session.signal.onabort = () => clearInterval(look)
  })
  t.same({ code, stdout }, { code: 130, stdout: '' })
  t.match(stderr, /interrupted\n$/)
  const left = await readdir(at('stopped'))
  t.ok(left.length > 0 && left.length < photos.length, `${left.length} written`)
  for (const name of left) t.equal((await readImage(at('stopped', name))).channels, 3, `${name} is whole`)
})

t.test('CenterFace on photographs', { skip: skipWithoutCenterFace }, async (t) => {
  await writeFile(at('centerface.onnx'), writeModel(await anySizeCenterFace(centerFacePath!)))
  const found = await document(at('centerface.onnx'), at('three.jpg'), '--preset', 'centerface', '--threshold', '0.6')
  t.equal(found.results[0].found.length, 3)
  t.ok(found.results[0].found.every(({ landmarks }: any) => landmarks.length === 5))
})
