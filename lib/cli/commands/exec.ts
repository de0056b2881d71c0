import { Command } from 'commander'
import { configured } from '../command.js'
import type { Session } from '../session.js'

/** `trt exec`: trtexec's own options, which only `lib/cli/exec` reads. */
export function command(session: Session): Command {
  const exec = configured(new Command('exec'), session)
    .argument('[options...]', "trtexec's options: --help lists them")
    .helpOption(false)
    .allowUnknownOption()
    .allowExcessArguments()
    .passThroughOptions()
  return exec.action(async () => {
    const { exec: run } = await import('../exec/run.js')
    session.exitCode = await run(exec.args, session)
  })
}
