import { Command, CommanderError } from 'commander'
import { packageVersion } from '../base/package.js'
import { TensorRTError } from '../errors.js'
import { commands } from './commands.js'
import { exitCodes, exitCodesHelp } from './exit-codes.js'
import { type Commands, configured } from './command.js'
import { otherErrorText } from './output/format.js'
import { Interrupted, type Session } from './session.js'

/**
 * Runs one command line, without the name of the program.
 * @returns what to exit with
 */
export async function runTrt(args: readonly string[], session: Session): Promise<number> {
  try {
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
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return exitCodes.done
    // of a line that is wrong nothing else was read yet
    if (asksForJson(args)) session.begin({ json: true })
    session.failure(usageFailure(error))
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

function asksForJson(args: readonly string[]): boolean {
  const end = args.indexOf('--')
  return args.slice(0, end < 0 ? undefined : end).includes('--json')
}

/** What is wrong with a command line, as other failures have it. */
function usageFailure({ code, message }: CommanderError): TensorRTError {
  const text = code === 'commander.help' ? 'Expected a command: --help lists them' : message.replace(/^error: /, '')
  return new TensorRTError('ERR_TRT_INVALID_ARGUMENT', text)
}
