import { ownFile } from '../base/package.js'
import type { Backend } from './backend.js'
import type { OpenCpuOptions } from './cpu-options.js'
import { whyPortable } from './portable/why.js'

/**
 * Opens an ONNX model on the CPU: through the addon, or the portable way where that does not load. Bytes are the
 * backend's own from here on: `model` may be empty afterwards. A path is opened by onnxruntime itself, which finds
 * weights in files beside it. `reason`: why the CPU was chosen, where it was not asked for.
 * @throws TensorRTError ERR_TRT_NO_ONNXRUNTIME, ERR_TRT_ONNX_PARSE, ERR_TRT_FILE, ERR_TRT_DTYPE, ERR_TRT_UNSUPPORTED,
 * ERR_TRT_OUT_OF_MEMORY, ERR_TRT_NO_ADDON in a bundle, and those of profilesFor
 */
export async function openCpu(model: Uint8Array | string, options: OpenCpuOptions, reason?: string): Promise<Backend> {
  const why = whyPortable()
  if (why === undefined) return (await import('./onnxruntime.js')).openOnnxRuntime(model, options, reason)
  // a bundle has the code of the portable way, and not the file of its worker
  ownFile('./portable/worker.js', import.meta.url)
  return (await import('./portable/backend.js')).openPortable(model, { ...options, why }, reason)
}
