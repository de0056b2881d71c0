import { isLack, lacking } from '../base/remedies.js'
import type { OnnxSource } from '../base/source.js'
import type { ModelMetadata } from '../onnx/metadata.js'
import { TensorRTError } from '../errors.js'
import { openAddonEngine, type KnownFacts } from './addon.js'
import type { Backend } from './backend.js'
import { loadAddon, native, tensorrtPath } from './native.js'
import type { NativeBuilderChoice, NativePlanOptions, NativePlanOrigin, NativeSessionOptions } from './native-types.js'

/** How the lanes of an engine work; what a user left out has its default. */
export type LaneOptions = NativeSessionOptions

/** Where a plan is opened, how, and what was noted of it when it was built. */
export interface TensorRTOptions {
  /** The number of the GPU. */
  readonly device: number
  /** The path of a TensorRT library, or of the folder that has it. */
  readonly tensorrt?: string | undefined
  /** What native code takes as it is. */
  readonly plan?: NativePlanOptions | undefined
  /** The ONNX model that the plan's weights are taken from before anything runs. */
  readonly weights?: OnnxSource | undefined
  /** What TensorRT-RTX compiled for the plan another time. */
  readonly compiled?: Uint8Array | undefined
  readonly origin?: NativePlanOrigin | undefined
  /** Without its weights. */
  readonly stripped?: boolean | undefined
  /** What the exporter left in the model that it was built from, where that is known. */
  readonly customMetadata?: ModelMetadata | undefined
  readonly known?: KnownFacts | undefined
}

/**
 * Opens a plan on a GPU, off the main thread: its bytes, or the descriptor of the open file that has them, which
 * TensorRT reads then.
 * @throws TensorRTError ERR_TRT_PLAN, ERR_TRT_NO_LIBRARY, ERR_TRT_NO_DRIVER, ERR_TRT_NO_GPU, ERR_TRT_UNSUPPORTED,
 * ERR_TRT_INVALID_ARGUMENT, ERR_TRT_OUT_OF_MEMORY, ERR_TRT_CUDA, ERR_TRT_DEVICE_LOST, ERR_TRT_WEIGHTS; with weights
 * ERR_TRT_ONNX_PARSE, ERR_TRT_FILE; with plugins ERR_TRT_FILE
 * @see https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/c-api/classnvinfer1_1_1_i_runtime.html
 * deserializeCudaEngine
 */
export async function openTensorRT(
  plan: Uint8Array | number,
  { device, tensorrt, plan: options, compiled: runtimeCache, known, ...given }: TensorRTOptions,
  lanes: LaneOptions,
): Promise<Backend> {
  const place = { device, tensorrt: tensorrtPath(tensorrt) }
  return openAddonEngine(
    (addon) => addon.openEngine(plan, { ...lanes, ...options, ...given, ...place, runtimeCache }),
    known,
  )
}

/** What keeps this machine from both building plans and running them. */
export interface Obstacle {
  /** ERR_TRT_NO_ADDON, ERR_TRT_PLATFORM, ERR_TRT_NO_DRIVER, ERR_TRT_NO_GPU, ERR_TRT_NO_LIBRARY, with the remedy. */
  readonly why: TensorRTError
  /** Whether building is worth a try all the same. */
  readonly isDoubt: boolean
}

type Place = Pick<TensorRTOptions, 'device' | 'tensorrt'>

/**
 * The TensorRT that builds and runs here, loaded with its ONNX parser, and its GPU. Nothing is built for that.
 * @throws TensorRTError ERR_TRT_NO_ADDON, ERR_TRT_PLATFORM, ERR_TRT_NO_DRIVER, ERR_TRT_NO_GPU, ERR_TRT_NO_LIBRARY
 */
export async function chooseTensorRT({ device, tensorrt }: Place): Promise<NativeBuilderChoice> {
  return native(async () => loadAddon().chooseBuilder({ tensorrt: tensorrtPath(tensorrt), device, toRun: 1 }))
}

/** Nothing where nothing is known to be in the way. */
export async function whyNoTensorRT(place: Place): Promise<Obstacle | undefined> {
  try {
    const { doubt, name } = await chooseTensorRT(place)
    return doubt === undefined
      ? undefined
      : { why: lacking('ERR_TRT_NO_LIBRARY', doubt, { details: { loaded: name } }), isDoubt: true }
  } catch (error) {
    if (error instanceof TensorRTError && isLack(error.code)) return { why: error, isDoubt: false }
    throw error
  }
}
