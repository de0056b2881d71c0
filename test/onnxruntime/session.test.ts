// node-tensorrt/onnxruntime beside onnxruntime-node, in one process: the same models, feeds and mistakes.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { InferenceSession } from 'onnxruntime-common'
import { Tensor as ImportedTensor } from 'onnxruntime-common'
import * as theirs from 'onnxruntime-node'
import t, { type Test } from 'tap'
import { Engine, Tensor, TensorRTError } from '../../lib/index.js'
import { GraphBuilder, writeModel } from '../../lib/onnx/index.js'
import * as ours from '../../lib/onnxruntime/entry.js'
import { addModel, casts, expand, identities, identity, nonZero, strings, twoInTwoOut } from '../support/models.js'

const options: InferenceSession.SessionOptions = { executionProviders: ['cpu'] }

/** A session of each, for one model. */
async function both(t: Test, model: Uint8Array): Promise<{ our: any; their: any }> {
  const [our, their] = await Promise.all([
    ours.InferenceSession.create(model, options),
    theirs.InferenceSession.create(model, options),
  ])
  t.teardown(() => our.release().catch(() => {}))
  return { our, their }
}

/** The data of each type as programs give it. */
const typed = {
  float32: Float32Array.of(1.5, -0, NaN, Infinity),
  float64: Float64Array.of(1.5, -0, NaN, 1e300),
  float16: Uint16Array.of(0x3c00, 0x8000, 0x7c00, 1),
  int8: Int8Array.of(-128, 0, 1, 127),
  uint8: Uint8Array.of(0, 1, 254, 255),
  int16: Int16Array.of(-32768, 0, 1, 32767),
  uint16: Uint16Array.of(0, 1, 2, 65535),
  int32: Int32Array.of(-(2 ** 31), 0, 1, 2 ** 31 - 1),
  uint32: Uint32Array.of(0, 1, 2, 2 ** 32 - 1),
  int64: BigInt64Array.of(-(2n ** 63n), 0n, 1n, 2n ** 63n - 1n),
  uint64: BigUint64Array.of(0n, 1n, 2n, 2n ** 64n - 1n),
  bool: Uint8Array.of(0, 1, 1, 0),
} as const

/** Types that both packages accept: onnxruntime-node 1.30 cannot read a Float16Array, which Node has from 24 on. */
const types = (Object.keys(typed) as (keyof typeof typed)[]).filter(
  (type) => type !== 'float16' || !('Float16Array' in globalThis),
)

t.test('the module has what onnxruntime-node has, and the classes of the copy that is imported', async (t) => {
  t.same(
    Object.keys(ours).sort(),
    Object.keys(theirs)
      .filter((name) => !['default', 'module.exports', '__esModule'].includes(name))
      .sort(),
  )
  t.equal(ours.Tensor, ImportedTensor)
  t.equal((ours.env.versions as { node?: string }).node, ours.env.versions.common)
  t.same(ours.listSupportedBackends(), [
    { name: 'cpu', bundled: true },
    { name: 'tensorrt', bundled: false },
  ])
})

t.test('each data type goes in and comes out with its class, empty and without dimensions too', async (t) => {
  const model = identities([
    ...types.map((dtype) => ({ name: dtype, dtype, shape: ['N', 2] })),
    { name: 'scalar', dtype: 'float32' as const, shape: [] },
  ])
  const { our, their } = await both(t, model)
  t.same(our.inputNames, their.inputNames)
  t.same(our.outputNames, their.outputNames)
  t.strictSame(our.inputMetadata, their.inputMetadata)
  t.strictSame(our.outputMetadata, their.outputMetadata)
  t.equal(our.provider, 'cpu')
  for (const rows of [2, 0]) {
    const feeds = (Tensor: any): Record<string, any> => ({
      ...Object.fromEntries(types.map((type) => [type, new Tensor(type, typed[type].slice(0, rows * 2), [rows, 2])])),
      scalar: new Tensor('float32', Float32Array.of(3), []),
    })
    const [got, wanted] = [await our.run(feeds(ours.Tensor)), await their.run(feeds(theirs.Tensor))]
    t.same(Object.keys(got), Object.keys(wanted))
    for (const name of Object.keys(wanted)) {
      t.ok(got[name] instanceof ours.Tensor, `${name}: the class`)
      const shape = ({ type, dims, size, location, data }: any): unknown => [
        type,
        dims,
        size,
        location,
        data.constructor,
      ]
      t.same(shape(got[name]), shape(wanted[name]), name)
      t.same(
        Buffer.from(got[name].data.buffer, got[name].data.byteOffset, got[name].data.byteLength),
        Buffer.from(wanted[name].data.buffer, wanted[name].data.byteOffset, wanted[name].data.byteLength),
        `${name}: the bits`,
      )
    }
  }
})

t.test('int4, which onnxruntime-node cannot be given, goes in and out', async (t) => {
  const session = await ours.InferenceSession.create(casts('int4', 'int4'), options)
  const x = new ours.Tensor('int4', Uint8Array.of(0x21, 0x0f), [3])
  const { y } = await session.run({ x })
  t.match(y, { type: 'int4', dims: [3] })
  t.same(y?.data, Uint8Array.of(0x21, 0x0f))
  await session.release()
})

t.test('tensors of the other copy, and what looks like one, are taken', async (t) => {
  const { our } = await both(t, identity('float32', ['N']))
  const data = Float32Array.of(1, 2)
  for (const x of [new theirs.Tensor('float32', data, [2]), { type: 'float32', data, dims: [2], location: 'cpu' }])
    t.same((await our.run({ x })).y.data, data)
  t.same((await our.run({ x: new ours.Tensor(data), more: 1 })).y.data, data, 'what the model has not is passed over')
})

t.test('fetches: names, null, memory of the caller', async (t) => {
  const { our, their } = await both(t, twoInTwoOut())
  const feeds = (Tensor: any): any => ({
    a: new Tensor('float32', Float32Array.of(1, 2, 3), [1, 3]),
    b: new Tensor('float32', Float32Array.of(4, 5, 6), [1, 3]),
  })
  for (const fetches of [undefined, ['sum'], ['difference', 'sum'], { sum: null }, { difference: null, sum: null }])
    t.same(
      Object.keys(await our.run(feeds(ours.Tensor), fetches)),
      Object.keys(await their.run(feeds(theirs.Tensor), fetches)),
    )
  const sum = new ours.Tensor('float32', new Float32Array(3), [1, 3])
  const result = await our.run(feeds(ours.Tensor), { sum })
  t.equal(result.sum, sum)
  t.same(sum.data, Float32Array.of(5, 7, 9))
  const { a, b } = feeds(ours.Tensor)
  t.equal((await our.run({ a, b }, { sum: a })).sum, a, 'an input may be an output')
  t.same(a.data, Float32Array.of(5, 7, 9))
  const memory = new Float32Array(6)
  const parts = [0, 3].map((at) => new ours.Tensor('float32', memory.subarray(at, at + 3), [1, 3]))
  await our.run(feeds(ours.Tensor), { sum: parts[0], difference: parts[1] })
  t.same(memory, Float32Array.of(5, 7, 9, -3, -3, -3), 'outputs in one block')
})

t.test(
  'metadata of a model without shapes, with sizes, with shapes that the values decide, and with texts',
  async (t) => {
    for (const model of [identity('float32', [2, 3]), expand(), nonZero(), strings(), noShape()]) {
      const { our, their } = await both(t, model)
      t.strictSame(our.inputMetadata, their.inputMetadata)
      t.strictSame(our.outputMetadata, their.outputMetadata)
      t.strictSame([our.inputNames, our.outputNames], [their.inputNames, their.outputNames])
    }
  },
)

/** y = |x|, of which the model says no shape at all. */
function noShape(): Uint8Array {
  const g = new GraphBuilder({ name: 'no shape' })
  g.output(g.node('Abs', [g.input('x', 'float32', [1])], {}, { output: 'y' }), 'float32', [1])
  const model = g.toModel()
  for (const { type } of [...(model.graph?.input ?? []), ...(model.graph?.output ?? [])])
    if (type?.value.case === 'tensorType') delete type.value.value.shape
  return writeModel(model)
}

/** y = x, of texts. */
function texts(shape: readonly (string | number)[]): Uint8Array {
  const g = new GraphBuilder({ name: 'texts' })
  g.output(g.node('Identity', [g.input('x', 'string', shape)], {}, { output: 'y' }), 'string', shape)
  return writeModel(g.toModel())
}

t.test('texts go in and come out, and mistakes with them have the names', async (t) => {
  const { our, their } = await both(t, texts(['N']))
  const text = (Tensor: any, ...data: string[]): any => new Tensor('string', data, [data.length])
  const odd = (dims: number[], data: unknown): unknown => ({ type: 'string', dims, location: 'cpu', data })
  const calls: Record<string, (Tensor: any) => unknown[]> = {
    three: (T) => [{ x: text(T, 'a', '', 'Zürich 日本 🚀') }],
    none: (T) => [{ x: text(T) }],
    'a lone surrogate': (T) => [{ x: text(T, '\ud800b') }],
    large: (T) => [{ x: text(T, 'é'.repeat(1 << 20), ...Array<string>(1000).fill('x')) }],
    'a fetch by name': (T) => [{ x: text(T, 'a', 'b') }, ['y']],
    'a place, which keeps what it had': (T) => [{ x: text(T, 'a', 'b') }, { y: text(T, 'p', 'q') }],
    'a place of another shape': (T) => [{ x: text(T, 'a', 'b') }, { y: text(T, 'p') }],
    'a place of another type': (T) => [{ x: text(T, 'a') }, { y: new T(Float32Array.of(1)) }],
    'numbers in place of texts': (T) => [{ x: new T(Float32Array.of(1)) }],
    'another rank': (T) => [{ x: new T('string', ['a'], [1, 1]) }],
    'what is no text': () => [{ x: odd([2], ['a', 1]) }],
    'what is no array': () => [{ x: odd([1], 'a') }],
    'too few texts': () => [{ x: odd([3], ['a', 'b']) }],
  }
  const outcome = async (session: any, args: any[]): Promise<unknown> =>
    session.run(...args).then(
      ({ y: { type, dims, data, location, size } }: any) => [type, dims, data, location, size, Object.isFrozen(data)],
      (error: Error) => error.name,
    )
  for (const [what, args] of Object.entries(calls))
    t.same(await outcome(our, args(ours.Tensor)), await outcome(their, args(theirs.Tensor)), what)
  const place = text(ours.Tensor, 'p')
  t.not((await our.run({ x: text(ours.Tensor, 'a') }, { y: place })).y, place)
  t.same(place.data, ['p'])
  await t.rejects(our.run({ x: odd([1], [1]) }), { name: 'TypeError', code: 'ERR_TRT_INVALID_ARGUMENT' })
  await t.rejects(our.run({ x: text(ours.Tensor, 'a') }, { y: new ours.Tensor(Float32Array.of(1)) }), {
    code: 'ERR_TRT_DTYPE',
  })
  t.same((await our.run({ x: text(ours.Tensor, 'a\0b') })).y.data, ['a\0b'], 'onnxruntime-node ends a text there')
})

t.test('texts beside numbers', async (t) => {
  const { our, their } = await both(t, strings())
  const feeds = (Tensor: any): any => ({ x: new Tensor('float32', Float32Array.of(1, -0.5), [2]) })
  for (const fetches of [undefined, ['y'], ['s'], { s: null }]) {
    const [got, wanted] = [await our.run(feeds(ours.Tensor), fetches), await their.run(feeds(theirs.Tensor), fetches)]
    t.same(Object.keys(got), Object.keys(wanted))
    for (const name of Object.keys(wanted)) t.same(got[name].data, wanted[name].data, name)
  }
})

t.test('where a model says no shape, or a scalar, any shape is taken', async (t) => {
  for (const [what, model] of Object.entries({ 'no shape': noShape(), 'a scalar': identity('float32', []) })) {
    const { our, their } = await both(t, model)
    for (const dims of [[], [1], [3], [2, 2]]) {
      const x = (Tensor: any): any => new Tensor('float32', new Float32Array(dims.reduce((a, b) => a * b, 1)), dims)
      t.same((await our.run({ x: x(ours.Tensor) })).y.dims, dims, `${what}: [${dims.join()}]`)
      t.same((await their.run({ x: x(theirs.Tensor) }, {}, { logSeverityLevel: 4 })).y.dims, dims)
      const y = x(ours.Tensor)
      t.equal((await our.run({ x: x(ours.Tensor) }, { y })).y, y, 'into a place')
    }
    await using engine = await Engine.load(model, { backend: 'cpu' })
    const into = Tensor.zeros('float32', [3])
    const { y } = await engine.infer({ x: engine.allocate('x', [3]) }, { into: { y: into } })
    t.equal(y, into)
    t.ok(await engine.benchmark({ inputs: { x: into }, iterations: 2, durationMs: 0, warmUpMs: 0 }))
  }
})

t.test('uint4 is refused by its name', async (t) => {
  const refused = { name: 'Error', code: 'ERR_TRT_DTYPE', message: /uint4/ }
  await t.rejects(ours.InferenceSession.create(casts('uint4', 'uint8'), options), refused, 'an input')
  await t.rejects(ours.InferenceSession.create(casts('uint8', 'uint4'), options), refused, 'the only output')
  const { our } = await both(t, identity('uint8', ['N']))
  const x = new ours.Tensor('uint4', Uint8Array.of(0x21), [2])
  await t.rejects(our.run({ x }), { ...refused, message: /the feed 'x' has the type uint4/ })
})

t.test('a data type that onnxruntime-common has not is refused by both', async (t) => {
  const model = identity('bfloat16', [1])
  await t.rejects(theirs.InferenceSession.create(model), { name: 'Error', message: /Unsupported data type/ })
  await t.rejects(ours.InferenceSession.create(model, options), { name: 'Error', message: /Unsupported data type/ })
})

t.test('mistakes of a run are errors by the name that onnxruntime-node gives them', async (t) => {
  const { our, their } = await both(t, twoInTwoOut())
  const float = (Tensor: any, dims = [1, 3]): any =>
    new Tensor('float32', new Float32Array(dims.reduce((a, b) => a * b, 1)), dims)
  const mistakes: Record<string, (Tensor: any) => unknown[]> = {
    'no feeds': () => [],
    'feeds of null': () => [null],
    'a bare tensor': (T) => [float(T)],
    'a feed that is missing': (T) => [{ a: float(T) }],
    'a feed of null': (T) => [{ a: float(T), b: null }],
    'a feed that is a number': (T) => [{ a: float(T), b: 1 }],
    'a feed without a location': (T) => [
      { a: float(T), b: { type: 'float32', dims: [1, 3], data: new Float32Array(3) } },
    ],
    'a feed without data': (T) => [{ a: float(T), b: { type: 'float32', dims: [1, 3], location: 'cpu' } }],
    'a feed of no type': (T) => [{ a: float(T), b: { dims: [1, 3], location: 'cpu', data: new Float32Array(3) } }],
    'a feed of an unknown type': (T) => [
      { a: float(T), b: { type: 'complex64', dims: [1, 3], location: 'cpu', data: new Float32Array(3) } },
    ],
    'a feed of another type': (T) => [{ a: float(T), b: new T('float64', new Float64Array(3), [1, 3]) }],
    'a feed of another shape': (T) => [{ a: float(T), b: float(T, [1, 4]) }],
    'a feed of another rank': (T) => [{ a: float(T), b: float(T, [3]) }],
    'a fetch of an unknown name': (T) => [{ a: float(T), b: float(T) }, ['sum', 'product']],
    'fetches that are empty': (T) => [{ a: float(T), b: float(T) }, []],
    'fetches that are numbers': (T) => [{ a: float(T), b: float(T) }, [1]],
    'a place of another shape': (T) => [{ a: float(T), b: float(T) }, { sum: float(T, [1, 4]) }],
    'a place of another type': (T) => [
      { a: float(T), b: float(T) },
      { sum: new T('int32', new Int32Array(3), [1, 3]) },
    ],
    'a severity that is a text': (T) => [{ a: float(T), b: float(T) }, { logSeverityLevel: 'error' }],
    'a severity of 8': (T) => [{ a: float(T), b: float(T) }, { logSeverityLevel: 8 }],
    'a tag that is a number': (T) => [{ a: float(T), b: float(T) }, { tag: 1 }],
    'options that are a number': (T) => [{ a: float(T), b: float(T) }, ['sum'], 1],
  }
  for (const [what, make] of Object.entries(mistakes)) {
    const outcome = async (session: any, Tensor: any): Promise<string> =>
      session.run(...make(Tensor)).then(
        () => 'runs',
        (error: Error) => error.name,
      )
    t.equal(await outcome(our, ours.Tensor), await outcome(their, theirs.Tensor), what)
  }
  const disposed = float(ours.Tensor)
  disposed.dispose()
  await t.rejects(our.run({ a: disposed, b: disposed }), { name: 'RangeError' }, 'a tensor that was disposed')
  t.same((await our.run({ a: float(ours.Tensor), b: float(ours.Tensor) })).sum.data, new Float32Array(3), 'it goes on')
})

t.test('mistakes of create() have the names, too', async (t) => {
  const model = identity()
  const sources: [string, ...unknown[]][] = [
    ['nothing', undefined],
    ['a path of nothing', '/nowhere/model.onnx'],
    ['no bytes', new Uint8Array(0)],
    ['other bytes', new Uint8Array(10).fill(7)],
    ['options that are a text', model, 'cpu'],
    ['an unknown provider', model, { executionProviders: ['bad-name'] }],
  ]
  for (const [what, ...args] of sources) {
    const outcome = async (create: any): Promise<string> =>
      create(...args).then(
        () => 'opens',
        (error: Error) => error.name,
      )
    t.equal(
      await outcome((...each: any[]) => (ours.InferenceSession as any).create(...each)),
      await outcome((...each: any[]) => (theirs.InferenceSession as any).create(...each)),
      what,
    )
  }
  await t.rejects(ours.InferenceSession.create('/nowhere/model.onnx'), {
    code: 'ERR_TRT_FILE',
    message: /^Load model from \/nowhere\/model.onnx failed/,
  })
  await t.rejects(ours.InferenceSession.create(new Uint8Array(0)), { message: /No graph was found in the protobuf/ })
})

t.test('a session that was released is refused, and so is profiling', async (t) => {
  const { our } = await both(t, identity())
  const x = new ours.Tensor('float32', Float32Array.of(1), [1])
  t.throws(() => our.startProfiling(), { code: 'ERR_TRT_UNSUPPORTED', message: /^startProfiling\(\)/ })
  t.throws(() => our.endProfiling(), { code: 'ERR_TRT_UNSUPPORTED', message: /^endProfiling\(\)/ })
  const running = our.run({ x })
  await our.release()
  t.same((await running).y.data, Float32Array.of(1), 'what was under way ends')
  const over = { name: 'Error', code: 'ERR_TRT_CLOSED', message: 'Session already disposed.' }
  await t.rejects(our.run({ x }), over)
  await t.rejects(our.release(), over)
  t.same(our.inputNames, ['x'])
  t.ok(await our.run({ x }).catch((error: unknown) => error instanceof TensorRTError))
})

t.test('external data: bytes, a Blob, paths; for a model of bytes and one of a path', async (t) => {
  const folder = t.testdir()
  const weights = new Uint8Array(Float32Array.of(1, 2, 3, 4).buffer)
  const model = addModel(1, 4, 'weights.bin')
  writeFileSync(join(folder, 'model.onnx'), model)
  writeFileSync(join(folder, 'elsewhere.bin'), weights)
  const given = [weights, Buffer.from(weights), weights.buffer, new Blob([weights]), join(folder, 'elsewhere.bin')]
  for (const data of given)
    for (const source of [model, join(folder, 'model.onnx')]) {
      const externalData = [{ path: './weights.bin', data }] as any
      const session = await ours.InferenceSession.create(source as string, { ...options, externalData })
      const name = session.inputNames[0] as string
      const x = new ours.Tensor('float32', new Float32Array(4), [1, 4])
      const result = await session.run({ [name]: x }).then((outputs) => Object.values(outputs)[0] as any)
      t.same(result.data, Float32Array.of(1, 2, 3, 4))
      await session.release()
    }
  await t.rejects(
    ours.InferenceSession.create(model, {
      ...options,
      externalData: [{ path: 'weights.bin', data: weights.subarray(4) }],
    }),
    { name: 'Error', code: 'ERR_TRT_ONNX_PARSE' },
  )
  await t.rejects(
    ours.InferenceSession.create(model, { ...options, externalData: [{ path: 'weights.bin', data: '/nowhere/w' }] }),
    { code: 'ERR_TRT_FILE' },
  )
})

t.test('free dimensions: by name and by denotation, of outputs too', async (t) => {
  const g = new GraphBuilder({ name: 'free' })
  g.output(g.node('Neg', [g.input('x', 'float32', ['N', 'W', 3])], {}, { output: 'y' }), 'float32', ['N', 'W', 3])
  const model = g.toModel()
  const type = model.graph?.input[0]?.type?.value
  if (type?.case === 'tensorType') type.value.shape!.dim[0]!.denotation = 'DATA_BATCH'
  const freeDimensionOverrides = { DATA_BATCH: 2, W: 5, other: 1 }
  const session: any = await ours.InferenceSession.create(writeModel(model), { ...options, freeDimensionOverrides })
  t.same(session.inputMetadata[0].shape, [2, 5, 3])
  t.same(session.outputMetadata[0].shape, [2, 5, 3])
  const x = (dims: number[]): any => new ours.Tensor('float32', new Float32Array(30), dims)
  t.same((await session.run({ x: x([2, 5, 3]) })).y.dims, [2, 5, 3])
  await t.rejects(session.run({ x: x([5, 2, 3]) }), { code: 'ERR_TRT_SHAPE' })
  await session.release()
})

t.test('the event loop goes on, and 64 runs at once give what each is of', async (t) => {
  const { our } = await both(t, identity())
  const runs = Array.from(
    { length: 64 },
    async (_, i) => (await our.run({ x: new ours.Tensor('float32', Float32Array.of(i), [1]) })).y.data[0],
  )
  t.same(
    await Promise.all(runs),
    Array.from({ length: 64 }, (_, i) => i),
  )
})
