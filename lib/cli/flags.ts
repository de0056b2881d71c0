import { InvalidArgumentError, Option } from 'commander'
import { type ErrorCode, TensorRTError } from '../errors.js'

/** How the value of a flag is read from its text; `before` is what the same flag gave already. */
type Reader = (text: string, before?: never) => unknown

/**
 * A flag by its help: a switch or a text; one that has to be given; or one whose value is read or chosen, with its
 * default.
 */
type Flag =
  | string
  | { readonly required: string }
  | readonly [help: string, value: Reader | readonly string[], otherwise?: unknown]

/** Flags of a command as its help spells them (`-o, --output <FILE>`), in the order of the help. */
export type Flags = Readonly<Record<string, Flag>>

type Camel<Text> = Text extends `${infer Head}-${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : Text

type LongOf<Spelling> = Spelling extends `${string}--${infer Long}`
  ? Long extends `${infer Word} ${string}`
    ? Word
    : Long
  : never

type NameOf<Spelling> = LongOf<Spelling> extends `no-${infer Name}` ? Camel<Name> : Camel<LongOf<Spelling>>

type TextOf<Spelling, Text> = Spelling extends `${string}...>`
  ? readonly Text[]
  : Spelling extends `${string}]`
    ? Text | true
    : Text

type ValueOf<Spelling, Of> = Of extends readonly [string, infer Value, ...unknown[]]
  ? Value extends (...texts: never[]) => infer Result
    ? Result
    : TextOf<Spelling, Value extends readonly (infer Choice)[] ? Choice : never>
  : Spelling extends `--no-${string}`
    ? boolean
    : Spelling extends `${string} ${'<' | '['}${string}`
      ? TextOf<Spelling, string>
      : true

type IsAlways<Spelling, Of> = Of extends { readonly required: string } | readonly [unknown, unknown, unknown]
  ? true
  : Spelling extends `--no-${string}`
    ? true
    : false

/** What commander finds of such flags. */
export type FlagValues<Of extends Flags> = {
  readonly [S in keyof Of as IsAlways<S, Of[S]> extends true ? NameOf<S> : never]: ValueOf<S, Of[S]>
} & {
  readonly [S in keyof Of as IsAlways<S, Of[S]> extends true ? never : NameOf<S>]?: ValueOf<S, Of[S]> | undefined
}

/** The same for commander. */
export function optionOf(spelling: string, flag: Flag): Option {
  if (typeof flag === 'string') return new Option(spelling, flag)
  if ('required' in flag) return new Option(spelling, flag.required).makeOptionMandatory()
  const [help, value, otherwise] = flag
  const option = new Option(spelling, help).default(otherwise)
  return typeof value === 'function' ? option.argParser(value as Reader & (() => unknown)) : option.choices(value)
}

/** Those of some flags that were given, as they are spelled there; `--no-…` is given where its value is false. */
export function usedFlags(flags: object, spellings: readonly string[]): string[] {
  return spellings.filter((spelling) => {
    const value = (flags as Readonly<Record<string, unknown>>)[new Option(spelling).attributeName()]
    return value !== undefined && (value === false || !spelling.startsWith('--no-'))
  })
}

/** What was given of these flags, without all else. */
export function valuesOf<Of extends Flags>(values: FlagValues<Of>, flags: Of): FlagValues<Of> {
  const names = Object.keys(flags).map((spelling) => new Option(spelling).attributeName())
  return Object.fromEntries(names.map((name) => [name, (values as Record<string, unknown>)[name]])) as FlagValues<Of>
}

/** Ends a command whose line is wrong, before any work; the code is ERR_TRT_INVALID_ARGUMENT unless given. */
export type Refuse = (message: string, code?: ErrorCode) => never

/** Has what no option may be end the command, by the message of the check. */
export function refusing<T>(refuse: Refuse, check: () => T, reworded = (message: string): string => message): T {
  try {
    return check()
  } catch (error) {
    if (error instanceof TensorRTError && error.code === 'ERR_TRT_INVALID_ARGUMENT')
      return refuse(reworded(error.message))
    throw error
  }
}

/** A whole number from `least` to `most`. */
export function whole(least: number, most = Infinity): (text: string) => number {
  return (text) => {
    const number = Number(text)
    if (text.trim() !== '' && Number.isSafeInteger(number) && number >= least && number <= most) return number
    throw new InvalidArgumentError(`Expected a whole number ${boundsText(least, most)}.`)
  }
}

const boundsText = (least: number, most: number): string =>
  most === Infinity ? `of at least ${least}` : `from ${least} to ${most}`

/** A number from `least` to `most`. */
export function numberIn(least: number, most: number): (text: string) => number {
  return (text) => {
    const number = Number(text)
    if (text.trim() !== '' && Number.isFinite(number) && number >= least && number <= most) return number
    throw new InvalidArgumentError(`Expected a number ${boundsText(least, most)}.`)
  }
}

/** The size of a picture: 640, or 640x480. */
export function sizeOf(text: string): { width: number; height: number } {
  const [, width, height = width] = /^([1-9]\d{0,5})(?:x([1-9]\d{0,5}))?$/.exec(text) ?? []
  if (width === undefined) throw new InvalidArgumentError('Expected 640, or 640x480 (width x height).')
  return { width: Number(width), height: Number(height) }
}

/** The name of a drawing, which is SVG whatever it is called. */
export function drawingFile(path: string): string {
  if (!/\.(png|jpe?g|webp|avif|gif|tiff?|bmp|pdf|html?)$/i.test(path)) return path
  throw new InvalidArgumentError('The drawing is written as SVG: give a name that ends in .svg.')
}

/** For an option that may come several times, or once with commas. */
export function list(text: string, before: readonly string[] = []): string[] {
  return [...before, ...text.split(',').filter((part) => part !== '')]
}

/** For an option that may come several times, and whose text is one thing. */
export function each(text: string, before: readonly string[] = []): string[] {
  return [...before, text]
}
