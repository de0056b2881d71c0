/**
 * The checks of arguments, each in one place. All give the value with its type, or throw ERR_TRT_INVALID_ARGUMENT in
 * one form: "Expected X for NAME but received Y". Where the usual words for X would say too little, `what` has better
 * ones.
 */
import { isPromise } from 'node:util/types'
import { expected } from '../errors.js'
import { isAbortSignal } from './kinds.js'

/** Whether it is a whole number from `least` to `most`. */
export function isWhole(value: unknown, least: number, most = Number.MAX_SAFE_INTEGER): value is number {
  return Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most
}

export function checkedWhole(
  value: unknown,
  name: string,
  least: number,
  most = Number.MAX_SAFE_INTEGER,
  what?: string,
): number {
  if (isWhole(value, least, most)) return value
  throw expected(
    what ?? (most === Number.MAX_SAFE_INTEGER ? `an integer from ${least}` : `an integer from ${least} to ${most}`),
    name,
    value,
  )
}

/** A finite number from `low` to `high`, both allowed. */
export function checkedNumber(value: unknown, name: string, low = -Infinity, high = Infinity, what?: string): number {
  if (typeof value === 'number' && Number.isFinite(value) && value >= low && value <= high) return value
  const range = low === -Infinity ? '' : high === Infinity ? ` of at least ${low}` : ` from ${low} to ${high}`
  throw expected(what ?? `a finite number${range}`, name, value)
}

export function checkedPositive(value: unknown, name: string): number {
  const what = 'a number greater than 0'
  if (checkedNumber(value, name, 0, undefined, what) > 0) return value as number
  throw expected(what, name, value)
}

export function checkedBoolean(value: unknown, name: string, what = 'true or false'): boolean {
  if (typeof value === 'boolean') return value
  throw expected(what, name, value)
}

/** Text that a path or a name in native code may be: not empty, and not cut off by a zero. */
export function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && !value.includes('\0')
}

export function checkedText(value: unknown, name: string, what = 'a non-empty string'): string {
  if (isText(value)) return value
  throw expected(what, name, value)
}

/** 'a', 'b', 'c' */
export function quoted(names: readonly string[], between = ', '): string {
  return names.map((name) => `'${name}'`).join(between)
}

/** 'a' or 'b'; one of 'a', 'b', 'c' */
export function choiceOf(choices: readonly string[]): string {
  return choices.length === 2 ? quoted(choices, ' or ') : `one of ${quoted(choices)}`
}

export function isOneOf<T extends string>(value: unknown, choices: readonly T[]): value is T {
  return typeof value === 'string' && (choices as readonly string[]).includes(value)
}

export function checkedChoice<const T extends string>(
  value: unknown,
  name: string,
  choices: readonly T[],
  what?: string,
): T {
  if (isOneOf(value, choices)) return value
  throw expected(what ?? choiceOf(choices), name, value)
}

/** An object that is no array, and no promise of one. */
export function checkedObject(value: unknown, name: string, what = 'an object'): object {
  if (typeof value === 'object' && value !== null && !Array.isArray(value) && !isPromise(value)) return value
  throw expected(what, name, value)
}

/** A copy, so that what was checked is what is used. */
export function checkedArray(value: unknown, name: string, what = 'an array'): unknown[] {
  if (Array.isArray(value)) return Array.from(value as unknown[])
  throw expected(what, name, value)
}

/** Elements that are each as they should be, and none of them twice. */
export function checkedList<T>(
  value: unknown,
  name: string,
  what: string,
  isElement: (element: unknown) => element is T,
): T[] {
  const elements = checkedArray(value, name, what)
  const wrong = elements.findIndex((element) => !isElement(element))
  if (wrong >= 0) throw expected(what, `${name}[${wrong}]`, elements[wrong])
  const twice = elements.find((element, index) => elements.indexOf(element) !== index)
  if (twice !== undefined) throw expected(`${what}, each once,`, name, twice)
  return elements as T[]
}

/** Percentiles, each once; a copy, frozen. */
export function checkedPercentiles(value: unknown, name: string): readonly number[] {
  const isPercentile = (each: unknown): each is number => typeof each === 'number' && each >= 0 && each <= 100
  return Object.freeze(checkedList(value, name, 'percentiles from 0 to 100', isPercentile))
}

/** A function or nothing. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- what the function takes is the caller's word
export function checkedListener<F extends (...args: never[]) => unknown>(value: unknown, name: string): F | undefined {
  if (value === undefined || typeof value === 'function') return value as F | undefined
  throw expected('a function', name, value)
}

/** An AbortSignal or nothing. */
export function checkedSignal(signal: unknown, name = 'signal'): AbortSignal | undefined {
  if (signal === undefined || isAbortSignal(signal)) return signal
  throw expected('an AbortSignal', name, signal)
}
