// Each option against fakes of TensorRT 10.15, 11.4 and 10.0: the right method, the right number (from enums.json), or a refusal with both versions.
import { copyFile, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { Builder, type BuilderOptions, type BuildOptions, type Plan } from '../../lib/index.js'
import { type Family, enums, minor, vtables } from '../facts/facts.js'
import { controlFakes } from '../fake/control.js'
import { useFakes } from '../native/fakes.js'
import { failureOf } from '../support/errors.js'
import { oneNode, quantizedModel, reshapeModel, typedModel, weightedModel } from './models.js'

const { fakes, trt10, trt11 } = await useFakes()

/** A second TensorRT 10, which says that it is 10.0: a copy is a library of its own. */
const old = await mkdtemp(join(tmpdir(), 'trt-old-'))
t.teardown(() => rm(old, { recursive: true }))
await mkdir(join(old, 'trt10'))
for (const file of await readdir(fakes.trt10)) await copyFile(join(fakes.trt10, file), join(old, 'trt10', file))
const trt100 = controlFakes({ ...fakes, trt10: join(old, 'trt10') }).trt10
trt100.runtime.set({ version: '10.0.0' })
trt100.parser.set({ version: '10.0.0' })

interface Version {
  readonly family: Family
  readonly name: string
  readonly minor: number
  readonly path: string
  readonly control: (typeof trt10)['runtime']
}
const versions: Version[] = [
  { family: 'trt10', name: 'TensorRT 10.15.1', minor: 15, path: fakes.trt10, control: trt10.runtime },
  { family: 'trt11', name: 'TensorRT 11.4.0', minor: 4, path: fakes.trt11, control: trt11.runtime },
  { family: 'trt10', name: 'TensorRT 10.0.0', minor: 0, path: join(old, 'trt10'), control: trt100.runtime },
]

type Told = Record<string, number>

async function build(version: Version, options: BuilderOptions, model = oneNode('Relu'), how?: BuildOptions): Promise<{ plan: Plan; told: Told }> {
  const plan = await new Builder({ tensorrt: version.path, ...options }).build(model, how)
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
  return (vtables[family].interfaces[owner] ?? []).some(([, signature, since]) => signature.startsWith(`${method}(`) && minor(since) <= own)
}
const knows = (version: Version, what: string): boolean => (what.startsWith('V') ? hasMethod(version, what) : numberOf(version, what) !== undefined)

const bits = (version: Version, names: readonly string[]): number => names.reduce((sum, name) => sum + 2 ** number(version, name), 0)

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

const flag = (option: BuilderOptions, name: string, more: Partial<Row> = {}): Row => ({ option, needs: [`BuilderFlag.${name}`], flags: [name], ...more })
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
  told: (version) => ({ setTacticSources: bits(version, facts.map((each) => `TacticSource.${each}`)) }),
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
  { option: { versionCompatible: true, excludeLeanRuntime: true }, needs: [], flags: ['kVERSION_COMPATIBLE', 'kEXCLUDE_LEAN_RUNTIME'] },
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
  choice({ hardwareCompatibility: 'ampere+' }, 'setHardwareCompatibilityLevel', 'HardwareCompatibilityLevel.kAMPERE_PLUS'),
  choice({ hardwareCompatibility: 'sameComputeCapability' }, 'setHardwareCompatibilityLevel', 'HardwareCompatibilityLevel.kSAME_COMPUTE_CAPABILITY'),
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
    option: { outputFormats: { [`Relu_0`]: { formats: ['chw', 'hwc8'] } } },
    settings: {},
    needs: [],
    model: oneNode('Relu'),
  },
  { option: { nativeInstanceNorm: false }, needs: ['OnnxParserFlag.kNATIVE_INSTANCENORM'] },
  { option: { nativeInstanceNorm: true }, needs: ['OnnxParserFlag.kNATIVE_INSTANCENORM'] },
  { option: { computeCapabilities: ['8.6'] }, needs: ['VBuilderConfig.setNbComputeCapabilities'] },
  { option: { versionCompatible: true, pluginsToSerialize: ['a.so', 'b.so'] }, needs: [], flags: ['kVERSION_COMPATIBLE'], told: () => ({ setPluginsToSerialize: 2 }) },
  { option: { plugins: [fakes.plugin] }, settings: {}, needs: [], told: () => ({ plugins: 1 }) },
  { option: { precisionConstraints: 'obey' }, needs: ['BuilderFlag.kOBEY_PRECISION_CONSTRAINTS'], flags: ['kOBEY_PRECISION_CONSTRAINTS'] },
  { option: { precisionConstraints: 'prefer' }, needs: ['BuilderFlag.kPREFER_PRECISION_CONSTRAINTS'], flags: ['kPREFER_PRECISION_CONSTRAINTS'] },
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
    told: (version) => ({ 'type.x': number(version, 'DataType.kHALF'), 'formats.x': 2 ** number(version, 'TensorFormat.kLINEAR') }),
  },
]

for (const version of versions) {
  t.test(version.name, async (t) => {
    const plain = await build(version, {})
    t.equal(plain.told['flags'], bits(version, ['BuilderFlag.kTF32']), 'without options, nothing is touched')
    t.equal(plain.plan.info.library, version.name)
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
      t.equal(told['flags'], bits(version, [...new Set(flags)].map((each) => `BuilderFlag.${each}`)), `${name}: flags`)
      t.match(told, row.told?.(version) ?? {}, `${name}: ${JSON.stringify(row.told?.(version) ?? {})}`)
      t.match(plan.info.settings, row.settings ?? row.option, `${name} is read back`)
    }
    const { traps, misuse } = version.control.stats()
    t.same(traps, [], 'no method was called that this version lacks')
    t.same(misuse, {}, 'no number was given that this version lacks')
  })
}
