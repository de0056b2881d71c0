import { readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, sep } from 'node:path'
import t from 'tap'
import * as detector from '../../examples/face-detector/model.js'
import { inspectModel } from '../../lib/onnx/index.js'
import { parseModel } from '../../lib/onnx/model.js'
import { failure } from '../support/errors.js'
import { randomFloats } from '../support/values.js'
import { near, run } from './helpers.js'

const require = createRequire(import.meta.url)
const packageDir = dirname(require.resolve('@vladmandic/face-api/package.json'))
const { anchors, gridSize, inputName, inputSize, outputName, valuesPerAnchor } = detector
const channels = anchors.length * valuesPerAnchor

/** What is used here of TensorFlow.js and of the package: its network, without what it does to pictures before. */
interface TfTensor {
  shape: number[]
  data(): Promise<Float32Array>
  transpose(order: number[]): TfTensor
}
interface FaceApi {
  tf: {
    tensor(data: Float32Array, shape: number[]): TfTensor
    setBackend(name: string): Promise<boolean>
    getBackend(): string
  }
  nets: {
    tinyFaceDetector: {
      loadFromDisk(folder: string): Promise<void>
      runMobilenet(x: TfTensor, params: unknown): TfTensor
      params: unknown
      config: { anchors: { x: number; y: number }[]; meanRgb: number[]; iouThreshold: number }
    }
  }
}

/** The package's detector on TensorFlow.js's WebAssembly backend, all from node_modules. */
async function reference(): Promise<FaceApi> {
  const wasm = require('@tensorflow/tfjs-backend-wasm') as { setWasmPaths(folder: string): void }
  wasm.setWasmPaths(dirname(require.resolve('@tensorflow/tfjs-backend-wasm')) + sep)
  const faceApi = require('@vladmandic/face-api/dist/face-api.node-wasm.js') as FaceApi
  await faceApi.tf.setBackend('wasm')
  await faceApi.nets.tinyFaceDetector.loadFromDisk(join(packageDir, 'model'))
  return faceApi
}

t.test('the network computes what the package computes', async (t) => {
  const { tf, nets } = await reference()
  const net = nets.tinyFaceDetector
  t.equal(tf.getBackend(), 'wasm')
  const shape = [2, 3, inputSize, inputSize]
  const data = randomFloats(shape, 416)
  const wanted = net.runMobilenet(tf.tensor(data, shape).transpose([0, 2, 3, 1]), net.params).transpose([0, 3, 1, 2])
  const grid = [2, channels, gridSize, gridSize]
  t.same(wanted.shape, grid)

  const dynamic = await run(await detector.faceDetectorModel({ batch: 'N' }), { [inputName]: { data, shape } })
  t.same(dynamic[outputName]?.shape, grid)
  const expected = await wanted.data()
  near(t, dynamic[outputName]?.data as Float32Array, expected, 2e-4, 'two pictures at once')

  const single = { data: data.subarray(0, data.length / 2), shape: [1, ...shape.slice(1)] }
  const fixed = await run(await detector.faceDetectorModel(), { [inputName]: single })
  near(t, fixed[outputName]?.data as Float32Array, expected.subarray(0, expected.length / 2), 2e-4, 'one picture')

  t.same(
    anchors,
    net.config.anchors.map(({ x, y }) => [x, y]),
  )
  t.same(detector.meanRgb, net.config.meanRgb)
  t.equal(detector.iouThreshold, net.config.iouThreshold)
})

t.test('the model as a file', async (t) => {
  const bytes = await detector.faceDetectorModel({ batch: 'N' })
  t.ok(bytes.length > 770_000 && bytes.length < 780_000, `${bytes.length} bytes`)
  t.match(inspectModel(parseModel(bytes)), {
    inputs: [{ name: inputName, dtype: 'float32', shape: ['N', 3, inputSize, inputSize] }],
    outputs: [{ name: outputName, dtype: 'float32', shape: ['N', channels, gridSize, gridSize] }],
    opset: 17,
    operators: { Conv: 12, LeakyRelu: 6, MaxPool: 6 },
  })
})

t.test('weights that are not there', async (t) => {
  const attempt = (modelDir: string) => detector.faceDetectorModel({ modelDir }).catch((error: unknown) => error)
  t.match(await attempt('/nowhere'), failure('ERR_TRT_FILE', /nowhere.*@vladmandic\/face-api/))

  const folder = t.testdir()
  const manifest = 'tiny_face_detector_model-weights_manifest.json'
  await writeFile(
    join(folder, 'tiny_face_detector_model.bin'),
    await readFile(join(packageDir, 'model', 'tiny_face_detector_model.bin')),
  )
  await writeFile(join(folder, manifest), JSON.stringify([{ weights: [] }]))
  t.match(await attempt(folder), failure('ERR_TRT_FILE', /no conv0\/filters/))
})
