/** Every code that a {@link TensorRTError} can carry, with what it means. The one place where codes are listed. */
export const errorCodes = {
  ERR_TRT_INVALID_ARGUMENT: 'an argument has the wrong type or an impossible value',
  ERR_TRT_UNKNOWN_INPUT: 'a name was given that is no input of the model',
  ERR_TRT_MISSING_INPUT: 'an input of the model was not given',
  ERR_TRT_DTYPE: 'a tensor has another data type than the model wants',
  ERR_TRT_SHAPE: 'a shape does not fit the tensor, the model or its optimization profiles',
  ERR_TRT_DETACHED: 'a buffer was transferred away or resized below its tensor',
  ERR_TRT_DECLARATION: 'the inputs or outputs that were declared for an engine are not those of the model',
  ERR_TRT_SHAPES_REQUIRED: 'an input is dynamic and no min/opt/max shapes were given',
  ERR_TRT_NOT_READY: 'the engine has not finished loading',
  ERR_TRT_CLOSED: 'the engine or builder is closed',
  ERR_TRT_QUEUE_FULL: 'as many requests wait, or as many bytes, as maxQueue and maxQueueBytes allow',
  ERR_TRT_BUFFER_IN_USE: 'a tensor made by engine.allocate(), or one on a device that is written, is in use by another inference',
  ERR_TRT_DISPOSED: 'a tensor on a device was disposed',
  ERR_TRT_DEVICE: 'a tensor is on another device than where it is needed',
  ERR_TRT_TOKEN: 'the token of a shared engine is stale, or of another process',
  ERR_TRT_TIMEOUT: 'the time given with timeoutMs ran out',
  ERR_TRT_FILE: 'a file cannot be read or written',
  ERR_TRT_MODEL_FORMAT: 'the bytes are neither ONNX nor a TensorRT plan',
  ERR_TRT_ONNX_PARSE: 'the ONNX model cannot be parsed',
  ERR_TRT_UNSUPPORTED_OPERATOR: 'TensorRT has no implementation of an operator of the model',
  ERR_TRT_PRECISION: 'the precision that was asked for cannot be had from this model with this TensorRT',
  ERR_TRT_BUILD: 'TensorRT could not build an engine',
  ERR_TRT_TIMING_CACHE: 'a timing cache is damaged, or made for another TensorRT or GPU',
  ERR_TRT_CALIBRATION: 'ranges cannot be measured, or a calibration cache is damaged or made for something else',
  ERR_TRT_CRASH: 'a process that ran TensorRT for us ended without an answer, or could not be started',
  ERR_TRT_PLAN: 'the plan is truncated, damaged or made for another TensorRT or GPU',
  ERR_TRT_PLACEHOLDER_RANGES: 'the plan has ranges of INT8 that nobody measured: its times are real, its outputs mean nothing',
  ERR_TRT_WEIGHTS: 'weights are missing or unknown, or those of the plan cannot be replaced',
  ERR_TRT_EXECUTION: 'TensorRT or the backend failed while running the model',
  ERR_TRT_UNSUPPORTED: 'the loaded TensorRT is too old, too new or of a kind that cannot do this',
  ERR_TRT_PLATFORM: 'this operating system or processor has no TensorRT support here',
  ERR_TRT_NO_ADDON: 'the native addon is missing or cannot be loaded',
  ERR_TRT_NO_LIBRARY: 'no TensorRT library was found',
  ERR_TRT_NO_DRIVER: 'no CUDA driver was found',
  ERR_TRT_NO_GPU: 'the CUDA driver sees no GPU',
  ERR_TRT_CUDA: 'a CUDA driver call failed',
  ERR_TRT_OUT_OF_MEMORY: 'device, pinned or ordinary memory ran out',
  ERR_TRT_NO_THREAD: 'the system gives this process no further thread',
  ERR_TRT_DEVICE_LOST: 'the GPU reported an error after which nothing runs on it in this process',
  ERR_TRT_NO_ONNXRUNTIME: 'the CPU backend needs the package onnxruntime-node',
  ERR_TRT_IMAGE: 'a picture cannot be read',
} as const

export type ErrorCode = keyof typeof errorCodes

export interface TensorRTErrorOptions {
  /** What led to this error. */
  cause?: unknown
  /** The last lines that TensorRT logged before it, oldest first, each with its severity; without those that the message quotes. */
  log?: readonly string[]
  /** Figures and names for programs, such as `{ operator, node }`; what is in it depends on the code: with ERR_TRT_OUT_OF_MEMORY `bytes`, what was asked for, where that is known. */
  details?: Readonly<Record<string, unknown>>
}

/** The one error class of this package. Programs look at `code`, people at `message`. */
export class TensorRTError extends Error {
  readonly code: ErrorCode
  readonly log: readonly string[]
  readonly details: Readonly<Record<string, unknown>>

  constructor(code: ErrorCode, message: string, options: TensorRTErrorOptions = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined)
    this.name = 'TensorRTError'
    this.code = code
    this.log = options.log ?? []
    this.details = options.details ?? {}
  }
}

/** The same error in other words: what was known where it came up, and what is known where it arrives. `details` are added to its own. */
export function reworded(error: TensorRTError, message: string, details: Readonly<Record<string, unknown>> = {}): TensorRTError {
  const { code, cause, log } = error
  return new TensorRTError(code, message, { log, details: { ...error.details, ...details }, ...(cause !== undefined && { cause }) })
}

/** `value` for a message: its type, and the value itself where that is short. */
export function describe(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  if (typeof value === 'string') return `string ${JSON.stringify(value.length > 60 ? `${value.slice(0, 57)}...` : value)}`
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint') return `${typeof value} ${String(value)}`
  return typeof value === 'object' ? describeObject(value) : typeof value
}

/** A proxy or a getter may throw here; a message about a wrong value is worth more than that. */
function describeObject(value: object): string {
  try {
    if (Array.isArray(value)) return describeArray(value)
    const prototype = Object.getPrototypeOf(value) as { constructor?: { name?: unknown } } | null
    const name = prototype?.constructor?.name
    return typeof name === 'string' && name !== '' ? name : 'object'
  } catch {
    return 'object'
  }
}

function describeArray(value: readonly unknown[]): string {
  const isShort = value.length <= 8 && value.every((element) => typeof element === 'number')
  return isShort ? `array [${value.join(', ')}]` : `array of ${value.length}`
}

/** The one form of a message about an argument: "Expected X for NAME but received Y". */
export function expected(what: string, name: string, received: unknown): TensorRTError {
  return new TensorRTError('ERR_TRT_INVALID_ARGUMENT', `Expected ${what} for ${name} but received ${describe(received)}`)
}
