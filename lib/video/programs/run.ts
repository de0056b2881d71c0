import { TensorRTError } from '../../errors.js'
import { type Exit, startProgram } from './start.js'

/** What a program printed, and how it ended. */
export interface Ran {
  readonly exit: Exit
  readonly output: string
  /** The last lines of its stderr. */
  readonly lines: readonly string[]
}

export interface RunOptions {
  /** What it reads from its stdin; it may end before it has read all of it. */
  readonly input?: Uint8Array | undefined
  readonly signal?: AbortSignal | undefined
  /** Descriptors that are the program's from 3 on. */
  readonly more?: readonly number[] | undefined
  /** How much it may print. */
  readonly mostBytes: number
}

/**
 * Runs a program to its end.
 * @throws TensorRTError ERR_TRT_VIDEO_PROGRAM where it cannot be started; ERR_TRT_VIDEO_DATA where it prints more than
 * it may; the signal's reason
 */
export async function runProgram(
  path: string,
  args: readonly string[],
  { input, signal, more, mostBytes }: RunOptions,
): Promise<Ran> {
  await using program = await startProgram(path, args, {
    stdin: input === undefined ? 'ignore' : 'pipe',
    stdout: 'pipe',
    more,
    signal,
  })
  if (input !== undefined) program.stdin?.end(input)
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of program.stdout as AsyncIterable<Buffer>) {
    bytes += piece.length
    if (bytes > mostBytes)
      throw new TensorRTError('ERR_TRT_VIDEO_DATA', `${path} printed more than ${mostBytes} bytes about a video`)
    pieces.push(piece)
  }
  const exit = await program.exited
  signal?.throwIfAborted()
  return { exit, output: Buffer.concat(pieces).toString(), lines: program.lines }
}
