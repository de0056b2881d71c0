/**
 * The demo: finds faces in photographs by a model that goes the whole way (weights, ONNX, plan, engine), and blurs
 * them.
 */
import { blurRegions } from 'node-tensorrt/vision'
import { FaceDetector } from './face-detector/detector.js'
import { faceDetectorModel } from './face-detector/model.js'
import { run } from './support/pictures.js'
import { engineOf, planOf } from './support/plan.js'
import { facePhoto, note } from './support/program.js'

const stages = ['read', 'tensor', 'infer', 'decode', 'blur'] as const

const megabytes = (bytes: Uint8Array): string => `${(bytes.length / 1e6).toFixed(2)} MB`

run({
  name: 'npm run demo --',
  description: "Blurs the faces in photographs; without a PHOTO, in three of @vladmandic/face-api's.",
  models: 'own',
  columns: ['faces', 'scores', ...stages.map((stage) => `${stage} ms`), 'backend'],
  suffix: 'blurred.jpg',
  photos: async () => [1, 3, 5].map(facePhoto),
  load: async () => {
    const model = await faceDetectorModel()
    note(`ONNX: ${megabytes(model)}, made from the weights in @vladmandic/face-api`)
    const plan = await planOf(model)
    if (plan !== undefined) note(`Plan: ${megabytes(plan.bytes)}`)
    const engine = await engineOf(model, plan)
    return Object.assign(new FaceDetector(engine), { [Symbol.asyncDispose]: () => engine.close() })
  },
  answer: async (detector, image, _given, read) => {
    const times = [read]
    const timed = async <T>(stage: Promise<T> | (() => T)): Promise<T> => {
      const begun = performance.now()
      const value = await (typeof stage === 'function' ? stage() : stage)
      times.push(performance.now() - begun)
      return value
    }
    const input = await timed(detector.prepare(image))
    const output = await timed(detector.infer(input))
    const faces = await timed(() => detector.decode(output, image))
    const boxes = faces.map(({ box }) => box)
    const picture = await timed(blurRegions(image, boxes, { grow: 1.3, feather: 0.3 }))
    const { backend } = detector.engine
    const ms = Object.fromEntries(stages.map((stage, i) => [stage, Math.round(times[i]! * 100) / 100]))
    const scores = faces.map(({ score }) => score.toFixed(2)).join(' ')
    return {
      found: { backend, faces, ms },
      cells: [faces.length, scores, ...times.map((time) => time.toFixed(1)), backend],
      picture,
    }
  },
})
