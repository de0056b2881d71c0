// A version of a model on TensorRT's fakes: plans, ONNX that is built, instance groups, profiles.
import t from 'tap'
import type { EngineModel } from '../../../lib/serve/models/engine-model.js'
import type { ModelSettings } from '../../../lib/serve/models/settings.js'
import type { WireTensor } from '../../../lib/kserve/tensor.js'
import { fakePlan } from '../../fake/plan.js'
import { driven, driver, families, leftovers, rowsPlan, type Spec } from '../../lanes/rig.js'
import { failureOf } from '../../support/errors.js'
import { identity, reluModel } from '../../support/models.js'
import { range } from '../../support/values.js'
import { certain } from '../../support/waiting.js'
import { type Files, floats, loadOnly, never, repository, turns, wire } from './folders.js'

driver.set({ devices: 2 })
const [family] = families
const { control } = family
const warnings: string[] = []
const onGpu: ModelSettings = {
  autoComplete: true,
  engine: { tensorrt: { library: family.path } },
  onWarning: (text) => void warnings.push(text),
}
const plan = (spec: Spec): Uint8Array => fakePlan({ ...spec, version: family.version })
const load = (folder: string, gpus?: readonly number[]): Promise<EngineModel> =>
  loadOnly(folder, { ...onGpu, engine: { ...onGpu.engine, gpus } })
const withConfig = (config: string, spec: Spec = rowsPlan()): Files => ({
  'm/config.pbtxt': config,
  'm/1/model.plan': plan(spec),
})
const row = (value: number): ReturnType<typeof wire> => wire('x', [value, value, value], [1, 3])

await t.test('a plan without a configuration: batches as its profile has them', async (t) => {
  const model = await load(repository(t, { 'm/1/model.plan': plan(rowsPlan(3, 16)) }))
  t.same(
    [model.platform, model.config.maxBatchSize, model.config.schedulingChoice.case],
    ['tensorrt_plan', 16, 'dynamicBatching'],
  )
  t.same([model.inputs.get('x')?.shape, model.outputs.get('y')?.shape], [[-1, 3], [-1, 3]]) // prettier-ignore
  const slot = model.reserve(12)
  slot.bytes.set(row(2).bytes)
  const [y] = await model.infer({ inputs: [{ ...row(2), bytes: slot.bytes }] }, never())
  slot.release()
  t.same(y && floats(y), [5, 5, 5])
  t.same([model.counters().requests, model.counters().rows], [1, 1])
  t.equal(driver.stats().pageableCopies, 0)
  await model.close()
  t.same(leftovers(), {})
})

await t.test('texts are refused by name before anything is built', async (t) => {
  const config = 'backend: "tensorrt" default_model_filename: "model.onnx"'
  const folder = repository(t, { 'm/config.pbtxt': config, 'm/1/model.onnx': identity('string', ['N']) })
  t.match(await failureOf(() => load(folder, [0])), { kind: 'UNSUPPORTED', message: /^tensor 'x' of model 'm' is of type string, which TensorRT lacks/ }) // prettier-ignore
  t.same(leftovers(), {})
})

await t.test('one copy of the weights for all instances of a device; lanes as instance_group counts', async (t) => {
  const config = 'instance_group [ { count: 2 }, { count: 1 } ]'
  const model = await load(repository(t, withConfig(config)), [0])
  t.equal(control.stats().live.engines, 1)
  await Promise.all([1, 2, 3, 4].map((value) => model.infer({ inputs: [row(value)] }, never())))
  t.equal(model.counters().requests, 4)
  await model.close()
  t.same(leftovers(), {})
})

await t.test('a group that names no GPU has all of them', async (t) => {
  const model = await load(repository(t, withConfig('instance_group [ { count: 1 }, { gpus: [ 1 ] } ]')))
  t.same(model.config.instanceGroup.map(({ gpus }) => gpus), [[0, 1], [1]]) // prettier-ignore
  t.equal(control.stats().live.engines, 2)
  await model.close()
  t.same(leftovers(), {})
})

await t.test('several GPUs: a request goes to the engine with the fewest rows under way', async (t) => {
  const model = await load(repository(t, withConfig('max_batch_size: 8 instance_group { count: 1 }')), [0, 1])
  t.same(model.config.instanceGroup[0]?.gpus, [0, 1])
  t.equal(control.stats().live.engines, 2)
  const two = wire('x', [1, 1, 1, 1, 1, 1], [2, 3])
  await driven({ computeMs: 1, clock: 'manual' }, async () => {
    const ask = (x: WireTensor) => model.infer({ inputs: [x] }, never())
    const answers = [ask(two), ask(row(1))]
    await certain(() => model.pending === 0) // both run: what comes now joins neither
    answers.push(ask(row(1)))
    await turns()
    t.equal(model.inFlight, 3)
    driver.set({ clock: 'real' })
    await Promise.all(answers)
  })
  t.same(
    model.counters().batchSizes.map(({ rows, executions }) => [rows, executions]),
    [
      [1, 2],
      [2, 1],
    ],
    'with two rows the first had more to do than the second',
  )
  const slot = model.reserve(12)
  slot.bytes.set(row(3).bytes)
  const onBoth = [row(1), { ...row(3), bytes: slot.bytes }].map((x) => model.infer({ inputs: [x] }, never()))
  t.same(
    (await Promise.all(onBoth)).map(([y]) => y && floats(y)[0]),
    [3, 7],
    'a slot is of the first GPU, and runs on the other',
  )
  slot.release()
  await model.close()
  t.same(leftovers(), {})
})

await t.test('nv_inference_pending_request_count: requests that wait for a lane', async (t) => {
  const model = await load(repository(t, withConfig('max_batch_size: 1 instance_group { count: 1 }')), [0])
  t.equal(model.pending, 0)
  await driven({ computeMs: 1, clock: 'manual' }, async () => {
    const answers = [1, 2, 3, 4, 5].map((value) => model.infer({ inputs: [row(value)] }, never()))
    await certain(() => model.pending === 3)
    driver.set({ clock: 'real' })
    await Promise.all(answers)
  })
  t.equal(model.pending, 0)
  await model.close()
})

await t.test('#8629: without profile in the configuration the best of all is taken, with one that one', async (t) => {
  const spec = rowsPlan(3, 4, {
    profiles: [{ dims: { x: range([1, 3], [2, 3], [4, 3]) } }, { dims: { x: range([5, 3], [8, 3], [12, 3]) } }],
  })
  const all = await load(repository(t, withConfig('', spec)))
  t.equal(all.config.maxBatchSize, 12)
  for (const rows of [1, 4, 5, 12]) {
    const [y] = await all.infer({ inputs: [wire('x', new Array<number>(3 * rows).fill(1), [rows, 3])] }, never())
    t.same(y?.shape, [rows, 3])
  }
  await all.close()
  const one = await load(repository(t, withConfig('instance_group { profile: "0" }', spec)))
  t.equal(one.config.maxBatchSize, 4)
  await one.close()
  const three = rowsPlan(3, 4, {
    profiles: [1, 2, 3].map((most) => ({ dims: { x: range([1, 3], [1, 3], [most, 3]) } })),
  })
  t.match(
    (await failureOf(() => load(repository(t, withConfig('instance_group { profile: ["0", "2"] }', three))))).message,
    /not served/,
  )
  t.same(leftovers(), {})
})

await t.test('L0_trt_shape_tensors: values of a shape tensor come from the client', async (t) => {
  const spec: Spec = {
    inputs: [{ name: 'x', shape: [12] }, { name: 's', shape: [2], dtype: 'int32', host: true }], // prettier-ignore
    outputs: [{ name: 'y', shape: [-1, -1] }],
    ops: [{ type: 'reshape', inputs: ['x', 's'], output: 'y' }],
    profiles: [{ values: { s: range([1, 1], [3, 4], [4, 12]) } }],
  }
  const config = `
    input [ { name: "x" data_type: TYPE_FP32 dims: 12 }, { name: "s" data_type: TYPE_INT32 dims: 2 is_shape_tensor: true } ]
    output { name: "y" data_type: TYPE_FP32 dims: [ -1, -1 ] }`
  const model = await load(repository(t, withConfig(config, spec)))
  const x = wire('x', Array.from({ length: 12 }, (_, i) => i), [12]) // prettier-ignore
  const [y] = await model.infer({ inputs: [x, wire('s', [2, 6], [2], 'INT32')] }, never())
  t.same(y?.shape, [2, 6])
  await model.close()
  t.same([warnings, leftovers()], [[], {}])
})

await t.test('priorities: a level that the model has not is its default one', async (t) => {
  const config = `max_batch_size: 8 instance_group { count: 1 }
    dynamic_batching { priority_levels: 3 default_priority_level: 2 priority_queue_policy { key: 1 value { max_queue_size: 1 } } }`
  const model = await load(repository(t, withConfig(config)))
  for (const priority of [0, 1, 2, 3, 4, 2 ** 32])
    t.equal((await model.infer({ inputs: [row(1)], priority }, never())).length, 1)
  await model.close()
  t.same(leftovers(), {})
})

await t.test('model.onnx is built, for the sizes of the configuration', async (t) => {
  const config = `backend: "tensorrt" max_batch_size: 8 dynamic_batching { preferred_batch_size: [ 4 ] }
    input { name: "x" data_type: TYPE_FP32 dims: 3 } instance_group [ { count: 2 }, { count: 1 } ]`
  const folder = repository(t, { 'm/config.pbtxt': config, 'm/1/model.onnx': reluModel(['N', 3]) })
  const model = await load(folder)
  t.same([model.platform, model.outputs.get(model.config.output[0]?.name ?? '')?.shape], ['tensorrt_plan', [-1, 3]])
  const [y] = await model.infer({ inputs: [wire('x', [-1, 0, 1], [1, 3])] }, never())
  t.same(y && floats(y), [0, 0, 1])
  await model.close()
  const open = { 'm/config.pbtxt': 'backend: "tensorrt"', 'm/1/model.onnx': reluModel(['N', 'M']) }
  t.match(
    (await failureOf(() => load(repository(t, open)))).message,
    /Expected dims without -1 for input 'x' of model 'm'/,
  )
  t.same(leftovers(), {})
})

await t.test('what fails leaves no engine', async (t) => {
  for (const config of [
    'input { name: "x" data_type: TYPE_INT32 dims: 3 }',
    'max_batch_size: 100',
    'output { name: "y" label_filename: "none.txt" }',
    'model_warmup { name: "w" batch_size: 1 inputs { key: "x" value { data_type: TYPE_FP32 dims: 4 zero_data: true } } }',
    'instance_group { gpus: [ 0, 7 ] }',
  ]) {
    await failureOf(() => load(repository(t, withConfig(config))))
    t.same(leftovers(), {}, config)
  }
})
