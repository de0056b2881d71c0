import type { Backend } from './backend.js'

/**
 * Opens an ONNX model on the CPU. Bytes are the backend's own from here on: `model` may be empty afterwards. A path is opened by onnxruntime itself, which finds
 * weights in files beside it. `reason`: why the CPU was chosen, where it was not asked for.
 * @throws TensorRTError ERR_TRT_NO_ONNXRUNTIME, ERR_TRT_ONNX_PARSE, ERR_TRT_DTYPE
 */
export async function openCpu(model: Uint8Array | string, reason?: string): Promise<Backend> {
  const { openPortable } = await import('./portable/backend.js')
  return openPortable(model, reason)
}
