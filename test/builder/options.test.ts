// Each option against fakes of TensorRT 10.15, 11.4 and 10.0: the right method, the right number (from enums.json), or
// a refusal with both versions.
import t from 'tap'
import {
  Builder,
  type BuilderOptions,
  type BuildOptions,
  type BuildSettings,
  type BuildInfo,
  type Plan,
} from '../../lib/index.js'
import { type Family, enums, minor, vtables } from '../facts/facts.js'
import type { FakeTensorRT } from '../fake/control.js'
import { useFakes } from '../native/fakes.js'
import { olderFamily } from '../native/older.js'
import { failureOf } from '../support/errors.js'
import { oneNode, quantizedModel, reshapeModel, typedModel, weightedModel } from '../support/models.js'

const { fakes, families } = await useFakes()

const trt100 = olderFamily(fakes, [10, 0, 0])

interface Version {
  readonly family: Family
  readonly name: string
  readonly minor: number
  readonly path: string
  readonly control: FakeTensorRT
  readonly parser: FakeTensorRT
}
const versions: Version[] = [
  ...families.map(({ fullName, version, path, control, parser }): Version => {
    const [major, minor = 0] = version
    return { family: major === 10 ? 'trt10' : 'trt11', name: fullName, minor, path, control, parser }
  }),
  {
    family: 'trt10',
    name: 'TensorRT 10.0.0',
    minor: 0,
    path: trt100.path,
    control: trt100.control,
    parser: trt100.parser,
  },
]

const always = (): boolean => true

/** Every setting, and the versions that have it: the compiler holds it against BuildSettings. */
const settingNames: Record<keyof BuildSettings, (version: Version) => boolean> = {
  workspace: always,
  tacticDram: always,
  tacticSharedMemory: always,
  optimizationLevel: always,
  averageTiming: always,
  auxiliaryStreams: always,
  tf32: always,
  sparsity: always,
  disableTimingCache: always,
  compilationCache: always,
  versionCompatible: always,
  excludeLeanRuntime: always,
  stripWeights: always,
  profilingVerbosity: always,
  refit: always,
  tacticSources: always,
  previewFeatures: always,
  pluginsToSerialize: always,
  precision: always,
  stronglyTyped: always,
  inputFormats: always,
  outputFormats: always,
  layerPrecisions: always,
  layerOutputTypes: always,
  hardwareCompatibility: always,
  maxTactics: (version) => knows(version, 'VBuilderConfig.setMaxNbTactics'),
  strictNans: (version) => knows(version, 'BuilderFlag.kSTRICT_NANS'),
  monitorMemory: (version) => knows(version, 'BuilderFlag.kMONITOR_MEMORY'),
  distributiveIndependence: (version) => knows(version, 'BuilderFlag.kDISTRIBUTIVE_INDEPENDENCE'),
  runtimePlatform: (version) => knows(version, 'VBuilderConfig.setRuntimePlatform'),
  computeCapabilities: (version) => knows(version, 'VBuilderConfig.setNbComputeCapabilities'),
  nativeInstanceNorm: (version) => knows(version, 'OnnxParserFlag.kNATIVE_INSTANCENORM'),
  precisionConstraints: () => false, // only where they were asked for
  placeholderRanges: () => false,
}

type Told = Record<string, number>

async function build(
  version: Version,
  options: BuilderOptions,
  model = oneNode('Relu'),
  how?: BuildOptions,
): Promise<{ plan: Plan<BuildInfo>; told: Told }> {
  const plan = await new Builder({ tensorrt: { library: version.path }, ...options }).build(model, how)
  return { plan, told: version.control.stats().builds.at(-1) ?? {} }
}

/** The number of an enumerator in the version, from the facts; undefined where it has none. */
function numberOf({ family, minor: own }: Version, name: string): number | undefined {
  const [enumeration, enumerator] = name.split('.') as [string, string]
  const fact = (enums[family][enumeration] ?? enums[family][`nvonnxparser::${enumeration}`])?.[enumerator]
  return fact !== undefined && minor(fact[1]) <= own ? fact[0] : undefined
}

function number(version: Version, name: string): number {
  const found = numberOf(version, name)
  if (found === undefined) throw new Error(`no ${name} in ${version.name}`)
  return found
}

const hasMethod = ({ family, minor: own }: Version, name: string): boolean => {
  const [owner, method] = name.split('.') as [string, string]
  return (vtables[family].interfaces[owner] ?? []).some(
    ([, signature, since]) => signature.startsWith(`${method}(`) && minor(since) <= own,
  )
}
const knows = (version: Version, what: string): boolean =>
  what.startsWith('V') ? hasMethod(version, what) : numberOf(version, what) !== undefined

const bits = (version: Version, names: readonly string[]): number =>
  names.reduce((sum, name) => sum + 2 ** number(version, name), 0)

/** What the facts say that the fakes must have been told: flags besides TF32, and the other calls by name. */
interface Row {
  readonly option: BuilderOptions
  /** What is read back; the option itself unless given. */
  readonly settings?: Record<string, unknown>
  /** Enumerators (Enum.kNAME) and methods (VInterface.method) without which a version refuses. */
  readonly needs: readonly string[]
  readonly flags?: readonly string[]
  readonly withoutTf32?: true
  readonly told?: (version: Version) => Told
  readonly model?: Uint8Array
}

const flag = (option: BuilderOptions, name: string, more: Partial<Row> = {}): Row => ({
  option,
  needs: [`BuilderFlag.${name}`],
  flags: [name],
  ...more,
})
const setter = (option: BuilderOptions, method: string, value: number, more: Partial<Row> = {}): Row => ({
  option,
  needs: [`VBuilderConfig.${method}`],
  told: () => ({ [method]: value }),
  ...more,
})
const choice = (option: BuilderOptions, method: string, name: string): Row => ({
  option,
  needs: [name, `VBuilderConfig.${method}`],
  told: (version) => ({ [method]: number(version, name) }),
})
const pool = (option: BuilderOptions, name: string, bytes: number): Row => ({
  option,
  settings: { [Object.keys(option)[0] ?? '']: bytes },
  needs: [],
  told: (version) => ({ [`setMemoryPoolLimit.${number(version, `MemoryPoolType.${name}`)}`]: bytes }),
})
const preview = (feature: string, name: string): Row => ({
  option: { previewFeatures: [feature as never] },
  needs: [`PreviewFeature.${name}`],
  told: (version) => ({ [`setPreviewFeature.${number(version, `PreviewFeature.${name}`)}`]: 1 }),
})
const sources = (names: NonNullable<BuilderOptions['tacticSources']>, ...facts: string[]): Row => ({
  option: { tacticSources: names },
  needs: facts.map((each) => `TacticSource.${each}`),
  told: (version) => ({
    setTacticSources: bits(
      version,
      facts.map((each) => `TacticSource.${each}`),
    ),
  }),
})
const format = (name: string, fact: string): Row => ({
  option: { inputFormats: { x: { formats: [name as never] } } },
  settings: { inputFormats: { x: { dtype: 'float32', formats: [name] } } },
  needs: [],
  told: (version) => ({ 'formats.x': 2 ** number(version, `TensorFormat.${fact}`) }),
})

const rows: Row[] = [
  pool({ workspace: '1GiB' }, 'kWORKSPACE', 2 ** 30),
  pool({ tacticDram: 2 ** 29 }, 'kTACTIC_DRAM', 2 ** 29),
  pool({ tacticSharedMemory: '48KiB' }, 'kTACTIC_SHARED_MEMORY', 48 * 1024),
  { option: { tf32: false }, needs: [], withoutTf32: true },
  flag({ tf32: true }, 'kTF32'),
  flag({ sparsity: true }, 'kSPARSE_WEIGHTS'),
  flag({ strictNans: true }, 'kSTRICT_NANS'),
  flag({ monitorMemory: true }, 'kMONITOR_MEMORY'),
  flag({ distributiveIndependence: true }, 'kDISTRIBUTIVE_INDEPENDENCE'),
  flag({ disableTimingCache: true }, 'kDISABLE_TIMING_CACHE'),
  flag({ compilationCache: false }, 'kDISABLE_COMPILATION_CACHE'),
  flag({ versionCompatible: true }, 'kVERSION_COMPATIBLE'),
  {
    option: { versionCompatible: true, excludeLeanRuntime: true },
    needs: [],
    flags: ['kVERSION_COMPATIBLE', 'kEXCLUDE_LEAN_RUNTIME'],
  },
  flag({ stripWeights: true }, 'kSTRIP_PLAN'),
  flag({ refit: true }, 'kREFIT'),
  flag({ refit: 'identical' }, 'kREFIT_IDENTICAL'),
  flag({ refit: 'individual', refittableWeights: ['w'] }, 'kREFIT_INDIVIDUAL', {
    settings: { refit: 'individual' },
    told: () => ({ 'refittable.w': 1 }),
    model: weightedModel(),
  }),
  setter({ optimizationLevel: 5 }, 'setBuilderOptimizationLevel', 5),
  setter({ averageTiming: 7 }, 'setAvgTimingIterations', 7),
  setter({ auxiliaryStreams: 0 }, 'setMaxAuxStreams', 0),
  setter({ auxiliaryStreams: 3 }, 'setMaxAuxStreams', 3),
  setter({ maxTactics: 9 }, 'setMaxNbTactics', 9),
  choice({ profilingVerbosity: 'layerNames' }, 'setProfilingVerbosity', 'ProfilingVerbosity.kLAYER_NAMES_ONLY'),
  choice({ profilingVerbosity: 'detailed' }, 'setProfilingVerbosity', 'ProfilingVerbosity.kDETAILED'),
  choice({ profilingVerbosity: 'none' }, 'setProfilingVerbosity', 'ProfilingVerbosity.kNONE'),
  choice({ hardwareCompatibility: 'none' }, 'setHardwareCompatibilityLevel', 'HardwareCompatibilityLevel.kNONE'),
  choice(
    { hardwareCompatibility: 'ampere+' },
    'setHardwareCompatibilityLevel',
    'HardwareCompatibilityLevel.kAMPERE_PLUS',
  ),
  choice(
    { hardwareCompatibility: 'sameComputeCapability' },
    'setHardwareCompatibilityLevel',
    'HardwareCompatibilityLevel.kSAME_COMPUTE_CAPABILITY',
  ),
  choice({ runtimePlatform: 'windows-amd64' }, 'setRuntimePlatform', 'RuntimePlatform.kWINDOWS_AMD64'),
  sources([]),
  sources(['jitConvolutions'], 'kJIT_CONVOLUTIONS'),
  sources(['edgeMaskConvolutions', 'jitConvolutions'], 'kEDGE_MASK_CONVOLUTIONS', 'kJIT_CONVOLUTIONS'),
  sources(['cublas'], 'kCUBLAS'),
  sources(['cublasLt', 'cudnn'], 'kCUBLAS_LT', 'kCUDNN'),
  preview('profileSharing0806', 'kPROFILE_SHARING_0806'),
  preview('aliasedPluginIO1003', 'kALIASED_PLUGIN_IO_10_03'),
  preview('runtimeActivationResize1010', 'kRUNTIME_ACTIVATION_RESIZE_10_10'),
  preview('multiDeviceRuntime1016', 'kMULTIDEVICE_RUNTIME_10_16'),
  ...Object.entries({
    chw: 'kLINEAR',
    chw2: 'kCHW2',
    chw4: 'kCHW4',
    chw16: 'kCHW16',
    chw32: 'kCHW32',
    hwc: 'kHWC',
    hwc8: 'kHWC8',
    hwc16: 'kHWC16',
    dhwc: 'kDHWC',
    dhwc8: 'kDHWC8',
    cdhw32: 'kCDHW32',
  }).map(([name, fact]) => format(name, fact)),
  {
    option: { outputFormats: { 'the-node': { formats: ['chw', 'hwc8'] } } },
    settings: { outputFormats: { 'the-node': { dtype: 'float32', formats: ['chw', 'hwc8'] } } },
    needs: [],
    told: (version) => ({
      'formats.the-node': 2 ** number(version, 'TensorFormat.kLINEAR') + 2 ** number(version, 'TensorFormat.kHWC8'),
    }),
  },
  { option: { nativeInstanceNorm: false }, needs: ['OnnxParserFlag.kNATIVE_INSTANCENORM'] },
  { option: { nativeInstanceNorm: true }, needs: ['OnnxParserFlag.kNATIVE_INSTANCENORM'] },
  { option: { computeCapabilities: ['8.6'] }, needs: ['VBuilderConfig.setNbComputeCapabilities'] },
  {
    option: { versionCompatible: true, pluginsToSerialize: ['a.so', 'b.so'] },
    needs: [],
    flags: ['kVERSION_COMPATIBLE'],
    told: () => ({ setPluginsToSerialize: 2 }),
  },
  { option: { plugins: [fakes.plugin] }, settings: {}, needs: [], told: () => ({ plugins: 1 }) },
  {
    option: { precisionConstraints: 'obey' },
    needs: ['BuilderFlag.kOBEY_PRECISION_CONSTRAINTS'],
    flags: ['kOBEY_PRECISION_CONSTRAINTS'],
  },
  {
    option: { precisionConstraints: 'prefer' },
    needs: ['BuilderFlag.kPREFER_PRECISION_CONSTRAINTS'],
    flags: ['kPREFER_PRECISION_CONSTRAINTS'],
  },
  {
    option: { layerPrecisions: { 'the-*': 'float16' }, precisionConstraints: 'obey' },
    settings: { layerPrecisions: { 'the-node': 'float16' }, precisionConstraints: 'obey' },
    needs: ['VLayer.setPrecision'],
    flags: ['kOBEY_PRECISION_CONSTRAINTS'],
    told: (version) => ({ 'precision.the-node': number(version, 'DataType.kHALF') }),
  },
  {
    option: { layerOutputTypes: { '*': 'float32', 'the-node': ['bfloat16'] }, precisionConstraints: 'prefer' },
    settings: { layerOutputTypes: { 'the-node': ['bfloat16'] } },
    needs: ['VLayer.setOutputType'],
    flags: ['kPREFER_PRECISION_CONSTRAINTS'],
    told: (version) => ({ 'outputType.the-node.0': number(version, 'DataType.kBF16') }),
  },
  {
    option: { inputFormats: { x: { dtype: 'float16', formats: ['chw'] } } },
    needs: ['VTensor.setType'],
    told: (version) => ({
      'type.x': number(version, 'DataType.kHALF'),
      'formats.x': 2 ** number(version, 'TensorFormat.kLINEAR'),
    }),
  },
]

for (const version of versions) {
  t.test(version.name, async (t) => {
    const plain = await build(version, {})
    t.equal(plain.told['flags'], bits(version, ['BuilderFlag.kTF32']), 'without options, nothing is touched')
    t.equal(plain.plan.info.library, version.name)
    const expected = Object.entries(settingNames).filter(([, has]) => has(version))
    t.same(
      Object.keys(plain.plan.info.settings).sort(),
      expected.map(([name]) => name).sort(),
      'all settings that this version has are read back',
    )
    for (const row of rows) {
      const name = JSON.stringify(row.option)
      if (!row.needs.every((each) => knows(version, each))) {
        const failure = await failureOf(() => build(version, row.option, row.model))
        t.equal(failure.code, 'ERR_TRT_UNSUPPORTED', `${name} is refused`)
        t.match(failure.message, /needs TensorRT(-RTX| 1[01])/, `${name}: what it takes`)
        t.match(failure.message, `this is ${version.name}`, `${name}: what there is`)
        continue
      }
      const { plan, told } = await build(version, row.option, row.model)
      const flags = [...(row.withoutTf32 ? [] : ['kTF32']), ...(row.flags ?? [])]
      t.equal(
        told['flags'],
        bits(
          version,
          [...new Set(flags)].map((each) => `BuilderFlag.${each}`),
        ),
        `${name}: flags`,
      )
      t.match(told, row.told?.(version) ?? {}, `${name}: ${JSON.stringify(row.told?.(version) ?? {})}`)
      t.match(plan.info.settings, row.settings ?? row.option, `${name} is read back`)
    }
    for (const library of [version.control, version.parser]) {
      const { traps, misuse } = library.stats()
      t.same(traps, [], 'no method was called that this version lacks')
      t.same(misuse, {}, 'no number was given that this version lacks')
    }
  })
}

const [trt1015, trt114, oldest] = versions as [Version, Version, Version]
const half = typedModel('float16')

t.test('precisions of a weakly typed network are flags', async (t) => {
  const flags = { fp16: 'kFP16', bf16: 'kBF16', int8: 'kINT8' } as const
  for (const [precision, name] of Object.entries(flags) as [keyof typeof flags, string][]) {
    const { plan, told } = await build(trt1015, { precision }, quantizedModel())
    t.equal(told['flags'], bits(trt1015, ['BuilderFlag.kTF32', `BuilderFlag.${name}`]), precision)
    t.same(plan.info.settings.precision, [precision])
    t.equal(plan.info.settings.stronglyTyped, false)
  }
  const both = await build(trt1015, { precision: ['fp16', 'int8'] }, quantizedModel())
  t.equal(both.told['flags'], bits(trt1015, ['BuilderFlag.kTF32', 'BuilderFlag.kFP16', 'BuilderFlag.kINT8']))
  t.same((await build(trt1015, { precision: 'fp32' })).plan.info.settings.precision, [])
  t.match(await failureOf(() => build(oldest, { precision: 'int4' })), {
    code: 'ERR_TRT_UNSUPPORTED',
    message: 'BuilderFlag::kINT4 needs TensorRT 10.1; this is TensorRT 10.0.0',
  })
})

t.test('a strongly typed network has its types from the model', async (t) => {
  const strong = await build(trt1015, { stronglyTyped: true, precision: 'fp16' }, half)
  t.equal(strong.told['flags'], bits(trt1015, ['BuilderFlag.kTF32']), 'no flag of a precision')
  t.equal(
    strong.told['networkFlags'],
    bits(trt1015, ['NetworkDefinitionCreationFlag.kEXPLICIT_BATCH', 'NetworkDefinitionCreationFlag.kSTRONGLY_TYPED']),
  )
  t.match(strong.plan.info.settings, { stronglyTyped: true, precision: ['fp16'] })
  const weak = await build(trt1015, { stronglyTyped: false })
  t.equal(weak.told['networkFlags'], bits(trt1015, ['NetworkDefinitionCreationFlag.kEXPLICIT_BATCH']))
  t.match((await build(trt114, { precision: 'bf16' }, typedModel('bfloat16'))).plan.info.settings, {
    stronglyTyped: true,
    precision: ['bf16'],
  })
  t.match((await build(trt114, { precision: 'int8', stronglyTyped: true }, quantizedModel())).plan.info.settings, {
    precision: ['int8'],
  })
  t.match(await failureOf(() => build(trt114, { stronglyTyped: false })), {
    code: 'ERR_TRT_UNSUPPORTED',
    message: /stronglyTyped.*needs TensorRT 10; this is TensorRT 11\.4\.0/,
  })
})

t.test('a precision that cannot be given is an error that says what the model has', async (t) => {
  const refused: [string, Version, BuilderOptions, Uint8Array, RegExp][] = [
    [
      'fp16 of an FP32 model with nothing to convert on 11',
      trt114,
      { precision: 'fp16' },
      oneNode('Identity'),
      /Nothing of the model can be converted to float16: the-node stays in float32 .*Build it without the precision 'fp16'/,
    ],
    ['bf16 of an FP16 model on 11', trt114, { precision: 'bf16' }, half, /no 'bf16'.*2 float16.*to bfloat16/],
    [
      'fp16 of such a model, strongly typed on 10',
      trt1015,
      { precision: 'fp16', stronglyTyped: true },
      oneNode('Identity'),
      /Nothing of the model can be converted to float16: the-node stays in float32/,
    ],
    [
      'int8 without Q/DQ on 11',
      trt114,
      { precision: 'int8' },
      half,
      /no 'int8'.*quantizing layers: none.*Put QuantizeLinear/,
    ],
    ['fp8 of a model with int8', trt114, { precision: 'fp8' }, quantizedModel(), /no 'fp8'.*quantizing layers: 2 int8/],
    [
      'int8 without Q/DQ or calibrator on 10',
      trt1015,
      { precision: 'int8' },
      oneNode('Relu'),
      /'int8' needs quantizing layers in the model, or a calibrator/,
    ],
    ['one of two', trt1015, { precision: ['fp16', 'int8'] }, oneNode('Relu'), /'int8' needs/],
    [
      'fp8 of a model with int8 on 10',
      trt1015,
      { precision: 'fp8' },
      quantizedModel(),
      /'fp8' needs quantizing layers/,
    ],
    [
      'int4 of a model with int8 on 10',
      trt1015,
      { precision: 'int4' },
      quantizedModel(),
      /'int4' needs quantizing layers/,
    ],
    [
      'int8 and fp8, weakly typed',
      trt1015,
      { precision: ['int8', 'fp8'] },
      quantizedModel(),
      /'int8' and 'fp8' do not go together/,
    ],
  ]
  for (const [name, version, options, model, message] of refused) {
    const before = version.control.stats().builds.length
    t.match(await failureOf(() => build(version, options, model)), { code: 'ERR_TRT_PRECISION', message }, name)
    t.equal(version.control.stats().builds.length, before, `${name}: nothing was built`)
  }
})

t.test('names and types that do not fit the model', async (t) => {
  const obey = { precisionConstraints: 'obey' } as const
  const refused: [string, Version, BuilderOptions, Uint8Array, string, RegExp][] = [
    [
      'an input that is none',
      trt1015,
      { inputFormats: { X: { formats: ['chw'] } } },
      half,
      'ERR_TRT_UNKNOWN_INPUT',
      /no input 'X'.*it has 'x'/,
    ],
    [
      'an output that is none',
      trt1015,
      { outputFormats: { x: { formats: ['chw'] } } },
      half,
      'ERR_TRT_INVALID_ARGUMENT',
      /no output 'x'.*it has 'the-node'/,
    ],
    [
      "another type than a strongly typed model's",
      trt1015,
      { stronglyTyped: true, inputFormats: { x: { dtype: 'float32' } } },
      half,
      'ERR_TRT_DTYPE',
      /'x' is float16 in the model and cannot be made float32 in a strongly typed/,
    ],
    [
      'a layer that is none',
      trt1015,
      { ...obey, layerPrecisions: { 'the-node': 'float16', nope: 'float16' } },
      half,
      'ERR_TRT_INVALID_ARGUMENT',
      /layerPrecisions: no layer of the model is named 'nope'/,
    ],
    [
      'a pattern that fits none',
      trt1015,
      { ...obey, layerOutputTypes: { 'nope*': 'float16' } },
      half,
      'ERR_TRT_INVALID_ARGUMENT',
      /no layer of the model is named 'nope\*'/,
    ],
    [
      'two types for one output',
      trt1015,
      { ...obey, layerOutputTypes: { 'the-node': ['float16', 'float32'] } },
      half,
      'ERR_TRT_INVALID_ARGUMENT',
      /has 1 outputs, and 2 types/,
    ],
    [
      'weights that are none',
      trt1015,
      { refit: 'individual', refittableWeights: ['nope'] },
      half,
      'ERR_TRT_INVALID_ARGUMENT',
      /no weights 'nope'/,
    ],
    [
      'a plugin library that is not there',
      trt114,
      { plugins: ['/no/such/plugin.so'] },
      half,
      'ERR_TRT_FILE',
      /\/no\/such\/plugin\.so/,
    ],
    ['a library that has no plugins', trt114, { plugins: [fakes.cuda] }, half, 'ERR_TRT_FILE', /libcuda\.so\.1/],
  ]
  for (const [name, version, options, model, code, message] of refused) {
    t.match(await failureOf(() => build(version, options, model)), { code, message }, name)
  }
  const same = await build(trt114, { inputFormats: { x: { dtype: 'float16' } } }, half)
  t.equal(
    same.plan.info.settings.inputFormats['x']?.dtype,
    'float16',
    'the type that the model has already may be said on 11 too',
  )
})

t.test('what the library does not take is no success', async (t) => {
  const calls: [string, BuilderOptions][] = [
    ['VBuilderConfig.setFlag', { strictNans: true }],
    ['VBuilderConfig.setMaxAuxStreams', { auxiliaryStreams: 2 }],
    ['VBuilderConfig.setTacticSources', { tacticSources: ['jitConvolutions'] }],
    ['VBuilderConfig.setPreviewFeature', { previewFeatures: ['aliasedPluginIO1003'] }],
    ['VBuilderConfig.setMemoryPoolLimit', { tacticSharedMemory: 4096 }],
    ['VTensor.setAllowedFormats', { inputFormats: { x: { formats: ['hwc8'] } } }],
    ['VTensor.setType', { inputFormats: { x: { dtype: 'float16' } } }],
    ['VLayer.setPrecision', { precisionConstraints: 'obey', layerPrecisions: { 'the-node': 'float16' } }],
    ['VLayer.setOutputType', { precisionConstraints: 'obey', layerOutputTypes: { 'the-node': 'float16' } }],
  ]
  for (const [call, options] of calls) {
    // tensors and layers are the parser's: its library made them
    const owner = /VTensor|VLayer/.test(call) ? trt1015.parser : trt1015.control
    owner.failNth(call, 1)
    t.match(
      await failureOf(() => build(trt1015, options)),
      { code: /^ERR_TRT_(UNSUPPORTED|DTYPE)$/, message: /TensorRT 10\.15\.1/ },
      call,
    )
  }
})

t.test('the values of a shape tensor', async (t) => {
  const range = { min: [1, -1], opt: [4, 6], max: [24, 24] }
  for (const version of versions) {
    const { told } = await build(version, {}, reshapeModel(), { shapes: [{ shape: range }, { shape: [4, 6] }] })
    const expected: Told = {}
    for (const [selector, name] of [
      ['kMIN', 'min'],
      ['kOPT', 'opt'],
      ['kMAX', 'max'],
    ] as const) {
      const select = number(version, `OptProfileSelector.${selector}`)
      for (const i of [0, 1]) {
        expected[`values.0.shape.${select}.${i}`] = range[name][i] ?? NaN
        expected[`values.1.shape.${select}.${i}`] = [4, 6][i] ?? NaN
      }
    }
    t.match(told, expected, version.name)
    const calls = version.control.stats().calls
    const method = hasMethod(version, 'VOptimizationProfile.setShapeValuesV2') ? 'setShapeValuesV2' : 'setShapeValues'
    t.equal(calls[`VOptimizationProfile.${method}`], 6, `by ${method}`)
  }
  const wide = { min: [1, 1], opt: [4, 6], max: [2 ** 40, 24] }
  t.match(await failureOf(() => build(oldest, {}, reshapeModel(), { shapes: { shape: wide } })), {
    code: 'ERR_TRT_UNSUPPORTED',
    message: /setShapeValuesV2 needs TensorRT 10\.11; this is TensorRT 10\.0\.0/,
  })
  const refused: [string, object | undefined, string, RegExp][] = [
    ['none', undefined, 'ERR_TRT_SHAPES_REQUIRED', /'shape' \[2\] is a shape tensor: give its min, opt and max values/],
    ['too few', { min: [1], opt: [1], max: [1] }, 'ERR_TRT_SHAPE', /Expected 2 values/],
    ['min above opt', { min: [5, 1], opt: [4, 6], max: [6, 6] }, 'ERR_TRT_SHAPE', /min ≤ opt ≤ max in value 0/],
  ]
  for (const [name, shape, code, message] of refused) {
    t.match(
      await failureOf(() =>
        build(trt1015, {}, reshapeModel(), shape === undefined ? {} : { shapes: { shape: shape as never } }),
      ),
      { code, message },
      name,
    )
  }
  t.match(
    await failureOf(() =>
      build(trt1015, {}, oneNode('Relu', ['N', 4]), { shapes: { x: { min: [-1, 4], opt: [1, 4], max: [2, 4] } } }),
    ),
    {
      code: 'ERR_TRT_SHAPE',
      message: /no negative dimension/,
    },
  )
})
