import type { ExecSettings } from './settings.js'

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
  readonly apply?: ((settings: ExecSettings, value: string, name: string) => void) | undefined
  /** A line that is printed where it is given. */
  readonly note?: string | undefined
  /** The CPU has nothing of the kind. */
  readonly forTensorRT?: true | undefined
  /** Not here: an error that says `becomes`. */
  readonly refused?: true | undefined
}

/** What becomes of an option: it is mapped, only noted, or refused. */
export function statusOf({ apply, refused }: ExecOption): 'mapped' | 'noted' | 'refused' {
  return refused ? 'refused' : apply ? 'mapped' : 'noted'
}

type More = Pick<ExecOption, 'aliases' | 'note' | 'repeats' | 'forTensorRT'>

/** A bare word. */
export function word(
  name: string,
  versions: string,
  becomes: string,
  apply: (settings: ExecSettings) => void,
  more: More = {},
): ExecOption {
  return { name, versions, becomes, apply, ...more }
}

/** `--name=value`. */
export function valued(
  [name, value]: readonly [name: string, value: string],
  versions: string,
  becomes: string,
  apply: (settings: ExecSettings, value: string, name: string) => void,
  more: More = {},
): ExecOption {
  return { name, value, versions, becomes, apply, ...more }
}

/** One that has no effect any more, and says so. */
export function noted(name: string, versions: string, note: string, value?: string): ExecOption {
  return { name, versions, becomes: note, note, ...(value !== undefined && { value }) }
}

/** Those that are not here, for one reason. */
export function refused(names: readonly string[], versions: string, becomes: string): ExecOption[] {
  return names.map((each) => {
    const [name = '', value] = each.split('=')
    return { name, versions, becomes, refused: true, ...(value !== undefined && { value }) }
  })
}

/** Each of them is about TensorRT alone, unless its name is one of `but`. */
export function forTensorRT(options: readonly ExecOption[], ...but: readonly string[]): ExecOption[] {
  return options.map((option) => (but.includes(option.name) ? option : { ...option, forTensorRT: true }))
}
