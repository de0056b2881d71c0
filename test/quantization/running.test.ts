// Models that are too large for one file of protobuf, with a limit that a small one exceeds.
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import t from 'tap'
import { Engine, Tensor } from '../../lib/index.js'
import { GraphBuilder, type ModelProto, writeModel } from '../../lib/onnx/index.js'
import { withSource } from '../../lib/quantization/running.js'
import { Random } from '../support/random.js'

function product(): ModelProto {
  const random = new Random(5)
  const g = new GraphBuilder({ name: 'product' })
  const data = Float32Array.from({ length: 64 * 64 }, () => random.around())
  const y = g.node('MatMul', [g.input('x', 'float32', [1, 64]), g.constant('w', new Tensor('float32', data, [64, 64]))])
  g.output(y, 'float32', [1, 64])
  return g.toModel()
}

const x = new Tensor(
  'float32',
  Float32Array.from({ length: 64 }, (_, i) => i / 64),
  [1, 64],
)

t.test('what fits is opened as bytes', async (t) => {
  const model = product()
  await withSource(model, undefined, async (source) => t.same(source, writeModel(model)))
})

t.test('what does not, from files that are gone then, and the engine goes on', async (t) => {
  const model = product()
  let path: unknown
  await using engine = await withSource(
    model,
    undefined,
    (source) => {
      path = source
      return Engine.load(source, { backend: 'cpu' })
    },
    1000,
  )
  t.type(path, 'string')
  t.notOk(existsSync(dirname(path as string)))
  await using whole = await Engine.load(writeModel(model), { backend: 'cpu' })
  t.same((await engine.infer(x)).data, (await whole.infer(x)).data)
})

t.test('nothing is left of what fails, or was given up', async (t) => {
  let path = ''
  const failing = withSource(
    product(),
    undefined,
    async (source) => {
      path = source as string
      t.ok(existsSync(path))
      throw new Error('mine')
    },
    1000,
  )
  await t.rejects(failing, { message: 'mine' })
  t.notOk(existsSync(dirname(path)))
  const reason = new Error('enough')
  await t.rejects(
    withSource(product(), AbortSignal.abort(reason), async () => t.fail('opened'), 1000),
    reason,
  )
})
