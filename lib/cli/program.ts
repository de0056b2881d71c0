import { Command, CommanderError } from 'commander'
import { packageVersion } from '../base/package.js'
import { TensorRTError } from '../errors.js'
import { commands } from './commands.js'
import { exitCodes, exitCodesHelp } from './exit-codes.js'
import { type Commands, configured } from './command.js'
import { otherErrorText } from './output/format.js'
import { Refusal } from './refusal.js'
import { Interrupted, type Session } from './session.js'
import { commandHint } from './strangers.js'

/**
 * Runs one command line, without the name of the program.
 * @returns what to exit with
 */
export async function runTrt(args: readonly string[], session: Session): Promise<number> {
  try {
    refuseUnknownHelp(args)
    const program = await programFor(args, session)
    await program.parseAsync(isHelpOfExec(args) ? ['exec', '--help'] : args, { from: 'user' })
    return session.exitCode
  } catch (error) {
    return reportFailure(error, session, args)
  } finally {
    await session.close()
  }
}

/** commander knows nothing of trtexec's options, which `exec` lists itself. */
function isHelpOfExec(args: readonly string[]): boolean {
  return args[0] === 'help' && (args[1] === 'exec' || args[1] === commands.exec[2])
}

/** commander shows all commands where it is asked for the help of none. */
function refuseUnknownHelp([first, word]: readonly string[]): void {
  if (first !== 'help' || word === undefined || word.startsWith('-') || word === 'help') return
  const names = Object.entries<Commands[string]>(commands).flatMap(([name, [, , alias = name]]) => [name, alias])
  if (names.includes(word)) return
  const hint = commandHint(word, Object.keys(commands))
  const text = `unknown command '${word}'${hint === undefined ? '' : `: ${hint}`}`
  throw new Refusal(new TensorRTError('ERR_TRT_INVALID_ARGUMENT', text))
}

/** `trt` with the command that is called; of the others, their summaries. */
async function programFor(args: readonly string[], session: Session): Promise<Command> {
  const words = args.filter((word) => !word.startsWith('-'))
  const called = words[0] === 'help' ? words[1] : words[0]
  const program = configured(new Command(session.name), session)
    .enablePositionalOptions()
    .description('NVIDIA TensorRT from Node.js: build plans from ONNX, run them, measure them.')
    .version(packageVersion(), '-V, --version')
    .addHelpText(
      'after',
      `\n${session.prose(exitCodesHelp)}\n\nExample:\n  ${session.name} build model.onnx --fp16 --output model.plan`,
    )
  for (const [name, [summary, load, alias]] of Object.entries<Commands[string]>(commands)) {
    const isCalled = called !== undefined && [name, alias].includes(called)
    const command = isCalled
      ? (await load()).command(session, commands).description(summary)
      : new Command(name).summary(summary)
    program.addCommand(alias === undefined ? command : command.alias(alias))
  }
  return program
}

/** Errors that people can mend are told in a line, with their code; what is a defect of ours keeps its stack. */
function reportFailure(error: unknown, session: Session, args: readonly string[]): number {
  session.end()
  if (error instanceof CommanderError && error.exitCode === 0) return exitCodes.done
  if (error instanceof Refusal) {
    // of a line that is wrong nothing else was read yet
    session.asked(args)
    session.failure(error.error)
    session.refused(error.error, error.help)
    session.trace(error.error)
    return exitCodes.usage
  }
  session.failure(error)
  if (session.signal.aborted && session.signal.reason instanceof Interrupted) {
    session.warn('interrupted')
    return session.signal.reason.exitCode
  }
  if (error instanceof TensorRTError) session.fail(error)
  else session.warn(otherErrorText(error))
  session.trace(error)
  return exitCodes.failed
}
