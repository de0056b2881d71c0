/**
 * What runs of node-tensorrt/onnxruntime; index.ts has its types. A peer that is missing is told by an error of this
 * package, which `export * from` could not.
 */
import { loadCommon } from './common.js'
import { registerWith } from './registering.js'

const common = loadCommon('import')
registerWith(common)

export const { env, InferenceSession, registerBackend, Tensor } = common
export const { TRACE, TRACE_EVENT_BEGIN, TRACE_EVENT_END, TRACE_FUNC_BEGIN, TRACE_FUNC_END } = common
export { listSupportedBackends } from './providers.js'
