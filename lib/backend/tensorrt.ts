import { isLack } from '../base/remedies.js'
import type { OnnxSource } from '../base/source.js'
import { TensorRTError } from '../errors.js'
import { openAddonEngine, type Told } from './addon.js'
import type { Backend } from './backend.js'
import { loadAddon, native, tensorrtPath } from './native.js'
import type { NativePlanOrigin, NativeSessionOptions } from './native-types.js'

/** How the lanes of an engine work; what a user left out has its default. */
export type LaneOptions = NativeSessionOptions

export interface TensorRTOptions {
  /** The number of the GPU. */
  readonly device: number
  /** The path of a TensorRT library, or of the folder that has it. */
  readonly tensorrt?: string | undefined
  /** The ONNX model that the plan's weights are taken from before anything runs. */
  readonly weights?: OnnxSource | undefined
}

/**
 * Opens a plan on a GPU, off the main thread.
 * @throws TensorRTError ERR_TRT_PLAN, ERR_TRT_NO_LIBRARY, ERR_TRT_NO_DRIVER, ERR_TRT_NO_GPU, ERR_TRT_UNSUPPORTED, ERR_TRT_INVALID_ARGUMENT, ERR_TRT_OUT_OF_MEMORY,
 * ERR_TRT_CUDA, ERR_TRT_DEVICE_LOST, ERR_TRT_WEIGHTS; with weights ERR_TRT_ONNX_PARSE, ERR_TRT_FILE
 * @see https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/c-api/classnvinfer1_1_1_i_runtime.html deserializeCudaEngine
 */
export async function openTensorRT(
  plan: Uint8Array,
  { device, tensorrt, origin, weights, told = {} }: TensorRTOptions & { readonly origin?: NativePlanOrigin; readonly told?: Told },
  lanes: LaneOptions,
): Promise<Backend> {
  const given = { ...(origin !== undefined && { origin }), ...(weights !== undefined && { weights }) }
  const options = { ...lanes, device, tensorrt: tensorrtPath(tensorrt), ...given }
  return openAddonEngine(lanes, (addon) => addon.openEngine(plan, options), told)
}

/**
 * What keeps this machine from both building plans and running them: ERR_TRT_NO_ADDON, ERR_TRT_PLATFORM, ERR_TRT_NO_DRIVER, ERR_TRT_NO_GPU, ERR_TRT_NO_LIBRARY, with
 * the remedy; nothing where it can. Nothing is built for that.
 */
export async function whyNoTensorRT({
  device,
  tensorrt,
}: Pick<TensorRTOptions, 'device' | 'tensorrt'>): Promise<TensorRTError | undefined> {
  try {
    await native(async () => loadAddon().chooseBuilder({ tensorrt: tensorrtPath(tensorrt), device, toRun: 1 }))
    return undefined
  } catch (error) {
    if (error instanceof TensorRTError && isLack(error.code)) return error
    throw error
  }
}
