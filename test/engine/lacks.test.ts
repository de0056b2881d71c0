// What errors say where a machine lacks something: the remedy, in the words of `trt doctor`.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { driverRemedy, remedyOf } from '../../lib/base/remedies.js'
import { Builder, capabilities, Engine, EngineCache, Plan, Refitter } from '../../lib/index.js'
import { readModel } from '../../lib/onnx/index.js'
import { parseModel } from '../../lib/onnx/model.js'
import { buildFakes } from '../fake/build.js'
import { fakePlan } from '../fake/plan.js'
import { failureOf } from '../support/errors.js'
import { identity } from '../support/models.js'

process.env['NODE_TENSORRT_LIBCUDA'] = '/no/such/libcuda.so.1'
delete process.env['TENSORRT_PATH']
const fakes = await buildFakes()
const folder = t.testdir({ empty: {} })
const plan = fakePlan({
  inputs: [{ name: 'x', shape: [4] }],
  outputs: [{ name: 'x', shape: [4] }],
  ops: [],
  version: [10, 15, 1],
})

t.test('a machine without a driver, and a container without its GPUs', (t) => {
  const of = (inContainer: boolean, hasDevices: boolean): string => driverRemedy({ inContainer, hasDevices })
  t.match(of(false, false), /^install the NVIDIA driver; in a container: docker run --gpus all$/)
  t.match(of(true, false), /container was started without GPUs: docker run --gpus all/)
  t.match(of(true, true), /NVIDIA_DRIVER_CAPABILITIES/)
  t.match(of(false, true), /libcuda\.so\.1/)
  t.match(remedyOf('ERR_TRT_NO_GPU'), /nvidia-smi.*docker run --gpus all/)
  process.env['CUDA_VISIBLE_DEVICES'] = '7'
  t.match(remedyOf('ERR_TRT_NO_GPU', { gpus: '1' }), /CUDA_VISIBLE_DEVICES is "7"/)
  delete process.env['CUDA_VISIBLE_DEVICES']
  t.end()
})

// before a path names one, which the loader would then find by its name
t.test('no TensorRT at all', async (t) => {
  const { tensorrt, missing } = await capabilities()
  const failure = await failureOf(() => Engine.load(plan))
  t.match(failure, { message: /or give the ONNX model that the plan was built from/, details: { remedy: String } })
  t.test('is said', { skip: tensorrt.length > 0 && 'this machine has TensorRT' }, async (t) => {
    t.match(failure, {
      code: 'ERR_TRT_NO_LIBRARY',
      message: /needs TensorRT 10\.15\.1.*What to do: install TensorRT 10\.15\.1/,
    })
    t.ok(missing.some(({ what, remedy }) => what === 'TensorRT' && remedy === remedyOf('ERR_TRT_NO_LIBRARY')))
  })
})

t.test("doctor's remedy stands in each error", async (t) => {
  const { missing } = await capabilities()
  const driver = missing.find(({ what }) => what.includes('driver'))?.remedy ?? 'none'
  const tensorrt = fakes.trt10
  const calls: [string, () => unknown, RegExp][] = [
    ['an engine from a plan', () => Engine.load(plan, { tensorrt: { library: tensorrt } }), /or give the ONNX model that the plan was built from/],
    ['a refitter', async () => { await using refitter = new Refitter(plan, { tensorrt: { library: tensorrt } }); await refitter.weights() }, /$/],
    ['a build', () => new Builder({ tensorrt: { library: tensorrt } }).build(identity(), { shapes: { x: [2] } }), /or build with TensorRT-RTX.*pip install/],
    ['an isolated build', async () => { await using builder = new Builder({ tensorrt: { library: tensorrt }, isolation: 'process' }); await builder.build(identity(), { shapes: { x: [2] } }) }, /or build with TensorRT-RTX.*pip install/],
    ['a cache', () => new EngineCache({ folder }).plan(identity(), { builder: { tensorrt: { library: tensorrt } }, shapes: { x: [2] } }), /pip install/],
    ['an engine from ONNX', () => Engine.load(identity(), { tensorrt: { library: tensorrt }, backend: 'tensorrt' }), /^(?!.*pip install)/],
  ] // prettier-ignore
  for (const [name, call, more] of calls) {
    const failure = await failureOf(call)
    t.equal(failure.code, 'ERR_TRT_NO_DRIVER', name)
    t.equal(failure.message.split('What to do: ').length, 2, `${name}: once`)
    t.ok(failure.message.includes(`What to do: ${driver}`), `${name}: ${failure.message}`)
    t.ok(failure.message.endsWith(String(failure.details['remedy'])))
    t.match(failure.message, more)
  }
})

t.test('a TensorRT that is not where it is said to be', async (t) => {
  for (const wrong of [join(folder, 'nowhere'), join(folder, 'empty')]) {
    const calls = [
      (tensorrt?: string) => Engine.load(plan, { tensorrt: { library: tensorrt } }),
      (library?: string) => Engine.load(identity(), { backend: 'tensorrt', tensorrt: { library } }),
      (tensorrt?: string) =>
        new Builder({ ...(tensorrt !== undefined && { tensorrt: { library: tensorrt } }) }).build(identity()),
      (tensorrt?: string) =>
        new Refitter(plan, { ...(tensorrt !== undefined && { tensorrt: { library: tensorrt } }) }).weights(),
    ]
    for (const call of calls) {
      t.match(await failureOf(() => call(wrong)), {
        code: 'ERR_TRT_NO_LIBRARY',
        message: /What to do: the option tensorrt\.library names the folder/,
        details: { path: wrong },
      })
      process.env['TENSORRT_PATH'] = wrong
      t.match(await failureOf(() => call()), {
        code: 'ERR_TRT_NO_LIBRARY',
        message: /What to do: TENSORRT_PATH names the folder/,
      })
      delete process.env['TENSORRT_PATH']
    }
  }
  const cpu = await Engine.load(identity(), { backend: 'cpu' })
  await cpu.close()
  t.match(await failureOf(() => Engine.load(identity(), { tensorrt: { library: 'https://example.com/lib' } })), {
    code: 'ERR_TRT_INVALID_ARGUMENT',
  })
  const url = pathToFileURL(join(folder, 'empty')).href
  t.match(
    await failureOf(() => Engine.load(plan, { tensorrt: { library: url } })),
    { details: { path: join(folder, 'empty') } },
    'a file: URL as text',
  )
  writeFileSync(join(folder, 'libnvinfer.so.10'), 'no library')
  const { missing } = await capabilities({ tensorrt: { library: folder } })
  t.ok(missing.some(({ what }) => what === 'a TensorRT that can be loaded'))
})

t.test('the CPU that auto took says why, and so do errors that follow', async (t) => {
  await using engine = await Engine.load(identity(), { shapes: { x: { min: [1], opt: [2], max: [4] } } })
  t.equal(engine.backend, 'cpu')
  t.match(engine.backendReason, /^No CUDA driver: .*libcuda\.so\.1.*What to do: /)
  const x = engine.allocate('x', [2])
  t.same((await engine.infer(x)).shape, [2])
  const { code, message } = await failureOf(() => engine.layers())
  t.equal(code, 'ERR_TRT_UNSUPPORTED')
  t.ok(
    message.endsWith(
      `this engine runs on the CPU, which 'auto' took since TensorRT cannot run here: ${String(engine.backendReason)}`,
    ),
    message,
  )
  const broken = await failureOf(() => Engine.load(Buffer.concat([identity(), Buffer.from('broken')])))
  t.equal(broken.code, 'ERR_TRT_ONNX_PARSE')
  t.notMatch(broken.message, 'auto', 'TensorRT would not take it, either')
  const asked = new Engine(identity(), { backend: 'cpu' })
  t.throws(() => asked.backendReason, { code: 'ERR_TRT_NOT_READY' })
  await asked.ready
  t.equal(asked.backendReason, undefined)
  await asked.close()
})

t.test('a Git LFS pointer is told from a model', async (t) => {
  const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${'0'.repeat(64)}\nsize 12345\n`
  const at = join(folder, 'pointer.onnx')
  writeFileSync(at, pointer)
  const message = /is a Git LFS pointer.*git lfs pull/
  const bytes = Buffer.from(pointer)
  const rows: [() => unknown, string][] = [
    [() => Engine.load(at), 'ERR_TRT_FILE'],
    [() => Engine.load(at, { backend: 'cpu' }), 'ERR_TRT_FILE'],
    [() => Plan.load(at), 'ERR_TRT_FILE'],
    [() => Plan.inspect(at), 'ERR_TRT_FILE'],
    [() => new Refitter(at).weights(), 'ERR_TRT_FILE'],
    [() => readModel(at), 'ERR_TRT_FILE'],
  ]
  for (const [call, code] of rows) t.match(await failureOf(call), { code, message })
  t.match(await failureOf(() => Engine.load(bytes)), {
    code: 'ERR_TRT_MODEL_FORMAT',
    message: /found a Git LFS pointer.*git lfs pull/,
  })
  t.match(await failureOf(() => parseModel(bytes)), { code: 'ERR_TRT_ONNX_PARSE', message })
  // of a plan in Git LFS the sidecar, which is text, may well be there
  writeFileSync(`${at}.json`, JSON.stringify({ format: 'node-tensorrt plan', version: 1, plans: {} }))
  t.match(await failureOf(() => Plan.load(at)), { code: 'ERR_TRT_FILE', message })
})

t.test('file: URLs as text', async (t) => {
  mkdirSync(join(folder, 'a folder'))
  const path = join(folder, 'a folder', 'model.onnx')
  writeFileSync(path, identity())
  const url = pathToFileURL(path).href
  await using engine = await Engine.load(url, { backend: 'cpu' })
  t.equal(engine.inputs.x?.name, 'x')
  t.equal((await readModel(url)).graph?.name, 'identity')
  t.match(await failureOf(() => Plan.load(url)), { code: 'ERR_TRT_PLAN', message: path })
  t.match(await failureOf(() => Engine.load(`${url}x`)), {
    code: 'ERR_TRT_FILE',
    message: `Cannot read ${path}x: there is no such file`,
  })
  for (const elsewhere of ['https://example.com/a.plan', new URL('s3://bucket/a.plan')])
    t.match(await failureOf(() => Plan.load(elsewhere)), {
      code: 'ERR_TRT_INVALID_ARGUMENT',
      message: /for path .*download it first/,
    })
})
