// What a plan may need of whoever loads it: leave to run the code that it brings along, and plugins. One runtime for
// each library and GPU has them.
import t from 'tap'
import { Engine, type EngineOptions, Tensor, type TensorRTError } from '../../lib/index.js'
import { type FakePlan, identityPlan } from '../fake/plan.js'
import { useFakes } from '../native/fakes.js'
import { failureOf } from '../support/errors.js'
import { oneNode } from '../support/models.js'
import { merged } from '../support/groups.js'
import { families, suiteFamilies } from './rig.js'

const { fakes, driver, leftovers } = await useFakes()

for (const family of suiteFamilies) {
  const { path: tensorrt, control, version } = family
  const planOf = (spec: Partial<FakePlan> = {}): Uint8Array => identityPlan([4], { version, ...spec })
  const load = (spec: Partial<FakePlan>, options: EngineOptions = {}): Promise<Engine> =>
    Engine.load(planOf(spec), merged({ tensorrt: { library: tensorrt } }, options))
  const runs = async (engine: Engine): Promise<boolean> =>
    (await engine.infer(new Tensor('float32', Float32Array.of(1, 2, 3, 4), [4]))).data.join() === '1,2,3,4'
  const calls = (method: string): number => control.stats().calls[method] ?? 0
  const refused = (spec: Partial<FakePlan>, options: EngineOptions = {}): Promise<TensorRTError> =>
    failureOf(() => load(spec, options))

  await t.test(`${family.name}: code in a plan runs only where it was asked for`, async (t) => {
    const error = await refused({ hostCode: true })
    t.match(error, {
      code: 'ERR_TRT_PLAN',
      message: /if you trust its maker, give the option tensorrt.hostCode: true/,
      details: { option: 'hostCode' },
    })
    await using allowed = await load({ hostCode: true }, { tensorrt: { hostCode: true } })
    t.ok(await runs(allowed))
    t.match(
      await refused({ hostCode: true }),
      { code: 'ERR_TRT_PLAN', details: { option: 'hostCode' } },
      'nobody else has the permission',
    )
    t.match(await refused({ hostCode: true }, { tensorrt: { hostCode: false } }), { code: 'ERR_TRT_PLAN' })
    t.equal(calls('VRuntime.setEngineHostCodeAllowed'), 1)
  })

  await t.test(`${family.name}: plugins are loaded once, from where the paths say`, async (t) => {
    const plugin = 'NodeTensorRTNone'
    t.match(await refused({ plugin }), {
      code: 'ERR_TRT_PLAN',
      message: /NodeTensorRTNone.*Give the paths of the libraries that have its plugins as the option tensorrt.plugins/,
      details: { option: 'plugins' },
    })
    const missing = '/no/such/plugins.so'
    t.match(await refused({ plugin }, { tensorrt: { plugins: [missing] } }), {
      code: 'ERR_TRT_FILE',
      message: /Cannot read the plugin library \/no\/such\/plugins\.so: No such file/,
      details: { path: missing },
    })
    t.match(await refused({ plugin }, { tensorrt: { plugins: [fakes.cuda] } }), {
      code: 'ERR_TRT_FILE',
      message: /libcuda\.so\.1/,
      details: { path: fakes.cuda },
    })
    const before = calls('IPluginRegistry.loadLibrary')
    const plugins = [fakes.plugin]
    const engines = await Promise.all([1, 2, 3].map(() => load({ plugin }, { tensorrt: { plugins } })))
    t.same(await Promise.all(engines.map(runs)), [true, true, true])
    t.equal(calls('IPluginRegistry.loadLibrary') - before, 1, 'once for all that share the runtime')
    await Promise.all(engines.map((engine) => engine.close()))
    t.match(await refused({ plugin }), { code: 'ERR_TRT_PLAN' }, 'the plugins went with the runtime')
  })

  await t.test(`${family.name}: what was built with plugins here runs with them`, async (t) => {
    const before = calls('IPluginRegistry.loadLibrary')
    const builder = { plugins: [fakes.plugin] }
    await using engine = await Engine.load(oneNode('Relu', [1, 4]), {
      tensorrt: { library: tensorrt, builder },
      cache: false,
    })
    t.equal(engine.backend, 'tensorrt')
    t.equal(calls('IPluginRegistry.loadLibrary') - before, 2, 'for the builder and for the runtime')
  })

  await t.test(`${family.name}: one runtime for all engines of a library on a GPU`, async (t) => {
    const before = calls('VRuntime.setTemporaryDirectory')
    await using first = await load({})
    await using second = await load({})
    t.equal(control.stats().live.runtimes, 1)
    await using third = await load({ hostCode: true }, { tensorrt: { hostCode: true } })
    t.equal(control.stats().live.runtimes, 2)
    t.same(await Promise.all([first, second, third].map(runs)), [true, true, true])
    t.equal(calls('VRuntime.setTemporaryDirectory') - before, 2, 'each was told of the folder for temporary files')
    await first.close()
    t.ok(await runs(second), 'the runtime stays with the others')
  })

  await t.test(`${family.name}: out of memory`, async (t) => {
    driver.failNth('cuMemAlloc_v2', 1, 2)
    t.match(await refused({ weights: 123_456 }), {
      code: 'ERR_TRT_OUT_OF_MEMORY',
      details: { bytes: 123_456 },
      message: /123456 bytes/,
    })
    await using engine = await load({ weights: 123_456 })
    t.ok(engine.memory().device >= 123_456, 'the weights count')
    t.ok(await runs(engine))
  })
}

await t.test('arguments', async (t) => {
  const { path: tensorrt, version } = families[0]
  const wrong: [unknown, RegExp][] = [
    [{ tensorrt: { plugins: 'a.so' } }, /Expected an array of paths for tensorrt\.plugins but received string "a\.so"/],
    [{ tensorrt: { plugins: [7] } }, /Expected a path or a file: URL for tensorrt\.plugins\[0\] but received number 7/],
    [{ tensorrt: { hostCode: 'yes' } }, /Expected true or false for tensorrt\.hostCode but received string "yes"/],
  ]
  for (const [options, message] of wrong) {
    const load = (): Promise<Engine> =>
      Engine.load(identityPlan([4], { version }), merged({ tensorrt: { library: tensorrt } }, options as EngineOptions))
    t.match(await failureOf(load), { code: 'ERR_TRT_INVALID_ARGUMENT', message })
  }
})

t.same(leftovers(), {}, 'nothing is left, and nothing was done wrong')
