/**
 * The interface of onnxruntime-node on an engine of this package: `import * as ort from 'node-tensorrt/onnxruntime'` in
 * place of `import * as ort from 'onnxruntime-node'`. `Tensor`, `InferenceSession` and `env` are those of
 * onnxruntime-common, an optional peer that has to be installed. These are its types; entry.ts is what runs.
 * In CommonJS it shares a copy of onnxruntime-common with onnxruntime-node, and that keeps what was registered first:
 * required after onnxruntime-node, it throws a TensorRTError of code ERR_TRT_INVALID_ARGUMENT.
 * @module node-tensorrt/onnxruntime
 */
import type { Provider } from './providers.js'

declare module 'onnxruntime-common' {
  interface InferenceSession {
    /** Which provider runs the model: `tensorrt` or `cpu`; absent of a session of another package. */
    readonly provider?: Provider
  }
}

export * from 'onnxruntime-common'
export { listSupportedBackends, type Provider, type SupportedBackend } from './providers.js'
export type { TensorRTProviderOptions } from './tensorrt-options.js'
