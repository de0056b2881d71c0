// Which options are part of the key: all of them, but those that have no effect on the plan.
import fs, { writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import t from 'tap'
import { checkedBuilderOptions } from '../../lib/building/options.js'
import { digestFiles } from '../../lib/cache/digest.js'
import { keyOf, pluginPaths } from '../../lib/cache/key.js'
import type { BuilderOptions } from '../../lib/index.js'
import { failureOf } from '../support/errors.js'
import { temporaryFolder } from '../support/folders.js'

const libraries = temporaryFolder(t)
const [one, two] = ['libone.so', 'libtwo.so'].map((name) => join(libraries, name)) as [string, string]
for (const path of [one, two]) writeFileSync(path, path)

const gpu = { index: 0, name: 'GPU', computeCapability: '8.6', memory: 2 ** 33, multiprocessors: 28, integrated: false }
const digest = { model: 'a'.repeat(64), external: [] }

async function key(
  options: object,
  kind: 'full' | 'rtx' = 'full',
  other: Partial<typeof gpu> = {},
  { version = '10.15.1', parser = 'b'.repeat(64) } = {},
): Promise<string> {
  const checked = checkedBuilderOptions(options)
  const plugins = await digestFiles(pluginPaths(checked), undefined)
  return keyOf({
    digest,
    options: checked,
    plugins,
    profiles: [],
    builder: { kind, version, gpu: { ...gpu, ...other } },
    parser,
  })
}

const variants: Partial<Record<keyof BuilderOptions, object[]>> = {
  workspace: [{ workspace: '1MiB' }, { workspace: '2MiB' }],
  tacticSharedMemory: [{ tacticSharedMemory: '1MiB' }],
  tacticDram: [{ tacticDram: '1MiB' }],
  precision: [{ precision: 'fp16' }, { precision: 'bf16' }, { precision: ['fp16', 'int8'] }],
  stronglyTyped: [{ stronglyTyped: true }, { stronglyTyped: false }],
  tf32: [{ tf32: false }],
  sparsity: [{ sparsity: true }],
  strictNans: [{ strictNans: true }],
  distributiveIndependence: [{ distributiveIndependence: true }],
  precisionConstraints: [{ precisionConstraints: 'obey' }, { precisionConstraints: 'prefer' }],
  optimizationLevel: [{ optimizationLevel: 0 }, { optimizationLevel: 5 }],
  averageTiming: [{ averageTiming: 2 }],
  maxTactics: [{ maxTactics: 2 }],
  auxiliaryStreams: [{ auxiliaryStreams: 0 }, { auxiliaryStreams: 1 }],
  tacticSources: [{ tacticSources: [] }, { tacticSources: ['cublas'] }],
  previewFeatures: [{ previewFeatures: ['aliasedPluginIO1003'] }],
  disableTimingCache: [{ disableTimingCache: true }],
  compilationCache: [{ compilationCache: false }],
  monitorMemory: [{ monitorMemory: true }],
  profilingVerbosity: [{ profilingVerbosity: 'detailed' }, { profilingVerbosity: 'none' }],
  versionCompatible: [{ versionCompatible: true }],
  excludeLeanRuntime: [{ versionCompatible: true, excludeLeanRuntime: true }],
  hardwareCompatibility: [{ hardwareCompatibility: 'ampere+' }, { hardwareCompatibility: 'sameComputeCapability' }],
  runtimePlatform: [{ runtimePlatform: 'windows-amd64' }],
  computeCapabilities: [
    { computeCapabilities: ['8.6'] },
    { computeCapabilities: ['8.6', '8.9'] },
    { computeCapabilities: 'current' },
  ],
  stripWeights: [{ stripWeights: true }],
  refit: [{ refit: true }, { refit: 'identical' }],
  refittableWeights: [
    { refit: 'individual', refittableWeights: ['a'] },
    { refit: 'individual', refittableWeights: ['b'] },
  ],
  plugins: [{ plugins: [one] }, { plugins: [two] }],
  pluginsToSerialize: [{ versionCompatible: true, pluginsToSerialize: [one] }],
  nativeInstanceNorm: [{ nativeInstanceNorm: false }],
  inputFormats: [{ inputFormats: { x: { dtype: 'float16' } } }, { inputFormats: { x: { formats: ['chw'] } } }],
  outputFormats: [{ outputFormats: { x: { dtype: 'float16' } } }],
  layerPrecisions: [
    { precisionConstraints: 'obey', layerPrecisions: { a: 'float16' } },
    { precisionConstraints: 'obey', layerPrecisions: { b: 'float16' } },
  ],
  layerOutputTypes: [{ precisionConstraints: 'obey', layerOutputTypes: { a: 'float16' } }],
  placeholderRanges: [{ precision: 'int8', placeholderRanges: true }],
}

/** What says where, or how fast, and not what. */
const withoutEffect: readonly string[] = [
  'tensorrt',
  'device',
  'isolation',
  'timingCache',
  'timingCacheMiss',
  'editableTimingCache',
]

t.test('each option that there is', async (t) => {
  const { details } = await failureOf(() => checkedBuilderOptions({ unknown: 1 }))
  const known = (details['known'] as string[]).filter((name) => !withoutEffect.includes(name))
  t.same(Object.keys(variants).sort(), known.sort(), 'has a row here')
  const all = [{}, ...Object.values(variants).flat()]
  const keys = await Promise.all(all.map((options) => key(options)))
  t.equal(new Set(keys).size, all.length, 'and makes another key with each value')
  t.same(await Promise.all(all.map((options) => key(options))), keys, 'which is the same each time')
})

t.test('what has no effect on the plan', async (t) => {
  const plain = await key({})
  t.equal(await key({ tensorrt: { library: '/somewhere/libnvinfer.so.10', device: 3 } }), plain)
  t.equal(await key({ timingCache: 'one.cache', timingCacheMiss: 'error', editableTimingCache: true }), plain)
  t.equal(await key({ isolation: 'process' }), plain)
})

t.test('a plugin library is known by what is in it', async (t) => {
  const folder = temporaryFolder(t)
  const [one, two] = [join(folder, 'one.so'), join(folder, 'two.so')]
  await writeFile(one, 'plugin')
  await writeFile(two, 'plugin')
  const first = await key({ plugins: [one] })
  t.equal(await key({ plugins: [two] }), first)
  await writeFile(one, 'plugin!')
  t.not(await key({ plugins: [one] }), first)
  t.match(await failureOf(() => key({ plugins: [join(folder, 'none.so')] })), {
    code: 'ERR_TRT_FILE',
    message: /none\.so/,
  })
})

t.test('the GPU, unless TensorRT-RTX builds for all of them', async (t) => {
  for (const other of [{ name: 'Another GPU' }, { computeCapability: '8.9' }, { multiprocessors: 30 }]) {
    t.not(await key({}, 'full', other), await key({}))
    t.equal(await key({}, 'rtx', other), await key({}, 'rtx'))
    t.equal(
      await key({ computeCapabilities: ['8.6'] }, 'rtx', other),
      await key({ computeCapabilities: ['8.6'] }, 'rtx'),
    )
    t.not(
      await key({ computeCapabilities: 'current' }, 'rtx', other),
      await key({ computeCapabilities: 'current' }, 'rtx'),
    )
  }
  t.equal(await key({}, 'full', { index: 2, memory: 1 }), await key({}), 'its number is not what it is')
})

t.test('a plugin library that is only named is refused: nobody knows what is in it', async (t) => {
  for (const options of [
    { plugins: ['libone.so'] },
    { versionCompatible: true, pluginsToSerialize: [one, 'libtwo.so'] },
  ])
    t.match(await failureOf(() => key(options)), {
      code: 'ERR_TRT_INVALID_ARGUMENT',
      message: /path of a plugin library.*lib(one|two)\.so.*cache: false/,
    })
})

t.test('the library of the ONNX parser, which may be another than came with TensorRT', async (t) => {
  const keys = ['b'.repeat(64), 'c'.repeat(64)].map((parser) => key({}, 'full', {}, { parser }))
  t.equal(new Set(await Promise.all(keys)).size, 2)
})

t.test('the version of this package, where it converts the model itself', async (t) => {
  const asked: Parameters<typeof key>[] = [
    [{ precision: 'fp16' }, 'rtx'],
    [{ precision: 'bf16' }, 'full', {}, { version: '11.4.0' }],
    [{ precision: 'fp16', stronglyTyped: true }, 'full'],
    [{}, 'rtx'],
    [{ precision: 'fp16' }, 'full'],
    [{ precision: ['fp16', 'int8'] }, 'full'],
  ]
  const keys = (): Promise<string[]> => Promise.all(asked.map((each) => key(...each)))
  const before = await keys()
  const read = fs.readFileSync
  const other = ((path: string, ...rest: []) =>
    path.endsWith('package.json')
      ? '{ "name": "node-tensorrt", "version": "99.0.0" }'
      : read(path, ...rest)) as typeof fs.readFileSync
  Object.assign(fs, { readFileSync: other })
  syncBuiltinESMExports()
  t.teardown(() => {
    Object.assign(fs, { readFileSync: read })
    syncBuiltinESMExports()
  })
  const after = await keys()
  t.same(after.map((each, i) => each !== before[i]), [true, true, true, false, false, false]) // prettier-ignore
})

t.test('the variable by which NVIDIA turns TF32 off', async (t) => {
  const plain = await key({})
  t.teardown(() => delete process.env['NVIDIA_TF32_OVERRIDE'])
  process.env['NVIDIA_TF32_OVERRIDE'] = '0'
  t.not(await key({}), plain)
})
