// Engine.load(plan, { weights }): a plan without weights runs with those of its model.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { Builder, Engine, Refitter } from '../../lib/index.js'
import { failureOf } from '../support/errors.js'
import { olderFamily } from '../native/older.js'
import { temporaryFolder } from '../support/folders.js'
import {
  computed,
  fakes,
  families,
  input,
  leftovers,
  names,
  onnxOf,
  planOf,
  refitModes,
  shortened,
  weightsOf,
} from './models.js'

const [old, fresh] = [weightsOf(1), weightsOf(2)]
const folder = temporaryFolder(t)
const file = join(folder, 'fresh.onnx')
await writeFile(file, onnxOf(fresh))

for (const family of families) {
  const { path: tensorrt } = family
  const stripped = planOf(family, old, { stripped: true })

  await t.test(family.name, async (t) => {
    for (const [what, weights] of [
      ['bytes', onnxOf(fresh)],
      ['path', file],
      ['URL', pathToFileURL(file)],
    ] as const) {
      await t.test(`a stripped plan with the weights of a model: ${what}`, async (t) => {
        await using engine = await Engine.load(stripped, { tensorrt: { library: tensorrt, weights }, lanes: 3 })
        const answers = await Promise.all(Array.from({ length: 12 }, () => engine.infer(input)))
        for (const { data } of answers) t.same(Array.from(data as Float32Array), computed(fresh))
      })
    }

    for (const refit of refitModes) {
      await t.test(`refittable or not by TensorRT's word, weights are set where they can be: ${refit}`, async (t) => {
        const bare = planOf(family, old, { stripped: true, refit })
        t.match(await failureOf(() => Engine.load(bare, { tensorrt: { library: tensorrt } })), {
          code: 'ERR_TRT_WEIGHTS',
          message: /built without its weights/,
        })
        await using engine = await Engine.load(bare, { tensorrt: { library: tensorrt, weights: onnxOf(fresh) } })
        t.same(Array.from((await engine.infer(input)).data as Float32Array), computed(fresh))
        await using whole = await Engine.load(planOf(family, old, { refit }), { tensorrt: { library: tensorrt } })
        t.same(Array.from((await whole.infer(input)).data as Float32Array), computed(old), 'and one that has them runs')
      })
    }

    await t.test('a refittable plan has the weights replaced, or keeps its own', async (t) => {
      const plan = planOf(family, old)
      await using replaced = await Engine.load(plan, { tensorrt: { library: tensorrt, weights: onnxOf(fresh) } })
      await using kept = await Engine.load(plan, { tensorrt: { library: tensorrt } })
      t.same(Array.from((await replaced.infer(input)).data as Float32Array), computed(fresh))
      t.same(Array.from((await kept.infer(input)).data as Float32Array), computed(old))
    })

    await t.test('what is shared has them too', async (t) => {
      await using owner = await Engine.load(stripped, { tensorrt: { library: tensorrt, weights: file } })
      await using other = await Engine.attach(owner.share())
      t.same(Array.from((await other.infer(input)).data as Float32Array), computed(fresh))
    })

    await t.test('refused', async (t) => {
      t.match(await failureOf(() => Engine.load(stripped, { tensorrt: { library: tensorrt } })), {
        code: 'ERR_TRT_WEIGHTS',
        message:
          /built without its weights: give the ONNX model .* option tensorrt\.weights\. It lacks: 'bias', 'kernel', 'scale'/,
      })
      t.match(
        await failureOf(() =>
          Engine.load(planOf(family, old, { refit: false }), { tensorrt: { library: tensorrt, weights: file } }),
        ),
        {
          code: 'ERR_TRT_WEIGHTS',
          message: /build it with the option refit or stripWeights/,
        },
      )
      const { kernel, scale } = fresh
      t.match(
        await failureOf(() =>
          Engine.load(stripped, { tensorrt: { library: tensorrt, weights: onnxOf({ kernel, scale }) } }),
        ),
        {
          code: 'ERR_TRT_WEIGHTS',
          details: { missing: 'bias' },
          log: /error/,
        },
      )
      t.match(
        await failureOf(() =>
          Engine.load(stripped, { tensorrt: { library: tensorrt, weights: join(folder, 'none.onnx') } }),
        ),
        {
          code: 'ERR_TRT_FILE',
        },
      )
      t.match(
        await failureOf(() =>
          Engine.load(stripped, { tensorrt: { library: tensorrt, weights: onnxOf(fresh).subarray(0, 50) } }),
        ),
        {
          code: 'ERR_TRT_ONNX_PARSE',
        },
      )
      const short = await shortened(fresh)
      t.match(await failureOf(() => Engine.load(stripped, { tensorrt: { library: tensorrt, weights: short } })), {
        code: 'ERR_TRT_ONNX_PARSE',
        message: /is stored with 8 bytes instead of 24/,
      })
      t.match(await failureOf(() => Engine.load(onnxOf(old), { tensorrt: { library: tensorrt, weights: file } })), {
        code: 'ERR_TRT_INVALID_ARGUMENT',
        message: /is ONNX and has its own weights/,
      })
      {
        await using engine = await Engine.load(onnxOf(old), { backend: 'cpu', tensorrt: { weights: file } })
        t.match(engine.backendReason, /tensorrt\.weights/, 'the group of the other runtime')
      }
      t.match(await failureOf(() => Engine.load(stripped, { tensorrt: { library: tensorrt, weights: 7 as never } })), {
        code: 'ERR_TRT_INVALID_ARGUMENT',
        message: /for tensorrt\.weights/,
      })
    })

    await t.test('a refit that TensorRT fails is an error, and the next load works', async (t) => {
      for (const method of ['createInferRefitter_INTERNAL', 'refitCudaEngine', 'getMissingWeights']) {
        family.control.failNth(method, 1)
        t.match(
          await failureOf(() => Engine.load(stripped, { tensorrt: { library: tensorrt, weights: file } })),
          { code: 'ERR_TRT_WEIGHTS' },
          method,
        )
      }
      await using engine = await Engine.load(stripped, { tensorrt: { library: tensorrt, weights: file } })
      t.same(Array.from((await engine.infer(input)).data as Float32Array), computed(fresh))
    })

    await t.test('a load that is aborted leaves nothing', async (t) => {
      const abort = new AbortController()
      const loading = Engine.load(stripped, { tensorrt: { library: tensorrt, weights: file }, signal: abort.signal })
      abort.abort(new Error('enough'))
      await t.rejects(loading, { message: 'enough' })
    })
  })
}

t.test('a TensorRT that does not tell whether a plan is stripped: what was noted when it was built does', async (t) => {
  const older = olderFamily(fakes, [10, 3, 0])
  const { path: tensorrt, control } = older
  const shapes = { x: { min: [1, 3], opt: [2, 3], max: [8, 3] } }
  for (const options of [{}, { refit: true }, { refit: 'identical' }] as const) {
    const plan = await new Builder({ tensorrt: { library: tensorrt }, stripWeights: true, ...options }).build(
      onnxOf(old),
      { shapes },
    )
    const refused = {
      code: 'ERR_TRT_WEIGHTS',
      message: /built without its weights/,
      details: { missing: names.join('\n') },
    }
    t.match(await failureOf(() => Engine.load(plan, { tensorrt: { library: tensorrt } })), refused)
    const path = join(folder, 'old.plan')
    await plan.save(path)
    t.match(await failureOf(() => Engine.load(path, { tensorrt: { library: tensorrt } })), refused, 'in the sidecar')
    await using engine = await Engine.load(path, { tensorrt: { library: tensorrt, weights: file } })
    t.same(Array.from((await engine.infer(input)).data as Float32Array), computed(fresh))
    await using refitter = new Refitter(path, { tensorrt: { library: tensorrt } })
    t.match(await failureOf(() => refitter.refit()), {
      code: 'ERR_TRT_WEIGHTS',
      details: { missing: names.join('\n') },
    })
    await refitter.setFromOnnx(file)
    const refitted = await refitter.refit()
    await using whole = await Engine.load(refitted, { tensorrt: { library: tensorrt } })
    t.same(
      Array.from((await whole.infer(input)).data as Float32Array),
      computed(fresh),
      'and of a refitted plan that it has them',
    )
  }
  t.match(control.stats(), { live: { engines: 0, refitters: 0, contexts: 0 }, misuse: {}, traps: [] })
})

t.test('nothing is left, and nothing was done wrong', async (t) => {
  const end = Date.now() + 60_000
  while (Object.keys(leftovers()).length > 0 && Date.now() < end) await new Promise((resolve) => setTimeout(resolve, 5))
  t.same(leftovers(), {})
})
