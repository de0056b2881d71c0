// YOLOv8n with masks and YOLOX as whole models: through the preset, by hand from what the model gives, and with the
// steps inside of the model.
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { yoloV8Seg, yoloX } from '../support/networks/index.js'
import { Engine } from '../../lib/index.js'
import { type DetectionSteps, type ModelProto, withPostprocessing, writeModel } from '../../lib/onnx/index.js'
import { Detector, type Found, presets } from '../../lib/tasks/index.js'
import {
  clipBox,
  type Decoded,
  decodeYolo,
  decodeYolox,
  type Frame,
  instanceMasks,
  letterbox,
  type NonMaxSuppressionOptions,
  readImage,
  suppress,
  toTensor,
} from '../../lib/vision/index.js'
import { packageDir } from '../demo/reference.js'
import { near } from '../onnx/helpers.js'

const size = 320
/** As many candidates as are ranked inside of a model here. */
const most = 300
const image = await readImage(join(packageDir, 'demo', 'sample4.jpg'), { shrink: 2 * size })

interface Boxes {
  readonly boxes: readonly number[]
  readonly scores: readonly number[]
  readonly classes: readonly number[]
}

/** Of what stays, in pixels of the picture. */
function byHand({ boxes, scores, classes }: Decoded, indices: Int32Array, frame: Frame, clip: boolean): Boxes {
  const placed = Array.from(indices, (at) => {
    const [left, top, right, bottom] = boxes.subarray(at * 4, at * 4 + 4) as unknown as [number, number, number, number]
    const box = frame.toImage([left, top, right - left, bottom - top])
    return clip ? clipBox(box, frame.image) : box
  })
  return {
    boxes: placed.flat(),
    scores: Array.from(indices, (at) => scores[at]!),
    classes: Array.from(indices, (at) => classes[at]!),
  }
}

const listed = (found: readonly Found[]): Boxes => ({
  boxes: found.flatMap(({ box }) => box),
  scores: found.map(({ score }) => score),
  classes: found.map(({ classIndex }) => classIndex),
})

function same(t: Test, found: Boxes, wanted: Boxes, tolerance: number, what: string): void {
  t.same(found.classes, wanted.classes, `${what}: ${wanted.classes.length} boxes, of the same classes`)
  near(t, found.boxes, wanted.boxes, tolerance, `${what}: boxes`)
  near(t, found.scores, wanted.scores, 1e-4, `${what}: scores`)
}

/** What the model itself finds, in pixels of the picture. */
async function inside(
  t: Test,
  model: ModelProto,
  steps: Omit<DetectionSteps, 'kind'>,
  pixels: Awaited<ReturnType<typeof toTensor>>,
  frame: Frame,
  clip: boolean,
): Promise<Boxes> {
  await using engine = await Engine.load(
    writeModel(withPostprocessing(model, { kind: 'detections', maxCandidates: most, maxDetections: 300, ...steps })),
    { backend: 'cpu' },
  )
  const answer = await engine.infer({ images: pixels })
  t.equal(Number(answer['converged']!.data[0]), 1, 'suppressed to the end')
  const count = Number(answer['count']!.data[0])
  const decoded: Decoded = {
    boxes: answer['boxes']!.data as Float32Array,
    format: 'xyxy',
    scores: answer['scores']!.data as Float32Array,
    classes: answer['classes']!.data as Int32Array,
  }
  return byHand(
    decoded,
    Int32Array.from({ length: count }, (_, i) => i),
    frame,
    clip,
  )
}

t.test('YOLOv8n with masks', async (t) => {
  const model = yoloV8Seg.modelOf({ size })
  await using engine = await Engine.load(writeModel(model), { backend: 'cpu' })
  await using detector = await Detector.load(engine, { preset: 'yolov8', labels: 'coco80' })
  const found = await detector.detect(image)
  t.ok(found.length > 20 && found.length < 300, `${found.length} objects`)
  for (const { box, mask, label, score } of found.slice(0, 20)) {
    const [left, top] = [Math.floor(box[0]), Math.floor(box[1])]
    const [right, bottom] = [Math.ceil(box[0] + box[2]), Math.ceil(box[1] + box[3])]
    const { x, y, width, height, data } = mask!
    if (!(x >= left && y >= top && x + width <= right && y + height <= bottom && data.length === width * height))
      t.fail(`mask of ${box.join(' ')}`)
    if (data.some((value) => value > 1) || label === undefined || score <= 0.25 || score > 1)
      t.fail(`${label} ${score}`)
  }
  t.ok(
    found.filter(({ mask }) => mask!.data.includes(1) && mask!.data.includes(0)).length > found.length / 2,
    'most masks have an edge',
  )

  const frame = letterbox(image, size, { fill: 114, rounding: 'even' })
  const pixels = await toTensor(image, frame, { range: '0-1', round: true })
  const outputs = await engine.infer({ images: pixels })
  t.same(
    [outputs['output0']!.shape, outputs['output1']!.shape],
    [
      [1, 116, 2100],
      [1, 32, 80, 80],
    ],
  )
  const [decoded] = decodeYolo(outputs, { size }) as [Decoded]
  t.ok(decoded.scores.length <= most, `${decoded.scores.length} candidates`)
  const rules = presets.ultralytics.suppress as NonMaxSuppressionOptions
  const indices = suppress(decoded, rules)
  same(t, listed(found), byHand(decoded, indices, frame, true), 1e-3, 'by hand')
  const masks = await instanceMasks({ ...decoded, coefficients: decoded.coefficients! }, outputs['output1']!, frame, {
    indices,
  })
  t.ok(
    masks.every(({ data }, i) => Buffer.compare(data, found[i]!.mask!.data) === 0),
    'the same masks',
  )

  const steps = {
    decoder: 'yolo',
    coefficients: 32,
    outputs: ['output0'],
    scoreThreshold: 0.25,
    suppress: { iouThreshold: rules.iouThreshold },
  } as const
  same(t, listed(found), await inside(t, model, steps, pixels, frame, true), 0.05, 'inside of the model')
})

for (const variant of ['nano', 'tiny'] as const)
  t.test(`YOLOX ${variant}`, async (t) => {
    const model = yoloX.modelOf({ size, variant })
    await using engine = await Engine.load(writeModel(model), { backend: 'cpu' })
    await using detector = await Detector.load(engine, { preset: 'yolox', labels: 'coco80' })
    const found = await detector.detect(image)
    t.ok(found.length > 20 && found.length < 300, `${found.length} objects`)
    t.ok(
      found.every(
        ({ box, label, score }) => box[2] > 0 && box[3] > 0 && label !== undefined && score > 0.3 && score < 1,
      ),
    )

    const frame = letterbox(image, size, { fill: 114, position: 'start', rounding: 'down' })
    const pixels = await toTensor(image, frame, { order: 'BGR', round: true })
    const { output } = await engine.infer({ images: pixels })
    t.same(output!.shape, [1, 2100, 85])
    const [decoded] = decodeYolox(output!, { size, scoreThreshold: 0.3 }) as [Decoded]
    t.ok(decoded.scores.length <= most, `${decoded.scores.length} candidates`)
    const rules = presets.yolox.suppress as NonMaxSuppressionOptions
    same(t, listed(found), byHand(decoded, suppress(decoded, rules), frame, false), 1e-3, 'by hand')

    const { iouThreshold, pixelAreas, perClass } = rules
    const steps = {
      decoder: 'yolox',
      size,
      scoreThreshold: 0.3,
      suppress: { iouThreshold, pixelAreas, perClass },
    } as const
    same(t, listed(found), await inside(t, model, steps, pixels, frame, false), 0.05, 'inside of the model')
  })
