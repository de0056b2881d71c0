// What lies at the edge of what tasks are asked: rows of a batch that are no pictures, numbers that are none, words
// that go before a preset's.
import t from 'tap'
import { type Dim, GraphBuilder, withPreprocessing, writeModel } from '../../lib/onnx/index.js'
import { Engine, onLog, Tensor } from '../../lib/index.js'
import { Classifier, Detector, type DetectorOptions, presetBatches, Segmenter } from '../../lib/tasks/index.js'
import { encodeImage } from '../../lib/vision/index.js'
import { failureOf } from '../support/errors.js'
import { noise, plain } from '../vision/helpers.js'
import { answering, colours, filled } from './models.js'

const backend = 'cpu'

/** Shares of red, green and blue, of two pictures; of a black one 0 / 0. */
function shares(): Uint8Array {
  const g = new GraphBuilder({ name: 'shares' })
  const means = g.node('ReduceMean', [g.input('images', 'float32', [2, 3, 8, 8])], { axes: [2, 3], keepdims: 0 })
  g.output(
    g.node('Div', [means, g.node('ReduceMean', [means], { axes: [1] })], {}, { output: 'shares' }),
    'float32',
    [2, 3],
  )
  return writeModel(g.toModel())
}

t.test('what a batch of a fixed size has beside the pictures is not looked at', async (t) => {
  await using classifier = await Classifier.load(shares(), { input: {}, output: { activation: 'none' }, backend })
  const pair = [plain(4, 4, [9, 5, 4]), plain(4, 4, [0, 0, 0])]
  t.match(await failureOf(() => classifier.classify(pair)), {
    code: 'ERR_TRT_INVALID_ARGUMENT',
    message: /a number for scores\[3\]/,
  })
  const found = await classifier.classify(pair[0]!)
  t.same(
    found.map(({ classIndex, score }) => [classIndex, Math.round(score * 100)]),
    [[0, 150], [1, 83], [2, 67]], // prettier-ignore
    'the black picture is in the row behind it',
  )
})

t.test('numbers of classes that a mask cannot hold are refused, none becomes another', async (t) => {
  for (const [number, as] of [
    [300, 'int32'],
    [256, 'int64'],
    [-1, 'int64'],
  ] as const) {
    const model = answering([filled([1, 4, 4], [[[0, 1, 2], number]])], { as })
    await using segmenter = await Segmenter.load(model, { input: {}, output: { decide: 'classes' }, backend })
    t.match(await failureOf(() => segmenter.segment(noise(4, 4))), {
      code: 'ERR_TRT_DTYPE',
      message: new RegExp(`from 0 to 255.*found ${number}$`),
    })
  }
  const model = answering([filled([1, 4, 4], [[[0, 1, 2], 255]])], { as: 'int64' })
  await using segmenter = await Segmenter.load(model, { input: {}, output: { decide: 'classes' }, backend })
  t.equal((await segmenter.segment(noise(4, 4))).data[6], 255)
})

t.test('a matte of one row, of channels that come last', async (t) => {
  const model = answering([filled([1, 1, 4, 1], [[[0, 0, 1, 0], 1]])], { input: [1, 3, 16, 64] })
  await using segmenter = await Segmenter.load(model, {
    input: {},
    output: { decide: 'matte', layout: 'NHWC' },
    backend,
  })
  t.same([...(await segmenter.matte(noise(4, 2))).data], [0, 1, 0, 0, 0, 1, 0, 0])
})

t.test('a grid gives its boxes as the others do: the best first, and those that are finite', async (t) => {
  // the first cell's width is e^100, the second one's box is good, the last one's better
  const grid = filled(
    [1, 5, 2, 2],
    [
      [[0, 4, 0, 0], 5],
      [[0, 2, 0, 0], 100],
      [[0, 4, 0, 1], 1],
      [[0, 4, 1, 1], 4],
    ],
    -3,
  )
  const output = { decoder: 'grid', anchors: [[1, 1]], stride: 32, scoreThreshold: 0.3 } as const
  for (const suppress of [false, {}] as const) {
    await using detector = await Detector.load(answering([grid]), { input: {}, output, suppress, backend })
    const found = await detector.detect(noise(64, 64))
    t.same(
      found.map(({ score }) => Math.round(score * 1000)),
      [982, 731],
    )
    t.ok(found.every(({ box }) => box.every(Number.isFinite)))
  }
})

t.test('suppression that is asked for is done, whatever the model has left', async (t) => {
  const [first, second] = [0, 1].map((i) =>
    [0.5, 0.5, 0.4, 0.4, 0.9 - i / 10, 1].map((value, k) => [[0, i, k], value] as const),
  )
  const model = answering([filled([1, 300, 6], [...first!, ...second!])])
  const count = async (options: DetectorOptions): Promise<number> => {
    await using detector = await Detector.load(model, { preset: 'rtdetr', ...options, backend })
    return (await detector.detect(noise(8, 8))).length
  }
  t.equal(await count({}), 2)
  t.equal(await count({ suppress: false }), 2)
  t.equal(await count({ suppress: { iouThreshold: 0.5 } }), 1)
  const text = answering([filled([1, 1, 64, 64], [])], { input: [1, 3, 64, 64] })
  t.match(await failureOf(() => Detector.load(text, { preset: 'dbnet', suppress: { maximum: 3 }, backend })), {
    code: 'ERR_TRT_INVALID_ARGUMENT',
    message: /decoder 'dbnet' for suppress/,
  })
  await using detector = await Detector.load(text, { preset: 'dbnet', suppress: false, backend })
  t.same(await detector.detect(noise(8, 8)), [])
})

t.test('of RT-DETR there are as many labels as classes, where it gives a score for each', async (t) => {
  const load = (answers: Tensor<'float32'>[], labels: string[]) => () =>
    Detector.load(answering(answers), { preset: 'rtdetr', labels, backend })
  const raw = [filled([1, 30, 3], [], -9), filled([1, 30, 4], [])]
  const joined = [filled([1, 30, 7], [])]
  for (const answers of [raw, joined]) {
    t.match(await failureOf(load(answers, ['a', 'b'])), {
      code: 'ERR_TRT_SHAPE',
      message: /preset rtdetr: Expected \[N, 30, [26]\]/,
    })
    await (await load(answers, ['a', 'b', 'c'])()).close()
  }
  await (await load([filled([1, 30, 6], [])], ['a', 'b', 'c', 'd'])()).close()
})

t.test('an error about an output of whole numbers says that it is one', async (t) => {
  const model = answering([filled([1, 84, 84], [])], { as: 'int32' })
  const error = await failureOf(() => Detector.load(model, { preset: 'yolov8', backend }))
  t.match(error, { code: 'ERR_TRT_SHAPE', message: /received \[1, 84, 84\] of whole numbers$/ })
})

t.test('fillAfter goes before the fill of a preset, and is 0 whatever is rounded: as in the graph', async (t) => {
  const colors = { range: '0-1', mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] } as const
  const picture = noise(20, 7)
  const bytes = new Tensor('uint8', picture.data, [1, 7, 20, 3])
  for (const resize of ['letterbox', 'centerCrop'] as const)
    for (const layout of ['NCHW', 'NHWC'] as const)
      for (const dtype of ['float32', 'float16'] as const) {
        const own = { resize, layout, fillAfter: true, ...colors } as const
        const shape: Dim[] = layout === 'NCHW' ? [1, 3, 12, 16] : [1, 12, 16, 3]
        const g = new GraphBuilder({ name: 'input' })
        g.output(g.node('Cast', [g.input('images', dtype, shape)], { to: 1 }, { output: 'y' }), 'float32', shape)
        const steps = { ...own, filter: 'triangle', round: true } as const
        const inGraph = withPreprocessing(g.toModel(), { steps, picture: { width: 20, height: 7 } })
        await using engine = await Engine.load(writeModel(inGraph), { backend })
        const wanted = (await engine.infer(bytes)).data as Float32Array
        t.ok(wanted.includes(0), 'filled')
        // yolov8 has a fill of 114, and rounds
        const input = { ...own, filter: 'triangle', minSide: 1 } as const
        const batches = presetBatches(
          [picture],
          { name: 'images', dtype, shape: shape as number[] },
          { preset: 'yolov8', input },
        )
        for await (const batch of batches) {
          const { data } = batch.toFloat32()
          const name = `${resize} ${layout} ${dtype}`
          t.ok(
            data.every((value, i) => Math.abs(value - wanted[i]!) < (dtype === 'float16' ? 2e-3 : 1e-4)),
            name,
          )
          t.ok(data.every((value, i) => (value === 0) === (wanted[i] === 0)), name) // prettier-ignore
        }
      }
})

t.test('what a batch of a fixed size has beside the pictures is no answer that a detector refuses', async (t) => {
  // YOLO's outputs for two pictures, the second of which are all NaN
  const g = new GraphBuilder({ name: 'pair' })
  const means = g.node('ReduceMean', [g.input('images', 'float32', [2, 3, 64, 64])], { axes: [1, 2, 3], keepdims: 1 })
  const nothing = g.node('Mul', [means, g.constant('zero', filled([1], []))])
  const answer = filled(
    [2, 6, 84],
    [20, 20, 8, 8, 0.9].map((value, k) => [[0, k, 3], value] as const),
  )
  answer.data.fill(NaN, 6 * 84)
  const flat = g.node('Reshape', [nothing, g.constant('shape', new Tensor('int64', BigInt64Array.of(2n, 1n, 1n), [3]))])
  g.output(g.node('Add', [flat, g.constant('answer', answer)], {}, { output: 'y' }), 'float32', [2, 6, 84])
  await using detector = await Detector.load(writeModel(g.toModel()), { preset: 'yolov8', backend })
  t.equal((await detector.detect(noise(64, 64))).length, 1)
  t.match(await failureOf(() => detector.detect([noise(64, 64), noise(64, 64)])), {
    code: 'ERR_TRT_SHAPE',
    message: /NaN/,
  })
})

/** What a preset makes of a picture of this size: the shape of the model's input. */
async function inputOf(
  width: number,
  height: number,
  preset: Parameters<typeof presetBatches>[2],
): Promise<readonly number[]> {
  const info = { name: 'images', dtype: 'float32', shape: [-1, 3, -1, -1] } as const
  for await (const { shape } of presetBatches([plain(width, height, [1, 2, 3])], info, preset)) return shape
  throw new Error('no batch')
}

t.test('the input of a large picture is bounded, where its size follows from the picture', async (t) => {
  t.same(await inputOf(1920, 20, { preset: 'centerface' }), [1, 3, 32, 1920], 'up to 1920 the picture as it is')
  t.same(await inputOf(6000, 40, { preset: 'centerface' }), [1, 3, 32, 1920])
  t.same(await inputOf(40, 6000, { preset: 'retinaface' }), [1, 3, 1920, 12])
  t.same(
    await inputOf(1000, 10, { preset: 'torchvision-segmentation' }),
    [1, 3, 19, 1920],
    "torchvision's max_size, which goes before the shorter side",
  )
  t.same(await inputOf(3000, 30, { preset: 'dbnet' }), [1, 3, 32, 960], 'a preset that asks for less')
  t.same(
    await inputOf(3000, 30, { input: { size: { mostLongSide: 2500 } } }),
    [1, 3, 25, 2500],
    'who says more, gets it',
  )
  t.same(await inputOf(3000, 30, { preset: 'centerface', input: { maxSide: 4000 } }), [1, 3, 32, 3008])
  t.same(await inputOf(3000, 1500, { preset: 'centerface', input: { maxSide: 320 } }), [1, 3, 160, 320])
  for (const size of [64, { width: 64, height: 32 }])
    t.match(await failureOf(() => inputOf(9, 9, { input: { size, maxSide: 32 } })), {
      code: 'ERR_TRT_INVALID_ARGUMENT',
      message: /no maxSide where the input has one size.*32/,
    })
  for (const wrong of [0, 1.5, '9', 2 ** 30])
    for (const name of ['maxSide', 'minSide', 'limitPixels'])
      if (name !== 'limitPixels' || wrong !== 2 ** 30)
        t.match(await failureOf(() => inputOf(9, 9, { preset: 'centerface', input: { [name]: wrong } })), {
          message: new RegExp(name),
        })
})

t.test('large pictures run together in smaller batches', async (t) => {
  await using engine = await Engine.load(colours(['N', 3, 'h', 'w']), { backend })
  await using classifier = await Classifier.load(engine, { input: { size: 1280 }, output: { activation: 'none' } })
  const found = await classifier.classify(Array.from({ length: 9 }, (_, i) => plain(2, 2, [i + 1, 0, 0])))
  t.same(found.map(([best]) => best!.score), [1, 2, 3, 4, 5, 6, 7, 8, 9]) // prettier-ignore
  t.equal(engine.stats().completed, 3, '4, 4 and 1 of 1280 x 1280')
})

t.test('limitPixels: a picture of more is not read, whoever asks for it', async (t) => {
  const png = await encodeImage(plain(20, 10, [1, 2, 3]), 'png')
  const own = { input: { limitPixels: 199, size: 8 }, output: { activation: 'none' }, backend } as const
  await using classifier = await Classifier.load(colours(['N', 3, 'h', 'w']), own)
  for (const pictures of [png, [png]])
    t.match(await failureOf(() => classifier.classify(pictures as never)), {
      code: 'ERR_TRT_IMAGE',
      message: /200 pixels \(20 x 10\), limitPixels allows 199/,
    })
  await using another = await Classifier.load(colours(['N', 3, 'h', 'w']), {
    ...own,
    input: { ...own.input, limitPixels: 200 },
  })
  t.equal((await another.classify(png))[0]?.score, 3)
})

t.test(
  'a model that fixes pictures at less than its preset works with: opened, or refused by the node that holds its size',
  async (t) => {
    const small = answering([filled([1, 5, 84], [[[0, 4, 3], 0.9]])], { input: [1, 3, 32, 32] })
    const heard: string[] = []
    const stop = onLog(({ level, text }) => heard.push(`${level}: ${text}`), 'info')
    for (const model of [small, Uint8Array.from(small).buffer]) {
      await using detector = await Detector.load(model, { preset: 'yolov8', input: { size: 64 }, backend })
      t.equal((await detector.detect([noise(9, 9), noise(9, 9)])).flat().length, 2)
    }
    stop()
    const told =
      'info: node-tensorrt: Input images is fixed at 1x3x32x32 in the model, where little is found: its sizes are opened, Nx3xheightxwidth'
    t.same(heard.filter((line) => line.includes('opened')), [told, told]) // prettier-ignore
    const g = new GraphBuilder({ name: 'flat' })
    const flat = g.node('Flatten', [g.input('images', 'float32', [1, 3, 32, 32])])
    g.output(
      g.node('Gemm', [flat, g.constant('w', filled([3072, 5], []))], {}, { name: 'head', output: 'y' }),
      'float32',
      [1, 5],
    )
    const held = await failureOf(() => Detector.load(writeModel(g.toModel()), { preset: 'yolov8', backend }))
    t.match(held, {
      code: 'ERR_TRT_SHAPE',
      details: { node: 'head', operator: 'Gemm' },
      message: /at least 64 x 64.*"images" at \[1, 3, 32, 32\].*Gemm node "head" holds one/,
    })
    await using engine = await Engine.load(small, { backend })
    t.match(await failureOf(() => Detector.load(engine, { preset: 'yolov8' })), {
      code: 'ERR_TRT_SHAPE',
      message: /openSizes\(\)/,
    })
    const info = engine.inputs['images']!
    t.match(await failureOf(() => presetBatches([], info, { preset: 'yolov8' })), {
      code: 'ERR_TRT_SHAPE',
      message: /openSizes\(\)/,
    })
    for (const wrong of ['/no/such.onnx', new Uint8Array(9), 'http://a/b.onnx', '/tmp', 3])
      t.ok(
        (await failureOf(() => Detector.load(wrong as never, { preset: 'yolov8', backend }))).code.startsWith(
          'ERR_TRT_',
        ),
      )
  },
)
