import type { ExecSettings } from './settings.js'
import type { Read } from './values.js'

/** One option of trtexec's: how it is spelled, which trtexec has it, and what becomes of it here. */
export interface ExecOption {
  readonly name: string
  readonly aliases?: readonly string[] | undefined
  /** What its value is called in the help; nothing for a bare word. */
  readonly value?: string | undefined
  /** The versions of TensorRT whose trtexec has it, `7.0-` for all from 7.0 on; `here`: it is ours. */
  readonly versions: string
  /**
   * Where it goes: an option of Builder, Engine, engine.benchmark() or of this command; or why it is refused, and what
   * to do instead.
   */
  readonly becomes: string
  /** Whether it may be given more than once. */
  readonly repeats?: true | undefined
  /** Puts it into the settings; nothing where it has no effect, or is refused. `value` is empty for a bare word. */
  readonly apply?: Apply | undefined
  /** A line that is printed where it is given. */
  readonly note?: string | undefined
  /** The CPU has nothing of the kind. */
  readonly forTensorRT?: true | undefined
  /** Not here: an error that says `becomes`. */
  readonly refused?: true | undefined
}

export type Apply = (settings: ExecSettings, value: string, name: string) => void

/** What becomes of an option: it is mapped, only noted, or refused. */
export function statusOf({ apply, refused }: ExecOption): 'mapped' | 'noted' | 'refused' {
  return refused ? 'refused' : apply ? 'mapped' : 'noted'
}

type More = Pick<ExecOption, 'aliases' | 'note' | 'repeats' | 'forTensorRT' | 'refused'>

/** An option as the help spells it: `--name`, or `--name=value`. */
export function row(spelling: string, versions: string, becomes: string, apply?: Apply, more: More = {}): ExecOption {
  const [name, value] = splitAt(spelling)
  return { name, value, versions, becomes, apply, ...more }
}

/** As trtexec splits an argument: at the first `=`; without one there is no value. */
export function splitAt(argument: string): [name: string, value: string | undefined] {
  const at = argument.indexOf('=')
  return at < 0 ? [argument, undefined] : [argument.slice(0, at), argument.slice(at + 1)]
}

/** Those that have no effect any more, and say so. */
export function noted(spellings: string, versions: string, note: string): ExecOption[] {
  return spellings.split(' ').map((spelling) => row(spelling, versions, note, undefined, { note }))
}

/** Those that are not here, for one reason. */
export function refused(spellings: string, versions: string, becomes: string): ExecOption[] {
  return spellings.split(' ').map((spelling) => row(spelling, versions, becomes, undefined, { refused: true }))
}

/** What is put into a field: the value itself for a bare word, else what is read; nothing where that is undefined. */
type Value<T> = Exclude<T, undefined> | Read<T | undefined>

/** Puts a value into a field of a record of the settings. */
function put<Fields extends object, Name extends keyof Fields>(
  fieldsOf: (settings: ExecSettings) => Fields,
  field: Name,
  value: Value<Fields[Name]>,
): Apply {
  return (settings, text, name) => {
    const found = typeof value === 'function' ? (value as Read<Fields[Name] | undefined>)(text, name) : value
    if (found !== undefined) fieldsOf(settings)[field] = found
  }
}

/** Puts a value into a field of the settings themselves. */
export function setting<Name extends keyof ExecSettings>(name: Name, value: Value<ExecSettings[Name]>): Apply {
  return put((settings) => settings, name, value)
}

/** An option that becomes one of a class or a call of ours, whose record in the settings is `place`. */
function passedTo<Place extends 'builder' | 'benchmark'>(place: Place, owner: string) {
  return <Name extends string & keyof ExecSettings[Place]>(
    spelling: string,
    versions: string,
    field: Name,
    value: Value<ExecSettings[Place][Name]>,
    more?: More,
  ): ExecOption => {
    const shown = typeof value === 'string' ? `'${value}'` : String(value)
    const becomes = `${owner}: ${field}${typeof value === 'function' || value === true ? '' : `: ${shown}`}`
    return row(
      spelling,
      versions,
      becomes,
      put((settings) => settings[place], field, value),
      more,
    )
  }
}

export const builder = passedTo('builder', 'Builder')
export const benchmark = passedTo('benchmark', 'engine.benchmark()')

/** Each of them is about TensorRT alone, unless its name is one of `but`. */
export function forTensorRT(options: readonly ExecOption[], ...but: readonly string[]): ExecOption[] {
  return options.map((option) => (but.includes(option.name) ? option : { ...option, forTensorRT: true }))
}
