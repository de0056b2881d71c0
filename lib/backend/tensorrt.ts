import { isLack, lacking } from '../base/remedies.js'
import type { OnnxSource } from '../base/source.js'
import { TensorRTError } from '../errors.js'
import { openAddonEngine, type KnownFacts } from './addon.js'
import type { Backend } from './backend.js'
import { loadAddon, native, tensorrtPath } from './native.js'
import type { NativeBuilderChoice, NativePlanOrigin, NativeSessionOptions } from './native-types.js'

/** How the lanes of an engine work; what a user left out has its default. */
export type LaneOptions = NativeSessionOptions

export interface TensorRTOptions {
  /** The number of the GPU. */
  readonly device: number
  /** The path of a TensorRT library, or of the folder that has it. */
  readonly tensorrt?: string | undefined
  /** The most bytes of device memory; nothing: as much as there is. */
  readonly memoryLimit?: number | undefined
  /** The ONNX model that the plan's weights are taken from before anything runs. */
  readonly weights?: OnnxSource | undefined
  /** Code that the plan brings along may run in this process. */
  readonly hostCode?: boolean | undefined
  /** A plan with ranges of INT8 that nobody measured is opened, too. */
  readonly allowPlaceholderRanges?: boolean | undefined
  /** Absolute paths of the libraries that have the plan's plugins. */
  readonly plugins?: readonly string[] | undefined
  /** What TensorRT-RTX compiled for the plan another time. */
  readonly compiled?: Uint8Array | undefined
}

/** What was noted of a plan when it was built. */
export interface PlanFacts {
  readonly origin?: NativePlanOrigin | undefined
  /** Without its weights. */
  readonly stripped?: boolean | undefined
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
  {
    device,
    tensorrt,
    memoryLimit = 0,
    origin,
    stripped = false,
    weights,
    hostCode = false,
    allowPlaceholderRanges = false,
    plugins = [],
    compiled,
    told = {},
  }: TensorRTOptions & PlanFacts & { readonly told?: KnownFacts | undefined },
  lanes: LaneOptions,
): Promise<Backend> {
  const given = {
    ...(origin !== undefined && { origin }),
    ...(weights !== undefined && { weights }),
    ...(compiled !== undefined && { runtimeCache: compiled }),
  }
  const options = {
    ...lanes,
    device,
    tensorrt: tensorrtPath(tensorrt),
    memoryLimit,
    hostCode: hostCode ? 1 : 0,
    placeholderRanges: allowPlaceholderRanges ? 1 : 0,
    plugins,
    stripped: stripped ? 1 : 0,
    ...given,
  } as const
  return openAddonEngine((addon) => addon.openEngine(plan, options), told)
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
