// What the tasks have in common: one, many, streams, batches, sizes, ends, and what is refused.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Engine, type TensorRTError } from '../../lib/index.js'
import {
  type BlurResult,
  Classifier,
  type ClassifierOptions,
  coco80,
  coco90,
  coco91,
  Detector,
  FaceBlur,
  Segmenter,
  voc,
} from '../../lib/tasks/index.js'
import { encodeImage, type Image, pictures, type RawImage } from '../../lib/vision/index.js'
import { failure, failureOf } from '../support/errors.js'
import { noise, plain } from '../vision/helpers.js'
import { answering, colours, filled } from './models.js'

const own: ClassifierOptions = { input: { resize: 'stretch' }, output: { activation: 'none' }, backend: 'cpu' }

/** Red by its number. */
const numbered = (count: number): Image[] => Array.from({ length: count }, (_, i) => plain(5 + i, 7, [i + 1, 0, 0]))
const reds = (answers: readonly (readonly { classIndex: number; score: number }[])[]): number[] =>
  answers.map((each) => Math.round(each.find(({ classIndex }) => classIndex === 0)!.score))

t.test('one, many and a stream: the answers are in the order of the pictures', async (t) => {
  for (const rows of ['N', 1, 4] as const) {
    const classifier = await Classifier.load(colours([rows, 3, 8, 8]), own)
    const pictures = numbered(11)
    const wanted = pictures.map((_, i) => i + 1)
    t.same(reds([await classifier.classify(pictures[3]!)]), [4])
    const done: number[] = []
    t.same(
      reds(
        await classifier.classify(pictures, {
          onProgress: ({ done: number, total }) => done.push(number * 100 + total),
        }),
      ),
      wanted,
      `rows ${rows}`,
    )
    t.same(
      done,
      wanted.map((number) => number * 100 + 11),
    )
    t.same(await classifier.classify([]), [])
    const streamed = []
    for await (const answer of classifier.classify(pictures.values())) streamed.push(answer)
    t.same(reds(streamed), wanted)
    await classifier.close()
  }
})

t.test('a batch is what the engine takes: split by the maximum of the profile', async (t) => {
  const shapes = { images: { min: [1, 3, 8, 8], opt: [2, 3, 8, 8], max: [4, 3, 8, 8] } }
  const engine = await Engine.load(colours(['N', 3, 8, 8]), { backend: 'cpu', shapes })
  const { input, output } = own
  const classifier = await Classifier.load(engine, { input, output })
  t.same(reds(await classifier.classify(numbered(11))).length, 11)
  t.equal(engine.stats().completed, 3, '4, 4 and 3')
  await classifier.close()
  await classifier.close()
  t.equal(engine.inputs['images']?.name, 'images', 'an engine that was given stays open')
  await t.rejects(classifier.classify(numbered(1)), { code: 'ERR_TRT_CLOSED' })
  await engine.close()
})

t.test('NHWC, float16 and uint8: what the model takes is what it is given', async (t) => {
  const nhwc = await Classifier.load(colours([1, 8, 8, 3], 'NHWC'), own)
  t.same(reds([await nhwc.classify(plain(3, 3, [9, 8, 7]))]), [9])
  await nhwc.close()
  for (const dtype of ['float16', 'uint8'] as const) {
    const answer = filled([1, 3], [[[0, 1], 2.5]])
    const classifier = await Classifier.load(answering([answer], { dtype, as: 'float16' }), {
      ...own,
      input: { mean: 3, std: 5 },
    })
    t.same((await classifier.classify(noise(9, 9)))[0], { classIndex: 1, score: 2.5 })
    await classifier.close()
  }
})

t.test('the size of an input that is open: the profile, what was asked for, or the picture', async (t) => {
  const open = colours(['N', 3, 'h', 'w'])
  t.equal((await failureOf(() => Classifier.load(open, own))).code, 'ERR_TRT_SHAPES_REQUIRED')
  const shapes = { images: { min: [1, 3, 1, 1], opt: [2, 3, 6, 9], max: [4, 3, 20, 20] } }
  const profiled = await Classifier.load(open, { ...own, shapes })
  t.same(reds(await profiled.classify(numbered(3))), [1, 2, 3])
  await profiled.close()
  const sized = await Classifier.load(open, { ...own, input: { size: { multipleOf: 4 } } })
  t.same(
    reds(await sized.classify(numbered(9))),
    [1, 2, 3, 4, 5, 6, 7, 8, 9],
    'of several sizes, several batches, and one order',
  )
  await sized.close()
  const refused = await failureOf(() => Classifier.load(colours(), { ...own, input: { size: 9 } }))
  t.match(refused.message, 'Expected 8 x 8, which the model fixes, for input.size but received string "9 x 9"')
})

t.test('pixels divided by their own maximum', async (t) => {
  const classifier = await Classifier.load(colours(), {
    ...own,
    input: { range: '0-1', mean: [0.1, 0.2, 0.3], std: [2, 4, 5], ownMaximum: true },
  })
  const found = await classifier.classify(plain(4, 4, [50, 100, 200]))
  const wanted = [(0.25 - 0.1) / 2, (0.5 - 0.2) / 4, (1 - 0.3) / 5]
  for (const { classIndex, score } of found) t.ok(Math.abs(score - wanted[classIndex]!) < 1e-6)
  t.match(await classifier.classify(plain(4, 4, [0, 0, 0])), [{}, {}, {}], 'a black picture is no division by 0')
  await classifier.close()
})

t.test('what a picture can be: pixels, bytes of a file, a path; upright', async (t) => {
  const classifier = await Classifier.load(colours(), own)
  const png = await encodeImage(plain(6, 4, [7, 8, 9]), 'png')
  const path = join(t.testdir(), 'a.png')
  writeFileSync(path, png)
  const gray = { width: 2, height: 2, format: 'gray', data: new Uint8Array(4).fill(7) } as const
  t.same(reds(await classifier.classify([png, path, gray, new URL(`file://${path}`)])), [7, 7, 7, 7])
  t.equal((await failureOf(() => classifier.classify('/no/such.png'))).code, 'ERR_TRT_FILE')
  for (const wrong of [null, 3, {}, undefined, Symbol('s')])
    t.equal((await failureOf(() => classifier.classify(wrong as never))).code, 'ERR_TRT_INVALID_ARGUMENT')
  t.equal(
    (await failureOf(() => classifier.classify([png, null as never]))).message,
    'Expected a picture (its path, the bytes of its file, or pixels: { width, height, data }) for pictures[1] but received null',
  )
  await classifier.close()
})

t.test('an abort ends a call at once, and a stream, whose source is told; so does a loop that is left', async (t) => {
  const classifier = await Classifier.load(colours(), own)
  const reason = new Error('enough')
  await t.rejects(classifier.classify(noise(5, 5), { signal: AbortSignal.abort(reason) }), reason)
  const controller = new AbortController()
  const call = classifier.classify(numbered(50), { signal: controller.signal })
  controller.abort(reason)
  await t.rejects(call, reason)
  for (const leave of [true, false]) {
    let ended = 0
    let given = 0
    const source = async function* (): AsyncGenerator<Image> {
      try {
        for (;;) yield plain(4, 4, [++given, 0, 0])
      } finally {
        ended++
      }
    }
    const abort = new AbortController()
    let seen = 0
    const loop = async (): Promise<void> => {
      for await (const answer of classifier.classify(source(), { signal: abort.signal })) {
        t.same(reds([answer]), [++seen])
        if (seen < 5) continue
        if (leave) break
        abort.abort(reason)
      }
    }
    if (leave) await loop()
    else await t.rejects(loop(), reason)
    t.equal(ended, 1, 'the source ended')
    t.ok(given >= 5 && given <= 12, `${given} were asked for`)
  }
  const broken = async function* (): AsyncGenerator<Image> {
    yield plain(4, 4, [1, 1, 1])
    throw reason
  }
  await t.rejects(async () => {
    for await (const answer of classifier.classify(broken())) t.same(reds([answer]), [1])
  }, reason)
  t.same(reds([await classifier.classify(plain(3, 3, [5, 0, 0]))]), [5], 'it works on')
  const late = classifier.classify(numbered(3))
  await Promise.all([classifier.close(), classifier.close()])
  t.same(reds(await late), [1, 2, 3], 'what was begun is ended')
  await t.rejects(classifier.classify(noise(3, 3)), { code: 'ERR_TRT_CLOSED' })
  await classifier[Symbol.asyncDispose]()
})

t.test('what a model is not is said when it is opened, with what was expected and found', async (t) => {
  const cases: [load: () => Promise<unknown>, code: string, message: RegExp][] = [
    [
      () => Detector.load(answering([filled([1, 84, 63], [])]), { preset: 'yolov8', backend: 'cpu' }),
      'ERR_TRT_SHAPE',
      /not those of the preset yolov8: .*84.*\[1, 84, 63\]/,
    ],
    [
      () =>
        Detector.load(answering([filled([1, 84, 84], [])]), { preset: 'yolov8', labels: ['a', 'b'], backend: 'cpu' }),
      'ERR_TRT_SHAPE',
      /6.*\[1, 84, 84\]/,
    ],
    [
      () => Detector.load(answering([filled([1, 84, 84], [])]), { preset: 'retinaface', backend: 'cpu' }),
      'ERR_TRT_SHAPE',
      /168.*\[1, 84, 84\]/,
    ],
    [
      () => Detector.load(answering([filled([1, 84, 84], [])]), { preset: 'efficientdet:d1', backend: 'cpu' }),
      'ERR_TRT_SHAPE',
      /\[1, 84, 84\]/,
    ],
    [
      () => Detector.load(answering([filled([1, 84, 84], [])], { as: 'int32' }), { preset: 'yolov8', backend: 'cpu' }),
      'ERR_TRT_SHAPE',
      /preset yolov8/,
    ],
    [
      () =>
        Detector.load(answering([filled([1, 84, 84], [])], { input: [1, 4, 64, 64] }), {
          preset: 'yolov8',
          backend: 'cpu',
        }),
      'ERR_TRT_SHAPE',
      /\[N, 3, height, width\] or \[N, height, width, 3\].*found \[1, 4, 64, 64\]/,
    ],
    [
      () =>
        Detector.load(answering([filled([1, 84, 84], [])], { dtype: 'int32' }), { preset: 'yolov8', backend: 'cpu' }),
      'ERR_TRT_DTYPE',
      /float32, float16 or uint8.*int32/,
    ],
    [
      () => Classifier.load(answering([filled([1, 10, 4], [])]), { preset: 'imagenet', backend: 'cpu' }),
      'ERR_TRT_SHAPE',
      /\[N, C\].*\[1, 10, 4\]/,
    ],
    [
      () => Classifier.load(answering([filled([1, 10], [])]), { preset: 'imagenet', labels: ['a'], backend: 'cpu' }),
      'ERR_TRT_SHAPE',
      /Expected 1 classes.*found 10/,
    ],
    [
      () => Classifier.load(answering([filled([1, 10], [])], { as: 'int32' }), { preset: 'imagenet', backend: 'cpu' }),
      'ERR_TRT_DTYPE',
      /float32.*int32/,
    ],
    [
      () =>
        Classifier.load(answering([filled([1, 10], []), filled([1, 10], [])]), { preset: 'imagenet', backend: 'cpu' }),
      'ERR_TRT_SHAPE',
      /one output but found "out0" \[1, 10\], "out1" \[1, 10\]/,
    ],
    [
      () => Segmenter.load(answering([filled([1, 1, 9, 9], [])]), { preset: 'unet', backend: 'cpu' }),
      'ERR_TRT_SHAPE',
      /C at least 2.*\[1, 1, 9, 9\]/,
    ],
    [
      () => Segmenter.load(answering([filled([1, 2, 9, 9], [])]), { preset: 'u2net', backend: 'cpu' }),
      'ERR_TRT_SHAPE',
      /\[N, 1, height, width\].*\[1, 2, 9, 9\]/,
    ],
    [
      () => FaceBlur.load(answering([filled([1, 84, 84], [])]), { preset: 'centerface', backend: 'cpu' }),
      'ERR_TRT_SHAPE',
      /centerface.*\[1, 84, 84\]/,
    ],
  ]
  for (const [load, code, message] of cases) {
    const error = await failureOf(load)
    t.equal(error.code, code, error.message)
    t.match(error.message, message)
  }
})

t.test('where the size is open, it is said as it opens, too', async (t) => {
  const model = answering([filled([1, 84, 63], [])], { input: ['N', 3, 'h', 'w'] })
  const error = await failureOf(() => Detector.load(model, { preset: 'yolov8', backend: 'cpu', input: { size: 64 } }))
  t.match(error, { code: 'ERR_TRT_SHAPE', message: /preset yolov8.*\[1, 84, 63\]/ })
})

t.test('options: each is checked, by its name', async (t) => {
  const model = colours()
  const engine = await Engine.load(model, { backend: 'cpu' })
  const cases: [load: () => Promise<unknown>, message: RegExp][] = [
    [
      () => Classifier.load(model, { ...own, prest: 'imagenet' } as never),
      /Unknown option "prest" for Classifier: did you mean preset/,
    ],
    [
      () => Classifier.load(model, { ...own, preset: 'yolov8' } as never),
      /one of Classifier's presets \(.*imagenet.*\), whose task is 'classify' and not 'detect',/,
    ],
    [
      () => Classifier.load(model, { ...own, preset: { task: 'detect', input: {}, output: {} } } as never),
      /'classify'.*'?preset'?.*"detect"/,
    ],
    [() => Classifier.load(model, { ...own, preset: 3 } as never), /a preset, or the name of one/],
    [() => Classifier.load(model, { ...own, input: { resize: 'crop' } } as never), /'stretch'/],
    [
      () => Classifier.load(model, { ...own, input: { sise: 3 } } as never),
      /Unknown option "sise" for input: did you mean size/,
    ],
    [() => Classifier.load(model, { ...own, input: { size: { shortSide: 0 } } }), /size\.shortSide/],
    [() => Classifier.load(model, { ...own, input: { ownMaximum: true } }), /range '0-1' with ownMaximum/],
    [() => Classifier.load(model, { ...own, output: { activation: 'relu' } } as never), /output\.activation/],
    [
      () => Classifier.load(model, { ...own, output: { activation: 'none', tensor: 'no' } }),
      /"means" \[1, 3\].*output\.tensor.*"no"/,
    ],
    [() => Classifier.load(model, { ...own, output: 3 } as never), /an object for output/],
    [() => Classifier.load(model, { ...own, labels: [1, 2, 3] } as never), /a string for labels\[0\]/],
    [() => Classifier.load(model, { ...own, top: 0 }), /top/],
    [() => Classifier.load(model, { ...own, inFlight: 0 }), /inFlight/],
    [() => Classifier.load(engine, own), /no option of an engine beside an Engine that is given.*"backend"/],
    [
      () => Detector.load(model, { preset: 'yolov8', treshold: 0.5 } as never),
      /Unknown option "treshold" for Detector: did you mean scoreThreshold\?/,
    ],
    [() => Detector.load(model, { backend: 'cpu' }), /presets: .*centerface.*output: \{ decoder \}/],
    [() => Detector.load(model, { input: {}, output: { decoder: 'ssd' }, backend: 'cpu' } as never), /output\.anchors/],
    [
      () => Detector.load(model, { preset: 'yolov8', suppress: { iou: 1 }, backend: 'cpu' } as never),
      /Unknown option "iou"/,
    ],
    [() => Detector.load(model, { preset: 'yolov8', suppress: { iouThreshold: 2 }, backend: 'cpu' }), /iouThreshold/],
    [() => Detector.load(model, { preset: 'yolov8', scoreThreshold: 2, backend: 'cpu' }), /scoreThreshold/],
    [() => Detector.load(model, { preset: 'yolov8', output: { clip: 3 }, backend: 'cpu' } as never), /output\.clip/],
    [() => Segmenter.load(model, { output: { decide: 'guess' }, backend: 'cpu' } as never), /output: \{ decide: /],
    [
      () => FaceBlur.load(model, { preset: 'centerface', blur: { methd: 'fill' }, backend: 'cpu' } as never),
      /Unknown option "blur\.methd" for FaceBlur/,
    ],
    [
      () => FaceBlur.load(model, { preset: 'unet', blur: { shape: 'ellipse' }, backend: 'cpu' }),
      /Unknown option "blur\.shape"/,
    ],
  ]
  for (const [load, message] of cases) {
    const error = await failureOf(load)
    t.equal(error.code, 'ERR_TRT_INVALID_ARGUMENT', error.message)
    t.match(error.message, message)
  }
  t.equal((await failureOf(() => Classifier.load(model, { ...own, labels: '/no/such.txt' }))).code, 'ERR_TRT_FILE')
  t.equal((await failureOf(() => Classifier.load('/no/such.onnx', own))).code, 'ERR_TRT_FILE')
  await t.rejects(Classifier.load(model, { ...own, signal: AbortSignal.abort(new Error('no')) }), /no/)
  const classifier = await Classifier.load(engine, { input: {}, output: { activation: 'none' } })
  await t.rejects(
    classifier.classify(noise(3, 3), { sgnal: 3 } as never),
    failure('ERR_TRT_INVALID_ARGUMENT', /signal/),
  )
  await t.rejects(
    classifier.classify([noise(3, 3)], { onProgress: 3 } as never),
    failure('ERR_TRT_INVALID_ARGUMENT', /onProgress/),
  )
  await t.rejects(
    classifier.classify(new Set<Image>(), { signal: 3 } as never).next(),
    failure('ERR_TRT_INVALID_ARGUMENT', /signal/),
  )
  await classifier.close()
  await engine.close()
})

t.test('labels: a file of lines, with and without a last line break, and of Windows', async (t) => {
  const path = join(t.testdir(), 'names.txt')
  for (const text of ['a\nb\nc\n', 'a\nb\nc', '\uFEFFa\r\nb\r\nc\r\n']) {
    writeFileSync(path, text)
    const classifier = await Classifier.load(colours(), { ...own, labels: path })
    t.equal((await classifier.classify(plain(2, 2, [9, 1, 2])))[0]?.label, 'a')
    await classifier.close()
  }
  const behind = await Classifier.load(colours(), {
    ...own,
    output: { activation: 'none', labelOffset: 1 },
    labels: ['y', 'z'],
  })
  t.same(
    (await behind.classify(plain(2, 2, [9, 1, 2]))).map(({ label }) => label),
    [undefined, 'z', 'y'],
  )
  await behind.close()
})

t.test('the lists of classes', (t) => {
  t.same([coco80.length, coco90.length, coco91.length, voc.length], [80, 90, 91, 21])
  t.same(
    [coco80[0], coco80[79], coco90[0], coco90[89], coco91[1], coco91[90], voc[15]],
    ['person', 'toothbrush', 'person', 'toothbrush', 'person', 'toothbrush', 'person'],
  )
  // some of COCO's numbers, as its annotations have them
  for (const [number, name] of [
    [13, 'stop sign'],
    [27, 'backpack'],
    [31, 'handbag'],
    [44, 'bottle'],
    [46, 'wine glass'],
    [67, 'dining table'],
    [70, 'toilet'],
    [72, 'tv'],
    [84, 'book'],
    [90, 'toothbrush'],
  ] as const)
    t.equal(coco91[number], name)
  t.same(
    coco91.flatMap((name, number) => (name === 'N/A' ? [number] : [])),
    [12, 26, 29, 30, 45, 66, 68, 69, 71, 83],
  )
  t.end()
})

t.test('a picture in which nothing is found, and one that cannot be read', async (t) => {
  const detector = await Detector.load(answering([filled([1, 6, 8400], [])], { input: [1, 3, 640, 640] }), {
    preset: 'yolov8',
    backend: 'cpu',
  })
  const empty = noise(64, 48)
  t.same(await detector.detect(empty), [])
  t.same(await detector.detect([empty, empty]), [[], []])
  const damaged = join(t.testdir({ 'damaged.jpg': 'no picture' }), 'damaged.jpg')
  const unread = { code: 'ERR_TRT_IMAGE', message: /damaged\.jpg/ }
  t.match(await failureOf(() => detector.detect(damaged)), unread)
  t.match(await failureOf(() => detector.detect([empty, damaged])), unread)
  const streamed = detector.detect(new Set([damaged]))
  t.match(await failureOf(() => streamed.next()), unread)
  t.match(await failureOf(() => detector.detect(`${damaged}.gone`)), { code: 'ERR_TRT_FILE', message: /gone/ })
  t.same(await detector.detect(empty), [], 'it works on')
  await detector.close()
})

t.test('onError: one bad picture loses no other, in arrays, streams and folders', async (t) => {
  const classifier = await Classifier.load(colours(['N', 3, 8, 8]), own)
  const folder = t.testdir({ 'c.png': 'no picture', 'g.png': 'no picture' })
  for (const [i, name] of ['a', 'b', 'd', 'e', 'f'].entries())
    writeFileSync(join(folder, `${name}.png`), await encodeImage(plain(5, 7, [i + 1, 0, 0]), 'png'))
  const paths = ['a', 'b', 'c', 'd', 'gone', 'e', 'f', 'g'].map((name) => join(folder, `${name}.png`))
  let failed: (readonly [index: number, code: string, image: unknown])[] = []
  const onError = (error: TensorRTError, index: number, image: unknown): number =>
    failed.push([index, error.code, image])
  const wanted = [2, 4, 7].map((index) => [index, index === 4 ? 'ERR_TRT_FILE' : 'ERR_TRT_IMAGE', paths[index]])

  const done: number[] = []
  const many = await classifier.classify(paths, { onError, onProgress: (progress) => done.push(progress.done) })
  t.same(
    many.map((each) => each && reds([each])[0]),
    [1, 2, undefined, 3, undefined, 4, 5, undefined],
    'the place of a failed one is empty',
  )
  t.same([failed, done.length], [wanted, 8])
  failed = []
  const streamed = []
  for await (const answer of classifier.classify(paths.values(), { onError })) streamed.push(...reds([answer]))
  t.same([streamed, failed], [[1, 2, 3, 4, 5], wanted])
  failed = []
  const read = []
  for await (const answer of classifier.classify(pictures(folder), { onError })) read.push(...reds([answer]))
  t.same(
    [read, failed],
    [[1, 2, 3, 4, 5], [2, 6].map((index) => [index, 'ERR_TRT_IMAGE', join(folder, index === 2 ? 'c.png' : 'g.png')])],
  )

  const mine = new Error('mine')
  const throwing = (): never => {
    throw mine
  }
  await t.rejects(classifier.classify(paths, { onError: throwing }), mine)
  await t.rejects(classifier.classify(paths[2]!, { onError }), { code: 'ERR_TRT_IMAGE' }, 'one picture alone')
  await t.rejects(classifier.classify(paths), { code: 'ERR_TRT_IMAGE' })
  const reason = new Error('enough')
  await t.rejects(classifier.classify(paths, { onError, signal: AbortSignal.abort(reason) }), reason)
  await classifier.close()
  failed = []
  await t.rejects(classifier.classify(paths, { onError }), { code: 'ERR_TRT_CLOSED' }, 'that is no fault of a picture')
  t.same(failed, [])
})

t.test('onError: a size that the model does not support is a fault of its picture', async (t) => {
  const shapes = { images: { min: [1, 3, 4, 4], opt: [1, 3, 8, 8], max: [4, 3, 20, 20] } }
  const options = { ...own, shapes, input: { size: { multipleOf: 4 } } }
  const classifier = await Classifier.load(colours(['N', 3, 'h', 'w']), options)
  const failed: [number, string][] = []
  const onError = (error: TensorRTError, index: number): number => failed.push([index, error.code])
  const many = await classifier.classify([plain(8, 8, [1, 0, 0]), plain(40, 8, [2, 0, 0]), plain(8, 8, [3, 0, 0])], {
    onError,
  })
  t.same(
    many.map((each) => each && reds([each])[0]),
    [1, undefined, 3],
  )
  t.same(failed, [[1, 'ERR_TRT_SHAPE']])
  await classifier.close()
})

t.test('a thousand boxes', async (t) => {
  const values = filled([1, 6, 8400], [])
  for (let i = 0; i < 1000; i++) {
    const [x, y] = [8 + 16 * (i % 40), 8 + 16 * Math.floor(i / 40)]
    for (const [k, value] of [x, y, 12, 12, 0.3 + i / 2000, 0].entries()) values.data[k * 8400 + i] = value
  }
  const detector = await Detector.load(answering([values], { input: [1, 3, 640, 640] }), {
    preset: 'yolov8',
    suppress: { maximum: 2000 },
    backend: 'cpu',
  })
  const found = await detector.detect(noise(640, 640))
  t.equal(found.length, 1000)
  t.same(
    found[0]?.box.map((value) => Math.round(value * 100) / 100),
    [8 + 16 * 39 - 6, 8 + 16 * 24 - 6, 12, 12],
    'the best first',
  )
  t.ok(found.every(({ score }, i) => i === 0 || score <= found[i - 1]!.score))
  await detector.close()
  const few = await Detector.load(answering([values], { input: [1, 3, 640, 640] }), {
    preset: 'yolov8',
    scoreThreshold: 0.7,
    backend: 'cpu',
  })
  t.equal((await few.detect(noise(640, 640))).length, 199, 'those above 0.7')
  await few.close()
})

t.test('classes as whole numbers, of a model that has decided by itself', async (t) => {
  for (const [as, shape] of [
    ['uint8', [1, 4, 4]],
    ['int64', [1, 1, 4, 4]],
    ['int32', [1, 4, 4, 1]],
  ] as const) {
    const numbers = filled(shape, [])
    numbers.data.set([0, 0, 3, 3, 0, 0, 3, 3, 7, 7, 0, 0, 7, 7, 0, 0])
    const segmenter = await Segmenter.load(answering([numbers], { as, input: [1, 3, 16, 16] }), {
      input: { resize: 'letterbox' },
      output: { decide: 'classes' },
      backend: 'cpu',
    })
    // 32 x 16 lies in rows 4 to 12 of the input, rows 1 to 3 of the map
    const { width, height, data } = await segmenter.segment(noise(32, 16))
    t.same([width, height], [32, 16])
    t.same(
      [0, 15, 16, 31].map((x) => data[x]),
      [0, 0, 3, 3],
    )
    t.same(
      [0, 15, 16, 31].map((x) => data[15 * 32 + x]),
      [7, 7, 0, 0],
    )
    await segmenter.close()
  }
})

t.test('a matte of a picture that lies in a part of the input', async (t) => {
  const map = filled([1, 1, 16, 16], [])
  for (let y = 0; y < 16; y++) map.data.fill(1, y * 16 + 8, y * 16 + 16)
  for (const resize of ['letterbox', 'padToSquare'] as const) {
    const segmenter = await Segmenter.load(answering([map], { input: [1, 3, 16, 16] }), {
      input: { resize, position: 'center' },
      output: { decide: 'matte' },
      backend: 'cpu',
    })
    const { width, height, data } = await segmenter.matte(noise(32, 16))
    t.same([width, height, data.length], [32, 16, 512])
    for (let y = 0; y < 16; y++)
      t.same(
        [0, 10, 20, 31].map((x) => data[y * 32 + x]),
        [0, 0, 1, 1],
        `${resize}, row ${y}`,
      )
    await segmenter.close()
  }
})

t.test('faces blurred, by boxes and by a mask: what is outside stays, what is inside does not', async (t) => {
  const picture = noise(128, 64)
  const changed = ({ image }: BlurResult): boolean[] =>
    Array.from({ length: 128 * 64 }, (_, at) =>
      [0, 1, 2].some((k) => image.data[at * 3 + k] !== picture.data[at * 3 + k]),
    )
  const boxes = filled(
    [1, 5, 84],
    [24, 24, 16, 16].map((value, k) => [[0, k, 3], value] as const).concat([[[0, 4, 3], 0.9]]),
  )
  const byBoxes = await FaceBlur.load(answering([boxes]), {
    preset: 'yolov8',
    blur: { method: 'fill', shape: 'rectangle', feather: 0, grow: 1 },
    labels: ['face'],
    backend: 'cpu',
  })
  const result = await byBoxes.blur(picture)
  const hidden = changed(result)
  // 16 to 32 of 64, and rows 16 to 32 less the padding of 16
  t.ok(hidden.every((is, at) => is === (at % 128 >= 32 && at % 128 < 64 && Math.floor(at / 128) < 32)))
  t.match(result.regions, [{ box: [32, 0, 32, 32], score: Math.fround(0.9), classIndex: 0, label: 'face' }])
  t.same(
    (await byBoxes.blur([picture, picture])).map(({ regions }) => regions),
    [result.regions, result.regions],
  )
  let streamed = 0
  for await (const { image, regions } of byBoxes.blur([picture, picture].values()))
    streamed += image.width * regions.length
  t.equal(streamed, 256)
  // a frame of video: black is 16, and U and V of what is hidden are 128
  const frame: RawImage = { width: 128, height: 64, format: 'nv12', data: new Uint8Array(128 * 96).fill(200) }
  const inPlace = await byBoxes.blur(frame, { inPlace: true })
  t.equal(inPlace.image, frame, 'the very frame')
  t.same(inPlace.regions, result.regions)
  t.ok(frame.data.subarray(0, 128 * 64).every((value, at) => value === (hidden[at] ? 16 : 200)))
  const pairs = frame.data.subarray(128 * 64)
  t.ok(pairs.every((value, at) => value === (hidden[Math.floor(at / 128) * 256 + (at % 128)] ? 128 : 200)))
  await t.rejects(byBoxes.blur(frame, { inPlace: 'yes' } as never), failure('ERR_TRT_INVALID_ARGUMENT', / for inPlace/))
  await byBoxes.close()
  await byBoxes.close()
  const values = filled([1, 2, 64, 64], [], -1)
  for (let y = 8; y < 24; y++) values.data.fill(5, 4096 + y * 64 + 16, 4096 + y * 64 + 32)
  const byMask = await FaceBlur.load(answering([values]), { preset: 'unet', blur: { method: 'fill' }, backend: 'cpu' })
  const byPixels = await byMask.blur(picture)
  const masked = changed(byPixels)
  const own = { ...picture, data: picture.data.slice() }
  t.equal((await byMask.blur([own], { inPlace: true }))[0]?.image, own)
  t.same(own.data, byPixels.image.data, 'by a mask the same in place')
  const [part, ...others] = byPixels.regions
  const places = [...masked.entries()].filter(([, is]) => is).map(([at]) => [at % 128, Math.floor(at / 128)] as const)
  const [xs, ys] = [places.map(([x]) => x), places.map(([, y]) => y)]
  const [left, top] = [Math.min(...xs), Math.min(...ys)]
  const box = [left, top, Math.max(...xs) + 1 - left, Math.max(...ys) + 1 - top]
  t.same([part?.box, part?.pixels, others], [box, places.length, []], 'a connected part of the mask')
  t.ok(masked[32 * 128 + 48] && !masked[32 * 128 + 20] && !masked[2 * 128 + 48])
  await byMask.close()
  const none = await FaceBlur.load(answering([filled([1, 5, 84], [])]), { preset: 'yolov8', backend: 'cpu' })
  const nothing = await none.blur(picture)
  t.notOk(changed(nothing).includes(true), 'nothing found: a copy')
  t.same(nothing.regions, [], 'and it says so')
  await none.close()
})

t.test(
  'regions are as they were hidden: 1.3 times as large as the box, cut at the edges; what is all beyond them is none',
  async (t) => {
    const picture = noise(64, 64)
    // cx, cy, w, h: one in the middle, one over the left edge, one beyond the right, one of a tenth of a pixel
    const found = [
      [32, 32, 20, 10],
      [2, 50, 20, 10],
      [90, 10, 20, 10],
      [20.05, 8.05, 0.1, 0.1],
    ]
    const values = found.flatMap((box, i) => [...box, 0.9 - i / 10].map((value, k) => [[0, k, i], value] as const))
    const blur = await FaceBlur.load(answering([filled([1, 5, 84], values)]), {
      preset: 'yolov8',
      output: { clip: false },
      backend: 'cpu',
    })
    const { image, regions } = await blur.blur(picture)
    const wanted = [
      [19, 25.5, 26, 13],
      [0, 43.5, 15, 13],
    ]
    t.equal(regions.length, 2, JSON.stringify(regions))
    regions.forEach(({ box }, i) => box.forEach((side, k) => t.ok(Math.abs(side - wanted[i]![k]!) < 1e-4, `${side}`)))
    const isChanged = (x: number, y: number): boolean =>
      [0, 1, 2].some((k) => image.data[(y * 64 + x) * 3 + k] !== picture.data[(y * 64 + x) * 3 + k])
    t.ok(isChanged(20, 32) && isChanged(43, 32) && isChanged(0, 50) && !isChanged(63, 10))
    await blur.close()
  },
)
