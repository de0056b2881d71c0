import type { InferenceSession, InferenceSessionHandler } from 'onnxruntime-common'
import { TensorRTError } from '../errors.js'

/** Opens a session. */
export async function openSession(
  model: string | Uint8Array,
  options: InferenceSession.SessionOptions,
): Promise<InferenceSessionHandler> {
  throw new TensorRTError('ERR_TRT_UNSUPPORTED', `Not yet: ${typeof model} ${typeof options}`)
}
