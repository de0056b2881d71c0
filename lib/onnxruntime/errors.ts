/** Errors as programs of onnxruntime-node look for them: by the names that its own have. */
import { describe, reworded, TensorRTError, type ErrorCode } from '../errors.js'

/** The name of an error of onnxruntime-node. */
export type OrtErrorName = 'Error' | 'TypeError' | 'RangeError'

/** An error of this package, with its code, by the name that onnxruntime-node's has. */
export function named(name: OrtErrorName, error: TensorRTError): TensorRTError {
  error.name = name
  return error
}

/** Of a wrong argument: onnxruntime-node's name and words, and what came. */
export function wrong(name: OrtErrorName, message: string, received: unknown): TensorRTError {
  return named(name, new TensorRTError('ERR_TRT_INVALID_ARGUMENT', `${message} (received ${describe(received)})`))
}

/** Of anything else that is refused. */
export function refused(code: ErrorCode, message: string): TensorRTError {
  return named('Error', new TensorRTError(code, message))
}

/** What loading a model was rejected with, as onnxruntime-node's begins; what has its name already stays what it is. */
export function loadFailure(error: unknown, path: string | undefined): unknown {
  if (!isUnnamed(error)) return error
  const what = path === undefined ? 'Load model' : `Load model from ${path}`
  return named('Error', reworded(error, `${what} failed: ${error.message}`))
}

/** What a run was rejected with; what an engine calls `into` is a fetch here. */
export function runFailure(error: unknown): unknown {
  if (!isUnnamed(error)) return error
  return named('Error', reworded(error, error.message.replaceAll(/\binto (?=")/g, 'the fetch ')))
}

/** For a promise's `catch`. */
export function failRun(error: unknown): never {
  throw runFailure(error)
}

function isUnnamed(error: unknown): error is TensorRTError {
  return error instanceof TensorRTError && error.name === 'TensorRTError'
}
