// Refitter on the fakes: new weights in a plan, and everything that it refuses.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { Engine, type Plan, Refitter, Tensor } from '../../lib/index.js'
import { failureOf } from '../support/errors.js'
import { temporaryFolder } from '../support/folders.js'
import {
  computed,
  driver,
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
t.notSame(computed(old), computed(fresh), 'the two sets of weights give different answers')

for (const family of families) {
  const { path: tensorrt, version } = family
  const open = (plan: Uint8Array | Plan): Refitter => new Refitter(plan, { tensorrt: { library: tensorrt } })
  const answersOf = async (plan: Uint8Array | Plan): Promise<number[]> => {
    await using engine = await Engine.load(plan instanceof Uint8Array ? plan : plan.bytes, {
      tensorrt: { library: tensorrt },
    })
    return Array.from((await engine.infer(input)).data as Float32Array)
  }

  await t.test(family.name, async (t) => {
    await t.test('what can be replaced, and what is missing', async (t) => {
      const facts = (missing: boolean) => [
        { name: 'bias', dtype: 'float32', count: 2, missing },
        { name: 'kernel', dtype: 'float32', count: 6, missing },
        { name: 'scale', dtype: 'float32', count: 2, missing },
      ]
      await using whole = open(planOf(family, old))
      t.same(await whole.weights(), facts(false))
      await using stripped = open(planOf(family, old, { stripped: true }))
      t.same(await stripped.weights(), facts(true))
      await stripped.set('bias', fresh.bias)
      const missing = (await stripped.weights()).filter((weights) => weights.missing).map(({ name }) => name)
      t.same(missing, ['kernel', 'scale'])
    })

    for (const refit of refitModes) {
      await t.test(`a plan without weights takes them, whatever made it refittable: ${refit}`, async (t) => {
        const plan = planOf(family, old, { stripped: true, refit })
        await using all = open(plan)
        await all.setFromOnnx(onnxOf(fresh))
        t.same(await answersOf(await all.refit()), computed(fresh))
        await using some = open(plan)
        const left = ['kernel', 'bias', 'scale'] as const
        for (const [i, name] of left.entries()) {
          t.match(await failureOf(() => some.refit()), {
            code: 'ERR_TRT_WEIGHTS',
            details: { missing: left.slice(i).sort().join('\n') },
          })
          await some.set(name, old[name])
        }
        t.same(await answersOf(await some.refit()), computed(old))
        await some.set('scale', fresh.scale)
        t.same(
          await answersOf(await some.refit()),
          computed({ ...old, scale: fresh.scale }),
          'once they are there, one alone may be replaced',
        )
      })
    }

    await t.test('a model that TensorRT would read beyond is refused before it sees it', async (t) => {
      const calls = (): number => family.parser.stats().calls['IParserRefitter.refitFromBytes'] ?? 0
      const before = calls()
      await using refitter = open(planOf(family, old, { stripped: true }))
      const short = await shortened(fresh)
      const refused = {
        code: 'ERR_TRT_ONNX_PARSE',
        message: /the tensor 'kernel' of shape \[3, 2\] is stored with 8 bytes instead of 24/,
      }
      t.match(await failureOf(() => refitter.setFromOnnx(short)), refused)
      const folder = temporaryFolder(t)
      const file = join(folder, 'model.onnx')
      await writeFile(file, short)
      t.match(await failureOf(() => refitter.setFromOnnx(file)), refused, 'in a file, too')
      await writeFile(file, 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n')
      t.match(await failureOf(() => refitter.setFromOnnx(file)), { code: 'ERR_TRT_FILE', message: /Git LFS/ })
      t.equal(calls(), before)
      await writeFile(file, onnxOf(fresh))
      await refitter.setFromOnnx(file)
      t.equal(calls(), before + 1)
      t.same(await answersOf(await refitter.refit()), computed(fresh))
    })

    await t.test('tensors: the new plan computes with them, the old one is as it was', async (t) => {
      const plan = planOf(family, old)
      const before = Buffer.from(plan)
      await using refitter = open(plan)
      for (const name of names) await refitter.set(name, fresh[name])
      const refitted = await refitter.refit()
      t.same(await answersOf(refitted), computed(fresh))
      t.same(await answersOf(plan), computed(old))
      t.ok(before.equals(plan))
      t.match(refitted.info, { library: `TensorRT ${version.join('.')}`, kind: 'full', version: version.join('.') })
    })

    await t.test('one of them alone: the others stay', async (t) => {
      await using refitter = open(planOf(family, old))
      await refitter.set('scale', fresh.scale)
      t.same(await answersOf(await refitter.refit()), computed({ ...old, scale: fresh.scale }))
    })

    await t.test(
      'from ONNX, as bytes, path and URL, into a plan without weights: as onnxruntime computes',
      async (t) => {
        const folder = temporaryFolder(t)
        const file = join(folder, 'fresh.onnx')
        await writeFile(file, onnxOf(fresh))
        await using cpu = await Engine.load(onnxOf(fresh), { backend: 'cpu' })
        const wanted = Array.from((await cpu.infer(input)).data as Float32Array)
        t.same(wanted, computed(fresh), 'the formula says what onnxruntime says')
        const planFile = join(folder, 'stripped.plan')
        await writeFile(planFile, planOf(family, old, { stripped: true }))
        for (const source of [onnxOf(fresh), file, pathToFileURL(file)]) {
          await using refitter = new Refitter(planFile, { tensorrt: { library: tensorrt } })
          await refitter.setFromOnnx(source)
          t.same(await answersOf(await refitter.refit()), wanted)
        }
      },
    )

    await t.test('again and again: what was set stays set, the last one counts', async (t) => {
      await using refitter = open(planOf(family, old, { stripped: true }))
      await refitter.setFromOnnx(onnxOf(old))
      await refitter.setFromOnnx(onnxOf(fresh))
      t.same(await answersOf(await refitter.refit()), computed(fresh))
      await refitter.set('kernel', weightsOf(3).kernel)
      const mixed = { ...fresh, kernel: weightsOf(3).kernel }
      t.same(await answersOf(await refitter.refit()), computed(mixed))
      t.same(await answersOf(await refitter.refit()), computed(mixed))
      await refitter.set('kernel', fresh.kernel)
      await refitter.setFromOnnx(onnxOf(old))
      t.same(await answersOf(await refitter.refit()), computed(old), 'a model replaces tensors, too')
    })

    await t.test('a refitted plan can be refitted again where that was asked for', async (t) => {
      await using refitter = open(planOf(family, old, { stripped: true }))
      await refitter.setFromOnnx(onnxOf(fresh))
      await using final = open(await refitter.refit())
      t.match(await failureOf(() => final.weights()), {
        code: 'ERR_TRT_WEIGHTS',
        message: /option refit or stripWeights/,
      })
      await using second = open(await refitter.refit({ refittable: true }))
      await second.set('scale', old.scale)
      t.same(await answersOf(await second.refit()), computed({ ...fresh, scale: old.scale }))
    })

    await t.test('data is copied at the call', async (t) => {
      await using refitter = open(planOf(family, old))
      const tensor = fresh.scale.clone()
      const set = refitter.set('scale', tensor)
      tensor.data.fill(99)
      await set
      const model = onnxOf(fresh)
      const taken = refitter.setFromOnnx(model)
      model.fill(0)
      await taken
      t.same(await answersOf(await refitter.refit()), computed(fresh))
    })

    await t.test('missing weights are named, before TensorRT is asked', async (t) => {
      await using stripped = open(planOf(family, old, { stripped: true }))
      await stripped.set('bias', fresh.bias)
      const calls = (): number => family.control.stats().calls['VRefitter.refitCudaEngine'] ?? 0
      const before = calls()
      t.match(await failureOf(() => stripped.refit()), {
        code: 'ERR_TRT_WEIGHTS',
        message: "Weights that the engine needs were not set: 'kernel', 'scale'",
        details: { missing: 'kernel\nscale' },
      })
      t.equal(calls(), before)
      await using fused = open(planOf(family, old))
      await fused.set('kernel', fresh.kernel)
      t.match(
        await failureOf(() => fused.refit()),
        { code: 'ERR_TRT_WEIGHTS', message: /not set: 'bias'$/ },
        'fused with one that was set',
      )
      await fused.set('bias', old.bias)
      t.same(await answersOf(await fused.refit()), computed({ ...old, kernel: fresh.kernel }))
    })

    await t.test('a long list of missing weights is cut', async (t) => {
      const { version } = family
      const many = Array.from({ length: 30 }, (_, i) => `w${String(i).padStart(2, '0')}`)
      const { fakePlan } = await import('../fake/plan.js')
      await using refitter = open(
        fakePlan({
          version,
          refit: true,
          inputs: [{ name: 'x', shape: [2] }],
          outputs: [{ name: 'y', shape: [2] }],
          constants: Object.fromEntries(many.map((name) => [name, { dtype: 'float32', shape: [2] }])),
          ops: many.map((name, i) => ({
            type: 'mul',
            inputs: [i === 0 ? 'x' : `t${i}`, name],
            output: i === 29 ? 'y' : `t${i + 1}`,
          })),
        }),
      )
      const failure = await failureOf(() => refitter.refit())
      t.match(failure.message, /'w00', .*'w09' and 20 more$/)
      t.equal(String(failure.details['missing']).split('\n').length, 30, 'all of them for programs')
    })

    await t.test('wrong tensors', async (t) => {
      await using refitter = open(planOf(family, old))
      const detached = fresh.scale.clone()
      structuredClone(detached.data.buffer, { transfer: [detached.data.buffer as ArrayBuffer] })
      const wrong: [string, unknown, unknown, object][] = [
        [
          'unknown name',
          'kernle',
          fresh.kernel,
          { code: 'ERR_TRT_WEIGHTS', message: /no weights 'kernle'; it has 'bias', 'kernel', 'scale'/ },
        ],
        [
          'another type',
          'bias',
          Tensor.zeros('float16', [2]),
          { code: 'ERR_TRT_DTYPE', message: /Expected float32 for the weights 'bias' but received float16/ },
        ],
        [
          'too few',
          'bias',
          Tensor.zeros('float32', [1]),
          { code: 'ERR_TRT_SHAPE', message: /Expected 2 elements for the weights 'bias' but received 1/ },
        ],
        ['too many', 'bias', Tensor.zeros('float32', [3]), { code: 'ERR_TRT_SHAPE' }],
        ['none', 'bias', Tensor.zeros('float32', [0]), { code: 'ERR_TRT_SHAPE' }],
        [
          'detached',
          'scale',
          detached,
          { code: 'ERR_TRT_DETACHED', message: /Expected 8 bytes behind the weights "scale" but found 0/ },
        ],
        [
          'no tensor',
          'scale',
          Float32Array.of(1, 2),
          { code: 'ERR_TRT_INVALID_ARGUMENT', message: /Expected a Tensor for the weights "scale"/ },
        ],
        ['no name', '', fresh.scale, { code: 'ERR_TRT_INVALID_ARGUMENT', message: /Expected a name/ }],
        ['a name that is none', 7, fresh.scale, { code: 'ERR_TRT_INVALID_ARGUMENT' }],
      ]
      for (const [what, name, tensor, expected] of wrong)
        t.match(await failureOf(() => refitter.set(name as string, tensor as Tensor)), expected, what)
      t.same(await answersOf(await refitter.refit()), computed(old), 'and nothing was changed by them')
      await refitter.set('kernel', fresh.kernel.reshape([6]))
      await refitter.set('bias', fresh.bias)
      await refitter.set('scale', fresh.scale)
      t.same(await answersOf(await refitter.refit()), computed(fresh), 'the shape of a tensor does not matter')
    })

    await t.test('wrong models', async (t) => {
      await using refitter = open(planOf(family, old, { stripped: true }))
      const whole = onnxOf(fresh)
      t.match(await failureOf(() => refitter.setFromOnnx(whole.subarray(0, whole.length >> 1))), {
        code: 'ERR_TRT_ONNX_PARSE',
        message: /damaged or truncated/,
      })
      t.match(await failureOf(() => refitter.setFromOnnx(new Uint8Array(0))), {
        code: 'ERR_TRT_ONNX_PARSE',
        message: /empty \(0 bytes\)/,
      })
      t.match(await failureOf(() => refitter.setFromOnnx('/no/such/model.onnx')), {
        code: 'ERR_TRT_FILE',
        message: /no\/such\/model\.onnx: No such file/,
      })
      t.match(await failureOf(() => refitter.setFromOnnx({} as never)), {
        code: 'ERR_TRT_INVALID_ARGUMENT',
        message: /for model/,
      })
      const { scale, bias } = fresh
      t.match(await failureOf(() => refitter.setFromOnnx(onnxOf({ scale, bias }))), {
        code: 'ERR_TRT_WEIGHTS',
        message: /cannot take the weights from the ONNX model: .*missing: 'kernel'$/,
        details: { missing: 'kernel' },
      })
      const large = { ...fresh, kernel: Tensor.zeros('float32', [3, 3]) as never }
      t.match(await failureOf(() => refitter.setFromOnnx(onnxOf(large))), {
        code: 'ERR_TRT_WEIGHTS',
        message: /Failed to set weights kernel/,
        log: /count/,
      })
      await refitter.setFromOnnx(whole)
      t.same(await answersOf(await refitter.refit()), computed(fresh), 'a good one after them')
    })

    await t.test('wrong plans and options', async (t) => {
      const fixed = open(planOf(family, old, { refit: false }))
      const expected = {
        code: 'ERR_TRT_WEIGHTS',
        message: /cannot be replaced: build it with the option refit or stripWeights/,
      }
      t.match(await failureOf(() => fixed.weights()), expected)
      t.match(await failureOf(() => fixed.set('bias', old.bias)), expected)
      t.match(await failureOf(() => fixed.refit()), expected)
      await fixed.close()
      await using onnx = open(onnxOf(old))
      t.match(await failureOf(() => onnx.weights()), {
        code: 'ERR_TRT_MODEL_FORMAT',
        message: /Expected a TensorRT plan/,
      })
      await using missing = new Refitter('/no/such.plan', { tensorrt: { library: tensorrt } })
      t.match(await failureOf(() => missing.weights()), { code: 'ERR_TRT_FILE' })
      await using damaged = open(planOf(family, old).subarray(0, 99))
      t.match(await failureOf(() => damaged.weights()), { code: 'ERR_TRT_PLAN', message: /truncated/ })
      await using elsewhere = new Refitter(planOf(family, old), { tensorrt: { library: tensorrt, device: 9 } })
      t.match(await failureOf(() => elsewhere.weights()), { code: 'ERR_TRT_NO_GPU' })
      t.throws(() => new Refitter(7 as never), { code: 'ERR_TRT_INVALID_ARGUMENT', message: /for plan/ })
      t.throws(() => new Refitter(planOf(family, old), { tensorrt: { divice: 1 } } as never), {
        code: 'ERR_TRT_INVALID_ARGUMENT',
        message: /did you mean device/,
      })
      t.throws(() => new Refitter(planOf(family, old), { tensorrt: { device: -1 } }), {
        code: 'ERR_TRT_INVALID_ARGUMENT',
      })
      t.throws(() => new Refitter(planOf(family, old), { tensorrt: { library: '' } }), {
        code: 'ERR_TRT_INVALID_ARGUMENT',
      })
      await using refitter = open(planOf(family, old))
      t.match(await failureOf(() => refitter.refit({ refittable: 1 as never })), { code: 'ERR_TRT_INVALID_ARGUMENT' })
      t.match(await failureOf(() => refitter.refit({ signal: {} as never })), { code: 'ERR_TRT_INVALID_ARGUMENT' })
    })

    await t.test('closed: calls under way end, later ones are refused; twice without harm', async (t) => {
      const refitter = open(planOf(family, old, { stripped: true }))
      const calls = [refitter.setFromOnnx(onnxOf(fresh)), refitter.weights()] as const
      const plan = refitter.refit()
      await Promise.all([refitter.close(), refitter.close()])
      await Promise.all(calls)
      t.same(await answersOf(await plan), computed(fresh))
      await refitter.close()
      for (const call of [
        () => refitter.weights(),
        () => refitter.set('bias', old.bias),
        () => refitter.setFromOnnx(onnxOf(old)),
        () => refitter.refit(),
      ])
        t.match(await failureOf(call), { code: 'ERR_TRT_CLOSED', message: 'The refitter is closed' })
      await open(planOf(family, old)).close()
      await open(new Uint8Array(9)).close()
    })

    await t.test('aborted', async (t) => {
      await using refitter = open(planOf(family, old))
      const signal = AbortSignal.abort(new Error('before'))
      await t.rejects(refitter.weights({ signal }), { message: 'before' })
      await t.rejects(refitter.set('scale', fresh.scale, { signal }), { message: 'before' })
      await t.rejects(refitter.setFromOnnx(onnxOf(fresh), { signal }), { message: 'before' })
      await t.rejects(refitter.refit({ signal }), { message: 'before' })
      const abort = new AbortController()
      // the first is under way, the others wait: they never begin
      const first = refitter.weights({ signal: abort.signal })
      const set = refitter.set('scale', fresh.scale, { signal: abort.signal })
      const model = refitter.setFromOnnx(onnxOf(fresh), { signal: abort.signal })
      const plan = refitter.refit({ signal: abort.signal })
      const after = refitter.refit()
      abort.abort(new Error('enough'))
      for (const call of [first, set, model, plan] as Promise<unknown>[])
        await t.rejects(call as Promise<void>, { message: 'enough' })
      t.same(await answersOf(await after), computed(old), 'what was aborted has set nothing')
    })

    await t.test('faults: each call of TensorRT that fails is an error, and the next one works', async (t) => {
      const { control: runtime, parser } = family
      const whole = async (): Promise<number[]> => {
        await using refitter = open(planOf(family, old, { stripped: true }))
        await refitter.set('bias', fresh.bias)
        await refitter.setFromOnnx(onnxOf(fresh))
        return await answersOf(await refitter.refit())
      }
      const faults: [typeof runtime, string, string, RegExp][] = [
        [runtime, 'createInferRuntime_INTERNAL', 'ERR_TRT_EXECUTION', /told to fail/],
        [runtime, 'deserializeCudaEngine', 'ERR_TRT_PLAN', /told to fail/],
        [runtime, 'createInferRefitter_INTERNAL', 'ERR_TRT_WEIGHTS', /could not create a refitter/],
        [runtime, 'getWeightsPrototype', 'ERR_TRT_WEIGHTS', /no weights 'bias'/],
        [runtime, 'setNamedWeights', 'ERR_TRT_WEIGHTS', /setNamedWeights failed: .*told to fail/],
        [runtime, 'getMissingWeights', 'ERR_TRT_WEIGHTS', /could not list the weights/],
        [runtime, 'refitCudaEngine', 'ERR_TRT_WEIGHTS', /refitCudaEngine failed: .*told to fail/],
        [runtime, 'createSerializationConfig', 'ERR_TRT_WEIGHTS', /serialization configuration/],
        [runtime, 'VSerializationConfig.clearFlag', 'ERR_TRT_WEIGHTS', /flags of the serialization/],
        [runtime, 'serializeWithConfig', 'ERR_TRT_WEIGHTS', /serializeWithConfig failed: .*told to fail/],
        [parser, 'createNvOnnxParserRefitter_INTERNAL', 'ERR_TRT_WEIGHTS', /refitter of its parser/],
        [parser, 'refitFromBytes', 'ERR_TRT_WEIGHTS', /told to fail/],
      ]
      for (const [library, method, code, message] of faults) {
        library.failNth(method, 1)
        t.match(await failureOf(whole), { code, message }, method)
        t.same(await whole(), computed(fresh), `after ${method}`)
      }
      driver.failNth('cuCtxSetCurrent', 1, 201)
      t.match(await failureOf(whole), { code: 'ERR_TRT_CUDA' })
      driver.failNth('cuMemAlloc_v2', 1, 2)
      t.match(await failureOf(whole), {
        code: 'ERR_TRT_OUT_OF_MEMORY',
        message: /OutOfMemory/,
        details: { bytes: 1024 },
      })
      t.same(await whole(), computed(fresh))
    })

    await t.test('what TensorRT does not take leaves what was set before', async (t) => {
      const { control: runtime, parser } = family
      await using refitter = open(planOf(family, old))
      await refitter.set('scale', fresh.scale)
      runtime.failNth('setNamedWeights', 1)
      t.match(await failureOf(() => refitter.set('scale', weightsOf(5).scale)), { code: 'ERR_TRT_WEIGHTS' })
      t.same(await answersOf(await refitter.refit()), computed({ ...old, scale: fresh.scale }))
      await refitter.setFromOnnx(onnxOf(fresh))
      parser.failNth('refitFromBytes', 1)
      t.match(await failureOf(() => refitter.setFromOnnx(onnxOf(old))), { code: 'ERR_TRT_WEIGHTS' })
      t.same(await answersOf(await refitter.refit()), computed(fresh))
      // its first weights are set, and the next one is refused
      runtime.failNth('setNamedWeights', 2)
      t.match(await failureOf(() => refitter.setFromOnnx(onnxOf(old))), {
        code: 'ERR_TRT_WEIGHTS',
        message: /Failed to set weights bias/,
      })
      t.same(await answersOf(await refitter.refit()), computed({ ...fresh, kernel: old.kernel }))
    })

    await t.test('many at once, each with its own plan', async (t) => {
      const answers = await Promise.all(
        Array.from({ length: 24 }, async (_, i) => {
          await using refitter = open(planOf(family, old, { stripped: i % 2 === 0 }))
          await refitter.setFromOnnx(onnxOf(weightsOf(i)))
          return await answersOf(await refitter.refit())
        }),
      )
      answers.forEach((each, i) => t.same(each, computed(weightsOf(i))))
    })
  })
}

t.test('nothing is left, and nothing was done wrong', (t) => {
  t.same(leftovers(), {})
  t.end()
})
