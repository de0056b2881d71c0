/** What onnxruntime-common calls a backend: it makes the sessions. */
import type { Backend, InferenceSession, InferenceSessionHandler } from 'onnxruntime-common'
import { TensorRTError } from '../errors.js'
import { foreignProviders, refusalOf } from './providers.js'
import { openSession } from './session.js'

/**
 * The backend of this package, as onnxruntime-common's `registerBackend` takes it: `cpu` and `tensorrt` of a session's
 * `executionProviders` are run by an {@link Engine}, and the names of others are told to be none of ours.
 */
export const tensorrtBackend: Backend = {
  /** @throws TensorRTError (as a rejection) ERR_TRT_UNSUPPORTED for a provider that this package does not have */
  async init(name: string): Promise<void> {
    if (foreignProviders.has(name)) throw new TensorRTError('ERR_TRT_UNSUPPORTED', refusalOf(name))
  },

  async createInferenceSessionHandler(
    model: string | Uint8Array,
    options: InferenceSession.SessionOptions = {},
  ): Promise<InferenceSessionHandler> {
    return openSession(model, options)
  },
}
