import { quoted } from '../../base/checks.js'
import { precisionTypes } from '../../benchmark/inspector.js'
import { expected, TensorRTError } from '../../errors.js'
import type { PreviewFeature, TacticSource, TensorFormatName } from '../../plan/settings.js'
import type { TensorRTDType } from '../../tensor.js'
import { type NamedDims, parseShapes } from '../options/shapes.js'
import type { FormatWish } from './settings.js'

/** How the value of an option is read. Throws ERR_TRT_INVALID_ARGUMENT; `name` is the option's. */
export type Read<T> = (text: string, name: string) => T

/** The text as it stands. */
export const text: Read<string> = (text) => text

/** A whole number. */
export function whole(least = 0, most = Infinity): Read<number> {
  const what = `a whole number from ${least}${most === Infinity ? '' : ` to ${most}`}`
  return (text, name) => {
    const value = /^-?\d+$/.test(text) ? Number(text) : NaN
    if (!Number.isSafeInteger(value) || value < least || value > most) throw expected(what, name, text)
    return value
  }
}

/** A number that may have decimals. */
export function number(text: string, name: string): number {
  const value = text === '' ? NaN : Number(text)
  if (!Number.isFinite(value) || value < 0) throw expected('a number from 0', name, text)
  return value
}

const units: Readonly<Record<string, number>> = { B: 1, K: 2 ** 10, M: 2 ** 20, G: 2 ** 30 }

/** Bytes: a number, MiB without a suffix, else B, K, M or G to the base of 2. */
export function bytes(text: string, name: string): number {
  const [, digits, unit = ''] = /^(\d+(?:\.\d*)?)([a-z]?)$/i.exec(text) ?? []
  const factor = units[unit === '' ? 'M' : unit.toUpperCase()]
  if (digits === undefined || factor === undefined)
    throw expected('a size in MiB, or with a suffix B, K, M or G,', name, text)
  return Math.round(Number(digits) * factor)
}

export function choice<T>(choices: Readonly<Record<string, T>>): Read<T> {
  return (text, name) => {
    if (!Object.hasOwn(choices, text)) throw expected(`one of ${quoted(Object.keys(choices))}`, name, text)
    return choices[text] as T
  }
}

/** The parts between commas; one within single quotes separates nothing. */
function parts(text: string): string[] {
  return Array.from(`,${text}`.matchAll(/,((?:'[^']*(?:'|$)|[^,'])*)/g), ([, part = '']) => part)
}

/**
 * `name:value`, split at the last colon; a name in single quotes may hold anything, and then the value too, as a
 * Windows path does.
 */
function named(text: string, name: string): [name: string, value: string] {
  const [, inQuotes, rest] = /^'([^']*)':?(.*)$/s.exec(text) ?? []
  if (inQuotes !== undefined && rest !== undefined) return [inQuotes, rest]
  const at = text.lastIndexOf(':')
  if (text.includes("'") || at < 1) throw expected("name:value, or 'name':value,", name, text)
  return [text.slice(0, at), text.slice(at + 1)]
}

/** `name:value,name:value …`. A name that comes twice is an error: trtexec takes one of them. */
export function namedList<T>(read: Read<T>): Read<Map<string, T>> {
  return (text, name) => {
    const found = new Map<string, T>()
    for (const entry of parts(text)) {
      const [key, value] = named(entry, name)
      if (found.has(key)) throw expected('each name once', name, key)
      found.set(key, read(value, name))
    }
    return found
  }
}

/** `name:1x3x224x224,other:scalar`, as the options of the other commands have it; a name may hold one `*`. */
export function shapes(text: string, name: string): NamedDims {
  const found = parsedShapes(text, name)
  const wrong = Object.keys(found).find((key) => key.split('*').length > 2)
  if (wrong !== undefined) throw expected("a name with at most one '*'", name, wrong)
  return found
}

function parsedShapes(text: string, name: string): NamedDims {
  try {
    return parseShapes(text)
  } catch (error) {
    throw new TensorRTError('ERR_TRT_INVALID_ARGUMENT', `${name}: ${(error as Error).message}`)
  }
}

export const dtype: Read<TensorRTDType> = choice<TensorRTDType>({
  ...precisionTypes,
  int32: 'int32',
  int64: 'int64',
  bool: 'bool',
  uint8: 'uint8',
})

/** `fp16+fp32` */
export function dtypes(text: string, name: string): TensorRTDType[] {
  return text.split('+').map((type) => dtype(type, name))
}

const layouts = 'chw chw2 chw4 hwc8 chw16 chw32 dhwc8 cdhw32 hwc dhwc hwc16'.split(' ') as TensorFormatName[]

function layoutsOf(text: string, name: string): TensorFormatName[] {
  return text.split('+').map((layout) => {
    const known = layouts.find((each) => each === layout)
    const dla = layout.startsWith('dla_') ? ' (those of a DLA are not here)' : ''
    if (known === undefined) throw expected(`layouts of ${quoted(layouts)}${dla}`, name, text)
    return known
  })
}

/** `fp16:chw+hwc8` for each tensor; with trtexec 11 `chw+hwc8`. */
export function formats(text: string, name: string): FormatWish[] {
  return parts(text).map((entry) => {
    const at = entry.indexOf(':')
    if (at < 0) return { formats: layoutsOf(entry, name) }
    return { dtype: dtype(entry.slice(0, at), name), formats: layoutsOf(entry.slice(at + 1), name) }
  })
}

/** `+name,-name`, each name once. */
function switches<T>(text: string, name: string, names: Readonly<Record<string, T>>): Map<T, boolean> {
  const found = new Map<T, boolean>()
  for (const entry of parts(text)) {
    if (!/^[+-]/.test(entry)) throw expected('+ (on) or - (off) before each name', name, entry)
    const value = choice(names)(entry.slice(1), name)
    const on = entry.startsWith('+')
    if (found.get(value) === !on) throw expected('each name either on or off', name, text)
    found.set(value, on)
  }
  return found
}

const sources: Readonly<Record<string, TacticSource>> = {
  CUBLAS: 'cublas',
  CUBLAS_LT: 'cublasLt',
  CUBLASLT: 'cublasLt',
  CUDNN: 'cudnn',
  EDGE_MASK_CONVOLUTIONS: 'edgeMaskConvolutions',
  JIT_CONVOLUTIONS: 'jitConvolutions',
}

export function tacticSources(text: string, name: string): Map<TacticSource, boolean> {
  return switches(text.toUpperCase(), name, sources)
}

const previews: Readonly<Record<string, PreviewFeature>> = {
  profileSharing0806: 'profileSharing0806',
  aliasedPluginIO1003: 'aliasedPluginIO1003',
  runtimeActivationResize: 'runtimeActivationResize1010',
}

export function previewFeatures(text: string, name: string): Map<PreviewFeature, boolean> {
  return switches(text, name, previews)
}

/** Each from 0 to 100. */
export function percentiles(text: string, name: string): number[] {
  return parts(text).map((each) => {
    const value = number(each, name)
    if (value > 100) throw expected('percentiles from 0 to 100', name, text)
    return value
  })
}
