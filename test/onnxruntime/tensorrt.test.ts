// Sessions on TensorRT, on the fakes: which provider is taken, what onnxruntime's options tell the builder and the
// engine, and what a session does there as it does on the CPU.
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { InferenceSession } from 'onnxruntime-common'
import t, { type Test } from 'tap'
import { Tensor } from '../../lib/onnxruntime/entry.js'
import { forgetWarnings } from '../../lib/onnxruntime/lines.js'
import { tensorrtOptionNames } from '../../lib/onnxruntime/tensorrt-options.js'
import { enums } from '../facts/facts.js'
import { temporaryFolder } from '../support/folders.js'
import { addModel, casts, identity, oneNode, quantizedModel, twoInTwoOut } from '../support/models.js'
import { builds, control, driver, floats, leftovers, opened, openedBy, plugin, tensorrt } from './rig.js'
import { saidBy } from './said.js'

const relu = oneNode('Relu')
const x = floats(1, 4)

/** What the last build was told. */
const told = (): Readonly<Record<string, number>> => control.stats().builds.at(-1) ?? {}
const hasFlag = (name: string): boolean => (((told()['flags'] ?? 0) >> enumerator(`BuilderFlag.${name}`)) & 1) === 1
function enumerator(name: string): number {
  const [enumeration = '', member = ''] = name.split('.')
  return enums.trt10[enumeration]?.[member]?.[0] ?? NaN
}

/** A machine without TensorRT, while the body runs. */
async function withoutTensorRT<T>(body: () => Promise<T>): Promise<T> {
  const path = process.env['TENSORRT_PATH']
  process.env['TENSORRT_PATH'] = '/nowhere'
  try {
    return await body()
  } finally {
    process.env['TENSORRT_PATH'] = path
  }
}

interface Outcome {
  readonly provider?: string
  readonly code?: string
  readonly lines: readonly RegExp[]
}

/** The lines that are said of a session, besides `env`, and what it runs on. */
async function outcomeOf(t: Test, model: Uint8Array, options: InferenceSession.SessionOptions): Promise<unknown> {
  let found: object = {}
  const lines = await saidBy(async () => {
    found = await openedBy(t, model, options).then(
      ({ provider }) => ({ provider }),
      (error: unknown) => ({ code: (error as { code?: string }).code ?? (error as Error).message }),
    )
  })
  return { ...found, lines }
}

t.test('the providers are tried in their order, and one line says which it is', async (t) => {
  const runs = (on: string, why = ''): RegExp => new RegExp(`^node-tensorrt: a session runs on ${on} \\(.*\\)${why}$`)
  const absent = ', not on tensorrt: .*/nowhere.*'
  const refused = ', not on tensorrt: .*cannot parse the ONNX model.*'
  const double = casts('float64', 'float32')
  const odd = oneNode('Unheard', [1, 4])
  const gpu = (providers: readonly string[] | undefined): any => providers && { executionProviders: providers }
  const rows: [string, InferenceSession.SessionOptions, Outcome, Outcome][] = [
    ['nothing', {}, { provider: 'tensorrt', lines: [] }, { provider: 'cpu', lines: [] }],
    ['cpu', gpu(['cpu']), { provider: 'cpu', lines: [] }, { provider: 'cpu', lines: [] }],
    ['cpu first', gpu(['cpu', 'tensorrt']), { provider: 'cpu', lines: [] }, { provider: 'cpu', lines: [] }],
    ['tensorrt', gpu(['tensorrt']), { provider: 'tensorrt', lines: [] }, { code: 'ERR_TRT_NO_LIBRARY', lines: [] }],
    [
      'both',
      gpu(['tensorrt', 'cpu']),
      { provider: 'tensorrt', lines: [] },
      { provider: 'cpu', lines: [runs('cpu', absent)] },
    ],
    [
      'both, told nothing but errors',
      { ...gpu(['tensorrt', 'cpu']), logSeverityLevel: 3 },
      { provider: 'tensorrt', lines: [] },
      { provider: 'cpu', lines: [] },
    ],
    [
      'both, told all',
      { ...gpu(['tensorrt', 'cpu']), logSeverityLevel: 0 },
      { provider: 'tensorrt', lines: [runs('tensorrt')] },
      { provider: 'cpu', lines: [runs('cpu', absent)] },
    ],
  ]
  for (const [what, options, onGpu, elsewhere] of rows) {
    t.match(await outcomeOf(t, relu, options), onGpu, what)
    const without = (await withoutTensorRT(() => outcomeOf(t, relu, options))) as Outcome
    t.match(without, elsewhere, `${what}, without TensorRT`)
    t.equal(without.lines.length, elsewhere.lines.length)
  }
  t.match(await outcomeOf(t, odd, gpu(['tensorrt'])), { code: 'ERR_TRT_UNSUPPORTED_OPERATOR' })
  t.match(await outcomeOf(t, casts('uint16', 'float32'), gpu(['tensorrt', 'cpu'])), {
    provider: 'cpu',
    lines: [runs('cpu', refused)],
  })
  t.match(await outcomeOf(t, double, gpu(['tensorrt', 'cpu'])), { provider: 'tensorrt', lines: [] })
})

t.test('providers of others are told to be none of ours', async (t) => {
  for (const name of ['cuda', 'dml', 'webgpu', 'coreml']) {
    const words = new RegExp(`'${name}', which node-tensorrt does not have: '(tensorrt|cpu)' runs`)
    t.match(await outcomeOf(t, relu, { executionProviders: [name] }), { code: 'ERR_TRT_UNSUPPORTED' }, name)
    const { lines, ...found } = (await outcomeOf(t, relu, { executionProviders: [name, 'tensorrt'] })) as Outcome
    t.match(found, { provider: 'tensorrt' })
    t.match(lines, [words])
    t.equal(lines.length, 1)
  }
})

/** What else a session with an option is to be: of the session, and the folder of its cache. */
type Proof = (t: Test, session: any, folder: string) => unknown

/** By option: its value, and what the fake was told or what came of it. */
const proofs: Readonly<Record<string, readonly [object, Proof, Uint8Array?]>> = {
  deviceId: [{ deviceId: 0 }, (t, { provider }) => t.equal(provider, 'tensorrt')],
  device_id: [{ device_id: '0' }, (t, { provider }) => t.equal(provider, 'tensorrt')],
  trt_fp16_enable: [{ trt_fp16_enable: true }, (t) => t.ok(hasFlag('kFP16'))],
  trt_bf16_enable: [{ trt_bf16_enable: '1' }, (t) => t.ok(hasFlag('kBF16'))],
  trt_int8_enable: [{ trt_int8_enable: 1 }, (t) => t.ok(hasFlag('kINT8')), quantizedModel()],
  trt_max_workspace_size: [
    { trt_max_workspace_size: 2 ** 21 },
    (t) => t.equal(told()[`setMemoryPoolLimit.${enumerator('MemoryPoolType.kWORKSPACE')}`], 2 ** 21),
  ],
  trt_builder_optimization_level: [
    { trt_builder_optimization_level: 1 },
    (t) => t.equal(told()['setBuilderOptimizationLevel'], 1),
  ],
  trt_auxiliary_streams: [{ trt_auxiliary_streams: 2 }, (t) => t.equal(told()['setMaxAuxStreams'], 2)],
  trt_sparsity_enable: [{ trt_sparsity_enable: true }, (t) => t.ok(hasFlag('kSPARSE_WEIGHTS'))],
  trt_weight_stripped_engine_enable: [
    { trt_weight_stripped_engine_enable: true },
    async (t, session) => {
      t.ok(hasFlag('kSTRIP_PLAN'))
      const [output] = session.outputNames
      t.same((await session.run({ x }))[output].data, Float32Array.of(7, 2, 3, 4), 'its weights are those of the model')
    },
    addModel(7),
  ],
  trt_engine_hw_compatible: [
    { trt_engine_hw_compatible: true },
    (t) => t.equal(told()['setHardwareCompatibilityLevel'], enumerator('HardwareCompatibilityLevel.kAMPERE_PLUS')),
  ],
  trt_extra_plugin_lib_paths: [{ trt_extra_plugin_lib_paths: plugin }, (t) => t.equal(told()['plugins'], 1)],
  trt_cuda_graph_enable: [
    { trt_cuda_graph_enable: false },
    async (t, session) => {
      for (let i = 0; i < 5; i++) await session.run({ x })
      t.equal(driver.stats().graphExecs, 0)
    },
  ],
  trt_engine_cache_enable: [
    { trt_engine_cache_enable: false },
    (t, _, folder) => t.same(readdirSync(folder), [], 'nothing is kept'),
  ],
  trt_engine_cache_path: [
    {},
    (t, _, folder) => t.equal(readdirSync(folder).filter((name) => name.endsWith('.plan')).length, 1),
  ],
  trt_timing_cache_enable: [
    { trt_timing_cache_enable: true },
    (t, _, folder) => t.ok(existsSync(join(folder, 'node-tensorrt-gpu0.timing'))),
  ],
  trt_timing_cache_path: [
    { trt_timing_cache_enable: true, trt_timing_cache_path: join(t.testdir(), 'times', 'of') },
    (t, _, folder) => {
      t.notOk(existsSync(join(folder, 'node-tensorrt-gpu0.timing')))
      t.ok(existsSync(join(t.testdirName, '..')), 'a folder that is made')
    },
  ],
}

const profiles = ['trt_profile_min_shapes', 'trt_profile_opt_shapes', 'trt_profile_max_shapes']

t.test('each option of the provider reaches the builder or the engine', async (t) => {
  const rest = tensorrtOptionNames.filter((name) => !(name in proofs))
  t.same(rest, profiles, 'which have a test of their own')
  for (const [options, proof, model = relu] of Object.values(proofs)) {
    const folder = temporaryFolder(t)
    const session = await opened(t, model, tensorrt(t, options, folder))
    await proof(t, session, folder)
    await session.release()
  }
  t.match(await outcomeOf(t, relu, { executionProviders: [tensorrt(t, { deviceId: 7 })] }), { code: 'ERR_TRT_NO_GPU' })
  const nowhere = tensorrt(t, { trt_extra_plugin_lib_paths: '/nowhere/plugin.so' })
  t.match(await outcomeOf(t, relu, { executionProviders: [nowhere, 'cpu'] }), { code: 'ERR_TRT_FILE' })
})

t.test('profiles say the range: it is built when the session opens, and held to', async (t) => {
  const [min, opt, max] = profiles as [string, string, string]
  const folder = temporaryFolder(t)
  const range = { [min]: 'a:1x3,b:1x3', [opt]: 'a:2x3,b:2x3', [max]: 'a:4x3,b:4x3' }
  const before = builds()
  const session = await opened(t, twoInTwoOut(), tensorrt(t, range, folder))
  t.equal(told()['profiles'], 1)
  for (const rows of [1, 4]) t.same((await session.run({ a: floats(rows, 3), b: floats(rows, 3) })).sum.dims, [rows, 3])
  await t.rejects(session.run({ a: floats(5, 3), b: floats(5, 3) }), { name: 'Error', code: 'ERR_TRT_SHAPE' })
  t.equal(builds() - before, 1)
  const two = { [min]: 'x:1,x:8', [opt]: 'x:1,x:9', [max]: 'x:2,x:9' }
  const other = await opened(t, identity(), tensorrt(t, two))
  t.equal(told()['profiles'], 2)
  for (const size of [2, 9]) t.same((await other.run({ x: floats(size) })).y.dims, [size])

  const all = { [min]: 'x:1', [opt]: 'x:1', [max]: 'x:1' }
  const wrong: [object, { name: string; code?: string; message?: RegExp }][] = [
    [{ [min]: 'x:1' }, { name: 'TypeError', message: /have to be given together/ }],
    [
      { [min]: 'x:1', [max]: 'x:1' },
      { name: 'TypeError', message: /have to be given together/ },
    ],
    [
      { ...all, [opt]: 'z:1' },
      { name: 'TypeError', message: /the same inputs/ },
    ],
    [
      { ...all, [opt]: 'x:1,x:1' },
      { name: 'TypeError', message: /the same inputs as often/ },
    ],
    [
      { ...all, [opt]: 'x=1' },
      { name: 'TypeError', message: /trt_profile_opt_shapes must be text such as/ },
    ],
    [
      { ...all, [opt]: 'x:1x' },
      { name: 'TypeError', message: /trt_profile_opt_shapes must be text such as/ },
    ],
    [{ ...all, [opt]: '' }, { name: 'TypeError' }],
    [
      { ...all, [opt]: 1 },
      { name: 'TypeError', message: /must be a text/ },
    ],
    [
      { [min]: 'z:1', [opt]: 'z:1', [max]: 'z:1' },
      { name: 'Error', code: 'ERR_TRT_UNKNOWN_INPUT' },
    ],
    [
      { ...all, [min]: 'x:2' },
      { name: 'Error', code: 'ERR_TRT_SHAPE' },
    ],
    [
      { [min]: 'x:1x1', [opt]: 'x:1x1', [max]: 'x:1x1' },
      { name: 'Error', code: 'ERR_TRT_SHAPE' },
    ],
  ]
  for (const [options, error] of wrong)
    await t.rejects(opened(t, identity(), tensorrt(t, options)), error, JSON.stringify(options))
})

/** What onnxruntime has and this package has not: each is named once. */
const others = {
  user_compute_stream: '1',
  trt_max_partition_iterations: 1000,
  trt_min_subgraph_size: 1,
  trt_int8_calibration_table_name: 'table',
  trt_int8_use_native_calibration_table: false,
  trt_dla_enable: true,
  trt_dla_core: 0,
  trt_dump_subgraphs: true,
  trt_engine_cache_prefix: 'p',
  trt_engine_decryption_enable: true,
  trt_engine_decryption_lib_path: 'x.so',
  trt_force_sequential_engine_build: true,
  trt_context_memory_sharing_enable: true,
  trt_layer_norm_fp32_fallback: true,
  trt_force_timing_cache: true,
  trt_detailed_build_log: true,
  trt_build_heuristics_enable: true,
  trt_tactic_sources: '-CUDNN',
  trt_dump_ep_context_model: true,
  trt_ep_context_file_path: 'x',
  trt_ep_context_embed_mode: 0,
  trt_onnx_model_folder_path: 'x',
  trt_op_types_to_exclude: 'NonZero',
  trt_preview_features: 'x',
  trt_load_user_initializer: true,
}

t.test("onnxruntime's options that are not here are named, each once", async (t) => {
  forgetWarnings()
  const open = (): Promise<unknown> => opened(t, relu, tensorrt(t, others))
  const lines = await saidBy(open)
  t.match(
    lines,
    Object.keys(others).map(
      (name) => `node-tensorrt: the option '${name}' of the provider 'tensorrt' has no effect here`,
    ),
  )
  t.equal(lines.length, Object.keys(others).length)
  t.same(await saidBy(open), [])
})

t.test('weights that are given apart, and sizes for free dimensions', async (t) => {
  const data = new Uint8Array(Float32Array.of(5, 6, 7, 8).buffer)
  const executionProviders = [tensorrt(t)]
  const session = await openedBy(t, addModel(1, 4, 'w.bin'), {
    executionProviders,
    externalData: [{ path: 'w.bin', data }],
  })
  const [output] = session.outputNames
  t.same((await session.run({ x }))[output].data, Float32Array.of(5, 7, 9, 11))
  const before = builds()
  const free = await openedBy(t, identity(), { executionProviders, freeDimensionOverrides: { N: 3 } })
  t.equal(builds() - before, 1, 'a size needs no range')
  t.same(free.inputMetadata[0].shape, [3])
  t.same((await free.run({ x: floats(3) })).y.dims, [3])
  await t.rejects(free.run({ x: floats(4) }), { name: 'Error', code: 'ERR_TRT_SHAPE' })
})

t.test('fetches: names, memory of the caller, places', async (t) => {
  const feeds = { a: floats(2, 3), b: floats(2, 3) }
  const session = await openedBy(t, twoInTwoOut(), {
    executionProviders: [tensorrt(t)],
    preferredOutputLocation: { sum: 'cpu' },
    logSeverityLevel: 3,
  })
  const place = new Tensor('float32', new Float32Array(6), [2, 3])
  // the first of them waits for its engine
  for (let i = 0; i < 2; i++) {
    place.data.fill(0)
    const found = await session.run(feeds, { sum: place })
    t.equal(found.sum, place)
    t.same(place.data, Float32Array.of(0, 2, 4, 6, 8, 10))
    t.same(Object.keys(await session.run(feeds, ['difference'])), ['difference'])
    t.equal((await session.run(feeds)).sum.location, 'cpu')
  }
  const wrong = new Tensor('float32', new Float32Array(3), [1, 3])
  await t.rejects(session.run(feeds, { sum: wrong }), { name: 'Error', code: 'ERR_TRT_SHAPE' })
  const { a } = feeds
  t.equal((await session.run({ a, b: floats(2, 3) }, { sum: a })).sum, a)
  t.same(a.data, Float32Array.of(0, 2, 4, 6, 8, 10), 'an input may be an output')
  const places = { executionProviders: [tensorrt(t)], preferredOutputLocation: { none: 'cpu' } } as const
  await t.rejects(openedBy(t, twoInTwoOut(), places), {
    name: 'TypeError',
    message: /"none" is not a valid output name/,
  })
})

t.test('64 at once, and released while they run', async (t) => {
  const session = await opened(t, relu, tensorrt(t))
  const [output] = session.outputNames
  const runs = Array.from({ length: 64 }, (_, i) =>
    session.run({ x: new Tensor('float32', Float32Array.of(i, 0, 0, 0), [1, 4]) }),
  )
  const released = session.release()
  const results = await Promise.all(runs)
  t.same(
    results.map((each) => each[output].data[0]),
    runs.map((_, i) => i),
  )
  await released
  t.equal(session.provider, 'tensorrt')
  const over = { name: 'Error', code: 'ERR_TRT_CLOSED', message: 'Session already disposed.' }
  await t.rejects(session.run({ x }), over)
  await t.rejects(session.release(), over)
})

t.test('nothing is left', (t) => {
  t.same(leftovers(), {})
  t.end()
})
