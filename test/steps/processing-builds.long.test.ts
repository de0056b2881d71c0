// Each kind of step, before and after a model of nothing, builds on the real TensorRT-RTX.
import t from 'tap'
import { Builder, type Shapes } from '../../lib/index.js'
import {
  type ModelProto,
  inspectModel,
  type PreprocessingOptions,
  withPostprocessing,
  withPreprocessing,
  writeModel,
} from '../../lib/onnx/index.js'
import { skipWithoutRtx } from '../support/tensorrt.js'
import { detectionCases, echo, echoOf } from './detection-cases.js'
import { identityModel, preprocessingCases } from './helpers.js'

const skip = skipWithoutRtx

async function built(
  model: ModelProto,
): Promise<{ bytes: number; inputs: readonly string[]; outputs: readonly string[] }> {
  const { inputs } = inspectModel(model)
  const shapes: Shapes = Object.fromEntries(
    inputs.map(({ name, shape = [] }) => {
      const of = (batch: number, side: number) =>
        shape.map((dim, i) => (typeof dim === 'number' ? dim : i === 0 ? batch : side))
      return [name, { min: of(1, 48), opt: of(2, 96), max: of(4, 240) }]
    }),
  )
  const { bytes, info } = await new Builder().build(writeModel(model), { shapes })
  return {
    bytes: bytes.length,
    inputs: info.inputs.map(({ dtype }) => dtype),
    outputs: info.outputs.map(({ dtype }) => dtype),
  }
}

await t.test('pictures', { skip }, async (t) => {
  for (const [name, steps] of Object.entries(preprocessingCases)) {
    const channels = steps.order === 'GRAY' ? 1 : 3
    const height = steps.resize === 'padToSquare' ? 32 : 28
    const shape = steps.layout === 'NHWC' ? ['N', height, 32, channels] : ['N', channels, height, 32]
    for (const picture of ['dynamic', { width: 61, height: 40 }] as const) {
      const model = withPreprocessing(identityModel(shape, 'float32', picture === 'dynamic' ? 18 : 9), {
        steps,
        picture,
      })
      const { inputs } = await built(model)
      t.same(inputs, ['uint8'], `${name}, ${picture === 'dynamic' ? 'of any size' : 'of one size'}`)
    }
  }
  const others: readonly Omit<PreprocessingOptions, 'steps'>[] = [
    { format: 'nv12', picture: { width: 64, height: 48 } },
    { layout: 'NCHW', picture: 'dynamic' },
  ]
  for (const options of others) {
    const model = withPreprocessing(identityModel([1, 3, 32, 32]), { steps: { resize: 'letterbox' }, ...options })
    t.same((await built(model)).inputs, ['uint8'], JSON.stringify(options))
  }
})

await t.test('answers', { skip }, async (t) => {
  for (const [name, { answers, steps, whole }] of Object.entries(detectionCases)) {
    const model = withPostprocessing(echoOf(answers, 17, whole), { kind: 'detections', ...steps })
    const { outputs, bytes } = await built(model)
    t.ok(outputs.includes('int32'), `${name}: ${bytes} bytes, ${outputs.join(', ')}`)
  }
  const maps = echo({ y: ['N', 3, 24, 24] })
  t.same((await built(withPostprocessing(maps, { kind: 'argmax', size: 96 }))).outputs, ['uint8'])
  t.same((await built(withPostprocessing(maps, { kind: 'threshold', crop: [2, 3, 6, 8], value: 255 }))).outputs, [
    'uint8',
  ])
  const scores = echo({ y: ['N', 50] })
  t.same((await built(withPostprocessing(scores, { kind: 'softmax' }))).outputs, ['float32'])
  t.same((await built(withPostprocessing(scores, { kind: 'topK', k: 5, activation: 'softmax' }))).outputs, [
    'float32',
    'int32',
  ])
})
