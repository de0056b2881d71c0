/** The options of onnxruntime's TensorRT provider, as far as this package has the thing. */
import { join } from 'node:path'
import type { BuilderOptions } from '../building/options.js'
import type { Shapes } from '../building/shapes.js'
import type { TensorRTEngineOptions } from '../engine/options.js'
import { TensorRTError } from '../errors.js'
import type { Precision } from '../plan/settings.js'
import { named, wrong } from './errors.js'

/** The provider `tensorrt` of `executionProviders` with onnxruntime's own options; see its documentation. */
export interface TensorRTProviderOptions {
  /** The provider. */
  readonly name: 'tensorrt'
  /** The number of the GPU; default 0. */
  readonly deviceId?: number | undefined
  readonly [option: `trt_${string}`]: string | number | boolean | undefined
}

/** What these options come to for an engine. */
export interface TensorRTProviderSettings {
  readonly engine: TensorRTEngineOptions
  readonly shapes: readonly Shapes[] | undefined
  readonly cache: boolean | string | undefined
  /** The folder for a timing cache, which is made. */
  readonly timingCacheFolder: string | undefined
}

interface Made {
  readonly builder: { -readonly [Name in keyof BuilderOptions]: BuilderOptions[Name] }
  readonly engine: { -readonly [Name in keyof TensorRTEngineOptions]: TensorRTEngineOptions[Name] }
  readonly precision: Set<Precision>
  readonly profiles: { min?: Profile; opt?: Profile; max?: Profile }
  readonly cache: { enable?: boolean; path?: string }
  readonly timing: { enable?: boolean; path?: string }
}

/** The shapes of inputs, one for each profile. */
type Profile = ReadonlyMap<string, readonly (readonly number[])[]>

type Row = (value: unknown, name: string, made: Made) => void

const precisionRow =
  (precision: Precision): Row =>
  (value, name, { precision: wanted }) => {
    if (flagOf(value, name)) wanted.add(precision)
  }

const profileRow =
  (which: keyof Made['profiles']): Row =>
  (value, name, { profiles }) =>
    void (profiles[which] = profileOf(value, name))

/** An integer for the builder; `none` of them means its default. */
const numberRow =
  (option: 'workspace' | 'optimizationLevel' | 'auxiliaryStreams', none?: number): Row =>
  (value, name, { builder }) => {
    const number = integerOf(value, name)
    if (number !== none) builder[option] = number
  }

const deviceRow: Row = (value, name, { engine }) => void (engine.device = integerOf(value, name))

const rows: Readonly<Record<string, Row>> = {
  deviceId: deviceRow,
  device_id: deviceRow,
  trt_fp16_enable: precisionRow('fp16'),
  trt_bf16_enable: precisionRow('bf16'),
  trt_int8_enable: precisionRow('int8'),
  trt_max_workspace_size: numberRow('workspace', 0),
  trt_builder_optimization_level: numberRow('optimizationLevel'),
  trt_auxiliary_streams: numberRow('auxiliaryStreams', -1),
  trt_sparsity_enable: (value, name, { builder }) => void (builder.sparsity = flagOf(value, name)),
  trt_weight_stripped_engine_enable: (value, name, { builder }) => void (builder.stripWeights = flagOf(value, name)),
  trt_engine_hw_compatible: (value, name, { builder }) => {
    if (flagOf(value, name)) builder.hardwareCompatibility = 'ampere+'
  },
  trt_extra_plugin_lib_paths: (value, name, { builder }) =>
    void (builder.plugins = textOf(value, name)
      .split(';')
      .filter((path) => path !== '')),
  trt_cuda_graph_enable: (value, name, { engine }) => void (engine.cudaGraph = flagOf(value, name)),
  trt_engine_cache_enable: (value, name, { cache }) => void (cache.enable = flagOf(value, name)),
  trt_engine_cache_path: (value, name, { cache }) => void (cache.path = textOf(value, name)),
  trt_timing_cache_enable: (value, name, { timing }) => void (timing.enable = flagOf(value, name)),
  trt_timing_cache_path: (value, name, { timing }) => void (timing.path = textOf(value, name)),
  trt_profile_min_shapes: profileRow('min'),
  trt_profile_opt_shapes: profileRow('opt'),
  trt_profile_max_shapes: profileRow('max'),
}

/** The names of the options that mean something here, for tests. */
export const tensorrtOptionNames: readonly string[] = Object.keys(rows)

/**
 * @param notes where the options that mean nothing here are named
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT by the name TypeError or RangeError
 */
export function readTensorRTOptions(
  options: Readonly<Record<string, unknown>>,
  notes: string[],
): TensorRTProviderSettings {
  const made: Made = { builder: {}, engine: {}, precision: new Set(), profiles: {}, cache: {}, timing: {} }
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined) continue
    const row = Object.hasOwn(rows, name) ? rows[name] : undefined
    if (row === undefined) notes.push(`the option '${name}' of the provider 'tensorrt' has no effect here`)
    else row(value, name, made)
  }
  const { builder, engine, precision, cache, timing } = made
  if (precision.size > 0) builder.precision = [...precision]
  const timingCacheFolder = timing.enable === true ? (timing.path ?? cache.path ?? '.') : undefined
  if (timingCacheFolder !== undefined)
    builder.timingCache = join(timingCacheFolder, `node-tensorrt-gpu${engine.device ?? 0}.timing`)
  return {
    engine: { ...engine, ...(Object.keys(builder).length > 0 && { builder }) },
    shapes: shapesOf(made.profiles),
    cache: cache.enable === false ? false : cache.path,
    timingCacheFolder,
  }
}

const profileNames = {
  min: 'trt_profile_min_shapes',
  opt: 'trt_profile_opt_shapes',
  max: 'trt_profile_max_shapes',
} as const

function shapesOf(given: Made['profiles']): readonly Shapes[] | undefined {
  const { min, opt, max } = given
  if (min === undefined && opt === undefined && max === undefined) return undefined
  if (min === undefined || opt === undefined || max === undefined) {
    const missing = (['min', 'opt', 'max'] as const).filter((which) => given[which] === undefined)
    throw unequal(`have to be given together: ${missing.map((which) => profileNames[which]).join(' and ')} is missing`)
  }
  const inputs = [...new Set([...min.keys(), ...opt.keys(), ...max.keys()])]
  const count = Math.max(...inputs.map((input) => opt.get(input)?.length ?? 0))
  for (const [which, profile] of Object.entries({ min, opt, max }))
    for (const input of inputs) {
      const times = profile.get(input)?.length ?? 0
      if (times === count) continue
      const found = `${profileNames[which as keyof typeof profileNames]} has '${input}' ${times} times, not ${count}`
      throw unequal(`have to name the same inputs as often: ${found}`)
    }
  return Array.from({ length: count }, (_, i) =>
    Object.fromEntries(
      inputs.map((input) => [input, { min: min.get(input)![i]!, opt: opt.get(input)![i]!, max: max.get(input)![i]! }]),
    ),
  )
}

function unequal(what: string): TensorRTError {
  const message = `Invalid argument: ${Object.values(profileNames).join(', ')} ${what}`
  return named('TypeError', new TensorRTError('ERR_TRT_INVALID_ARGUMENT', message))
}

/** `images:1x3x224x224,mask:1x224x224`; an input that is named again is of the next profile. */
function profileOf(value: unknown, name: string): Profile {
  const shapes = new Map<string, (readonly number[])[]>()
  for (const part of textOf(value, name).split(',')) {
    const [, input = '', dims = ''] = /^(.+):(\d+(?:x\d+)*)$/.exec(part.trim()) ?? []
    if (input === '')
      throw wrong('TypeError', `Invalid argument: ${name} must be text such as "images:1x3x224x224"`, value)
    shapes.set(input, [...(shapes.get(input) ?? []), dims.split('x').map(Number)])
  }
  return shapes
}

function flagOf(value: unknown, name: string): boolean {
  if (typeof value === 'boolean') return value
  if (value === 1 || value === '1' || /^true$/i.test(String(value))) return true
  if (value === 0 || value === '0' || /^false$/i.test(String(value))) return false
  throw wrong('TypeError', `Invalid argument: ${name} must be true, false, "1" or "0"`, value)
}

function integerOf(value: unknown, name: string): number {
  const number = typeof value === 'string' && /^-?\d+$/.test(value) ? Number(value) : value
  if (typeof number !== 'number') throw wrong('TypeError', `Invalid argument: ${name} must be a number`, value)
  if (!Number.isSafeInteger(number) || number < -1)
    throw wrong('RangeError', `Invalid argument: ${name} is no integer that it may be`, value)
  return number
}

function textOf(value: unknown, name: string): string {
  if (typeof value !== 'string' || value === '')
    throw wrong('TypeError', `Invalid argument: ${name} must be a text`, value)
  return value
}
