import { stat } from 'node:fs/promises'
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
}

/**
 * Runs a program to its end. `mostBytes`: how much it may print.
 * @throws TensorRTError ERR_TRT_VIDEO_PROGRAM where it cannot be started; ERR_TRT_VIDEO_DATA where it prints more than
 * it may; the signal's reason
 */
export async function runProgram(
  path: string,
  args: readonly string[],
  { mostBytes, ...options }: RunOptions & { readonly mostBytes: number },
): Promise<Ran> {
  const pieces: Buffer[] = []
  let bytes = 0
  const ran = await readProgram(path, args, options, (piece) => {
    bytes += piece.length
    if (bytes > mostBytes)
      throw new TensorRTError('ERR_TRT_VIDEO_DATA', `${path} printed more than ${mostBytes} bytes about a video`)
    pieces.push(piece)
  })
  return { ...ran, output: Buffer.concat(pieces).toString() }
}

/** The same where what it prints is read piece by piece. */
export async function readProgram(
  path: string,
  args: readonly string[],
  { input, signal, more }: RunOptions,
  take: (piece: Buffer) => void,
): Promise<Omit<Ran, 'output'>> {
  const stdin = input === undefined ? 'ignore' : 'pipe'
  await using program = await startProgram(path, args, { stdin, stdout: 'pipe', more, signal })
  if (input !== undefined) program.stdin?.end(input)
  for await (const piece of program.stdout as AsyncIterable<Buffer>) take(piece)
  const exit = await program.exited
  signal?.throwIfAborted()
  return { exit, lines: program.lines }
}

type Asking<T> = (path: string, signal: AbortSignal | undefined) => Promise<T>

/** What a program says of itself, asked again where its file has another time or size: after an upgrade. */
export function remembered<T>(ask: Asking<T>): Asking<T> {
  const known = new Map<string, { readonly stamp: string; readonly value: T }>()
  return async (path, signal) => {
    const { mtimeMs, size } = await stat(path)
    const stamp = `${mtimeMs} ${size}`
    const before = known.get(path)
    if (before?.stamp === stamp) return before.value
    const value = await ask(path, signal)
    known.set(path, { stamp, value })
    return value
  }
}
