import { TensorRTError } from '../errors.js'
import { isSystemError, messageOf } from './kinds.js'

type WarningCode = 'TRT_CACHE_DAMAGED' | 'TRT_CACHE_TOO_SMALL' | 'TRT_CACHE_NOT_KEPT' | 'TRT_LOG_NOT_WRITTEN'

/** Emits a process warning. Programs recognize it by its code. */
export function warn(code: WarningCode, message: string): void {
  process.emitWarning(message, { type: 'TensorRTWarning', code })
}

/**
 * Warns that a cache cannot keep something that took time to make and is used all the same.
 *
 * @param what - The subject of the sentence, with its place, such as "The plan in /cache".
 */
export function warnNotKept(what: string, error: unknown): void {
  warn('TRT_CACHE_NOT_KEPT', `${what} is used, but cannot be kept for the next time: ${messageOf(error)}`)
}

/** Returns whether the file system refused something: the disk is full, or only for reading. */
export function isFileFailure(error: unknown): boolean {
  return error instanceof TensorRTError ? error.code === 'ERR_TRT_FILE' : isSystemError(error)
}
