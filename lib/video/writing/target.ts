import { open, rename, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { finished, pipeline } from 'node:stream/promises'
import { onFile } from '../../base/files.js'
import { sweepNowAndThen, temporaryOf, withTemporary } from '../../base/temporary.js'
import { isError } from '../../base/kinds.js'
import { TensorRTError } from '../../errors.js'

/** Where a video goes. */
export interface Target {
  /** For messages. */
  readonly name: string
  /** The path that ffmpeg writes to; nothing: its stdout is taken. */
  readonly output: string | undefined
  /** Takes ffmpeg's stdout. Settled when all of it was taken; rejected when the target fails. */
  take(stdout: Readable): Promise<void>
  /** All of it is there. @throws TensorRTError ERR_TRT_FILE */
  finish(): Promise<void>
  /** Nothing of it stays. Never rejected, and without harm after `finish`. */
  discard(error: unknown): Promise<void>
}

/**
 * A file under a temporary name beside its own, until it is whole.
 * @throws TensorRTError ERR_TRT_FILE where the folder is not there or cannot be written to, or the file is there and is
 * not to be replaced
 */
export async function fileTarget(path: string, overwrite: boolean): Promise<Target> {
  await refuseReplacing(path, overwrite)
  const temporary = temporaryOf(path)
  await onFile('write', path, async () => (await open(temporary, 'wx')).close())
  await sweepNowAndThen(dirname(path))
  let settle = (): void => {}
  const over = new Promise<void>((resolve) => (settle = resolve))
  const gone = withTemporary(temporary, () => over).catch(() => {})
  const end = (): Promise<void> => (settle(), gone)
  return {
    name: path,
    output: temporary,
    take: async () => {},
    finish: () =>
      onFile('write', path, async () => {
        await refuseReplacing(path, overwrite)
        await onDisk(temporary)
        await rename(temporary, path)
      }).finally(end),
    discard: end,
  }
}

async function refuseReplacing(path: string, overwrite: boolean): Promise<void> {
  const found = await stat(path).catch(() => undefined)
  if (found === undefined) return
  const why = found.isFile()
    ? overwrite
      ? undefined
      : 'it is there already. Name another file, or give the option overwrite: true'
    : 'it is not an ordinary file'
  if (why !== undefined) throw new TensorRTError('ERR_TRT_FILE', `Cannot write ${path}: ${why}`, { details: { path } })
}

async function onDisk(path: string): Promise<void> {
  const file = await open(path, 'r+')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}

/** What reads it gets an end when the video is whole, else an error. */
export function streamTarget(stream: Writable): Target {
  let isOver = false
  return {
    name: 'the stream',
    output: undefined,
    take: (stdout) => toStream(() => pipeline(stdout, stream, { end: false })),
    finish: () =>
      toStream(() => {
        isOver = true
        stream.end()
        // a file is written by then, and closed; of a duplex only the writing side ends
        return finished(stream, { readable: false })
      }),
    discard: async (error) => {
      if (isOver || stream.destroyed) return
      isOver = true
      stream.once('error', () => {}) // whoever listens is told, and nobody has to
      stream.destroy(isError(error) ? error : new Error(String(error)))
    },
  }
}

/** @throws TensorRTError ERR_TRT_FILE, for what the stream fails with */
async function toStream(work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (cause) {
    throw new TensorRTError('ERR_TRT_FILE', `Cannot write to the stream: ${(cause as Error).message}`, { cause })
  }
}
