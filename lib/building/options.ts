import type {
  NativeBuildOptions,
  NativeFormat,
  NativeLayerTypes,
  NativeOptions,
  NativeOptionValue,
} from '../backend/native-types.js'
import { tensorrtPath } from '../backend/native.js'
import { expected, TensorRTError } from '../errors.js'
import { checkedChoice, checkedList, checkedObject, checkedWhole, isOneOf, quoted } from '../base/checks.js'
import { type Check, checkedRows, is, placeRows } from '../base/option-table.js'
import { checkedTexts, precisions, sharedSettings, tensorFormats } from '../plan/settings.js'
import { readOptions } from '../base/options.js'
import { tensorrtDTypes } from '../tensor.js'
import type { BuilderOptions, Isolation } from './builder-options.js'
import { checkedTimingCache, timingCacheOptions } from './timing-cache.js'

export type * from './builder-options.js'

/** Options that are no value of their own for native code. */
const others = [
  'tensorrt',
  'device',
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
  const given = readOptions(options, known, 'Builder')
  const { tensorrt, device } = checkedRows(given, placeRows)
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
    tensorrt: tensorrtPath(tensorrt),
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
