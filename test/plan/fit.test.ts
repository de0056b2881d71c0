// Whether a plan runs here: on the fakes of TensorRT 10 and 11, with a GPU called "Fake GPU 0".
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { inspect } from 'node:util'
import t from 'tap'
import { Builder, capabilities, Engine, Plan } from '../../lib/index.js'
import { identityPlan } from '../fake/plan.js'
import { useFakes } from '../native/fakes.js'
import { failureOf } from '../support/errors.js'
import { oneNode } from '../support/models.js'
import { editInfo, inFolder } from './rig.js'

const { families } = await useFakes()
const older = { 'TensorRT 10': [10, 6, 0], 'TensorRT 11': [11, 1, 0] }

for (const { name: family, fullName: name, path: tensorrt, version } of families) {
  await t.test(name, async (t) => {
    const gpu = (await capabilities({ tensorrt: { library: tensorrt } })).gpus[0]
    if (gpu === undefined) throw new Error('the fake has no GPU')
    const path = inFolder(t)
    const build = (): ReturnType<Builder['build']> =>
      new Builder({ tensorrt: { library: tensorrt } }).build(oneNode('Relu', [1, 4]))
    const opens = async (source: string | Plan): Promise<void> =>
      (await Engine.load(source, { tensorrt: { library: tensorrt } })).close()
    const refused = (): Promise<unknown> => failureOf(() => opens(path))
    const edited = async (info: Record<string, unknown>): Promise<void> => {
      await (await build()).save(path)
      await editInfo(path, info)
    }

    await t.test('the plan knows its GPU, and runs', async (t) => {
      const plan = await build()
      t.same(plan.info.gpu, { name: gpu.name, computeCapability: gpu.computeCapability })
      await plan.save(path)
      await opens(path)
      await opens(plan)
      const loaded = await Plan.load(path)
      await opens(loaded)
      const [options, facts] = [{ breakLength: Infinity }, `bytes: ${plan.bytes.length}, library: '${name}'`]
      t.equal(inspect(plan, options), `Plan { ${facts} }`)
      t.equal(inspect(loaded, options), `Plan { file: '${path}', ${facts} }`)
    })

    await t.test('another model of the same compute capability: it runs, with a warning', async (t) => {
      await edited({ gpu: { name: 'NVIDIA A10', computeCapability: gpu.computeCapability } })
      const warned = once(process, 'warning') as Promise<[Error & { code: string }]>
      await opens(path)
      const [{ name: type, code, message }] = await warned
      const built = `${path} was built by ${name} for NVIDIA A10 (${gpu.computeCapability}) on ${process.platform}-${process.arch}`
      t.same({ type, code }, { type: 'TensorRTWarning', code: 'TRT_OTHER_GPU' })
      t.ok(
        message.startsWith(`${built}; here is ${name} with ${gpu.name} (${gpu.computeCapability}). It runs`),
        message,
      )
    })

    await t.test('another compute capability', async (t) => {
      const here = `; here is ${name} with ${gpu.name} (${gpu.computeCapability}). Build it for this GPU`
      const built = `${path} was built by ${name} for ${gpu.name} (12.0) on ${process.platform}-${process.arch}`
      await edited({ gpu: { name: gpu.name, computeCapability: '12.0' } })
      t.match(await refused(), { code: 'ERR_TRT_PLAN', message: built + here, details: { plan: `${gpu.name} (12.0)` } })
      t.match(
        await failureOf(async () => opens(await Plan.load(path))),
        { code: 'ERR_TRT_PLAN', message: /^The plan was built by/ },
        'by way of a Plan too',
      )
      t.match(await failureOf(() => Engine.load(path, { tensorrt: { library: tensorrt, anyGpu: false } })), {
        code: 'ERR_TRT_PLAN',
      })
      await (await Engine.load(path, { tensorrt: { library: tensorrt, anyGpu: true } })).close()
      t.match(await failureOf(() => Engine.load(path, { tensorrt: { library: tensorrt, anyGpu: 1 as never } })), {
        code: 'ERR_TRT_INVALID_ARGUMENT',
        message: 'Expected true or false for tensorrt.anyGpu but received number 1',
      })
      t.match(
        await failureOf(() => Engine.load(oneNode('Relu', [1, 4]), { tensorrt: { library: tensorrt, anyGpu: true } })),
        {
          code: 'ERR_TRT_INVALID_ARGUMENT',
          message: /is ONNX .* tensorrt\.anyGpu is for a plan/,
        },
      )
    })

    await t.test('hardware compatibility', async () => {
      const [major] = gpu.computeCapability.split('.').map(Number)
      const a10 = { name: 'NVIDIA A10', computeCapability: gpu.computeCapability }
      const future = { name: 'NVIDIA X', computeCapability: '99.0' }
      await edited({ gpu: a10, settings: { hardwareCompatibility: 'sameComputeCapability' } })
      await opens(path)
      await edited({ gpu: future, settings: { hardwareCompatibility: 'sameComputeCapability' } })
      t.match(await refused(), { code: 'ERR_TRT_PLAN' })
      await edited({ gpu: future, settings: { hardwareCompatibility: 'none' } })
      t.match(await refused(), { code: 'ERR_TRT_PLAN' })
      await edited({ gpu: future, settings: { hardwareCompatibility: 'ampere+' } })
      if ((major ?? 0) >= 8) await opens(path)
      else t.match(await refused(), { code: 'ERR_TRT_PLAN' })
      await edited({ gpu: future, settings: { hardwareCompatibility: 'a level of the future' } })
      await opens(path)
    })

    await t.test('another TensorRT', async (t) => {
      const other = join(path, '..', 'other.plan')
      const bytes = identityPlan([1, 4], { version: older[family] })
      await writeFile(other, bytes)
      t.match(
        await failureOf(() => opens(other)),
        { code: 'ERR_TRT_PLAN', message: /cannot load the plan.*Version tag does not match/, log: [] },
        'of a bare one TensorRT itself decides',
      )
      await (await Plan.load(other)).save(other)
      await editInfo(other, { builtBy: 'node-tensorrt 0.0.1' })
      const failure = await failureOf(() => opens(other))
      t.match(failure, {
        code: 'ERR_TRT_PLAN',
        message: `${other} was built by TensorRT ${older[family].join('.')}, but this machine has only ${name} at ${tensorrt}`,
        log: [],
      })
      t.same(failure.details, {
        plan: `TensorRT ${older[family].join('.')}`,
        found: `${name} at ${join(tensorrt, `libnvinfer.so.${version[0]}`)}`,
      })
      await editInfo(other, { settings: { versionCompatible: true } })
      t.match(
        await failureOf(() => opens(other)),
        { message: /cannot load the plan.*Version tag/ },
        'and of a version-compatible one',
      )
      await (await build()).save(other)
      await opens(other)
    })
  })
}
