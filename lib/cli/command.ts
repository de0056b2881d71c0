import { Command, CommanderError } from 'commander'
import { TensorRTError } from '../errors.js'
import { type Flags, type FlagValues, optionOf, type Refuse } from './flags.js'
import { Refusal } from './refusal.js'
import type { Session } from './session.js'
import { flagSpelling } from './spelling.js'
import { commandHint, flagHint } from './strangers.js'

/** The file of a command. Only what is about all commands takes the others. */
export interface CommandFile {
  readonly command: (session: Session, all: Commands) => Command
}

/** Commands by their names, each with its summary in one line and another name that it has. */
export type Commands = Readonly<
  Record<string, readonly [summary: string, load: () => Promise<CommandFile>, alias?: string]>
>

/** One call of a command. */
export interface Call<Of extends Flags> {
  readonly flags: FlagValues<Of>
  readonly session: Session
  readonly refuse: Refuse
}

/** What a command is, beside its name and its summary. */
interface Definition<Of extends Flags> {
  /** Lines after the name of the command. */
  readonly example: string
  /** As the help spells them, such as `[files...]`, with their help. */
  readonly arguments?: Readonly<Record<string, string>>
  readonly flags: Of
  /** Texts after the example. */
  readonly notes?: (session: Session) => readonly string[]
  /** Gives what to exit with where that is not 0. commander knows no types of arguments. */
  readonly run: (call: Call<Of>, ...args: never[]) => Promise<unknown>
}

/** A command with what all have: `--json`, `--quiet`, `--verbose`, an example, and where its texts go. */
export function newCommand<const Of extends Flags>(
  name: string,
  definition: Definition<Of>,
): (session: Session) => Command {
  return (session) => commandOf(session, name, definition)
}

/** Of onnxruntime no more can be had: a process has one environment of it, whose log is fixed when it begins. */
const verboseHelp = "TensorRT's log on stderr (onnxruntime warns there in any case), and where errors come from"

/** The same for a command of a command's, whose name is then both. */
export function commandOf<const Of extends Flags>(
  session: Session,
  name: string,
  { example, arguments: args = {}, flags, notes, run }: Definition<Of>,
): Command {
  const examples = example.split('\n').map((line) => `  ${session.name} ${name} ${line}`.trimEnd())
  const command = configured(new Command(name.split(' ').at(-1)), session)
    .option('--json', 'print JSON, for programs')
    .option('-q, --quiet', 'no notes and no progress on stderr')
    .option('-v, --verbose', verboseHelp)
  for (const text of [`\nExample:\n${examples.join('\n')}`, ...(notes?.(session) ?? [])])
    command.addHelpText('after', text)
  for (const [spelling, help] of Object.entries(args)) command.argument(spelling, help)
  for (const [spelling, flag] of Object.entries(flags)) command.addOption(optionOf(spelling, flag))
  return action(command, session, (flags, ...values) =>
    run({ flags: flags as FlagValues<Of>, session, refuse: usageError(command) }, ...(values as never[])),
  )
}

/** Texts go where the session's do; what is wrong with a line is thrown, and told once by who catches it. */
export function configured(command: Command, session: Session): Command {
  return command
    .exitOverride((error) => {
      throw error.exitCode === 0 ? error : new Refusal(lineError(error, command), helpText(command))
    })
    .showSuggestionAfterError(false)
    .configureOutput({
      writeOut: (text) => void session.stdout.write(text),
      writeErr: (text) => void session.stderr.write(text),
      outputError: () => {},
      getOutHelpWidth: () => session.width,
      getErrHelpWidth: () => session.width,
    })
}

/** What is wrong with a command line, with what was meant where that can be told. */
function lineError({ code, message }: CommanderError, command: Command): TensorRTError {
  const unknown = code === 'commander.missingMandatoryOptionValue' ? unknownFlag(command) : undefined
  if (unknown !== undefined)
    return lineError(new CommanderError(1, unknownOption, `unknown option '${unknown}'`), command)
  const text = code === 'commander.help' ? 'expected a command' : message.replace(/^error: /, '')
  const [, word = ''] = /'([^'=]*)/.exec(text) ?? []
  const hint = hintOf(code, word, command)
  return new TensorRTError('ERR_TRT_INVALID_ARGUMENT', hint === undefined ? text : `${text}: ${hint}`)
}

/** commander looks for required options first: a mistyped name of one would be reported as its absence. */
function unknownFlag(command: Command): string | undefined {
  let root: Command | null = command
  while (root.parent !== null) root = root.parent
  const { rawArgs } = root as Command & { readonly rawArgs: readonly string[] }
  const known = new Set(['-h', '--help', ...command.options.flatMap(({ short, long }) => [short, long])])
  const end = rawArgs.indexOf('--')
  return rawArgs
    .slice(0, end < 0 ? undefined : end)
    .filter((text) => /^--?[a-z]/i.test(text))
    .map((text) => (text.startsWith('--') ? text.split('=', 1)[0]! : text.slice(0, 2)))
    .find((flag) => !known.has(flag))
}

const unknownOption = 'commander.unknownOption'

function hintOf(code: string, word: string, command: Command): string | undefined {
  const commands = command.commands.map((each) => each.name())
  if (code === 'commander.unknownCommand') return commandHint(word, commands)
  if (code !== unknownOption) return undefined
  if (commands.length > 0) return 'a command comes before its options'
  return flagHint(
    word,
    command.options.flatMap(({ long, hidden }) => (long === undefined || hidden ? [] : [long])),
  )
}

/** Where the command says what it takes. */
function helpText(command: Command): string {
  const names: string[] = []
  for (let each: Command | null = command; each !== null; each = each.parent) names.unshift(each.name())
  return `(${names.join(' ')} --help says what there is)`
}

/** Has a command call `body` with its options and arguments, once the session knows what is asked of all commands. */
export function action(
  command: Command,
  session: Session,
  body: (options: object, ...args: readonly unknown[]) => Promise<unknown>,
): Command {
  return command.action(async () => {
    session.begin(command.opts())
    session.spelling = flagSpelling(command.options.flatMap(({ long }) => long ?? []))
    const unlisten = session.verbose ? await listen(session) : undefined
    try {
      const code = await body(command.opts(), ...(command.processedArgs as readonly unknown[]))
      if (typeof code === 'number') session.exitCode = code
    } finally {
      unlisten?.()
    }
  })
}

/** TensorRT's log, down to its information. Without the addon nothing logs. */
async function listen(session: Session): Promise<(() => void) | undefined> {
  const { onLog } = await import('../log.js')
  try {
    return onLog(({ level, text }) => session.warn(`[TensorRT ${level}] ${text}`), 'info')
  } catch (error) {
    session.warn(`[TensorRT] no log: ${(error as Error).message}`)
    return undefined
  }
}

/** Ends a command whose line is wrong, with what is wrong with it. */
export function usageError(command: Command): Refuse {
  return (message, code = 'ERR_TRT_INVALID_ARGUMENT') => {
    throw new Refusal(new TensorRTError(code, message), helpText(command))
  }
}
