import t from 'tap'
import { Builder, capabilities, Engine, Tensor } from '../../lib/index.js'
import { fakePlan, type FakePlan } from '../fake/plan.js'
import { failureOf } from '../support/errors.js'
import { oneNode } from '../support/models.js'
import { range } from '../support/values.js'
import { useFakes } from './fakes.js'

const { fakes, driver, families } = await useFakes()

/** y = relu(a · 2 + 1), with two profiles: up to 4 rows, and 8 to 16. */
const twoProfiles: Omit<FakePlan, 'version'> = {
  inputs: [{ name: 'a', shape: [-1, 3] }],
  outputs: [{ name: 'y', shape: [-1, 3] }],
  ops: [
    { type: 'scale', inputs: ['a'], output: 'scaled', attributes: { scale: 2, offset: 1 } },
    { type: 'relu', inputs: ['scaled'], output: 'y' },
  ],
  profiles: [{ dims: { a: range([1, 3], [2, 3], [4, 3]) } }, { dims: { a: range([8, 3], [8, 3], [16, 3]) } }],
}

for (const { name, version, path, control } of families) {
  await t.test(name, async (t) => {
    const load = (plan: Omit<FakePlan, 'version'>): Promise<Engine> =>
      Engine.load(fakePlan({ ...plan, version }), { tensorrt: { library: path } })

    await t.test('what the engine says of itself', async (t) => {
      await using engine = await load(twoProfiles)
      t.equal(engine.backend, 'tensorrt')
      t.match(engine.description, `TensorRT ${version.join('.')} on GPU 0`)
      t.same(engine.inputs, {
        a: {
          name: 'a',
          dtype: 'float32',
          shape: [-1, 3],
          dimensionNames: [undefined, undefined],
          format: 'linear',
          profiles: [range([1, 3], [2, 3], [4, 3]), range([8, 3], [8, 3], [16, 3])],
          profileValues: [],
        },
      })
      const dynamic = { dimensionNames: [undefined, undefined], format: 'linear' }
      t.same(engine.outputs, {
        y: { name: 'y', dtype: 'float32', shape: [-1, 3], ...dynamic, profiles: [], profileValues: [] },
      })
    })

    await t.test('right answers for every size that a profile takes, in any order', async (t) => {
      await using engine = await load(twoProfiles)
      for (const rows of [1, 16, 4, 8, 2, 12, 1]) {
        const values = Float32Array.from({ length: rows * 3 }, (_, i) => Math.sin(i + rows) * 5)
        const y = await engine.infer(new Tensor('float32', values, [rows, 3]))
        t.same(y.shape, [rows, 3])
        t.same(
          y.data,
          values.map((v) => Math.max(0, Math.fround(v * 2 + 1))),
          `${rows} rows`,
        )
      }
    })

    await t.test('a shape between the profiles is refused with what each allows', async (t) => {
      await using engine = await load(twoProfiles)
      const failure = await failureOf(() => engine.infer(Tensor.zeros('float32', [6, 3])))
      t.match(failure, {
        code: 'ERR_TRT_SHAPE',
        message:
          /profile 0: \[1, 3\] to \[4, 3\], profile 1: \[8, 3\] to \[16, 3\] for input "a" but received \[6, 3\]/,
      })
    })

    await t.test('two inputs that no profile takes together', async (t) => {
      await using engine = await load({
        inputs: [
          { name: 'a', shape: [-1] },
          { name: 'b', shape: [-1] },
        ],
        outputs: [{ name: 'y', shape: [-1] }],
        ops: [{ type: 'concat', inputs: ['a', 'b'], output: 'y' }],
        profiles: [
          { dims: { a: range([1], [1], [2]), b: range([1], [1], [2]) } },
          { dims: { a: range([5], [5], [9]), b: range([5], [5], [9]) } },
        ],
      })
      const y = await engine.infer({ a: Tensor.from(Float32Array.of(1, 2)), b: Tensor.from(Float32Array.of(3)) })
      t.same(y['y']?.data, Float32Array.of(1, 2, 3))
      const failure = await failureOf(() =>
        engine.infer({ a: Tensor.zeros('float32', [1]), b: Tensor.zeros('float32', [5]) }),
      )
      t.match(failure, { code: 'ERR_TRT_SHAPE', message: /No optimization profile.*"a" \[1\].*"b" \[5\]/ })
    })

    await t.test('every data type goes through unchanged', async (t) => {
      const samples = [
        new Tensor('float16', Uint16Array.of(0x3c00, 0xc000, 0x7bff), [3]),
        new Tensor('bfloat16', Uint16Array.of(0x3f80, 1, 0xffff), [3]),
        new Tensor('int32', Int32Array.of(-1, 2 ** 31 - 1, -(2 ** 31)), [3]),
        new Tensor('int64', BigInt64Array.of(-1n, 2n ** 62n, 7n), [3]),
        new Tensor('int8', Int8Array.of(-128, 127, 0), [3]),
        new Tensor('uint8', Uint8Array.of(0, 255, 7), [3]),
        new Tensor('bool', Uint8Array.of(0, 1, 1), [3]),
        new Tensor('float8e4m3', Uint8Array.of(0x38, 0xb8, 0x7e), [3]),
      ] as const
      for (const tensor of samples) {
        const { dtype } = tensor
        await using engine = await load({
          inputs: [{ name: 'x', dtype, shape: [3] }],
          outputs: [{ name: 'y', dtype, shape: [3] }],
          ops: [{ type: 'identity', inputs: ['x'], output: 'y' }],
        })
        const y = await engine.infer(tensor)
        t.same({ dtype: y.dtype, data: y.data }, { dtype, data: tensor.data }, dtype)
      }
    })

    await t.test('scalars, empty tensors and shape tensors', async (t) => {
      await using scalar = await load({
        inputs: [{ name: 'x', shape: [] }],
        outputs: [{ name: 'y', shape: [] }],
        ops: [{ type: 'neg', inputs: ['x'], output: 'y' }],
      })
      t.same((await scalar.infer(new Tensor('float32', Float32Array.of(4), []))).data, Float32Array.of(-4))
      await using empty = await load({
        inputs: [{ name: 'x', shape: [-1, 3] }],
        outputs: [{ name: 'y', shape: [-1, 3] }],
        ops: [{ type: 'identity', inputs: ['x'], output: 'y' }],
        profiles: [{ dims: { x: range([0, 3], [1, 3], [2, 3]) } }],
      })
      t.same((await empty.infer(Tensor.zeros('float32', [0, 3]))).shape, [0, 3])
      await using reshape = await load({
        inputs: [
          { name: 'x', shape: [6] },
          { name: 'to', dtype: 'int64', shape: [2], host: true },
        ],
        outputs: [{ name: 'y', shape: [-1, -1] }],
        ops: [{ type: 'reshape', inputs: ['x', 'to'], output: 'y' }],
        profiles: [{ values: { to: range([1, 1], [2, 3], [6, 6]) } }],
      })
      const { y } = await reshape.infer({
        x: Tensor.from(Float32Array.of(1, 2, 3, 4, 5, 6)),
        to: Tensor.from(BigInt64Array.of(3n, 2n)),
      })
      t.same({ shape: y?.shape, data: y?.data }, { shape: [3, 2], data: Float32Array.of(1, 2, 3, 4, 5, 6) })
    })

    await t.test('an output whose size depends on the data', async (t) => {
      await using engine = await load({
        inputs: [{ name: 'x', shape: [6] }],
        outputs: [{ name: 'y', dtype: 'int64', shape: [-1, 1] }],
        ops: [{ type: 'nonzero', inputs: ['x'], output: 'y' }],
      })
      for (const values of [
        [0, 5, 0, 0, 7, 1],
        [0, 0, 0, 0, 0, 0],
        [1, 1, 1, 1, 1, 1],
        [0, 0, 0, 0, 0, 9],
      ]) {
        const y = await engine.infer(Tensor.from(Float32Array.from(values)))
        const places = values.flatMap((value, i) => (value === 0 ? [] : [BigInt(i)]))
        t.same({ count: y.size, data: Array.from(y.data as BigInt64Array) }, { count: places.length, data: places })
      }
    })

    await t.test('a vectorized format is refused', async (t) => {
      const vectorized = {
        inputs: [{ name: 'x', shape: [4], format: 1, components: 2, vectorDim: 0 }],
        outputs: [],
        ops: [],
      }
      t.match(await failureOf(() => load(vectorized)), { code: 'ERR_TRT_UNSUPPORTED', message: /'x' has the format/ })
    })

    await t.test('an output that is written in the memory of an input is refused, by both names', async (t) => {
      const [x, cache] = [
        { name: 'x', shape: [4] },
        { name: 'cache', shape: [4] },
      ]
      const aliased = {
        inputs: [x, cache],
        outputs: [{ name: 'updated', shape: [4] }],
        ops: [{ type: 'add', inputs: ['x', 'cache'], output: 'updated' }],
        aliases: { updated: 'cache' },
      }
      const message = /^Output 'updated' is written in the memory of input 'cache'.*not supported/
      t.match(await failureOf(() => load(aliased)), { code: 'ERR_TRT_UNSUPPORTED', message })
      await using engine = await load({ ...aliased, aliases: {} })
      t.same(
        (await engine.infer({ x: Tensor.from(Float32Array.of(1, 2, 3, 4)), cache: Tensor.zeros('float32', [4]) }))[
          'updated'
        ]?.data,
        Float32Array.of(1, 2, 3, 4),
      )
    })

    await t.test('plans that cannot be run are refused with both sides', async (t) => {
      const whole = fakePlan({ ...twoProfiles, version })
      const damaged = whole.slice()
      damaged[whole.length - 9] = 0xff
      t.match(await failureOf(() => Engine.load(damaged, { tensorrt: { library: path } })), {
        code: 'ERR_TRT_PLAN',
        message: new RegExp(
          `TensorRT ${version.join('\\.')} cannot load the plan of ${whole.length} bytes.*checksum failed`,
        ),
        log: [],
      })
      t.match(
        await failureOf(() => Engine.load(whole.subarray(0, whole.length - 9), { tensorrt: { library: path } })),
        {
          code: 'ERR_TRT_PLAN',
          message: `truncated: a plan built by TensorRT ${version.join('.')} of ${whole.length} bytes, of which ${whole.length - 9} are there`,
          log: [],
        },
      )
      const other = families.find((family) => family.name !== name)
      const foreign = await failureOf(() =>
        Engine.load(fakePlan({ ...twoProfiles, version: other?.version ?? [] }), { tensorrt: { library: path } }),
      )
      t.match(foreign, {
        code: 'ERR_TRT_PLAN',
        message: `The plan was built by TensorRT ${other?.version.join('.')}, but this machine has only TensorRT ${version.join('.')}`,
      })
      const rtx = fakePlan({ ...twoProfiles, version })
      rtx.set(Buffer.from('vtrt'))
      t.match(await failureOf(() => Engine.load(rtx, { tensorrt: { library: path } })), {
        code: 'ERR_TRT_PLAN',
        message: /built by TensorRT-RTX/,
      })
    })

    await t.test('a call that fails rejects one inference, not the next', async (t) => {
      await using engine = await load(twoProfiles)
      const input = Tensor.zeros('float32', [1, 3])
      control.failNth('enqueueV3', 1)
      t.match(await failureOf(() => engine.infer(input)), { code: 'ERR_TRT_EXECUTION', message: /enqueueV3 failed/ })
      t.same((await engine.infer(input)).data, Float32Array.of(1, 1, 1))
      driver.failNth('cuMemcpyHtoDAsync_v2', 1, 1)
      t.match(await failureOf(() => engine.infer(input)), {
        code: 'ERR_TRT_CUDA',
        details: { call: 'cuMemcpyHtoDAsync' },
      })
      t.same((await engine.infer(input)).data, Float32Array.of(1, 1, 1))
      await using another = await load(twoProfiles)
      driver.failNth('cuMemAlloc_v2', 1, 2, 'sticky')
      t.match(await failureOf(() => another.infer(input)), { code: 'ERR_TRT_OUT_OF_MEMORY' })
      driver.reset()
      t.same((await another.infer(input)).data, Float32Array.of(1, 1, 1))
    })

    await t.test('many at once, and a close that lets them end', async (t) => {
      const engine = await load(twoProfiles)
      const calls = Array.from({ length: 200 }, (_, i) =>
        engine.infer(new Tensor('float32', Float32Array.of(i, i, i), [1, 3])),
      )
      const closed = engine.close()
      const results = await Promise.all(calls)
      await closed
      t.ok(results.every((y, i) => y.data[0] === i * 2 + 1))
      await engine.close()
      t.match(await failureOf(() => engine.infer(Tensor.zeros('float32', [1, 3]))), { code: 'ERR_TRT_CLOSED' })
    })

    await t.test('ONNX is built and run', async (t) => {
      const plan = await new Builder({ tensorrt: { library: path } }).build(oneNode('Relu', ['N', 2]), {
        shapes: { x: range([1, 2], [2, 2], [4, 2]) },
      })
      t.equal(plan.info.library, `TensorRT ${version.join('.')}`)
      await using engine = await Engine.load(plan.bytes, { tensorrt: { library: path } })
      const y = await engine.infer(new Tensor('float32', Float32Array.of(-1, 2, 3, -4), [2, 2]))
      t.same(y.data, Float32Array.of(0, 2, 3, 0))
      await using direct = await Engine.load(oneNode('Relu', [1, 2]), { tensorrt: { library: path } })
      t.equal(direct.backend, 'tensorrt', 'auto takes TensorRT where it builds and runs')
    })

    await t.test('nothing is left when all are closed', async (t) => {
      const { live, misuse, traps } = control.stats()
      live.hostMemories = 0 // plans that JavaScript still holds
      t.ok(
        Object.values(live).every((count) => count === 0),
        JSON.stringify(live),
      )
      t.same(misuse, {})
      t.same(traps, [])
      const { streams, events, deviceAllocations, deviceBytes } = driver.stats()
      t.same(
        { streams, events, deviceAllocations, deviceBytes },
        { streams: 0, events: 0, deviceAllocations: 0, deviceBytes: 0 },
      )
    })
  })
}

await t.test('capabilities() with a driver and a GPU', async (t) => {
  const found = await capabilities({ tensorrt: { library: fakes.trt10 } })
  t.match(found.driver, { found: true })
  t.match(found.gpus, [{ index: 0, name: String, computeCapability: /^\d+\.\d+$/ }])
  t.match(found.tensorrt, [{ kind: 'full', version: '10.15.1', canBuild: true, canRun: true }])
  t.match(
    await failureOf(() => Engine.load(fakePlan({ ...twoProfiles }), { tensorrt: { library: fakes.trt10, device: 7 } })),
    {
      code: 'ERR_TRT_NO_GPU',
      message: /Expected the number of a GPU below 1 for tensorrt\.device but received 7: the CUDA driver .* sees 1/,
    },
  )
})
