// Refitting with the real TensorRT-RTX, as far as a machine without a GPU goes, which is not far: no plan can be
// deserialized without one, so that neither refitter can be made, and RTX may want one for building refittable plans
// too. The rest is test/gpu/refit.ts.
import t from 'tap'
import { Builder, capabilities, Engine, Plan, Refitter, Tensor } from '../../lib/index.js'
import { GraphBuilder, writeModel } from '../../lib/onnx/index.js'
import { failureOf } from '../support/errors.js'
import { skipWithoutRtx } from '../support/tensorrt.js'

const hasGpu = skipWithoutRtx === false && (await capabilities()).gpus.length > 0
const skip = skipWithoutRtx !== false ? skipWithoutRtx : hasGpu ? 'there is a GPU: npm run test:gpu -- refit' : false

function model(): Uint8Array {
  const graph = new GraphBuilder({ name: 'small' })
  const x = graph.input('x', 'float32', [1, 4])
  graph.output(graph.node('MatMul', [x, graph.constant('kernel', Tensor.zeros('float32', [4, 4]))]), 'float32', [1, 4])
  return writeModel(graph.toModel())
}

/** With what TensorRT logged. */
const refusedByTensorRT = { code: 'ERR_TRT_BUILD', message: /could not build an engine from the model: .*Error/ }

t.test('a plan of RTX is refused before TensorRT is asked for a refitter', { skip }, async (t) => {
  const plan = await new Builder().build(model())
  await using refitter = new Refitter(plan)
  const wanted = { code: /^ERR_TRT_NO_(DRIVER|GPU)$/ }
  t.match(await failureOf(() => refitter.weights()), wanted)
  t.match(await failureOf(() => refitter.refit()), wanted)
  t.match(await failureOf(() => Engine.load(plan.bytes, { tensorrt: { weights: model() } })), wanted)
})

t.test(
  'where RTX builds no refittable plan without a GPU, what it says of it reaches the user',
  { skip },
  async (t) => {
    for (const options of [{ refit: true }, { stripWeights: true }, { refit: 'identical' }] as const) {
      const outcome = await new Builder(options).build(model()).catch((error: unknown) => error)
      if (outcome instanceof Plan) t.match(outcome.info.settings, options, JSON.stringify(options))
      else t.match(outcome, refusedByTensorRT, JSON.stringify(options))
    }
  },
)
