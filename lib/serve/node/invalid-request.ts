/** The same in every copy of this package: a module may have another one than its server. */
const mark = Symbol.for('node-tensorrt.InvalidRequestError')

/**
 * What a model in JavaScript gives, or throws, where a request is at fault and not the model: a picture that cannot be
 * read, a text in a language that it does not know. The client gets the text as it is, with status 400,
 * INVALID_ARGUMENT over gRPC; any other error is the model's failure, with status 500.
 *
 * Given in place of outputs it fails that request alone. Thrown by `execute` it is one of a batch of several requests,
 * and nothing says of which: then all of them fail with status 500, and a text that says so.
 * @example
 * ```ts
 * import { TensorRTError } from 'node-tensorrt'
 * import { defineModel, InvalidRequestError, type ModelOutputs, type ModelRequest } from 'node-tensorrt/serve'
 * import { readImageInfo } from 'node-tensorrt/vision'
 *
 * async function sizeOf({ inputs, output }: ModelRequest): Promise<ModelOutputs | Error> {
 *   try {
 *     const { width, height } = await readImageInfo(Object(inputs['jpeg']).data)
 *     const size = output('size', [2]).as('int32')
 *     size.data.set([width, height])
 *     return { size }
 *   } catch (error) {
 *     if (!(error instanceof TensorRTError) || error.code !== 'ERR_TRT_IMAGE') throw error
 *     return new InvalidRequestError(error.message, { cause: error })
 *   }
 * }
 *
 * export default defineModel({ execute: (requests) => Promise.all(requests.map(sizeOf)) })
 * ```
 */
export class InvalidRequestError extends Error {
  static {
    Reflect.defineProperty(this.prototype, mark, { value: true })
  }

  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'InvalidRequestError'
  }
}

/** Whichever copy of the class it is of. */
export function isInvalidRequest(value: unknown): value is InvalidRequestError {
  try {
    return typeof value === 'object' && value !== null && Reflect.get(value, mark) === true
  } catch {
    return false // a proxy
  }
}
