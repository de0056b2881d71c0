import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Face } from '../../examples/face-detector/detector.js'
import type { Image } from '../../lib/vision/index.js'

const require = createRequire(import.meta.url)

/** The folder of the package whose detector is the reference. */
export const packageDir = dirname(require.resolve('@vladmandic/face-api/package.json'))

interface Disposable {
  dispose(): void
}

/** The part of tfjs that is used here. */
interface Tfjs {
  env(): { set(flag: string, value: boolean): void }
  setBackend(name: string): Promise<boolean>
  ready(): Promise<void>
  tensor3d(data: Uint8Array, shape: [number, number, number], dtype: 'int32'): Disposable
}

interface Net {
  loadFromDisk(folder: string): Promise<void>
}

interface FaceApi {
  nets: { tinyFaceDetector: Net; ssdMobilenetv1: Net }
  SsdMobilenetv1Options: new (options: { minConfidence: number; maxResults: number }) => object
  TinyFaceDetectorOptions: new (options: { inputSize: number; scoreThreshold: number }) => object
  detectAllFaces(
    image: Disposable,
    options: object,
  ): PromiseLike<{ score: number; box: { x: number; y: number; width: number; height: number } }[]>
}

export type Reference = (image: Image) => Promise<Face[]>

/**
 * The package's own tiny face detector on its WASM backend, at score > 0.4 and the package's NMS IoU of 0.4; nothing is
 * downloaded.
 */
export function loadReference(): Promise<Reference> {
  return referenceOf(
    'tinyFaceDetector',
    ({ TinyFaceDetectorOptions }) => new TinyFaceDetectorOptions({ inputSize: 416, scoreThreshold: 0.4 }),
  )
}

/** The same of its SSD MobileNetV1, at a score of 0.5 and more. */
export function loadSsdReference(): Promise<Reference> {
  return referenceOf(
    'ssdMobilenetv1',
    ({ SsdMobilenetv1Options }) => new SsdMobilenetv1Options({ minConfidence: 0.5, maxResults: 100 }),
  )
}

async function referenceOf(net: keyof FaceApi['nets'], optionsOf: (faceApi: FaceApi) => object): Promise<Reference> {
  const tf = require('@tensorflow/tfjs') as Tfjs
  const wasm = require('@tensorflow/tfjs-backend-wasm') as { setWasmPaths(folder: string): void }
  wasm.setWasmPaths(join(dirname(require.resolve('@tensorflow/tfjs-backend-wasm/package.json')), 'dist/'))
  // Its threads would keep the process alive.
  tf.env().set('WASM_HAS_MULTITHREAD_SUPPORT', false)
  await tf.setBackend('wasm')
  await tf.ready()
  const faceApi = require('@vladmandic/face-api/dist/face-api.node-wasm.js') as FaceApi
  await faceApi.nets[net].loadFromDisk(join(packageDir, 'model'))
  const options = optionsOf(faceApi)
  return async (image) => {
    const tensor = tf.tensor3d(image.data, [image.height, image.width, 3], 'int32')
    try {
      const faces = await faceApi.detectAllFaces(tensor, options)
      return faces.map(({ score, box }) => ({ score, box: [box.x, box.y, box.width, box.height] }))
    } finally {
      tensor.dispose()
    }
  }
}
