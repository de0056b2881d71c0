import { TensorRTError } from '../../errors.js'
import type { Exit } from './start.js'

/** "exit code 1" or "SIGKILL". */
export function howItEnded({ code, signal }: Exit): string {
  return signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`
}

/**
 * Why a program's work failed: its last lines are in `details.stderr`, the last that tells of an error in the message.
 * ERR_TRT_CRASH where a signal ended it, which no video asks for; else ERR_TRT_VIDEO_DATA.
 * @param what such as "Cannot read in.mp4"
 */
export function failureOf(what: string, exit: Exit, lines: readonly string[], program = 'ffmpeg'): TensorRTError {
  const said = lines.findLast((line) => /\[(error|fatal|panic)\]/.test(line)) ?? lines.at(-1)
  const message = `${what}: ${program} ${howItEnded(exit)}${said === undefined ? '' : `; it said: ${said}`}`
  const code = exit.signal === null ? 'ERR_TRT_VIDEO_DATA' : 'ERR_TRT_CRASH'
  return new TensorRTError(code, message, { details: { exitCode: exit.code, signal: exit.signal, stderr: lines } })
}
