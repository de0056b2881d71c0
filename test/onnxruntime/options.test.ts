// The options of a session: what each becomes, and what is said of those that mean nothing here.
import t from 'tap'
import * as ours from '../../lib/onnxruntime/entry.js'
import { forgetWarnings } from '../../lib/onnxruntime/lines.js'
import { readSessionOptions, sessionOptionNames } from '../../lib/onnxruntime/options.js'
import { tensorrtOptionNames } from '../../lib/onnxruntime/tensorrt-options.js'
import { identity } from '../support/models.js'
import { saidBy } from './said.js'

const read = (options: object): any => readSessionOptions(options)

/** By option: what is given, and what becomes of it; or the words that are said of it. */
const used: [object, object][] = [
  [{ executionProviders: ['tensorrt', { name: 'cpu' }] }, { providers: ['tensorrt', 'cpu'] }],
  [{ executionProviders: [] }, { providers: [] }],
  [{ intraOpNumThreads: 2 }, { threads: 2 }],
  [{ intraOpNumThreads: 0 }, { threads: undefined }],
  [{ graphOptimizationLevel: 'basic' }, { optimization: 'basic' }],
  [{ freeDimensionOverrides: { N: 2 } }, { freeDimensions: { N: 2 } }],
  [{ externalData: ['w.bin'] }, { externalData: [{ path: 'w.bin', data: 'w.bin' }] }],
  [{ externalData: null }, { externalData: [] }],
  [
    { extra: { session: { disable_prepacking: '1' }, 'a.b': '2' } },
    { config: { 'session.disable_prepacking': '1', 'a.b': '2' } },
  ],
  [
    { logSeverityLevel: 4, logId: 'me' },
    { logSeverity: 4, logId: 'me' },
  ],
  [{ preferredOutputLocation: 'cpu' }, { locations: new Map([['', 'cpu']]) }],
  [{ preferredOutputLocation: { y: 'cpu' } }, { locations: new Map([['y', 'cpu']]) }],
  [{ enableCpuMemArena: true, enableMemPattern: true, executionMode: 'sequential', interOpNumThreads: 1 }, {}],
  [{ enableProfiling: false, profileFilePrefix: 'p', logVerbosityLevel: 0, enableGraphCapture: false }, {}],
  [{ intraOpNumThreads: undefined }, { threads: undefined }],
]

const named: Record<string, object> = {
  interOpNumThreads: { interOpNumThreads: 2 },
  intraOpNumThreads: { intraOpNumThreads: 5000 },
  enableCpuMemArena: { enableCpuMemArena: false },
  enableMemPattern: { enableMemPattern: false },
  executionMode: { executionMode: 'parallel' },
  optimizedModelFilePath: { optimizedModelFilePath: 'x.onnx' },
  logVerbosityLevel: { logVerbosityLevel: 1 },
  preferredOutputLocation: { preferredOutputLocation: 'gpu-buffer' },
  enableGraphCapture: { enableGraphCapture: true },
  cuda: { executionProviders: ['cuda', 'cpu'] },
  useArena: { executionProviders: [{ name: 'cpu', useArena: false }] },
  trt_dla_enable: { executionProviders: [{ name: 'tensorrt', trt_dla_enable: true }] },
  notAnOption: { notAnOption: 1 },
}

t.test('what is used comes to what it means', async (t) => {
  for (const [given, wanted] of used) {
    const settings = read(given)
    for (const [name, value] of Object.entries(wanted)) t.same(settings[name], value, JSON.stringify(given))
    t.same(settings.notes, [], `nothing is said of ${JSON.stringify(given)}`)
  }
})

t.test('what has no effect is named, and every option has a case here', async (t) => {
  for (const [name, given] of Object.entries(named)) {
    const { notes } = read(given)
    t.equal(notes.length, 1, name)
    t.match(notes[0], `'${name}'`)
  }
  const covered = [...used.map(([given]) => given), ...Object.values(named)].flatMap((given) => Object.keys(given))
  t.same(
    sessionOptionNames.filter((name) => !covered.includes(name)),
    [],
  )
})

const wrong: [object, 'TypeError' | 'RangeError'][] = [
  [{ executionProviders: 'cpu' }, 'TypeError'],
  [{ executionProviders: [1] }, 'TypeError'],
  [{ intraOpNumThreads: 'x' }, 'TypeError'],
  [{ intraOpNumThreads: 1.5 }, 'RangeError'],
  [{ intraOpNumThreads: -1 }, 'RangeError'],
  [{ interOpNumThreads: 'x' }, 'TypeError'],
  [{ interOpNumThreads: 1.5 }, 'RangeError'],
  [{ graphOptimizationLevel: 0 }, 'TypeError'],
  [{ graphOptimizationLevel: 'x' }, 'TypeError'],
  [{ enableCpuMemArena: 0 }, 'TypeError'],
  [{ enableMemPattern: 0 }, 'TypeError'],
  [{ executionMode: 0 }, 'TypeError'],
  [{ executionMode: 'x' }, 'TypeError'],
  [{ freeDimensionOverrides: 1 }, 'TypeError'],
  [{ freeDimensionOverrides: { N: '2' } }, 'TypeError'],
  [{ freeDimensionOverrides: { N: 0 } }, 'RangeError'],
  [{ externalData: 1 }, 'TypeError'],
  [{ externalData: [1] }, 'TypeError'],
  [{ externalData: [{ path: 1, data: 'x' }] }, 'TypeError'],
  [{ externalData: [{ path: 'x', data: 1 }] }, 'TypeError'],
  [{ extra: 1 }, 'TypeError'],
  [{ extra: { session: { a: 1 } } }, 'TypeError'],
  [{ logId: 1 }, 'TypeError'],
  [{ logSeverityLevel: '1' }, 'TypeError'],
  [{ logSeverityLevel: 5 }, 'RangeError'],
  [{ logVerbosityLevel: '1' }, 'TypeError'],
  [{ enableProfiling: 1 }, 'TypeError'],
  [{ profileFilePrefix: 1 }, 'TypeError'],
  [{ optimizedModelFilePath: 1 }, 'TypeError'],
  [{ preferredOutputLocation: 1 }, 'TypeError'],
  [{ preferredOutputLocation: 'x' }, 'TypeError'],
  [{ preferredOutputLocation: { y: 'x' } }, 'TypeError'],
  [{ enableGraphCapture: 1 }, 'TypeError'],
  [{ executionProviders: [{ name: 'tensorrt', trt_fp16_enable: 'x' }] }, 'TypeError'],
  [{ executionProviders: [{ name: 'tensorrt', deviceId: 'x' }] }, 'TypeError'],
  [{ executionProviders: [{ name: 'tensorrt', deviceId: 1.5 }] }, 'RangeError'],
  [{ executionProviders: [{ name: 'tensorrt', trt_profile_min_shapes: 'x:1' }] }, 'TypeError'],
  [{ executionProviders: [{ name: 'tensorrt', trt_profile_min_shapes: 'x' }] }, 'TypeError'],
  [{ executionProviders: [{ name: 'tensorrt', trt_engine_cache_path: 1 }] }, 'TypeError'],
]

t.test('a wrong value is an error by the name that onnxruntime-node gives it', async (t) => {
  for (const [given, name] of wrong)
    t.throws(() => read(given), { name, code: 'ERR_TRT_INVALID_ARGUMENT' }, JSON.stringify(given))
  t.throws(() => read({ enableProfiling: true }), { code: 'ERR_TRT_UNSUPPORTED', message: /^enableProfiling/ })
})

/** By option of the provider: what is given, and what the engine is told. */
const forTensorRT: [object, object][] = [
  [{ deviceId: 1 }, { engine: { device: 1 } }],
  [{ device_id: '2' }, { engine: { device: 2 } }],
  [{ trt_fp16_enable: true, trt_int8_enable: '1' }, { engine: { builder: { precision: ['fp16', 'int8'] } } }],
  [{ trt_bf16_enable: 'True', trt_fp16_enable: 0 }, { engine: { builder: { precision: ['bf16'] } } }],
  [{ trt_max_workspace_size: '1048576' }, { engine: { builder: { workspace: 1048576 } } }],
  [{ trt_max_workspace_size: 0 }, { engine: {} }],
  [{ trt_builder_optimization_level: 5 }, { engine: { builder: { optimizationLevel: 5 } } }],
  [{ trt_auxiliary_streams: -1 }, { engine: {} }],
  [{ trt_sparsity_enable: true }, { engine: { builder: { sparsity: true } } }],
  [{ trt_weight_stripped_engine_enable: true }, { engine: { builder: { stripWeights: true } } }],
  [{ trt_engine_hw_compatible: true }, { engine: { builder: { hardwareCompatibility: 'ampere+' } } }],
  [{ trt_extra_plugin_lib_paths: 'a.so;b.so' }, { engine: { builder: { plugins: ['a.so', 'b.so'] } } }],
  [{ trt_cuda_graph_enable: false }, { engine: { cudaGraph: false } }],
  [{ trt_engine_cache_enable: true, trt_engine_cache_path: 'plans' }, { cache: 'plans' }],
  [{ trt_engine_cache_enable: false, trt_engine_cache_path: 'plans' }, { cache: false }],
  [
    { trt_timing_cache_enable: true, trt_timing_cache_path: 'times' },
    { engine: { builder: { timingCache: 'times/node-tensorrt-gpu0.timing' } }, timingCacheFolder: 'times' },
  ],
  [{ trt_timing_cache_path: 'times' }, { engine: {} }],
  [
    {
      trt_profile_min_shapes: 'x:1x3,m:1,x:2x3,m:2',
      trt_profile_opt_shapes: 'x:4x3,m:4,x:4x3,m:4',
      trt_profile_max_shapes: 'x:8x3,m:8,x:9x3,m:9',
    },
    {
      shapes: [
        { x: { min: [1, 3], opt: [4, 3], max: [8, 3] }, m: { min: [1], opt: [4], max: [8] } },
        { x: { min: [2, 3], opt: [4, 3], max: [9, 3] }, m: { min: [2], opt: [4], max: [9] } },
      ],
    },
  ],
]

t.test("onnxruntime's options of its TensorRT provider, as far as the thing is here", async (t) => {
  for (const [given, wanted] of forTensorRT) {
    const { tensorrt, notes } = read({ executionProviders: [{ name: 'tensorrt', ...given }] })
    for (const [name, value] of Object.entries(wanted)) t.same(tensorrt[name], value, JSON.stringify(given))
    t.same(notes, [])
  }
  const covered = forTensorRT.flatMap(([given]) => Object.keys(given))
  t.same(
    tensorrtOptionNames.filter((name) => !covered.includes(name)),
    [],
  )
})

async function opened(options: object): Promise<string> {
  const session: any = await ours.InferenceSession.create(identity(), options)
  await session.release()
  return session.provider as string
}

t.test('a warning is given once; the provider is told by one line to who wants to know', async (t) => {
  forgetWarnings()
  const first = await saidBy(() => opened({ executionProviders: ['cpu'], executionMode: 'parallel', odd: 1 }))
  t.match(first, [/'executionMode'/, /'odd'/])
  t.equal(first.length, 2)
  t.same(await saidBy(() => opened({ executionProviders: ['cpu'], executionMode: 'parallel', odd: 1 })), [])
  const lines = await saidBy(() => opened({ executionProviders: ['cpu'], logSeverityLevel: 1, logId: 'mine' }))
  t.equal(lines.length, 1)
  t.match(lines[0], /^node-tensorrt: the session "mine" runs on cpu \(/)
  ours.env.logLevel = 'info'
  t.equal((await saidBy(() => opened({ executionProviders: ['cpu'] }))).length, 1, 'env.logLevel')
  ours.env.logLevel = 'warning'
})

t.test('providers are a fallback in their order', async (t) => {
  t.equal(await opened({ executionProviders: ['cpu', 'tensorrt'] }), 'cpu')
  const said = await saidBy(async () => {
    const provider = await opened({ executionProviders: ['cuda', { name: 'cpu' }] })
    t.equal(provider, 'cpu')
  })
  t.match(said, [/^node-tensorrt: .*'cuda', which node-tensorrt does not have/])
  await t.rejects(opened({ executionProviders: ['cuda'] }), {
    code: 'ERR_TRT_UNSUPPORTED',
    message:
      /^Expected 'tensorrt' or 'cpu' of executionProviders but received 'cuda', which node-tensorrt does not have/,
  })
  const names = ['tensorrt', 'cpu']
  const lines = await saidBy(async () => t.ok(names.includes(await opened({ executionProviders: names }))))
  t.ok(lines.length <= 1, 'one line at most')
})
