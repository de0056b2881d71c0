// Models of another family than the preset's, or of another task: each is refused, when it opens where that can be
// told, and the message says what it looks like. None gives an answer.
import t, { type Test } from 'tap'
import { anySizeCenterFace } from '../support/networks/index.js'
import { Engine, type Tensor } from '../../lib/index.js'
import { GraphBuilder, writeModel } from '../../lib/onnx/index.js'
import {
  Classifier,
  type ClassifierOptions,
  Detector,
  type DetectorOptions,
  FaceBlur,
  presetBatches,
  presets,
  Segmenter,
} from '../../lib/tasks/index.js'
import {
  decodeCenterFace,
  decodeDbNet,
  decodeEfficientDet,
  decodeRetinaFace,
  decodeRtDetr,
  decodeSsd,
  decodeYoloAnchors,
  decodeYoloEndToEnd,
  decodeYolox,
} from '../../lib/vision/index.js'
import { failureOf } from '../support/errors.js'
import { realModels } from '../support/real-models.js'
import { logit } from '../support/values.js'
import { centerFacePath, skipWithoutCenterFace } from '../support/tensorrt.js'
import { noise, plain } from '../vision/helpers.js'
import { answering, colours, filled } from './models.js'

const backend = 'cpu'
const picture = noise(128, 64)

/** Fails with ERR_TRT_SHAPE, in these words. */
async function refused(t: Test, call: () => unknown, message: RegExp): Promise<void> {
  const error = await failureOf(call)
  t.equal(error.code, 'ERR_TRT_SHAPE', error.message)
  t.match(error.message, message)
}

t.test(
  'CenterFace with its sizes open is refused by the presets of other detectors as it opens',
  { skip: skipWithoutCenterFace },
  async (t) => {
    await using engine = await Engine.load(writeModel(await anySizeCenterFace(centerFacePath!)), { backend })
    for (const preset of ['yolov8', 'retinaface', 'rtdetr', 'dbnet'] as const)
      await refused(
        t,
        () => Detector.load(engine, { preset, input: { size: 160 } }),
        new RegExp(`not those of the preset ${preset}: Expected .* but received \\[1, 1, `),
      )
    await (await Detector.load(engine, { preset: 'centerface' })).close()
  },
)

t.test(
  "PP-OCR's models with open sizes are refused by presets of faces, queries and mattes as they open",
  async (t) => {
    await refused(
      t,
      () => FaceBlur.load(realModels.detector, { preset: 'centerface', backend }),
      /preset centerface: Expected .*\[N, 10, 32, 32\].*received \[1, 1, 128, 128\]/,
    )
    await using reader = await Engine.load(realModels.reader, { backend })
    const input = { minSide: 48 } // the height that the reader fixes
    await refused(
      t,
      () => Detector.load(reader, { preset: 'rtdetr', input }),
      /rtdetr: Expected boxes and scores, not rows whose 6625 numbers sum to 1, which a reader of text gives.*\[1, 80, 6625\]/,
    )
    await refused(
      t,
      () => Segmenter.load(reader, { preset: 'u2net', input }),
      /u2net: Expected a map of the proportions of the input, 320 x 48 .*\[1, 40, 6625\]/,
    )
    await (await Detector.load(realModels.detector, { preset: 'dbnet', backend })).close()
  },
)

t.test('an engine that is closed is refused by every task', async (t) => {
  const cases: [load: (engine: Engine) => Promise<unknown>, model: Uint8Array][] = [
    [(engine) => Classifier.load(engine, { preset: 'imagenet' }), colours()],
    [(engine) => Detector.load(engine, { preset: 'yolov8' }), answering([filled([1, 84, 84], [])])],
    [(engine) => Segmenter.load(engine, { preset: 'unet' }), answering([filled([1, 2, 64, 64], [])])],
    [(engine) => FaceBlur.load(engine, { preset: 'yolov8' }), answering([filled([1, 84, 84], [])])],
  ]
  for (const [load, model] of cases) {
    const engine = await Engine.load(model, { backend })
    await engine.close()
    t.equal((await failureOf(() => load(engine))).code, 'ERR_TRT_CLOSED')
  }
})

/** [1, channels, 84], the values of a channel by its number. */
function channels(count: number, valueOf: (channel: number, box: number) => number): Tensor<'float32'> {
  const tensor = filled([1, count, 84], [])
  for (let at = 0; at < tensor.data.length; at++) tensor.data[at] = valueOf(Math.floor(at / 84), at % 84)
  return tensor
}

t.test("ultralytics' models for other tasks: pose, OBB, masks without prototypes", async (t) => {
  const cases: [Tensor<'float32'>, RegExp][] = [
    // a person's score is the greatest of its box in one of them alone, and the points are in pixels everywhere
    [
      channels(56, (channel, box) => (channel < 4 ? 20 : channel === 4 ? 0.1 : (channel - 5) % 3 < 2 ? 30 + box : 0.5)),
      /\[1, 56, 84\]: this looks like a pose model \(1 class \+ 17 keypoints/,
    ],
    // angles from -0.7 to 0.9: none is above 1
    [
      channels(20, (channel, box) => (channel < 4 ? 20 : channel < 19 ? 0.01 : -0.7 + (box * 1.6) / 84)),
      /\[1, 20, 84\]: this looks like an OBB model \(4 \+ 15 classes \+ an angle\)/,
    ],
    [
      channels(116, (channel, box) => (channel < 4 ? 20 : channel < 84 ? 0.01 : (box % 5) - 2)),
      /\[1, 116, 84\]: this looks like a model with masks \(80 classes \+ 32 coefficients\) without its prototypes/,
    ],
    [channels(84, (channel) => (channel < 4 ? 20 : -4)), /a score of class 0 that is -4.*no sigmoid/],
    [channels(84, () => NaN), /a score of class 0 that is NaN.*float16/],
  ]
  for (const [output, message] of cases) {
    await using detector = await Detector.load(answering([output]), { preset: 'yolov8', backend })
    await refused(t, () => detector.detect(picture), message)
  }
  for (const [width, message] of [
    [57, /pose model of 17 keypoints, end to end: preset 'ultralytics-pose'/],
    [7, /an OBB model, end to end: preset 'ultralytics-obb'/],
  ] as const)
    await refused(
      t,
      () => Detector.load(answering([filled([1, 300, width], [])]), { preset: 'yolo26', backend }),
      message,
    )
})

t.test('what other decoders are given that is no probability, or is one where logits are meant', async (t) => {
  const size = 64
  const rows = (count: number, width: number, value: number): Tensor<'float32'> => filled([1, count, width], [], value)
  const maps = [1, 2, 2].map((count) => filled([1, count, 16, 16], [], count === 1 ? -3 : 0))
  const cases: [call: () => unknown, message: RegExp][] = [
    [() => decodeYoloAnchors(rows(252, 57, 30), { size }), /an objectness that is 30.*pose model/],
    [() => decodeYoloEndToEnd(rows(300, 7, 0)), /\[N, boxes, 6\].*OBB/],
    [() => decodeYoloEndToEnd(rows(300, 6, 2)), /class 0 that is 2/],
    [() => decodeYolox(rows(84, 85, -3), { size }), /an objectness that is -3.*no sigmoid/],
    [() => decodeRetinaFace([rows(168, 4, 0), rows(168, 2, 3)], { size }), /is 3.*activation: 'softmax'/],
    [() => decodeCenterFace(maps, { size }), /is -3.*map of logits/],
    [
      () => decodeSsd([rows(9, 4, 0), rows(9, 3, -5)], { anchors: new Float32Array(36).fill(9), activation: 'none' }),
      /is -5.*logits/,
    ],
    [() => decodeEfficientDet([rows(774, 90, -5), rows(774, 4, 0)], { size, activation: 'none' }), /is -5.*'sigmoid'/],
    [() => decodeRtDetr(rows(300, 84, -4), { size }), /is -4.*no sigmoid/],
    [() => decodeRtDetr([rows(300, 80, NaN), rows(300, 4, 0)], { size }), /is NaN/],
    [() => decodeDbNet(filled([1, 1, 64, 64], [], -2)), /is -2.*map of logits/],
    [() => decodeDbNet(filled([1, 1, 64, 64], [], NaN)), /is NaN/],
    [
      () => decodeRtDetr([rows(300, 80, 0.01), rows(300, 4, 0)], { size }),
      /Expected logits but found scores of 0 to 1 alone/,
    ],
    [() => decodeEfficientDet([rows(774, 90, 0.01), rows(774, 4, 0)], { size }), /Expected logits.*activation: 'none'/],
    // of a float16 model whose boxes overflow, while its scores do not
    [
      () =>
        decodeYolox(
          [rows(84, 6, 0.9)].map((tensor) => overflowing(tensor, 6)),
          { size },
        ),
      /the coordinates of all that were found, 84, are infinite or NaN/,
    ],
  ]
  for (const [call, message] of cases) await refused(t, call, message)
})

/** Sides of e^900. */
function overflowing(tensor: Tensor<'float32'>, width: number): Tensor<'float32'> {
  tensor.data.forEach((_, at) => at % width === 2 && (tensor.data[at] = 900))
  return tensor
}

t.test('a grid of another size than the input asks for, and one of NaN', async (t) => {
  const load = (grid: Tensor<'float32'>) => Detector.load(answering([grid]), { preset: 'tiny-face-api', backend })
  await refused(
    t,
    () => load(filled([1, 25, 13, 13], [])),
    /tiny-face-api: Expected 2 x 2 cells of 32 pixels.*\[1, 25, 13, 13\]/,
  )
  await using detector = await load(filled([1, 25, 2, 2], [], NaN))
  await refused(t, () => detector.detect(picture), /NaN/)
})

t.test('a map of text is as large as the input', async (t) => {
  const model = answering([filled([1, 1, 16, 16], [])])
  await refused(
    t,
    () => Detector.load(model, { preset: 'dbnet', backend }),
    /\[N, 1, 64, 64\], a map as large as the input, but found \[1, 1, 16, 16\]/,
  )
})

t.test(
  "outputs of TensorFlow's Object Detection API are not read as effdet's, and the names of both are told apart",
  async (t) => {
    const scores = filled([1, 774, 90], [], -9)
    const boxes = filled([1, 774, 4], [])
    // twelve boxes whose centres lie a sixth of the anchor's sides from the anchor's: times 10
    for (let i = 0; i < 12; i++) {
      scores.data[i * 40 * 90 + 5] = logit(0.8)
      boxes.data.set([1.7, -1.7, 0.4, -0.4], i * 40 * 4)
    }
    const model = answering([scores, boxes])
    await using theirs = await Detector.load(model, { preset: 'tfod-efficientdet:d0', backend })
    t.ok((await theirs.detect(picture)).length > 0)
    await using detector = await Detector.load(model, { preset: 'efficientdet:d0', backend })
    await refused(
      t,
      () => detector.detect(picture),
      /12 of 12 .*TensorFlow's Object Detection API.*coder: 'tf'.*tfod-efficientdet/,
    )
    for (const name of ['tf-efficientdet-d0', 'tf_efficientdet_d0', 'tf_efficientdet_d0_ap']) {
      const message = /'efficientdet:d0', for effdet's tf_efficientdet_d0, or 'tfod-efficientdet:d0'/
      t.match(await failureOf(() => Detector.load(model, { preset: name as never, backend })), {
        code: 'ERR_TRT_INVALID_ARGUMENT',
        message,
      })
      const info = { name: 'x', dtype: 'float32', shape: [1, 3, 64, 64] } as const
      t.match(await failureOf(() => presetBatches([], info, { preset: name as never })), {
        code: 'ERR_TRT_INVALID_ARGUMENT',
        message,
      })
    }
    const lite = await failureOf(() => Detector.load(model, { preset: 'tf_efficientdet_lite1' as never, backend }))
    t.match(lite.message, /'efficientdet-lite:lite1', for effdet's tf_efficientdet_lite1 for preset/)
  },
)

/** A classifier that ends in a softmax, of three logits. */
function ended(logits: readonly number[]): Uint8Array {
  const g = new GraphBuilder({ name: 'ended' })
  const nothing = g.node('Mul', [
    g.node('ReduceMean', [g.input('images', 'float32', [1, 3, 8, 8])], { axes: [1, 2, 3] }),
    g.constant('zero', filled([1], [])),
  ])
  const flat = g.node('Flatten', [nothing])
  const sum = g.node('Add', [
    flat,
    g.constant(
      'logits',
      filled(
        [1, logits.length],
        logits.map((value, i) => [[0, i], value]),
      ),
    ),
  ])
  g.output(g.node('Softmax', [sum], { axis: 1 }, { output: 'y' }), 'float32', [1, logits.length])
  return writeModel(g.toModel())
}

t.test('a softmax upon a softmax is refused, whatever the preset says of the model', async (t) => {
  const model = ended([1, 2, 4])
  const classify = async (options: ClassifierOptions) => {
    await using classifier = await Classifier.load(model, { ...options, backend })
    return await classifier.classify(picture)
  }
  await refused(
    t,
    () => classify({ preset: 'imagenet' }),
    /imagenet: Expected logits but found 3 scores.*sum is 1.*output: \{ activation: 'none' \}/,
  )
  await refused(t, () => classify({ preset: 'imagenet', output: { activation: 'sigmoid' } }), /after a sigmoid/)
  const [best] = await classify({ preset: 'imagenet', output: { activation: 'none' } })
  t.ok(Math.abs(best!.score - Math.exp(4) / (Math.exp(1) + Math.exp(2) + Math.exp(4))) < 1e-6)
})

t.test('logits whose sum is 1 by chance are logits, once a picture has shown that', async (t) => {
  const load = () => Classifier.load(colours(), { input: { range: '0-1' }, output: { activation: 'softmax' }, backend })
  const [white, chance] = [plain(4, 4, [255, 255, 255]), plain(4, 4, [51, 51, 153])]
  await using first = await load()
  await refused(t, () => first.classify(chance), /sum is 1/)
  await using classifier = await load()
  const [, scores] = await classifier.classify([white, chance])
  const sum = 2 * Math.exp(0.2) + Math.exp(0.6)
  t.ok(Math.abs(scores![0]!.score - Math.exp(0.6) / sum) < 1e-6)
})

t.test('one class is no case for a softmax, which makes 1 of it', async (t) => {
  const model = answering([filled([1, 1], [[[0, 0], logit(0.2)]])])
  await refused(
    t,
    () => Classifier.load(model, { preset: 'imagenet', backend }),
    /at least 2 classes for a softmax.*'sigmoid'/,
  )
  await using classifier = await Classifier.load(model, {
    preset: 'imagenet',
    output: { activation: 'sigmoid' },
    backend,
  })
  t.ok(Math.abs((await classifier.classify(picture))[0]!.score - 0.2) < 1e-6)
})

t.test('a preset whose models end in a softmax takes no logits', async (t) => {
  const scoresOf = async (numbers: readonly number[], options: ClassifierOptions) => {
    const model = answering([
      filled(
        [1, numbers.length],
        numbers.map((value, i) => [[0, i], value]),
      ),
    ])
    await using classifier = await Classifier.load(model, { ...options, backend })
    return (await classifier.classify(picture)).map(({ score }) => Math.round(score * 100) / 100)
  }
  const preset = 'keras-caffe'
  await refused(
    t,
    () => scoresOf([590, -3, 1], { preset }),
    /keras-caffe: Expected probabilities.*from -3 to 590 whose sum is 588.*activation: 'softmax'/,
  )
  await refused(t, () => scoresOf([0.9, 0.8, 0.9], { preset }), /whose sum is 2\.6/)
  t.same(
    await scoresOf([0.9, 0.8, 0.9], { preset, output: { activation: 'none' } }),
    [0.9, 0.9, 0.8],
    "as they are, by one's own word",
  )
  t.same(
    await scoresOf([0.9, 0.8, 0.9], { preset: { ...presets[preset] } }),
    [0.9, 0.9, 0.8],
    "of a preset of one's own, too",
  )
  t.same(await scoresOf([0.7, 0.25], { preset }), [0.7, 0.25], 'a sum that is rounded')
  t.same(await scoresOf([0.8], { preset }), [0.8], 'one class, of a sigmoid')
  await refused(t, () => scoresOf([1.8], { preset }), /from 1\.8 to 1\.8/)
})

t.test('without a preset a task is told how pictures become the input, and what the outputs are', async (t) => {
  const wrong = async (call: () => Promise<unknown>, message: RegExp) =>
    t.match(await failureOf(call), { code: 'ERR_TRT_INVALID_ARGUMENT', message })
  await wrong(
    () => Classifier.load(colours(), { backend }),
    /a preset, or input and output of your own .*activation: 'softmax' \| .* for preset/,
  )
  await wrong(() => Classifier.load(colours(), { input: {}, backend }), /for output\.activation/)
  const needsInput = /a preset, or input and output of your own .* for input/
  await wrong(() => Classifier.load(colours(), { output: { activation: 'softmax' }, backend }), needsInput)
  await wrong(
    () => Detector.load(answering([filled([1, 84, 84], [])]), { output: { decoder: 'yolo' }, backend }),
    needsInput,
  )
  await wrong(
    () => Segmenter.load(answering([filled([1, 2, 8, 8], [])]), { output: { decide: 'argmax' }, backend }),
    needsInput,
  )
})

t.test('ssd-face-api needs no anchors, and takes them as numbers of JSON', async (t) => {
  const anchor = 5117 // the last one, around the middle: 842.5 x 280.8 with 3 to 1 turned
  const [boxes, scores] = [filled([1, 5118, 4], []), filled([1, 5118, 3], [], -9)]
  scores.data[anchor * 3 + 1] = logit(0.9)
  const model = answering([boxes, scores], { input: [1, 3, 512, 512] })
  const detect = async (options: DetectorOptions) => {
    await using detector = await Detector.load(model, { ...options, backend })
    return await detector.detect(noise(512, 512))
  }
  const [face, ...others] = await detect({ preset: JSON.parse(JSON.stringify(presets['ssd-face-api'])) as never })
  t.equal(others.length, 0)
  // its height is beyond the picture's, and clipped
  t.same(face!.box.map(Math.round), [116, 0, 281, 512])
  const two = answering([filled([1, 2, 4], []), filled([1, 2, 3], [[[0, 1, 1], 3]], -9)])
  const anchors = [9, 9, 9, 9, 20, 24, 8, 6]
  await using given = await Detector.load(two, { preset: 'ssd-face-api', output: { anchors }, backend })
  t.same((await given.detect(noise(64, 64)))[0]!.box, [16, 21, 8, 6])
  const wrong = await failureOf(() =>
    Detector.load(two, { preset: 'ssd-face-api', output: { anchors: [1, 2, 3] }, backend }),
  )
  t.match(wrong, { code: 'ERR_TRT_INVALID_ARGUMENT', message: /array of numbers.*for anchors/ })
})

t.test('segmenters: the classes of voc, and maps that lie over the input', async (t) => {
  const cities = answering([filled([1, 19, 32, 32], [])])
  await refused(
    t,
    () => Segmenter.load(cities, { preset: 'torchvision-segmentation', backend }),
    /torchvision-segmentation: Expected \[N, 21, height, width\], of 21 classes \(output: \{ classes \}.*\[1, 19, 32, 32\]/,
  )
  await (await Segmenter.load(cities, { preset: 'torchvision-segmentation', output: { classes: 19 }, backend })).close()
  for (const shape of [
    [1, 2, 8, 64],
    [1, 2, 64, 31],
  ])
    // prettier-ignore
    await refused(t, () => Segmenter.load(answering([filled(shape, [])]), { preset: 'unet', backend }), /proportions of the input, 64 x 64/)
  const numbers = answering([filled([1, 8, 64], [])], { as: 'int32' })
  await refused(
    t,
    () => Segmenter.load(numbers, { input: {}, output: { decide: 'classes' }, backend }),
    /proportions of the input/,
  )
  // 50 x 38 divided by 8, rounded up and down
  for (const shape of [
    [1, 2, 5, 7],
    [1, 2, 4, 6],
  ])
    // prettier-ignore
    await (await Segmenter.load(answering([filled(shape, [])], { input: [1, 3, 38, 50] }), { input: {}, output: { decide: 'argmax' }, backend })).close()
  await using unet = await Segmenter.load(answering([filled([1, 2, 64, 64], [], NaN)]), { preset: 'unet', backend })
  await refused(t, () => unet.segment(picture), /found NaN in \[1, 2, 64, 64\]/)
})
