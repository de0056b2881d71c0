// What contexts.slow.test.ts runs in a `vm` context, with all of the package in it, as a test runner's tests run: a
// line for each class of the entries, on the fake of TensorRT 10. Each gives what is said beside it.
import { GrpcClient, HttpClient } from '../../lib/client/index.js'
import { Builder, DeviceTensor, Engine, EngineCache, Plan, Refitter, Tensor, TensorRTError } from '../../lib/index.js'
import { float, FloatAttribute, GraphBuilder, GraphEditor, readModel, saveModel } from '../../lib/onnx/index.js'
import { Calibration, Calibrator, quantize, QuantizedModel } from '../../lib/quantization/index.js'
import { InvalidRequestError } from '../../lib/serve/index.js'
import { Classifier, Detector, FaceBlur, Segmenter } from '../../lib/tasks/index.js'
import { openVideo, streams, Streams, VideoFrame, VideoSource, VideoWriter, writeVideo } from '../../lib/video/index.js'
import { InferenceSession } from '../../lib/onnxruntime/entry.js'
import { encodeImage, Frame, letterbox, readImage } from '../../lib/vision/index.js'

const shapes = { x: { min: [1, 3], opt: [2, 3], max: [8, 3] } }
const sizes = { x: { min: [1, 3, 32, 32], opt: [1, 3, 32, 32], max: [1, 3, 64, 64] } }
const row = (): Tensor => new Tensor('float32', Float32Array.of(1, -1, 2), [1, 3])
const numbers = (tensor: Tensor | undefined): unknown => {
  const { data } = tensor ?? row()
  return data instanceof Float32Array ? [...data] : 'no Float32Array of this realm'
}
const picture = { width: 32, height: 32, channels: 3, data: new Uint8Array(32 * 32 * 3).fill(255) } as const
const codeOf = (failing: Promise<unknown>): Promise<unknown> =>
  failing.then(
    () => 'nothing',
    (error: unknown) => (error instanceof TensorRTError && error instanceof Error ? error.code : String(error)),
  )

/** y = x w, of weights that can be taken by Refitter, and scores of a picture's. */
async function models(): Promise<void> {
  const g = new GraphBuilder({ name: 'weights' })
  const w = g.constant('w', Tensor.from(new Float32Array(9).fill(1), [3, 3]))
  g.output(g.node('MatMul', [g.input('x', 'float32', ['N', 3]), w], {}, { output: 'y' }), 'float32', ['N', 3])
  await saveModel(g.toModel(), 'weights.onnx')
  const c = new GraphBuilder({ name: 'scores' })
  const shape = c.constant('shape', Tensor.from(BigInt64Array.of(1n, 12n), [2]))
  c.output(c.node('Reshape', [c.input('x', 'float32', [1, 3, 2, 2]), shape]), 'float32', [1, 12])
  await saveModel(c.toModel(), 'scores.onnx')
}
await models()

async function built(model: string, refit = false): Promise<Plan> {
  await using builder = new Builder({ refit })
  return await builder.build(model, { shapes })
}

/** A video of three frames, and what has been read of it. */
async function video<T>(name: string, use: (path: string) => Promise<T>): Promise<T> {
  const path = `${name}.mkv`
  await using out = await writeVideo(path, { frameRate: 25 })
  for (let i = 0; i < 3; i++) await out.write(picture)
  await out.close()
  return (out instanceof VideoWriter ? await use(path) : 'no VideoWriter') as T
}

export const lines: Readonly<Record<string, readonly [() => unknown, gives: unknown]>> = {
  Tensor: [() => numbers(Tensor.fromFloat32('float16', Float32Array.of(1, 2), [2]).toFloat32()), [1, 2]],
  TensorRTError: [() => codeOf(Engine.load('nothing.onnx')), 'ERR_TRT_FILE'],
  InferenceSession: [() => codeOf(InferenceSession.create('nothing.onnx')), 'ERR_TRT_FILE'],
  Engine: [
    async () => {
      await using engine = await Engine.load('rows.onnx', { shapes, signal: new AbortController().signal })
      return [engine.backend, numbers((await engine.infer({ x: row() }))['y'])]
    },
    ['tensorrt', [3, 0, 5]],
  ],
  DeviceTensor: [
    async () => {
      await using engine = await Engine.load('rows.onnx', { shapes })
      using onDevice = await engine.upload(row())
      return onDevice instanceof DeviceTensor && numbers(await onDevice.toHost())
    },
    [1, -1, 2],
  ],
  Builder: [async () => (await built('rows.onnx')) instanceof Plan, true],
  Plan: [
    async () => {
      await (await built('rows.onnx')).save('rows.plan')
      await using engine = await Engine.load(await Plan.load('rows.plan'))
      return [await codeOf(Plan.load('rows.onnx')), numbers((await engine.infer({ x: row() }))['y'])]
    },
    ['ERR_TRT_PLAN', [3, 0, 5]],
  ],
  Refitter: [
    async () => {
      await using refitter = new Refitter(await built('weights.onnx', true))
      await refitter.set('w', Tensor.from(Float32Array.of(1, 0, 0, 0, 1, 0, 0, 0, 1), [3, 3]))
      await using engine = await Engine.load(await refitter.refit())
      return numbers((await engine.infer({ x: row() }))['y'])
    },
    [1, -1, 2],
  ],
  EngineCache: [
    async () => {
      const cache = new EngineCache({ folder: 'cache' })
      const hits = [await cache.plan('rows.onnx', { shapes }), await cache.plan('rows.onnx', { shapes })]
      return hits.map(({ hit }) => hit)
    },
    [false, true],
  ],
  GrpcClient: [() => asked(new GrpcClient('localhost:1')), 'ERR_TRT_SERVER'],
  HttpClient: [() => asked(new HttpClient(new URL('http://localhost:1'))), 'ERR_TRT_SERVER'],
  FloatAttribute: [() => float([1, 2]) instanceof FloatAttribute && float([1, 2]).value, [1, 2]],
  GraphBuilder: [async () => (await readModel('weights.onnx')).graph?.node.map(({ opType }) => opType), ['MatMul']],
  GraphEditor: [
    async () => {
      const editor = new GraphEditor(await readModel('rows.onnx'))
      const limit = editor.addConstant('limit', new Tensor('float32', Float32Array.of(6), []))
      editor.addNode('Min', ['y', limit], {}, { output: 'z' })
      return editor.nodes().length
    },
    4,
  ],
  Calibration: [() => Calibration.fromTensorRT('TRT-101500-EntropyCalibration2\nx: 3f800000\n').ranges.size, 1],
  Calibrator: [
    () => new Calibrator([row()]) instanceof Calibrator && new Calibrator([row()], { algorithm: 'minmax' }).algorithm,
    'minmax',
  ],
  QuantizedModel: [
    async () => {
      const g = new GraphBuilder({ name: 'conv' })
      const w = g.constant('w', Tensor.from(new Float32Array(576).fill(0.5), [8, 8, 3, 3]))
      g.output(g.node('Conv', [g.input('x', 'float32', [1, 8, 4, 4]), w]), 'float32', [1, 8, 2, 2])
      const data = [Tensor.from(new Float32Array(128).fill(1), [1, 8, 4, 4])]
      const quantized = await quantize(g.toModel(), new Calibrator(data))
      return quantized instanceof QuantizedModel && quantized.toBytes() instanceof Uint8Array
    },
    true,
  ],
  InvalidRequestError: [() => new InvalidRequestError('x') instanceof Error && new InvalidRequestError('x').name, 'InvalidRequestError'], // prettier-ignore
  Classifier: [
    async () => {
      await using classifier = await Classifier.load('scores.onnx', { input: {}, output: { activation: 'none' } })
      return (await classifier.classify(picture, { top: 2 })).map(({ score }) => score)
    },
    [255, 255],
  ],
  Detector: [
    async () => {
      await using detector = await Detector.load('bright.onnx', { preset: 'dbnet', shapes: sizes })
      return (await detector.detect(new Blob([await encodeImage(picture, 'png')]))).length
    },
    1,
  ],
  FaceBlur: [
    async () => {
      await using faces = await FaceBlur.load('bright.onnx', { preset: 'dbnet', shapes: sizes })
      return (await faces.blur(await readImage(await encodeImage(picture, 'png')))).regions.length
    },
    1,
  ],
  Segmenter: [
    async () => {
      await using segmenter = await Segmenter.load('bright.onnx', { input: {}, output: { decide: 'threshold' } })
      return (await segmenter.segment(picture)).data.every((value) => value > 0)
    },
    true,
  ],
  VideoWriter: [() => video('written', (path) => readImage(path).catch(() => 'a file')), 'a file'],
  VideoSource: [
    () =>
      video('read', async (path) => {
        await using source = await openVideo(path)
        let frames = 0
        for await (const frame of source) {
          frames++
          frame.close()
        }
        return source instanceof VideoSource && frames
      }),
    3,
  ],
  VideoFrame: [
    () =>
      video('frame', async (path) => {
        for await (using frame of await openVideo(path)) return frame instanceof VideoFrame && frame.width
        return 0
      }),
    32,
  ],
  Streams: [
    () =>
      video('streams', async (path) => {
        await using detector = await Detector.load('bright.onnx', { preset: 'dbnet', shapes: sizes })
        await using all = streams([openVideo(path)], detector)
        let found = 0
        for await (const { frame, result } of all) {
          found += result.length
          frame.close()
        }
        return all instanceof Streams && found
      }),
    3,
  ],
  Frame: [
    () => {
      const frame = letterbox({ width: 4, height: 2 }, 4)
      return frame instanceof Frame && frame.target
    },
    [0, 1, 4, 2],
  ],
}

async function asked(client: GrpcClient | HttpClient): Promise<unknown> {
  const code = await codeOf(client.serverMetadata())
  await client.close()
  return code
}
