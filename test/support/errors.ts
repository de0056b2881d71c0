import { type ErrorCode, TensorRTError } from '../../lib/errors.js'

/** What a promise or a call failed with. Fails loudly when it did not. */
export async function failureOf(call: () => unknown): Promise<TensorRTError> {
  try {
    await call()
  } catch (error) {
    if (error instanceof TensorRTError) return error
    throw error
  }
  throw new Error('expected a TensorRTError, but nothing was thrown')
}

/** For `t.throws` and `t.rejects`: an error of this package with this code and message. */
export function failure(code: ErrorCode, message: RegExp): { name: string; code: ErrorCode; message: RegExp } {
  return { name: 'TensorRTError', code, message }
}
