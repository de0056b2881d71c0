import { Argument, Command } from 'commander'
import { action, type Commands, configured } from '../command.js'
import { completionScript, type Shell, type ShellCommand, shells } from '../completion.js'
import type { Session } from '../session.js'

/** `trt completion bash`: a script for the shell, made of the commands as they are. */
export function command(session: Session, all: Commands): Command {
  const completion = configured(new Command('completion'), session)
    .addArgument(new Argument('<shell>', 'for which shell').choices(shells))
    .option('--json', 'print JSON, for programs')
    .addHelpText('after', `\nExample:\n  source <(${session.name} completion bash)`)
  return action(completion, session, async (_options, shell) => {
    const script = completionScript(shell as Shell, session.name, await described(session, all))
    session.result({ shell, script }, () => script.trimEnd())
  })
}

async function described(session: Session, all: Commands): Promise<ShellCommand[]> {
  const found = Object.entries(all).map(async ([name, [summary, load, alias]]) => {
    const command = { ...shellCommand((await load()).command(session, all)), summary }
    const complete = name === 'exec' ? { ...command, options: await execOptionsForShells() } : command
    return alias === undefined ? [complete] : [complete, { ...complete, name: alias }]
  })
  return (await Promise.all(found)).flat()
}

/** commander knows nothing of trtexec's. */
async function execOptionsForShells(): Promise<ShellCommand['options']> {
  const [{ execOptions }, { meaningsByName }] = await Promise.all([
    import('../exec/parse.js'),
    import('../exec/meanings.js'),
  ])
  const taken = execOptions.filter(({ refused }) => !refused)
  return taken.map(({ name, becomes }) => ({ name, summary: meaningsByName.get(name) ?? becomes, choices: [] }))
}

/** A command with commands of its own takes the options of all of them. */
function shellCommand(command: Command): Omit<ShellCommand, 'summary'> {
  const options = [command, ...command.commands].flatMap((each) => each.options)
  const named = new Map(
    options
      .filter(({ long, hidden }) => long !== undefined && !hidden)
      .map((option) => [option.long as string, option]),
  )
  return {
    name: command.name(),
    words: [
      ...command.commands.map((each) => each.name()),
      ...command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices),
    ],
    options: Array.from(named, ([name, { description, argChoices = [] }]) => ({
      name,
      summary: description,
      choices: argChoices,
    })),
  }
}
