import type {
  NativeBuildOptions,
  NativeFormat,
  NativeLayerTypes,
  NativeOptions,
  NativeOptionValue,
} from '../backend/native-types.js'
import { tensorrtPath } from '../backend/native.js'
import { expected, TensorRTError } from '../errors.js'
import { checkedChoice, checkedList, checkedObject, isOneOf, quoted } from '../base/checks.js'
import { type Check, checkedRows, elsewhereOf, is, placeRows, type TensorRTPlace } from '../base/option-table.js'
import {
  checkedTexts,
  type IOFormat,
  type Precision,
  precisions,
  sharedSettings,
  type SharedSettings,
  tensorFormats,
} from '../plan/settings.js'
import { readOptions } from '../base/options.js'
import { type TensorRTDType, tensorrtDTypes } from '../tensor.js'
import { checkedTimingCache, timingCacheOptions, type TimingCacheOptions } from './timing-cache.js'

/** Where builds run: on a thread of this process (`none`), or in a process of their own. */
export type Isolation = 'none' | 'process'

/**
 * Options of {@link Builder}: how plans are built. An option that is not given stays as TensorRT has it. An option that
 * the loaded TensorRT does not have is ERR_TRT_UNSUPPORTED when a build begins; the message names both versions.
 *
 * "(10.6)" means: in TensorRT 10 from 10.6 on. Every option exists in TensorRT 11 and TensorRT-RTX, too, unless it says
 * otherwise.
 * @see https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/c-api/classnvinfer1_1_1_i_builder_config.html
 */
export interface BuilderOptions extends SharedSettings, TimingCacheOptions {
  /**
   * The TensorRT that builds, and the GPU to build for. Without a library the first is taken that can build here;
   * TensorRT-RTX needs no GPU.
   */
  readonly tensorrt?: TensorRTPlace | undefined
  /**
   * Where builds run; default `none`: on a thread of this process. `process`: in child processes, so that a crash
   * inside TensorRT rejects with ERR_TRT_CRASH and this process goes on, and an abort ends TensorRT's work at once. A
   * process is used again until it dies, and ends with this one; as many builds run at once as the machine has cores.
   */
  readonly isolation?: Isolation | undefined

  /**
   * The most device memory that the temporary data of a layer may take: bytes, or text such as `"512MiB"` or `"2GiB"`.
   * setMemoryPoolLimit(kWORKSPACE)
   */
  readonly workspace?: number | string | undefined
  /** The most shared memory that a kernel may take, in bytes or as text. setMemoryPoolLimit(kTACTIC_SHARED_MEMORY) */
  readonly tacticSharedMemory?: number | string | undefined
  /**
   * The most device memory that the search for kernels may take, in bytes or as text. setMemoryPoolLimit(kTACTIC_DRAM)
   */
  readonly tacticDram?: number | string | undefined

  /**
   * The precisions that layers may compute in, besides FP32; default: none.
   *
   * - Weakly typed networks (TensorRT 10): TensorRT chooses among them for each layer. BuilderFlag kFP16, kBF16, kINT8,
   *   kFP8, kINT4 (10.1).
   * - Strongly typed networks (TensorRT 11, TensorRT-RTX, and 10 with `stronglyTyped`): types are the model's. `fp16`
   *   or `bf16` converts a model that has nothing of the type, on a thread of its own, as `convertPrecision` of
   *   node-tensorrt/onnx does without options; `plan.info.conversion` tells what was converted. What overflows float16
   *   on your data is not known there: where that may be, convert the model yourself, with `ranges`.
   *
   * `int8`, `fp8` and `int4` need QuantizeLinear and DequantizeLinear in the model; in place of these, `int8` takes the
   * option `calibrator` of {@link Builder.build} with TensorRT 10, weakly typed. A precision that a strongly typed
   * network then does not have is ERR_TRT_PRECISION: a tensor of the type for `fp16` and `bf16`, quantizing layers for
   * the others.
   */
  readonly precision?: Precision | readonly Precision[] | undefined
  /**
   * Gives each tensor a range of INT8 that was not measured, as trtexec does for `--int8` alone: ±2 what goes into a
   * layer, ±4 what comes out. It is for measuring times only: outputs mean nothing. The plan says so
   * (`plan.info.settings`, and the name of its engine), and {@link Engine} opens it only with `allowPlaceholderRanges`.
   * Needs `precision` with `int8` and a model without quantizing layers (else ERR_TRT_PRECISION); TensorRT 10 only,
   * weakly typed. Default false. ITensor::setDynamicRange
   * @see https://docs.nvidia.com/deeplearning/tensorrt/10.16.1/_static/c-api/classnvinfer1_1_1_i_tensor.html
   */
  readonly placeholderRanges?: boolean | undefined
  /**
   * The types that layers compute in, by their names; a name may have one `*`, later entries win. Needs
   * `precisionConstraints`. TensorRT 10 only, weakly typed. ILayer::setPrecision
   */
  readonly layerPrecisions?: Readonly<Record<string, TensorRTDType>> | undefined
  /**
   * The types of layers' outputs, one for all or one for each, by names as above. Needs `precisionConstraints`.
   * TensorRT 10 only, weakly typed. ILayer::setOutputType
   */
  readonly layerOutputTypes?: Readonly<Record<string, TensorRTDType | readonly TensorRTDType[]>> | undefined
  /**
   * The types and memory layouts of inputs, by name. An engine of this package runs `chw` alone: a plan with another
   * layout, of an input or an output, is ERR_TRT_UNSUPPORTED to {@link Engine.load}, and so are these options there.
   * Such plans are for other programs.
   */
  readonly inputFormats?: Readonly<Record<string, IOFormat>> | undefined
  /** The types and memory layouts of outputs, by name; see {@link inputFormats}. */
  readonly outputFormats?: Readonly<Record<string, IOFormat>> | undefined

  /**
   * The GPUs that the plan has kernels for: `current`, or compute capabilities such as `['8.6', '12.0']`. TensorRT-RTX
   * only. setComputeCapability
   */
  readonly computeCapabilities?: 'current' | readonly string[] | undefined

  /**
   * Whether weights can be replaced later: all (true: BuilderFlag::kREFIT), with the same weights again ('identical':
   * kREFIT_IDENTICAL), or only `refittableWeights` ('individual': kREFIT_INDIVIDUAL, 10.2). TensorRT-RTX needs a GPU's
   * driver for this, and for `stripWeights`, where a model has weights.
   */
  readonly refit?: boolean | 'identical' | 'individual' | undefined
  /** The names of weights for refit 'individual'. INetworkDefinition::markWeightsRefittable (10.2) */
  readonly refittableWeights?: readonly string[] | undefined

  /**
   * Paths of plugin libraries to load; each exports getCreators(). IPluginRegistry::loadLibrary of the builder's
   * registry
   */
  readonly plugins?: readonly string[] | undefined
}

/** Options that are no value of their own for native code. */
const others = [
  'tensorrt',
  'isolation',
  'inputFormats',
  'outputFormats',
  'layerPrecisions',
  'layerOutputTypes',
] as const

/**
 * Options that are one value each: what they may be. Native code knows them by the same names
 * (native/building/configure.cc, precision.cc).
 */
const checks = {
  ...sharedSettings,
  workspace: checkedBytes,
  tacticSharedMemory: checkedBytes,
  tacticDram: checkedBytes,
  precision: checkedPrecision,
  placeholderRanges: is.boolean,
  computeCapabilities: checkedCapabilities,
  refit: checkedRefit,
  refittableWeights: checkedTexts,
  plugins: checkedTexts,
} satisfies Record<
  Exclude<keyof BuilderOptions, (typeof others)[number] | (typeof timingCacheOptions)[number]>,
  Check<NativeOptionValue>
>

const known = [...others, ...timingCacheOptions, ...(Object.keys(checks) as (keyof typeof checks)[])]

/** The options as native code takes them, and where it is to run. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedBuilderOptions(options: unknown): NativeBuildOptions & { readonly isolation: Isolation } {
  const given = readOptions(options, known, 'Builder', elsewhereOf(placeRows))
  const { library, device } = checkedRows(given, placeRows).tensorrt
  const { isolation = 'none' } = given
  const values: Record<string, NativeOptionValue> = {}
  for (const [name, check] of Object.entries(checks) as [keyof typeof checks, Check<NativeOptionValue>][]) {
    const value = given[name]
    if (value !== undefined) values[name] = check(value, name)
  }
  if (values['refit'] === false) delete values['refit']
  if (values['placeholderRanges'] === false) delete values['placeholderRanges']
  const native: NativeOptions = {
    values,
    inputFormats: checkedFormats(given.inputFormats, 'inputFormats'),
    outputFormats: checkedFormats(given.outputFormats, 'outputFormats'),
    layerPrecisions: checkedLayerTypes(given.layerPrecisions, 'layerPrecisions', false),
    layerOutputTypes: checkedLayerTypes(given.layerOutputTypes, 'layerOutputTypes', true),
  }
  checkTogether(native)
  return {
    isolation: checkedChoice(isolation, 'isolation', ['none', 'process']),
    tensorrt: tensorrtPath(library),
    device,
    options: native,
    ...checkedTimingCache(given),
  }
}

/**
 * Engines run row-major tensors alone: whatever the build might choose has to be that, before it has begun.
 * @throws TensorRTError ERR_TRT_UNSUPPORTED
 */
export function refuseVectorized({
  inputFormats,
  outputFormats,
}: Pick<BuilderOptions, 'inputFormats' | 'outputFormats'>): void {
  for (const [option, tensors] of Object.entries({ inputFormats, outputFormats }))
    for (const [name, { formats = ['chw'] }] of Object.entries(tensors ?? {}))
      if (formats.some((format) => format !== 'chw'))
        throw new TensorRTError(
          'ERR_TRT_UNSUPPORTED',
          `Expected formats: ['chw'] in ${option} of '${name}' but received ${quoted(formats)}: engines run row-major inputs and outputs alone. ` +
            'A Builder makes plans with the others, for programs that run those',
        )
}

/** Options that make sense only with, or never with, others: TensorRT would pass over most of these without a word. */
function checkTogether({ values, layerPrecisions, layerOutputTypes }: NativeOptions): void {
  const layers = layerPrecisions.length > 0 ? 'layerPrecisions' : 'layerOutputTypes'
  const hasLayers = layerPrecisions.length + layerOutputTypes.length > 0
  const strong = values['stronglyTyped'] === true
  const { precision, hardwareCompatibility: hardware = 'none', versionCompatible: compatible = false } = values
  const rules: [boolean, string][] = [
    [values['excludeLeanRuntime'] === true && compatible !== true, 'excludeLeanRuntime needs versionCompatible: true'],
    [
      values['pluginsToSerialize'] !== undefined && compatible !== true,
      'pluginsToSerialize needs versionCompatible: true',
    ],
    [
      hasLayers && values['precisionConstraints'] === undefined,
      `${layers} needs precisionConstraints: 'obey' or 'prefer'; without, TensorRT ignores it`,
    ],
    [hasLayers && strong, `${layers} needs a weakly typed network, not stronglyTyped: true`],
    [
      values['precisionConstraints'] !== undefined && strong,
      'precisionConstraints needs a weakly typed network, not stronglyTyped: true',
    ],
    [
      values['placeholderRanges'] === true && strong,
      'placeholderRanges needs a weakly typed network, not stronglyTyped: true',
    ],
    [
      values['placeholderRanges'] === true && !(Array.isArray(precision) && precision.includes('int8')),
      "placeholderRanges needs precision 'int8', alone or among others",
    ],
    [
      values['refit'] === 'individual' && values['refittableWeights'] === undefined,
      "refit: 'individual' needs refittableWeights",
    ],
    [
      values['refittableWeights'] !== undefined && values['refit'] !== 'individual',
      "refittableWeights needs refit: 'individual'",
    ],
    [
      values['nativeInstanceNorm'] === false && (compatible === true || hardware !== 'none'),
      'nativeInstanceNorm: false cannot go with versionCompatible or hardwareCompatibility',
    ],
    [
      Array.isArray(precision) && precision.includes('fp8') && hardware === 'ampere+',
      "precision 'fp8' cannot go with hardwareCompatibility: 'ampere+'",
    ],
  ]
  const broken = rules.find(([isBroken]) => isBroken)
  if (broken !== undefined) throw new TensorRTError('ERR_TRT_INVALID_ARGUMENT', `Option ${broken[1]}`)
}

function checkedPrecision(value: unknown, name: string): string[] {
  const what = `one or several of ${quoted(precisions)}`
  const names = checkedList(typeof value === 'string' ? [value] : value, name, what, (element) =>
    isOneOf(element, precisions),
  )
  if (names.length === 0) throw expected(what, name, value)
  if (names.includes('fp32') && names.length > 1)
    throw expected("'fp32' alone (it is always allowed), or others,", name, value)
  return names.filter((each) => each !== 'fp32')
}

function checkedCapabilities(value: unknown, name: string): string[] {
  if (value === 'current') return ['current']
  const what = "'current', or an array of compute capabilities such as '8.6',"
  const isCapability = (element: unknown): element is string =>
    typeof element === 'string' && /^\d{1,2}\.\d$/.test(element)
  const names = checkedList(value, name, what, isCapability)
  if (names.length === 0) throw expected(what, name, value)
  return names
}

/** What native code calls the three ways; `false` is none of them. */
function checkedRefit(value: unknown, name: string): NativeOptionValue {
  if (typeof value === 'boolean') return value ? 'all' : false
  if (value === 'identical' || value === 'individual') return value
  throw expected("true, false, 'identical' or 'individual'", name, value)
}

function entriesOf(value: unknown, name: string, what: string): [string, unknown][] {
  if (value === undefined) return []
  return Object.entries(checkedObject(value, name, `an object of ${what}`))
}

/** Those of the CPU are none of them, and are to be told so here rather than after a build has begun. */
const typeNames = `one of TensorRT's data types ${quoted(tensorrtDTypes)}`

function checkedFormats(value: unknown, option: string): NativeFormat[] {
  return entriesOf(value, option, 'types and formats by tensor').map(([name, entry]) => {
    const owner = `${option} of '${name}'`
    const { dtype, formats } = readOptions(entry, ['dtype', 'formats'], owner)
    if (dtype === undefined && formats === undefined) throw expected('dtype, formats, or both', owner, entry)
    return {
      name,
      dtype: dtype === undefined ? '' : checkedChoice(dtype, `dtype in ${owner}`, tensorrtDTypes, typeNames),
      formats: formats === undefined ? [] : checkedFormatNames(formats, `formats in ${owner}`),
    }
  })
}

function checkedFormatNames(value: unknown, name: string): string[] {
  const names = checkedList(value, name, `an array of ${quoted(tensorFormats)}`, (element) =>
    isOneOf(element, tensorFormats),
  )
  if (names.length === 0) throw expected('an array of one or more formats', name, value)
  return names
}

function checkedLayerTypes(value: unknown, option: string, several: boolean): NativeLayerTypes[] {
  return entriesOf(value, option, 'types by layer').map(([name, entry]) => {
    const owner = `${option} of '${name}'`
    if (name.split('*').length > 2) throw expected("a name with at most one '*'", option, name)
    const types: unknown[] = several && Array.isArray(entry) ? Array.from(entry as unknown[]) : [entry]
    if (types.length === 0 || !types.every((type) => isOneOf(type, tensorrtDTypes)))
      throw expected(`${typeNames}${several ? ', or an array of them' : ''}`, owner, entry)
    return { name, types }
  })
}

const byteUnits: Readonly<Record<string, number>> = {
  '': 1,
  B: 1,
  KIB: 2 ** 10,
  MIB: 2 ** 20,
  GIB: 2 ** 30,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
}

/** A number of bytes, or text such as "512MiB". @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedBytes(value: unknown, name: string): number {
  const [, digits, unit] = typeof value === 'string' ? (/^(\d+(?:\.\d+)?) ?([a-z]*)$/i.exec(value) ?? []) : []
  const factor = byteUnits[unit?.toUpperCase() ?? '']
  const bytes =
    typeof value === 'number'
      ? value
      : digits !== undefined && factor !== undefined
        ? Math.round(Number(digits) * factor)
        : NaN
  if (Number.isSafeInteger(bytes) && bytes > 0) return bytes
  throw expected('a number of bytes, or text such as "512MiB" or "2GiB",', name, value)
}
