/** One argument as trtexec splits it: at the first `=`. */
export interface Argument {
  readonly name: string
  /** Nothing where there is no `=`. */
  readonly value: string | undefined
}

/** The arguments in their order, which counts for `--profile`. */
export function splitArguments(args: readonly string[]): Argument[] {
  return args.map((argument) => {
    const at = argument.indexOf('=')
    return at < 0
      ? { name: argument, value: undefined }
      : { name: argument.slice(0, at), value: argument.slice(at + 1) }
  })
}
