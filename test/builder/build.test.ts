import { execFileSync } from 'node:child_process'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { Builder, type BuildProgress, Engine, Tensor } from '../../lib/index.js'
import { GraphBuilder, inspectModel, readModel, writeModel } from '../../lib/onnx/index.js'
import { failureOf } from '../support/errors.js'
import { watchEventLoop } from '../support/event-loop.js'
import { temporaryFolder } from '../support/folders.js'
import { oneNode } from '../support/models.js'
import { modelsToBuild, modelsToBuildFirst } from '../support/real-models.js'
import { skipWithoutRtx } from '../support/tensorrt.js'
import { size } from '../support/tiers.js'

t.test('real models become plans', { skip: skipWithoutRtx }, async (t) => {
  for (const { name, source, shapes } of modelsToBuildFirst) {
    await t.test(name, async (t) => {
      const model = await source()
      const steps: BuildProgress[] = []
      const begun = performance.now()
      const plan = await new Builder().build(model, { shapes, onProgress: (step) => steps.push(step) })
      t.equal(Buffer.from(plan.bytes.subarray(0, 4)).toString(), 'vtrt', 'begins as a TensorRT-RTX plan does')
      const { inputs, outputs } = inspectModel(await readModel(model))
      const known = (list: readonly { name: string; dtype: string }[]): unknown =>
        list.map(({ name, dtype }) => ({ name, dtype }))
      t.same(known(plan.info.inputs), known(inputs), 'TensorRT sees the inputs that the ONNX file has')
      t.same(known(plan.info.outputs), known(outputs), 'and the outputs')
      t.ok(steps.length > 20, `${steps.length} steps of progress`)
      t.ok(
        steps.every(({ phase, step, steps }) => phase !== '' && step >= 0 && step <= steps),
        'no step beyond its phase',
      )
      t.equal(plan.info.layers, plan.info.network.layers, 'the network that was read is the one that was built')
      t.ok(
        plan.info.parseMs > 0 &&
          plan.info.buildMs > 0 &&
          plan.info.parseMs + plan.info.buildMs <= performance.now() - begun,
      )
    })
  }
})

t.test('options reach TensorRT, as it reports itself', { skip: skipWithoutRtx }, async (t) => {
  t.equal((await new Builder().build(oneNode('Relu'))).info.settings.tf32, true, "TensorRT's default")
  const { info } = await new Builder({ workspace: '256MiB', optimizationLevel: 1, tf32: false }).build(oneNode('Relu'))
  t.equal(info.settings.tf32, false)
  t.equal(info.settings.workspace, 256 * 2 ** 20)
  t.equal(info.settings.optimizationLevel, 1)
  t.match(info.library, /^TensorRT-RTX 1\.7\./)
})

t.test('several profiles, and the same shape for all three', { skip: skipWithoutRtx }, async (t) => {
  const model = oneNode('Relu', ['N', 4])
  const one = await new Builder().build(model, { shapes: { x: [2, 4] } })
  const two = await new Builder().build(model, {
    shapes: [{ x: [2, 4] }, { x: { min: [8, 4], opt: [16, 4], max: [32, 4] } }],
  })
  t.ok(two.bytes.length > one.bytes.length, 'the second profile is in the plan')
})

t.test('each kind of bad model has its own error', { skip: skipWithoutRtx }, async (t) => {
  const builder = new Builder()
  const whole = oneNode('Relu')
  const dynamic = oneNode('Relu', ['N', 4])
  const unknownOp = await failureOf(() => builder.build(oneNode('NoSuchOperator', [1, 4], 'org.example')))
  t.match(unknownOp, {
    code: 'ERR_TRT_UNSUPPORTED_OPERATOR',
    details: { operator: 'NoSuchOperator', node: 'the-node' },
    message: /NoSuchOperator/,
  })
  t.ok(unknownOp.log.length > 0, "TensorRT's own lines come with it")
  for (const length of [1, 10, whole.length >> 1, whole.length - 1]) {
    t.match(
      await failureOf(() => builder.build(whole.subarray(0, length))),
      { code: /ERR_TRT_(ONNX_PARSE|MODEL_FORMAT)/ },
      `truncated to ${length} of ${whole.length} bytes`,
    )
  }
  t.match(await failureOf(() => builder.build(new Uint8Array(0))), {
    code: 'ERR_TRT_ONNX_PARSE',
    message: /empty \(0 bytes\)/,
  })
  t.match(await failureOf(() => builder.build(dynamic)), {
    code: 'ERR_TRT_SHAPES_REQUIRED',
    message: /'x' \[-1, 4\] is dynamic/,
  })
  t.match(await failureOf(() => builder.build(dynamic, { shapes: { X: [1, 4] } })), {
    code: 'ERR_TRT_UNKNOWN_INPUT',
    message: /no input 'X'.*it has 'x' \[-1, 4\]/,
  })
  const refused: [string, object, RegExp][] = [
    ['min above opt', { min: [4, 4], opt: [2, 4], max: [8, 4] }, /min ≤ opt ≤ max in dimension 0/],
    ['opt above max', { min: [1, 4], opt: [9, 4], max: [8, 4] }, /min ≤ opt ≤ max in dimension 0/],
    ['another rank', { min: [1], opt: [1], max: [1] }, /shapes of 2 dimensions/],
    [
      'against a fixed dimension',
      { min: [1, 3], opt: [1, 4], max: [1, 4] },
      /Expected 4, which the model fixes, in dimension 1/,
    ],
  ]
  for (const [name, x, message] of refused) {
    t.match(
      await failureOf(() => builder.build(dynamic, { shapes: { x: x as never } })),
      { code: 'ERR_TRT_SHAPE', message },
      name,
    )
  }
  t.match(await failureOf(() => builder.build('/no/such/model.onnx')), {
    code: 'ERR_TRT_FILE',
    message: /no\/such\/model\.onnx.*No such file/,
  })
  const folder = t.testdir({})
  execFileSync('mkfifo', [join(folder, 'pipe')])
  t.match(await failureOf(() => builder.build(folder)), { code: 'ERR_TRT_FILE', message: /is a folder/ })
  t.match(await failureOf(() => builder.build(join(folder, 'pipe'))), {
    code: 'ERR_TRT_FILE',
    message: /is not an ordinary file/,
  })
})

t.test(
  'an operator that the parser takes and the builder has no way to run is a build error',
  { skip: skipWithoutRtx },
  async (t) => {
    const graph = new GraphBuilder({ name: 'nms' })
    const boxes = graph.input('boxes', 'float32', [1, 6, 4])
    const scores = graph.input('scores', 'float32', [1, 1, 6])
    const count = graph.constant('count', new Tensor('int64', BigInt64Array.of(3n), [1]))
    graph.output(graph.node('NonMaxSuppression', [boxes, scores, count]), 'int64', ['n', 3])
    const failure = await failureOf(() => new Builder().build(writeModel(graph.toModel())))
    t.equal(failure.code, 'ERR_TRT_BUILD')
    t.match(
      failure.message,
      /could not build an engine from the model: .*Error Code 2: Internal Error .*NonMaxSuppression/,
      'with what TensorRT logged',
    )
  },
)

t.test('a build can be aborted, and a listener that throws ends it', { skip: skipWithoutRtx }, async (t) => {
  const detector = modelsToBuild[1]
  if (detector === undefined) throw new Error('no model')
  const { shapes } = detector
  const model = await detector.source()
  await t.rejects(new Builder().build(model, { shapes, signal: AbortSignal.abort(new Error('before')) }), {
    message: 'before',
  })
  const abort = new AbortController()
  const builder = new Builder()
  const order: string[] = []
  let ended: Promise<unknown> = Promise.resolve()
  const aborted = builder.build(model, {
    shapes,
    signal: abort.signal,
    onProgress: () => {
      if (abort.signal.aborted) return
      abort.abort(new Error('enough'))
      ended = builder.close().then(() => order.push('TensorRT ended'))
    },
  })
  await t.rejects(aborted, { message: 'enough' })
  order.push('rejected')
  await ended
  t.same(order, ['rejected', 'TensorRT ended'], 'at once, not at the next step of TensorRT')
  const failing = new Builder().build(model, {
    shapes,
    onProgress: () => {
      throw new Error('from the listener')
    },
  })
  await t.rejects(failing, { message: 'from the listener' })
})

t.test(
  'building does not hold up the event loop, and several builds run at once',
  { skip: skipWithoutRtx },
  async (t) => {
    const detector = modelsToBuild[1]
    if (detector === undefined) throw new Error('no model')
    const { source, shapes } = detector
    const model = await source()
    const { ticks, total } = await watchEventLoop(() => new Builder().build(model, { shapes }))
    t.ok(ticks > 20, `${ticks} ticks of a timer in ${Math.round(total)} ms`)
    const count = size(8, 40)
    const plans = await Promise.all(
      Array.from({ length: count }, (_, i) => new Builder().build(oneNode('Relu', [1, i + 1]))),
    )
    t.equal(new Set(plans.map((plan) => plan.info.inputs[0]?.shape[1])).size, count)
  },
)

t.test(
  'weights in a file beside the model are found when it is given as a path',
  { skip: skipWithoutRtx },
  async (t) => {
    const folder = temporaryFolder(t)
    const weights = new Float32Array([1, 2, 3, 4])
    const graph = new GraphBuilder({ name: 'external' })
    const x = graph.input('x', 'float32', [1, 4])
    graph.output(graph.node('Add', [x, graph.constant('w', Tensor.from(weights, [1, 4]))]), 'float32', [1, 4])
    const model = graph.toModel()
    const stored = model.graph?.initializer[0]
    if (stored === undefined) throw new Error('no initializer')
    delete (stored as { rawData?: Uint8Array }).rawData
    stored.dataLocation = 1
    stored.externalData = [{ $typeName: 'onnx.StringStringEntryProto', key: 'location', value: 'weights.bin' }]
    await writeFile(join(folder, 'weights.bin'), weights)
    await writeFile(join(folder, 'model.onnx'), writeModel(model))
    t.equal((await new Builder().build(join(folder, 'model.onnx'))).info.network.weightBytes, 4 * weights.length)
    await rm(join(folder, 'weights.bin'))
    t.match(await failureOf(() => new Builder().build(join(folder, 'model.onnx'))), { code: 'ERR_TRT_ONNX_PARSE' })
  },
)

t.test('TensorRT-RTX, which measures nothing, refuses a timing cache', { skip: skipWithoutRtx }, async (t) => {
  const folder = temporaryFolder(t)
  const timingCache = join(folder, 'timing.cache')
  t.match(await failureOf(() => new Builder({ timingCache }).build(oneNode('Relu'))), {
    code: 'ERR_TRT_UNSUPPORTED',
    message: /TensorRT-RTX 1\.7\.1 has no use for a timing cache.*needs? TensorRT 10 or 11/,
  })
  t.same(await readdir(folder), [])
})

t.test('a plan is saved whole or not at all', { skip: skipWithoutRtx }, async (t) => {
  const folder = temporaryFolder(t)
  const plan = await new Builder().build(oneNode('Relu'))
  await plan.save(join(folder, 'relu.plan'))
  t.ok(Buffer.from(plan.bytes).equals(await readFile(join(folder, 'relu.plan'))))
  const saved = ['relu.plan', 'relu.plan.json']
  t.same((await readdir(folder)).sort(), saved, 'no temporary file stays')
  t.match(await failureOf(() => plan.save(join(folder, 'no', 'such', 'folder.plan'))), {
    code: 'ERR_TRT_FILE',
    message: /Cannot save the plan as/,
  })
  t.match(await failureOf(() => plan.save('')), { code: 'ERR_TRT_INVALID_ARGUMENT' })
  t.match(await failureOf(() => plan.save(folder)), { code: 'ERR_TRT_FILE' })
  t.same((await readdir(folder)).sort(), saved)
})

t.test('a plan without a GPU is refused before TensorRT sees it', { skip: skipWithoutRtx }, async (t) => {
  process.env['NODE_TENSORRT_LIBCUDA'] = '/no/such/libcuda.so.1'
  const plan = await new Builder().build(oneNode('Relu'))
  t.match(await failureOf(() => Engine.load(plan.bytes)), { code: 'ERR_TRT_NO_DRIVER', message: /No CUDA driver/ })
  t.match(
    await failureOf(() => Engine.load(plan.bytes, { backend: 'cpu' })),
    { code: 'ERR_TRT_INVALID_ARGUMENT' },
    'and never falls back',
  )
  let steps = 0
  const given = { backend: 'tensorrt', cache: false, onProgress: () => steps++ } as const
  t.match(await failureOf(() => Engine.load(oneNode('Relu'), given)), { code: 'ERR_TRT_NO_DRIVER' })
  t.equal(steps, 0, 'nor is anything built that could not run, though TensorRT-RTX could build it')
})
