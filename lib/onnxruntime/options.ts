/**
 * Session options as onnxruntime has them, each in a row: its check, and what becomes of it here. What means nothing
 * here is named in a warning; nothing is passed over in silence.
 */
import type { InferenceSession } from 'onnxruntime-common'
import { type Optimization, optimizations } from '../backend/cpu-options.js'
import { isOneOf } from '../base/checks.js'
import { refused, wrong } from './errors.js'
import { type ExternalData, readExternalData } from './external-data.js'
import { type Provider, refusalOf } from './providers.js'
import { readTensorRTOptions, type TensorRTProviderSettings } from './tensorrt-options.js'

/** What the options of a session come to. */
export interface SessionSettings {
  /** The providers, in their order; none: what this machine has. */
  readonly providers: readonly Provider[]
  readonly tensorrt: TensorRTProviderSettings
  readonly threads: number | undefined
  readonly optimization: Optimization | undefined
  /** Entries of onnxruntime's session configuration. */
  readonly config: Readonly<Record<string, string>>
  /** Sizes of dimensions, by the names or denotations that the model gives them. */
  readonly freeDimensions: Readonly<Record<string, number>>
  readonly externalData: readonly ExternalData[]
  readonly logSeverity: number | undefined
  readonly logId: string | undefined
  /** Where outputs are to be, by name; the empty name: all of them. */
  readonly locations: ReadonlyMap<string, string>
  /** What is told in warnings. */
  readonly notes: readonly string[]
}

type Made = { -readonly [Name in keyof SessionSettings]: SessionSettings[Name] } & {
  notes: string[]
}

/** Checks an option, and puts it where it belongs; what it gives is a note about what has no meaning here. */
type Row = (value: unknown, made: Made) => string | undefined

/** Where the words of an error begin, as onnxruntime-node's do. */
const at = (name: string): string => `Invalid argument: sessionOptions.${name}`

function checkedWholeNumber(value: unknown, name: string, most: number): number {
  if (typeof value !== 'number') throw wrong('TypeError', `${at(name)} must be a number`, value)
  if (!Number.isInteger(value) || value < 0 || value > most)
    throw wrong('RangeError', `${at(name)} must be an integer from 0 to ${most}: '${name}' is invalid`, value)
  return value
}

function checkedFlag(value: unknown, name: string): boolean {
  if (typeof value !== 'boolean') throw wrong('TypeError', `${at(name)} must be a boolean value`, value)
  return value
}

function checkedString(value: unknown, name: string): string {
  if (typeof value !== 'string') throw wrong('TypeError', `${at(name)} must be a string`, value)
  return value
}

function checkedWord<T extends string>(value: unknown, name: string, words: readonly T[]): T {
  const word = checkedString(value, name)
  if (!isOneOf(word, words))
    throw wrong('TypeError', `'${name}' is not supported: expected one of ${words.join(', ')}`, value)
  return word
}

const mostThreads = 1024

const nothing = (why: string): string => `has no effect: ${why}`

const rows = {
  executionProviders: readProviders,
  intraOpNumThreads: (value, made) => {
    const threads = checkedWholeNumber(value, 'intraOpNumThreads', 2 ** 31 - 1)
    made.threads = threads === 0 ? undefined : Math.min(threads, mostThreads)
    return threads > mostThreads ? `is taken as ${mostThreads}, the most threads of a session` : undefined
  },
  interOpNumThreads: (value) =>
    checkedWholeNumber(value, 'interOpNumThreads', 2 ** 31 - 1) > 1
      ? nothing('the nodes of a model run one after the other')
      : undefined,
  graphOptimizationLevel: (value, made) => {
    made.optimization = checkedWord(value, 'graphOptimizationLevel', optimizations)
    return undefined
  },
  freeDimensionOverrides: (value, made) => {
    made.freeDimensions = checkedSizes(value)
    return undefined
  },
  externalData: (value, made) => {
    made.externalData = readExternalData(value)
    return undefined
  },
  extra: (value, made) => {
    made.config = flattened(value)
    return undefined
  },
  enableCpuMemArena: (value) =>
    checkedFlag(value, 'enableCpuMemArena') ? undefined : nothing('memory is always taken from an arena'),
  enableMemPattern: (value) =>
    checkedFlag(value, 'enableMemPattern') ? undefined : nothing('onnxruntime always plans the memory of a run'),
  executionMode: (value) =>
    checkedWord(value, 'executionMode', ['sequential', 'parallel']) === 'parallel'
      ? nothing('the nodes of a model run one after the other')
      : undefined,
  enableProfiling: (value) => {
    if (checkedFlag(value, 'enableProfiling')) throw refused('ERR_TRT_UNSUPPORTED', profiling('enableProfiling'))
    return undefined
  },
  profileFilePrefix: (value) => {
    checkedString(value, 'profileFilePrefix')
    return undefined
  },
  optimizedModelFilePath: (value) => {
    checkedString(value, 'optimizedModelFilePath')
    return nothing('no optimized model is written')
  },
  logId: (value, made) => {
    made.logId = checkedString(value, 'logId')
    return undefined
  },
  logSeverityLevel: (value, made) => {
    made.logSeverity = checkedSeverity(value, 'sessionOptions')
    return undefined
  },
  logVerbosityLevel: (value) =>
    checkedWholeNumber(value, 'logVerbosityLevel', 2 ** 31 - 1) > 0
      ? nothing('the lines of a session have no verbosity beyond logSeverityLevel')
      : undefined,
  preferredOutputLocation: readLocations,
  enableGraphCapture: (value) =>
    checkedFlag(value, 'enableGraphCapture')
      ? nothing("it is WebGPU's; TensorRT captures CUDA graphs by itself, trt_cuda_graph_enable: false has it not")
      : undefined,
} satisfies { readonly [Name in keyof Required<InferenceSession.SessionOptions>]: Row }

/** The names of all options that have a row, for tests. */
export const sessionOptionNames = Object.keys(rows) as readonly (keyof typeof rows)[]

/**
 * The options of a session, each read once. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT by the name TypeError or
 * RangeError, as onnxruntime-node's; ERR_TRT_UNSUPPORTED for profiling
 */
export function readSessionOptions(options: InferenceSession.SessionOptions): SessionSettings {
  const made: Made = {
    providers: [],
    tensorrt: { engine: {}, shapes: undefined, cache: undefined, timingCacheFolder: undefined },
    threads: undefined,
    optimization: undefined,
    config: {},
    freeDimensions: {},
    externalData: [],
    logSeverity: undefined,
    logId: undefined,
    locations: new Map(),
    notes: [],
  }
  for (const name of Object.keys(options)) {
    const value = (options as Readonly<Record<string, unknown>>)[name]
    if (value === undefined) continue
    const row = Object.hasOwn(rows, name) ? rows[name as keyof typeof rows] : unknown
    const note = row(value, made)
    if (note !== undefined) made.notes.push(`the session option '${name}' ${note}`)
  }
  return made
}

const unknown: Row = () => nothing('it is no option that is known here')

/** The words for whatever is asked to profile. */
export function profiling(what: string): string {
  return `${what}: node-tensorrt has no profiling by files. engine.benchmark() measures a model, and engine.layers() its layers on TensorRT`
}

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedSeverity(value: unknown, owner: 'sessionOptions' | 'runOptions'): number {
  const name = `Invalid argument: ${owner}.logSeverityLevel`
  if (typeof value !== 'number') throw wrong('TypeError', `${name} must be a number`, value)
  if (![0, 1, 2, 3, 4].includes(value))
    throw wrong('RangeError', `${name} must be one of the following: 0, 1, 2, 3, 4`, value)
  return value
}

/** @throws TensorRTError ERR_TRT_UNSUPPORTED where this package has none of the providers */
function readProviders(value: unknown, made: Made): undefined {
  if (!Array.isArray(value)) throw wrong('TypeError', `${at('executionProviders')} must be an array`, value)
  const providers = new Set<Provider>()
  const foreign: string[] = []
  value.forEach((each: unknown, i) => {
    const name = typeof each === 'string' ? each : (each as { readonly name?: unknown } | null)?.name
    if (typeof name !== 'string')
      throw wrong(
        'TypeError',
        `${at(`executionProviders[${i}]`)} must be either a string or an object with 'name'`,
        each,
      )
    if (name !== 'cpu' && name !== 'tensorrt') return void foreign.push(refusalOf(name))
    providers.add(name)
    if (typeof each !== 'string') readProviderOptions(name, each as Readonly<Record<string, unknown>>, made)
  })
  if (providers.size === 0 && foreign[0] !== undefined) throw refused('ERR_TRT_UNSUPPORTED', foreign[0])
  made.notes.push(...foreign)
  made.providers = [...providers]
}

function readProviderOptions(provider: Provider, given: Readonly<Record<string, unknown>>, made: Made): void {
  const { name: _, ...options } = given
  if (provider === 'tensorrt') made.tensorrt = readTensorRTOptions(options, made.notes)
  else
    for (const [name, value] of Object.entries(options))
      if (!(name === 'useArena' && (value === true || value === undefined)))
        made.notes.push(`the option '${name}' of the provider 'cpu' ${nothing('it is no option that is known here')}`)
}

function checkedSizes(value: unknown): Readonly<Record<string, number>> {
  if (typeof value !== 'object' || value === null)
    throw wrong('TypeError', `${at('freeDimensionOverrides')} must be an object of sizes by name`, value)
  const sizes = Object.entries(value) as [string, unknown][]
  for (const [name, size] of sizes) {
    const what = `${at('freeDimensionOverrides')}[${JSON.stringify(name)}]`
    if (typeof size !== 'number') throw wrong('TypeError', `${what} must be a number`, size)
    if (!Number.isSafeInteger(size) || size < 1) throw wrong('RangeError', `${what} must be a size from 1`, size)
  }
  return Object.fromEntries(sizes) as Record<string, number>
}

/** `{ session: { disable_prepacking: '1' } }` is `session.disable_prepacking`. */
function flattened(value: unknown): Readonly<Record<string, string>> {
  if (typeof value !== 'object' || value === null) throw wrong('TypeError', `${at('extra')} must be an object`, value)
  const entries: Record<string, string> = {}
  const read = (prefix: string, group: object): void => {
    for (const [key, entry] of Object.entries(group) as [string, unknown][]) {
      if (typeof entry === 'object' && entry !== null) read(`${prefix}${key}.`, entry)
      else if (typeof entry === 'string') entries[prefix + key] = entry
      else throw wrong('TypeError', `${at('extra')} value must be a string: ${prefix}${key}`, entry)
    }
  }
  read('', value)
  return entries
}

const locations = ['cpu', 'cpu-pinned', 'gpu-buffer', 'ml-tensor', 'texture', 'none'] as const

function readLocations(value: unknown, made: Made): string | undefined {
  if (value === null) return undefined
  const one = typeof value === 'string'
  if (!one && typeof value !== 'object')
    throw wrong('TypeError', 'Invalid argument: preferredOutputLocation must be an object or a valid string', value)
  const places = one ? [['', value] as const] : (Object.entries(value) as [string, unknown][])
  for (const [name, place] of places)
    if (!isOneOf(place, locations) || place === 'none') {
      const what = one ? 'preferredOutputLocation' : `preferredOutputLocation[${JSON.stringify(name)}]`
      throw wrong('TypeError', `Invalid argument: ${what} must be a valid string`, place)
    }
  made.locations = new Map(places as [string, string][])
  const other = places.find(([, place]) => place !== 'cpu' && place !== 'cpu-pinned')
  return other && nothing(`outputs are on the CPU, not in a ${String(other[1])}`)
}
