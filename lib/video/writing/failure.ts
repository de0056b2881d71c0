import { TensorRTError } from '../../errors.js'
import { failureOf } from '../programs/failure.js'
import type { Exit } from '../programs/start.js'
import type { VideoContainer } from './codecs.js'
import type { Target } from './target.js'
import { isWholeVideo } from './whole.js'

/** The state of a target after ffmpeg has ended. */
export interface Written {
  /** Name of the target in messages: its path, or "the stream". */
  readonly name: string
  /** Number of frames that ffmpeg has taken. */
  readonly frames: number
  readonly exit: Exit
  /** The last lines that ffmpeg printed to stderr. */
  readonly lines: readonly string[]
}

const refusals = /No space left on device|File too large|Disk quota exceeded|Read-only file system/

/** ffmpeg 5 exits with 0 after the first two. A failure to read the audio does not match: the rest of it is copied. */
const unwritten = new RegExp(
  `\\[(?:error|fatal)\\] .*(?:Error writing trailer|Error closing|Error muxing|Error submitting a packet|av_interleaved_write_frame|${refusals.source})`,
)

/** Returns why a video could not be written: ERR_TRT_FILE if the file system refused it, else as {@link failureOf}. */
export function writingError({ name, frames, exit, lines }: Written, what = `Cannot write ${name}`): TensorRTError {
  const failure = failureOf(what, exit, lines)
  const refusal = refusals.exec(lines.join('\n'))?.[0]
  return refusal === undefined ? failure : fileError({ name, frames }, refusal, failure)
}

function fileError(
  { name, frames }: Pick<Written, 'name' | 'frames'>,
  why: string,
  cause: TensorRTError,
): TensorRTError {
  const message = `Cannot write ${name}: ${why} (after ${frames} ${frames === 1 ? 'frame' : 'frames'})`
  return new TensorRTError('ERR_TRT_FILE', message, { cause, details: { ...cause.details, path: name, frames } })
}

/**
 * Checks the log of ffmpeg and the file on the disk, because exit code 0 does not mean that the file is complete.
 *
 * @throws {TensorRTError} ERR_TRT_FILE if it is not complete
 */
export async function assertWritten(
  written: Written,
  { output }: Pick<Target, 'output'>,
  container: VideoContainer,
): Promise<void> {
  const said = written.lines.findLast((line) => unwritten.test(line))
  if (said === undefined && (output === undefined || (await isWholeVideo(output, container)))) return
  const why = refusals.exec(written.lines.join('\n'))?.[0] ?? said ?? 'the file is cut off'
  throw fileError(written, why, failureOf(`Cannot write ${written.name}`, written.exit, written.lines))
}
