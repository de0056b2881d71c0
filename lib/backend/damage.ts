import { messageOf } from '../base/kinds.js'
import { reworded, TensorRTError } from '../errors.js'
import { explained } from './runtime-text.js'

/**
 * onnxruntime's error about a model that it cannot load. Of all that is no protobuf it says only that it is none: then
 * `look` is asked, which fails with what is wrong with the model's bytes. Of all else it is {@link explained}.
 */
export async function withDamage(error: unknown, look: () => Promise<unknown>): Promise<unknown> {
  if (!(error instanceof TensorRTError) || error.code !== 'ERR_TRT_ONNX_PARSE') return error
  if (!/protobuf parsing failed/i.test(error.message)) return explained(error)
  const why = await look().then(() => undefined, messageOf)
  return why === undefined ? error : reworded(error, `${error.message.replace(/\.$/, '')}: ${why}`)
}
