import { Command, InvalidArgumentError, Option } from 'commander'
import { exitCodes } from './exit-codes.js'
import type { Session } from './session.js'
import { type CommandName, summaries } from './summaries.js'

/** `trt` itself, without commands. */
export function newProgram(session: Session): Command {
  return configured(new Command(session.name), session).enablePositionalOptions()
}

/** A command with what all have: its summary, `--json`, `--quiet`, an example, and where its texts go. */
export function newCommand(session: Session, name: CommandName, example: string): Command {
  return described(session, name, summaries[name], example)
}

/** A command of a command's. */
export function newSubcommand(session: Session, parent: CommandName, name: string, summary: string): Command {
  return described(session, name, summary, '', `${parent} `)
}

function described(session: Session, name: string, summary: string, example: string, parent = ''): Command {
  const examples = example.split('\n').map((line) => `  ${session.name} ${parent}${name} ${line}`.trimEnd())
  return configured(new Command(name), session)
    .description(summary)
    .option('--json', 'print JSON, for programs')
    .option('--quiet', 'no progress on stderr')
    .addHelpText('after', `\nExample:\n${examples.join('\n')}`)
}

/** Texts go where the session's do; what is wrong is thrown and not exited with. */
export function configured(command: Command, session: Session): Command {
  return command
    .exitOverride()
    .showHelpAfterError(
      `(${session.name} ${command.name() === session.name ? '' : `${command.name()} `}--help says what there is)`,
    )
    .configureOutput({
      writeOut: (text) => void session.stdout.write(text),
      writeErr: (text) => void session.stderr.write(text),
      getOutHelpWidth: () => session.width,
      getErrHelpWidth: () => session.width,
    })
}

/**
 * Has a command's arguments and options go to `body`, once the session knows of `--json` and `--quiet`.
 * `body` gives what to exit with, where that is not 0.
 */
export function action(
  command: Command,
  session: Session,
  // of options and arguments commander knows no types
  body: (options: never, ...args: never[]) => Promise<unknown>,
): Command {
  return command.action(async () => {
    const options = command.opts()
    session.begin(options)
    const code = await body(options as never, ...(command.processedArgs as never[]))
    if (typeof code === 'number') session.exitCode = code
  })
}

/** Ends a command whose line is wrong, with what is wrong with it. */
export function usageError(command: Command): (message: string) => never {
  return (message) => command.error(`error: ${message}`, { exitCode: exitCodes.usage })
}

/** A whole number of at least `least`. */
export function whole(least: number): (text: string) => number {
  return (text) => {
    const number = Number(text)
    if (text.trim() !== '' && Number.isSafeInteger(number) && number >= least) return number
    throw new InvalidArgumentError(`Expected a whole number of at least ${least}.`)
  }
}

/** The size of a picture: 640, or 640x480. */
export function sizeOf(text: string): { width: number; height: number } {
  const [, width, height = width] = /^([1-9]\d{0,5})(?:x([1-9]\d{0,5}))?$/.exec(text) ?? []
  if (width === undefined) throw new InvalidArgumentError('Expected 640, or 640x480 (width x height).')
  return { width: Number(width), height: Number(height) }
}

/** A number from `least` to `most`. */
export function numberIn(least: number, most: number): (text: string) => number {
  return (text) => {
    const number = Number(text)
    if (text.trim() !== '' && Number.isFinite(number) && number >= least && number <= most) return number
    throw new InvalidArgumentError(
      `Expected a number ${most === Infinity ? `of at least ${least}` : `from ${least} to ${most}`}.`,
    )
  }
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

export function choice(flags: string, description: string, choices: readonly string[]): Option {
  return new Option(flags, description).choices(choices)
}
