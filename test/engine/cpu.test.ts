import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import * as ort from 'onnxruntime-node'
import { type DType, Engine, Tensor } from '../../lib/index.js'
import { GraphBuilder, writeModel } from '../../lib/onnx/index.js'
import { failureOf } from '../support/errors.js'
import { expand, identity, twoInTwoOut } from '../support/models.js'
import { realModels } from '../support/real-models.js'
import { same } from '../support/same.js'
import { long } from '../support/tiers.js'
import { pattern } from '../support/values.js'
import { onEachWay } from './ways.js'

const cpu = { backend: 'cpu' } as const

/** What onnxruntime-node gives when it is used directly. */
async function direct(model: string, shape: readonly number[]): Promise<{ dims: readonly number[]; data: unknown }> {
  const session = await ort.InferenceSession.create(model, { logSeverityLevel: 4 })
  const feeds = { [session.inputNames[0] as string]: new ort.Tensor('float32', pattern('float32', shape).data, shape) }
  const output = (await session.run(feeds))[session.outputNames[0] as string] as ort.Tensor
  const result = { dims: output.dims, data: output.data }
  await session.release()
  return result
}

onEachWay('real models give what onnxruntime gives, bit for bit', async (t, way) => {
  const shapes = { detector: [1, 3, 96, 160], reader: [2, 3, 48, 120], classifier: [3, 3, 48, 192] }
  // the portable way is onnxruntime-node itself
  for (const name of long || way === 'addon'
    ? (['detector', 'reader', 'classifier'] as const)
    : (['classifier'] as const)) {
    await using engine = await Engine.load(realModels[name], cpu)
    const output = await engine.infer(pattern('float32', shapes[name]))
    const wanted = await direct(realModels[name], shapes[name])
    t.same(output.shape, wanted.dims, `${name}: shape`)
    same(t, output.data, wanted.data, `${name}: data`)
    t.match(Object.values(engine.inputs), [{ dtype: 'float32', profiles: [], format: 'linear' }])
    t.equal(Object.values(engine.inputs)[0]?.shape[0], -1, 'a symbolic dimension is -1')
  }
})

onEachWay('a model comes from a path, a URL, a Uint8Array or an ArrayBuffer, and is copied', async (t) => {
  const bytes = identity()
  const path = join(t.testdir({ 'identity.onnx': Buffer.from(bytes) }), 'identity.onnx')
  const padded = Buffer.concat([Buffer.from('padding'), bytes]).subarray(7)
  for (const source of [path, pathToFileURL(path), bytes, Buffer.from(bytes), padded, new Uint8Array(bytes).buffer]) {
    const engine = new Engine(source, cpu)
    if (source instanceof Uint8Array) source.fill(0)
    await engine.ready
    t.same((await engine.infer(Tensor.from(Float32Array.of(1, 2)))).data, Float32Array.of(1, 2))
    await engine.close()
    if (source === bytes) bytes.set(readFileSync(path))
  }
})

onEachWay('weights in a file beside the model', async (t) => {
  const folder = t.testdir()
  const { model, weights } = withExternalData()
  writeFileSync(join(folder, 'model.onnx'), model)
  await t.rejects(Engine.load(join(folder, 'model.onnx'), cpu), {
    code: 'ERR_TRT_ONNX_PARSE',
    message: /cannot load the model/,
  })
  writeFileSync(join(folder, 'weights.bin'), weights)
  await using engine = await Engine.load(join(folder, 'model.onnx'), cpu)
  t.same((await engine.infer(Tensor.from(Float32Array.of(1, 1, 1)))).data, Float32Array.of(2, 3, 4))
})

function withExternalData(): { model: Uint8Array; weights: Uint8Array } {
  const g = new GraphBuilder({ name: 'external' })
  const w = g.constant('w', Tensor.from(Float32Array.of(1, 2, 3)))
  g.output(g.node('Add', [g.input('x', 'float32', [3]), w], {}, { output: 'y' }), 'float32', [3])
  const model = g.toModel()
  for (const tensor of model.graph?.initializer ?? []) {
    tensor.rawData = new Uint8Array()
    tensor.floatData = []
    tensor.dataLocation = 1
    tensor.externalData = [{ $typeName: 'onnx.StringStringEntryProto', key: 'location', value: 'weights.bin' }]
  }
  return { model: writeModel(model), weights: new Uint8Array(Float32Array.of(1, 2, 3).buffer) }
}

onEachWay('every data type, scalars and empty tensors', async (t, way) => {
  const types: DType[] = [
    'float32',
    'float16',
    'int32',
    'int64',
    'int8',
    'uint8',
    'bool',
    'float64',
    'int16',
    'uint16',
    'uint32',
    'uint64',
  ]
  const shapes = [[], [5], [2, 0, 3], [0]]
  const inputs = Object.fromEntries(
    types.flatMap((dtype) => shapes.map((shape) => [`${dtype} [${shape.join()}]`, pattern(dtype, shape)])),
  )
  const g = new GraphBuilder({ name: 'identities' })
  for (const [name, { dtype, shape }] of Object.entries(inputs))
    g.output(g.node('Identity', [g.input(name, dtype, shape)], {}, { output: `${name} again` }), dtype, shape)
  await using engine = await Engine.load(writeModel(g.toModel()), cpu)
  const results = await engine.infer(inputs)
  for (const [name, given] of Object.entries(inputs)) {
    const result = results[`${name} again`]
    t.equal(result?.dtype, given.dtype)
    t.same(result?.shape, given.shape, name)
    same(t, result?.data, given.data)
    t.not((result?.data as NodeJS.TypedArray).buffer, (given.data as NodeJS.TypedArray).buffer, 'memory of its own')
  }
  for (const dtype of ['bfloat16', 'float8e4m3'] as const) {
    if (way === 'addon') {
      await using same = await Engine.load(identity(dtype), cpu)
      const x = pattern(dtype, [7])
      t.same(await same.infer(x), x, dtype)
      continue
    }
    await t.rejects(
      Engine.load(identity(dtype), cpu),
      { code: 'ERR_TRT_DTYPE', message: /CPU backend cannot run this model/ },
      dtype,
    )
  }
})

onEachWay('an input that the model gives no shape takes any', async (t) => {
  const g = new GraphBuilder({ name: 'shapeless' })
  g.output(g.node('Neg', [g.input('x', 'float32', [])], {}, { output: 'y' }), 'float32', [])
  const model = g.toModel()
  for (const { type } of [...model.graph!.input, ...model.graph!.output])
    if (type?.value.case === 'tensorType') delete type.value.value.shape
  await using engine = await Engine.load(writeModel(model), cpu)
  for (const shape of [[], [2], [2, 0, 3], [1, 2, 2]]) {
    const given = pattern('float32', shape)
    const result = await engine.infer(given)
    t.same(result.shape, shape)
    same(t, result.data, given.data.map((value) => -value)) // prettier-ignore
  }
})

onEachWay('many calls at once, each with its own answer; the caller may reuse its array at once', async (t) => {
  await using engine = await Engine.load(identity(), cpu)
  const data = new Float32Array(3)
  const answers = Array.from({ length: 50 }, (_, i) => {
    data.fill(i)
    return engine.infer(Tensor.from(data))
  })
  for (const [i, answer] of (await Promise.all(answers)).entries()) t.same(answer.data, Float32Array.of(i, i, i))
})

onEachWay('before it is ready infer waits, and has copied', async (t) => {
  await using engine = new Engine(twoInTwoOut(), cpu)
  const a = pattern('float32', [1, 3])
  const wanted = a.data.map((x) => 2 * x)
  const answer = engine.infer({ a, b: a })
  a.data.fill(0)
  same(t, (await answer).sum?.data, wanted)
})

onEachWay('bare in and bare out, record in and record out', async (t) => {
  await using one = await Engine.load(identity(), cpu)
  const x = Tensor.from(Float32Array.of(1))
  t.ok((await one.infer(x)) instanceof Tensor)
  t.same(Object.keys(await one.infer({ x })), ['y'])
  t.same((await one.infer(Object.assign(Object.create(null) as object, { x }))).y?.data, x.data)
  const g = new GraphBuilder({ name: 'one to two' })
  const input = g.input('x', 'float32', [1])
  g.output(g.node('Neg', [input], {}, { output: 'minus' }), 'float32', [1])
  g.output(g.node('Abs', [input], {}, { output: 'abs' }), 'float32', [1])
  await using two = await Engine.load(writeModel(g.toModel()), cpu)
  t.same((await two.infer(x, { outputs: ['minus'] })).data, Float32Array.of(-1))
  t.match(await failureOf(() => two.infer(x)), {
    code: 'ERR_TRT_INVALID_ARGUMENT',
    message:
      'A bare Tensor gives one output, and here are "minus", "abs": infer({ "x": tensor }) gives a record of them, infer(tensor, { outputs: ["minus"] }) one',
    details: { outputs: ['minus', 'abs'] },
  })
  t.match(await failureOf(() => two.infer(x, { outputs: ['abs', 'minus'] })), {
    details: { outputs: ['abs', 'minus'] },
  })
})

onEachWay('names that mean something to JavaScript', async (t) => {
  for (const name of ['__proto__', 'constructor', 'toString', 'then']) {
    await using engine = await Engine.load(identity('float32', [1], name), cpu)
    const x = Tensor.from(Float32Array.of(7))
    t.same(Object.keys(engine.inputs), [name])
    t.same((await engine.infer({ [name]: x })).y?.data, x.data, name)
    t.same((await engine.infer(x)).data, x.data)
    await t.rejects(engine.infer({}), { code: 'ERR_TRT_MISSING_INPUT' })
  }
})

onEachWay('a run that fails is an error of that run only', async (t) => {
  await using engine = await Engine.load(expand(), cpu)
  const x = pattern('float32', [2])
  const s = (n: bigint): Tensor => Tensor.from(BigInt64Array.of(n))
  const error = await engine.infer({ x, s: s(3n) }).catch((e: unknown) => e as Error & { code: string })
  t.match(error, { name: 'TensorRTError', code: 'ERR_TRT_EXECUTION', message: /Expand/, cause: undefined })
  t.same((await engine.infer({ x: pattern('float32', [1]), s: s(3n) })).y?.shape, [3])
})

onEachWay('an output with more dimensions than a Tensor has', async (t) => {
  const g = new GraphBuilder({ name: 'nine' })
  const x = g.input('x', 'float32', [2])
  g.output(
    g.node('Reshape', [x, g.constant('shape', Tensor.from(BigInt64Array.of(1n, 1n, 1n, 1n, 1n, 1n, 1n, 1n, 2n)))]),
    'float32',
    Array(9).fill('N') as string[],
  )
  await using engine = await Engine.load(writeModel(g.toModel()), cpu)
  await t.rejects(engine.infer(pattern('float32', [2])), { code: 'ERR_TRT_SHAPE', message: /at most 8 dimensions/ })
})

onEachWay('models that cannot be loaded', async (t) => {
  const folder = t.testdir({ 'text.onnx': 'not a model', 'empty.onnx': '' })
  copyFileSync(realModels.classifier, join(folder, 'ok.onnx'))
  const truncated = readFileSync(realModels.classifier).subarray(0, 300_000)
  const path = (name: string): string => join(folder, name)
  const rows: [string, string | Uint8Array, string, RegExp][] = [
    ['no such file', path('none.onnx'), 'ERR_TRT_FILE', /Cannot read .*none\.onnx: there is no such file$/],
    ['a folder', folder, 'ERR_TRT_FILE', /^Expected a file but .* is a folder$/],
    ['a path with NUL', 'a\0b', 'ERR_TRT_FILE', /null bytes/],
    ['text', path('text.onnx'), 'ERR_TRT_MODEL_FORMAT', /text\.onnx but found text that begins with "not a model"/],
    ['an empty file', path('empty.onnx'), 'ERR_TRT_MODEL_FORMAT', /found nothing/],
    ['no bytes', new Uint8Array(), 'ERR_TRT_MODEL_FORMAT', /found nothing/],
    ['truncated ONNX', truncated, 'ERR_TRT_ONNX_PARSE', /onnxruntime cannot load the model: .*protobuf.* truncated: /i],
    ['a plan', Buffer.from('ftrt....'), 'ERR_TRT_INVALID_ARGUMENT', /is a TensorRT plan: only TensorRT runs it/],
    ['a version-compatible plan', Buffer.from('vtrt....'), 'ERR_TRT_INVALID_ARGUMENT', /only TensorRT runs it/],
  ]
  for (const [what, source, code, message] of rows) {
    const engine = new Engine(source, cpu)
    const error = await failureOf(() => engine.ready)
    t.match(error, { name: 'TensorRTError', code, message }, what)
    const same = { name: 'TensorRTError', code, message: error.message, details: error.details }
    t.match(await failureOf(() => engine.infer({})), same, `${what}: infer gives the same error`)
    t.throws(() => engine.inputs, { code })
    await engine.close()
    t.match(await failureOf(() => engine.infer({})), same, `${what}: also when closed`)
  }
})

onEachWay('metadata', async (t, way) => {
  await using engine = new Engine(identity('float32', ['N', 3]), cpu)
  for (const key of ['inputs', 'outputs', 'backend', 'description'] as const)
    t.throws(() => engine[key], { code: 'ERR_TRT_NOT_READY' }, key)
  await engine.ready
  t.equal(engine.backend, 'cpu')
  t.match(
    engine.description,
    way === 'portable' ? /^onnxruntime-node \d+\.\d+\.\d+ on the CPU$/ : /^onnxruntime \d+\.\d+\.\d+ on the CPU$/,
  )
  t.same(engine.inputs.x, {
    name: 'x',
    dtype: 'float32',
    shape: [-1, 3],
    dimensionNames: ['N', undefined],
    profiles: [],
    profileValues: [],
    format: 'linear',
  })
  t.same(Object.keys(engine.outputs), ['y'])
  t.ok(Object.isFrozen(engine.inputs) && Object.isFrozen(engine.inputs.x) && Object.isFrozen(engine.inputs.x?.shape))
  await engine.close()
  t.equal(engine.inputs.x?.name, 'x', 'also when closed')
})
