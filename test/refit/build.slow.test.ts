// From the builder's options to a refitted plan, on the fakes.
import t from 'tap'
import { Builder, type BuilderOptions, Engine, type Plan, Refitter, Tensor } from '../../lib/index.js'
import { convertPrecision, writeModel } from '../../lib/onnx/index.js'
import { parseModel } from '../../lib/onnx/model.js'
import { failureOf } from '../support/errors.js'
import { computed, families, input, leftovers, onnxOf, weightsOf } from './models.js'

const [old, fresh] = [weightsOf(1), weightsOf(2)]
const shapes = { x: { min: [1, 3], opt: [2, 3], max: [8, 3] } }

for (const { name, path: tensorrt } of families) {
  await t.test(name, async (t) => {
    const run = async (plan: Uint8Array, weights?: Uint8Array): Promise<number[]> => {
      await using engine = await Engine.load(plan, { tensorrt: { library: tensorrt, weights } })
      return Array.from((await engine.infer(input)).data as Float32Array)
    }

    await t.test('stripWeights: the plan has none of them', async (t) => {
      const whole = await new Builder({ tensorrt: { library: tensorrt } }).build(onnxOf(old), { shapes })
      const stripped = await new Builder({ tensorrt: { library: tensorrt }, stripWeights: true }).build(onnxOf(old), {
        shapes,
      })
      t.ok(stripped.bytes.length < whole.bytes.length)
      t.same(await run(whole.bytes), computed(old))
      t.same(await run(stripped.bytes, onnxOf(old)), computed(old))
      t.match(await failureOf(() => run(stripped.bytes)), { code: 'ERR_TRT_WEIGHTS' })
    })

    await t.test('refit: the plan has them, and takes others', async (t) => {
      for (const options of [{ refit: true }, { refit: true, stripWeights: true }] as const) {
        const plan = await new Builder({ tensorrt: { library: tensorrt }, ...options }).build(onnxOf(old), { shapes })
        await using refitter = new Refitter(plan, { tensorrt: { library: tensorrt } })
        await refitter.setFromOnnx(onnxOf(fresh))
        const refitted = await refitter.refit()
        t.same(await run(refitted.bytes), computed(fresh))
        t.same(refitted.info.inputs, plan.info.inputs, 'what is known of the plan stays known')
        t.same(refitted.info.layers, plan.info.layers)
        t.match(plan.info.settings, { refit: true })
        t.match(refitted.info.settings, { refit: false, stripWeights: false }, 'what it is not any more')
        const again = await refitter.refit({ refittable: true })
        t.match(again.info.settings, { refit: true, stripWeights: false })
        await using second = new Refitter(again, { tensorrt: { library: tensorrt } })
        t.ok((await second.weights()).length > 0)
      }
    })

    await t.test('without them there is nothing to refit', async (t) => {
      const plan = await new Builder({ tensorrt: { library: tensorrt } }).build(onnxOf(old), { shapes })
      await using refitter = new Refitter(plan, { tensorrt: { library: tensorrt } })
      t.match(await failureOf(() => refitter.refit()), {
        code: 'ERR_TRT_WEIGHTS',
        message: /option refit or stripWeights/,
      })
    })
  })
}

t.test('half precision by types: weights of the model as it is are converted as the plan was', async (t) => {
  const [, { path: tensorrt }] = families
  const run = async (plan: Plan, weights?: Uint8Array): Promise<number[]> => {
    await using engine = await Engine.load(plan, { tensorrt: { library: tensorrt, weights } })
    return Array.from((await engine.infer(input)).data as Float32Array)
  }
  const builder: BuilderOptions = {
    tensorrt: { library: tensorrt },
    precision: 'fp16',
    refit: true,
    stripWeights: true,
  }
  const plan = await new Builder(builder).build(onnxOf(old), { shapes })
  t.match(plan.info.conversion, { precision: 'fp16', kept: [] })
  t.same(await run(plan, onnxOf(old)), computed(old), 'halves are exact in float16')
  t.same(await run(plan, onnxOf(fresh)), computed(fresh))
  await using refitter = new Refitter(plan, { tensorrt: { library: tensorrt } })
  await refitter.setFromOnnx(onnxOf(fresh))
  t.same(await run(await refitter.refit()), computed(fresh))
  await using engine = await Engine.load(onnxOf(old), {
    tensorrt: { library: tensorrt, builder: { precision: 'fp16', stripWeights: true } },
    shapes,
  })
  t.same(Array.from((await engine.infer(input)).data as Float32Array), computed(old), 'built and opened in one')
  const half = writeModel(convertPrecision(parseModel(onnxOf(fresh)), 'fp16').model)
  t.same(await run(plan, half), computed(fresh), 'a model that somebody converted')
  const huge = { ...old, bias: new Tensor('float32', Float32Array.of(1, 1e6), [2]) }
  t.match(await failureOf(() => run(plan, onnxOf(huge))), {
    code: 'ERR_TRT_WEIGHTS',
    message:
      /converted to fp16, and other weights convert otherwise: .* stays in float32 with these: "bias" has 1000000/,
  })
})

t.test('nothing is left, and nothing was done wrong', (t) => {
  t.same(leftovers(), {})
  t.end()
})
