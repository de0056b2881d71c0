/**
 * What `require('node-tensorrt/onnxruntime')` gives: as entry.ts, of the copy of onnxruntime-common that `require`
 * gives, so that its classes are those of `require('onnxruntime-common')`, as onnxruntime-node's are.
 */
import { loadCommon } from './common.js'
import { registerWith } from './registering.js'

const common = loadCommon('require')
registerWith(common)

export const { env, InferenceSession, registerBackend, Tensor } = common
export const { TRACE, TRACE_EVENT_BEGIN, TRACE_EVENT_END, TRACE_FUNC_BEGIN, TRACE_FUNC_END } = common
export { listSupportedBackends } from './providers.js'
