import { Readable } from 'node:stream'
import { runTrt } from '../../lib/cli/program.js'
import { Session } from '../../lib/cli/session.js'

export interface Ran {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/**
 * A command line in this process, which has no terminal; of progress it tells at once. `onSession` is given what would
 * get ctrl-C.
 */
export async function trt(
  args: readonly string[],
  onSession?: (session: Session) => void,
  stdin: Uint8Array = new Uint8Array(),
): Promise<Ran> {
  const texts = { stdout: '', stderr: '' }
  const sink = (name: keyof typeof texts) => ({ write: (text: string) => void (texts[name] += text) })
  const session = new Session({
    name: 'trt',
    stdout: sink('stdout'),
    stderr: sink('stderr'),
    stdin: Readable.from([stdin]),
    progress: { afterMs: 0 },
  })
  onSession?.(session)
  const code = await runTrt(args, session)
  return { code, ...texts }
}

/** Does something when the session tells a line of this kind on stderr. */
export function whenTold(session: Session, line: RegExp, body: () => void): void {
  const write = session.stderr.write.bind(session.stderr)
  session.stderr.write = (text) => {
    if (line.test(text)) body()
    return write(text)
  }
}
