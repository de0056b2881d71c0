// Options of other programs: each is answered by what is there, and each option that a hint names exists at its place.
import t from 'tap'
import { strangerOf, strangers } from '../../lib/base/strangers.js'
import { Builder, Engine, Tensor, TensorRTError } from '../../lib/index.js'
import { serve } from '../../lib/serve/index.js'
import { Classifier, Detector, FaceBlur, Segmenter } from '../../lib/tasks/index.js'
import * as vision from '../../lib/vision/index.js'
import { identity } from '../support/models.js'
import { answering, colours, filled } from '../tasks/models.js'
import { noise } from '../vision/helpers.js'

const own = { input: {}, backend: 'cpu' } as const
const engine = await Engine.load(identity(), { backend: 'cpu' })
const builder = new Builder()
const boxes = answering([filled([1, 6, 84], [[[0, 4, 3], 0.9]])])
const classifier = await Classifier.load(colours(), { ...own, output: { activation: 'none' } })
const detector = await Detector.load(boxes, { ...own, output: { decoder: 'yolo' } })
const faces = await FaceBlur.load(boxes, { ...own, output: { decoder: 'yolo' } })
const masks = answering([filled([1, 1, 8, 8], [[[0, 0, 3, 3], 1]])])
const segmenter = await Segmenter.load(masks, { ...own, output: { decide: 'matte' } })
t.teardown(async () =>
  Promise.all([classifier, detector, faces, segmenter, engine, builder].map((each) => each.close())),
)

const image = noise(4, 4)
const mask = { width: 4, height: 4, data: new Uint8Array(16) }
const x = Tensor.from(new Float32Array(2))
const video = 'missing.mp4'
const first = async (items: AsyncIterable<unknown>): Promise<unknown> => items[Symbol.asyncIterator]().next()

/** A call of each owner, with these options. */
const calls: Readonly<Record<string, (options: never) => unknown>> = {
  Engine: (options) => Engine.load(identity(), options),
  Classifier: (options: object) => Classifier.load(identity(), { preset: 'imagenet', ...options }),
  Detector: (options: object) => Detector.load(identity(), { preset: 'yolov8', ...options }),
  FaceBlur: (options: object) => FaceBlur.load(identity(), { preset: 'centerface', ...options }),
  Segmenter: (options: object) => Segmenter.load(identity(), { preset: 'u2net', ...options }),
  tensorrt: (tensorrt) => Engine.load(identity(), { tensorrt }),
  cpu: (cpu) => Engine.load(identity(), { cpu }),
  Builder: (options) => new Builder(options),
  build: (options) => builder.build(identity(), options),
  infer: (options) => engine.infer({ x }, options),
  inferSync: (options) => engine.inferSync({ x }, options),
  warmup: (options) => engine.warmup(options),
  benchmark: (options) => engine.benchmark(options),
  classify: (options) => classifier.classify(image, options),
  detect: (options) => detector.detect(image, options),
  blur: (options) => faces.blur(image, options),
  segment: (options) => segmenter.segment(image, options),
  matte: (options) => segmenter.matte(image, options),
  detectVideo: (options) => first(detector.detectVideo(video, options)),
  segmentVideo: (options) => first(segmenter.segmentVideo(video, options)),
  blurVideo: (options) => faces.blurVideo(video, 'out.mp4', options),
  toTensor: (options) => vision.toTensor(image, vision.stretch(image, 4), options),
  toTensorSync: (options) => vision.toTensorSync(image, vision.stretch(image, 4), options),
  letterbox: (options) => vision.letterbox(image, 4, options),
  padToSquare: (options) => vision.padToSquare(image, 4, options),
  centerCrop: (options) => vision.centerCrop(image, 4, options),
  readImage: (options) => vision.readImage('missing.jpg', options),
  pictures: (options) => vision.pictures('missing', options),
  encodeImage: (options) => vision.encodeImage(image, 'png', options),
  writeImage: (options) => vision.writeImage(image, 'out.png', options),
  blurRegions: (options) => vision.blurRegions(image, [], options),
  blurMask: (options) => vision.blurMask(image, mask, options),
  drawBoxes: (options) => vision.drawBoxes(image, [], options),
  drawPolygons: (options) => vision.drawPolygons(image, [], options),
  nonMaxSuppression: (options) => vision.nonMaxSuppression([], options),
  suppress: (options) => vision.suppress({ boxes: new Float32Array(), scores: new Float32Array() }, options),
  topK: (options) => vision.topK(Tensor.zeros('float32', [1, 2]), 1, options),
  batching: (batching) => Engine.load(identity(), { batching }),
  serve: (options: object) => serve({ modelRepository: 'missing', ...options }),
}

const failed = async (owner: string, options: object): Promise<TensorRTError> => {
  try {
    await calls[owner]!(options as never)
  } catch (error) {
    if (error instanceof TensorRTError) return error
    throw error
  }
  throw new Error(`${owner} takes ${JSON.stringify(options)}`)
}

t.test('each owner of hints is called here', (t) => {
  t.same(Object.keys(calls).sort(), [...new Set(strangers.flatMap(({ owners }) => owners))].sort())
  t.end()
})

for (const owner of Object.keys(calls))
  t.test(owner, async (t) => {
    const names = new Set(
      strangers.filter(({ owners }) => owners.includes(owner)).flatMap(({ hints }) => Object.keys(hints)),
    )
    const places = new Set<string>()
    for (const name of names) {
      const { message, details } = await failed(owner, { [name]: 1 })
      const known = details['known'] as readonly string[] | undefined
      const said = known && strangerOf(name, owner, known)
      if (said === undefined) t.fail(`${owner} ${name} has no hint: ${message}`)
      else if (!message.includes(said.words)) t.fail(`${owner} ${name}: ${message}`)
      if (said?.place !== undefined) places.add(said.place)
    }
    for (const place of places) {
      const parts = place.split('.')
      if (parts.length === 1) continue
      const wrong = parts.slice(0, -1).reduceRight<object>((inner, outer) => ({ [outer]: inner }), { zzz: 1 })
      const { message, details } = await failed(owner, wrong)
      const known = (details['known'] ?? []) as readonly string[]
      if (!known.includes(parts.at(-1)!)) t.fail(`${owner} has no ${place}: ${message}`)
    }
    t.ok(names.size > 0)
  })

t.test('wherever there is an option of that name', (t) => {
  t.same(strangerOf('iou', 'decodeX', ['iouThreshold']), { words: 'iouThreshold is its name.', place: 'iouThreshold' })
  t.equal(strangerOf('conf', 'decodeX', ['k']), undefined)
  t.equal(strangerOf('toString', 'Engine', ['cpu']), undefined)
  t.equal(strangerOf('iou', 'Detector', ['suppress'])?.words, 'suppress: { iouThreshold } is its place.')
  t.equal(
    strangerOf('half', 'Engine', ['tensorrt'])?.words,
    "tensorrt: { builder: { precision: 'fp16' } } is its place.",
  )
  t.equal(strangerOf('fp16', 'Builder', ['precision'])?.words, "precision: 'fp16' says it.")
  t.end()
})
