// Real models with their pictures' way in, and their answers' way out, written into them: onnxruntime computes what the
// host does, and the real TensorRT-RTX builds them.
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { faceDetectorModel, inputSize } from '../../examples/face-detector/model.js'
import { anySizeCenterFace } from '../support/networks/index.js'
import { Builder, type Shapes } from '../../lib/index.js'
import {
  type ModelProto,
  inspectModel,
  type PostprocessingSteps,
  type PreprocessingOptions,
  type PreprocessingSteps,
  readModel,
  withPostprocessing,
  withPreprocessing,
  writeModel,
} from '../../lib/onnx/index.js'
import {
  decodeCenterFace,
  type Image,
  readImage,
  type Size,
  softmax,
  suppress,
  toMask,
  toTensorSync,
  topK,
} from '../../lib/vision/index.js'
import { Tensor } from '../../lib/tensor.js'
import { packageDir } from '../demo/reference.js'
import { realModels } from '../support/real-models.js'
import { centerFacePath, skipWithoutRtx } from '../support/tensorrt.js'
import { near, type Result, run } from '../onnx/helpers.js'
import { frameOf } from './helpers.js'

const picture = await readImage(join(packageDir, 'demo', 'sample1.jpg'))

interface Model {
  readonly name: string
  readonly model: () => Promise<ModelProto>
  readonly size: Size
  readonly steps: PreprocessingSteps
  readonly post: PostprocessingSteps
  /** Also built for pictures of any size: a build takes long, and one of each kind is in processing-builds. */
  readonly open?: true
}

const models: readonly Model[] = [
  { name: 'face detector', model: async () => readModel(await faceDetectorModel({ batch: 'N' })), size: { width: inputSize, height: inputSize }, steps: { resize: 'letterbox', mean: [117.001, 114.697, 97.404], std: 255 }, post: { kind: 'argmax' } },
  { name: 'PP-OCR detection', model: () => readModel(realModels.detector), size: { width: 320, height: 320 }, steps: { resize: 'letterbox', order: 'BGR', range: '0-1', mean: 0.5, std: 0.5 }, post: { kind: 'threshold', threshold: 0.3 } },
  { name: 'PP-OCR recognition', model: () => readModel(realModels.reader), size: { width: 320, height: 48 }, steps: { resize: 'letterbox', position: 'start', order: 'BGR', fillAfter: true, mean: 127.5, std: 127.5, filter: 'triangle' }, post: { kind: 'softmax' } },
  { name: 'PP-OCR orientation', model: () => readModel(realModels.classifier), size: { width: 192, height: 48 }, steps: { order: 'BGR', mean: 127.5, std: 127.5 }, post: { kind: 'topK', k: 2 }, open: true },
  ...(centerFacePath === undefined ? [] : [{ name: 'CenterFace', model: () => anySizeCenterFace(centerFacePath as string), size: { width: 416, height: 320 }, steps: { resize: 'stretch' }, post: { kind: 'detections', decoder: 'centerface', size: { width: 416, height: 320 }, scoreThreshold: 0.2, suppress: { iouThreshold: 0.3, inclusive: true, rounds: 8 } } } as const]),
] // prettier-ignore

const valueOf = ({ data, width, height }: Image) => ({ data, shape: [1, height, width, 3] })

async function answersOf(
  model: ModelProto,
  value: { data: Float32Array | Uint8Array; shape: readonly number[] },
): Promise<Record<string, Result>> {
  const [input] = inspectModel(model).inputs
  return run(writeModel(model), { [input?.name ?? '']: value })
}

/** That the real builder takes it, pictures of any size up to 1280 x 1280 where theirs is open. */
async function builds(t: Test, model: ModelProto, what: string): Promise<void> {
  if (skipWithoutRtx !== false) return
  const { inputs, outputs } = inspectModel(model)
  const shapes: Shapes = Object.fromEntries(
    inputs.map(({ name, shape = [] }) => {
      const at = (batch: number, width: number, height: number) =>
        shape.map((dim, i) => (typeof dim === 'number' && dim > 0 ? dim : i === 0 ? batch : i === 1 ? height : width))
      return [name, { min: at(1, 64, 64), opt: at(1, 640, 480), max: at(2, 1280, 1280) }]
    }),
  )
  const isOpen = inputs.some(({ shape }) => shape?.some((dim) => typeof dim !== 'number' || dim < 0))
  const { bytes, info } = await new Builder().build(writeModel(model), isOpen ? { shapes } : {})
  t.comment(`${what}: ${bytes.length} bytes`)
  const known = (list: readonly { name: string; dtype: string }[]) => list.map(({ name, dtype }) => ({ name, dtype }))
  t.equal(info.inputs[0]?.dtype, 'uint8', what)
  t.same(
    [known(info.inputs), known(info.outputs)],
    [known(inputs), known(outputs)],
    `${what}: TensorRT has what the model has`,
  )
}

for (const { name, model: read, size, steps, post, open } of models) {
  await t.test(name, async (t) => {
    const model = await read()
    const before = writeModel(model)
    const { order, layout, filter, range, mean, std, round } = steps
    const wanted = await answersOf(
      model,
      toTensorSync(picture, frameOf(steps, picture, size), { order, layout, filter, range, mean, std, round }),
    )
    const { width, height } = picture
    const pictures: readonly PreprocessingOptions['picture'][] = ['dynamic', { width, height }]
    for (const known of pictures) {
      const prepared = withPreprocessing(model, { steps, picture: known, size })
      const found = await answersOf(prepared, valueOf(picture))
      t.same(Object.keys(found), Object.keys(wanted))
      for (const [output, { data }] of Object.entries(wanted)) {
        const values = data as ArrayLike<number>
        const scale = Array.from(values).reduce((most, value) => Math.max(most, Math.abs(value)), 0)
        near(
          t,
          found[output]?.data as ArrayLike<number>,
          values,
          2e-3 * scale,
          `${output}, ${known === 'dynamic' ? 'any size' : 'this size'}`,
        )
      }
      if (known === 'dynamic' && open) await builds(t, prepared, 'pictures of any size')
    }
    t.ok(Buffer.compare(writeModel(model), before) === 0, 'the model is as it was')
    const whole = withPostprocessing(withPreprocessing(model, { steps, picture: { width, height }, size }), post)
    const found = await answersOf(whole, valueOf(picture))
    await builds(t, whole, 'with what comes after it')
    const outputs = Object.values(wanted).map(
      ({ data, shape }) => new Tensor('float32', Float32Array.from(data as ArrayLike<number>), shape),
    )
    if (post.kind === 'threshold') {
      const [map] = outputs
      const mask = await toMask(map!, frameOf({}, size, size), { threshold: 0.3 })
      const bytes = Object.values(found)[0]?.data as Uint8Array
      t.ok(mask.data.filter((yes, i) => yes !== bytes[i]).length <= 2, 'the mask')
      t.ok(mask.data.includes(1) || !bytes.includes(1))
    } else if (post.kind === 'argmax') {
      const { data } = await toMask(outputs[0]!, frameOf({}, { width: 13, height: 13 }, size))
      t.same([...(Object.values(found)[0]?.data as Uint8Array)], [...data], 'the greatest channel of each cell')
    } else if (post.kind === 'softmax') {
      near(t, Object.values(found)[0]?.data as Float32Array, softmax(outputs[0]!).data, 1e-5, 'probabilities')
    } else if (post.kind === 'topK') {
      t.same(
        Array.from(found['classes']?.data as Int32Array),
        topK(outputs[0]!, 2)[0]?.map(({ classIndex }) => classIndex),
      )
    } else {
      const [decoded] = decodeCenterFace(outputs, { size, scoreThreshold: 0.2 })
      const kept = suppress(decoded!, { iouThreshold: 0.3, inclusive: true })
      t.same([found['count']?.data[0], found['converged']?.data[0]], [kept.length, 1])
      t.ok(kept.length >= 3, `${kept.length} faces`)
      const boxes = Array.from(kept).flatMap((row) => [...decoded!.boxes.subarray(row * 4, row * 4 + 4)])
      near(t, (found['boxes']?.data as Float32Array).subarray(0, boxes.length), boxes, 0.05, 'their boxes')
    }
  })
}
