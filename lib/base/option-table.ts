/**
 * A bag of options as a table: beside the documented interface, which `satisfies OptionTable<…>` holds it to, a row for
 * each option with its check and its default. The list of names and the checked record follow from it.
 */
import {
  checkedBoolean,
  checkedChoice,
  checkedList,
  checkedListener,
  checkedNumber,
  checkedSignal,
  checkedWhole,
  isOneOf,
  quoted,
} from './checks.js'
import { expected, reworded } from '../errors.js'
import { type Elsewhere, readOptions } from './options.js'
import { checkedPath } from './source.js'

/** How an option is checked: gives the value with its type, or throws ERR_TRT_INVALID_ARGUMENT with its name. */
export type Check<T> = (value: unknown, name: string) => T

/** An option: what it may be, and what it is where it was not given. */
export interface OptionRow<T> {
  readonly check: Check<T>
  readonly otherwise: T
  /** Whether it has to be given: then `undefined` is checked like any other value. */
  readonly isNeeded?: true
  /** Of a group of options: their names. */
  readonly members?: readonly string[]
}

/** Where TensorRT is, and on which GPU: the option `tensorrt` of what asks for no more than that. */
export interface TensorRTPlace {
  /**
   * The path of a TensorRT library, or of the folder that has it; default: $TENSORRT_PATH, else the first that is
   * found and fits.
   */
  readonly library?: string | URL | undefined
  /** The number of the GPU; default 0. */
  readonly device?: number | undefined
}

/** A row for each option of an interface, and none besides. */
export type OptionTable<Options> = { readonly [Name in keyof Required<Options>]: OptionRow<unknown> }

/** The names of the options of a table, in its order. */
export function namesOf<Table extends object>(table: Table): readonly (keyof Table & string)[] {
  return Object.keys(table) as (keyof Table & string)[]
}

/** What the rows of a table give. */
export type Checked<Table> = {
  readonly [Name in keyof Table]: Table[Name] extends OptionRow<infer T> ? T : never
}

/** An option that may be left out, and is then `otherwise`, or undefined. */
export function option<T>(check: Check<T>): OptionRow<T | undefined>
export function option<T>(check: Check<T>, otherwise: T): OptionRow<T>
export function option<T>(check: Check<T>, otherwise?: T): OptionRow<T | undefined> {
  return { check, otherwise }
}

/** An option that has to be given. */
export function needed<T>(check: Check<T>): OptionRow<T> {
  return { check, otherwise: undefined as T, isNeeded: true }
}

/** The option `signal`: see {@link checkedCall}. */
export const signalOption: OptionRow<AbortSignal | undefined> = option<AbortSignal | undefined>(checkedSignal)

/** A table of some options. */
export type Rows = Readonly<Record<string, OptionRow<unknown>>>

/** An option that is a group of options with a table of its own; where it is not given, each is what it is then. */
export function group<Table extends Rows>(table: Table): OptionRow<Checked<Table>> {
  const members = namesOf(table)
  return {
    check: (value, name) => checkedRows(readGroup(value, members, name), table, `${name}.`),
    otherwise: checkedRows({}, table),
    members,
  }
}

/**
 * The options of a group that a user gave, each read once. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT, with a hint
 * where the path was given in the group's place
 */
export function readGroup<K extends string>(
  value: unknown,
  members: readonly K[],
  name: string,
): Partial<Record<K, unknown>> {
  if (value === undefined || !isPathLike(value)) return readOptions(value, members, name)
  const error = expected(`an object of options`, name, value)
  throw reworded(error, `${error.message}: the path is ${name}.library`)
}

function isPathLike(value: unknown): boolean {
  return typeof value === 'string' || typeof (value as { readonly href?: unknown } | null)?.href === 'string'
}

/** Where the options of groups are, for who gives one beside the group. */
export function elsewhereOf(table: Readonly<Record<string, { readonly members?: readonly string[] }>>): Elsewhere {
  return Object.fromEntries(
    Object.entries(table).flatMap(([name, { members = [] }]) => members.map((member) => [member, `${name}.${member}`])),
  )
}

/** Where TensorRT is looked for, and the number of the GPU. */
export const placeTable = {
  library: option<string | undefined>(checkedPath),
  device: option((value, name) => checkedWhole(value, name, 0, 1023, 'the number of a GPU'), 0),
} satisfies OptionTable<TensorRTPlace>

/** The option `tensorrt` of what asks for no more than that. */
export const placeRows = { tensorrt: group(placeTable) }

/**
 * The options that a user gave, each read once, and checked in the order of the table.
 * @param prefix of their names in messages: `batching.`
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT
 */
export function checkedOptions<Table extends Rows>(
  options: unknown,
  table: Table,
  owner: string,
  prefix = '',
): Checked<Table> {
  return checkedRows(readOptions(options, Object.keys(table), owner, elsewhereOf(table)), table, prefix)
}

/**
 * The options of a call that can be aborted. @throws also the signal's reason where it is aborted already, so that such
 * a call costs nothing
 */
export function checkedCall<Table extends Rows & { readonly signal: typeof signalOption }>(
  options: unknown,
  table: Table,
  owner: string,
): Checked<Table> {
  const given = readOptions(options, Object.keys(table), owner, elsewhereOf(table))
  const signal = checkedSignal(given['signal'])
  signal?.throwIfAborted()
  return checkedRows(given, table)
}

/** The same of options that were read already, which may have others beside. */
export function checkedRows<Table extends Rows>(
  given: Readonly<Record<string, unknown>>,
  table: Table,
  prefix = '',
): Checked<Table> {
  const values: Record<string, unknown> = {}
  for (const name of Object.keys(table)) {
    const { check, otherwise, isNeeded } = table[name] as OptionRow<unknown>
    const value = given[name]
    values[name] = value === undefined && !isNeeded ? otherwise : check(value, prefix + name)
  }
  return values as Checked<Table>
}

/** An integer from `least` to `most`; `what`: better words for it. */
function whole(least: number, most?: number, what?: string): Check<number> {
  return (value, name) => checkedWhole(value, name, least, most, what)
}

/** A finite number from `low` to `high`; `what`: better words for it. */
function number(low?: number, high?: number, what?: string): Check<number> {
  return (value, name) => checkedNumber(value, name, low, high, what)
}

/** Milliseconds from `least` to `most`. */
function milliseconds(most: number, least = 0): Check<number> {
  return number(least, most, `milliseconds from ${least} to ${most}`)
}

/** True or false. */
const boolean: Check<boolean> = (value, name) => checkedBoolean(value, name)

/** One of some words. */
function choice<const T extends string>(...choices: readonly T[]): Check<T> {
  return (value, name) => checkedChoice(value, name, choices)
}

/** Elements that are each as they should be, and none of them twice. */
function listOf<T>(what: string, isElement: (element: unknown) => element is T): Check<T[]> {
  return (value, name) => checkedList(value, name, what, isElement)
}

/** Some of some words, each once. */
function several<const T extends string>(...choices: readonly T[]): Check<T[]> {
  return listOf(`an array of ${quoted(choices)}`, (element) => isOneOf(element, choices))
}

/** A function. */
function listener<F extends (...args: never[]) => unknown>(): Check<F> {
  return (value, name) => checkedListener<F>(value, name) as F
}

/** What an option may be: `option(is.whole(1, 64), 1)`. */
export const is = { whole, number, milliseconds, boolean, choice, listOf, several, listener } as const
