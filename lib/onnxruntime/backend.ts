/** What onnxruntime-common calls a backend: it makes the sessions. */
import type { Backend, InferenceSession, InferenceSessionHandler } from 'onnxruntime-common'
import { openSession } from './session.js'

/**
 * The backend of this package, as onnxruntime-common's `registerBackend` takes it: `cpu` and `tensorrt` of a session's
 * `executionProviders` are run by an {@link Engine}, and the names of others are told to be none of ours.
 */
export const tensorrtBackend: Backend = {
  /**
   * Takes every name: of an error here onnxruntime-common keeps only the text, so the session refuses a provider that
   * this package does not have.
   */
  async init(): Promise<void> {},

  async createInferenceSessionHandler(
    model: string | Uint8Array,
    options: InferenceSession.SessionOptions = {},
  ): Promise<InferenceSessionHandler> {
    return openSession(model, options)
  },
}
