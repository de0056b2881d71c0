import type { TensorRTDType } from '../tensor.js'
import type { IOFormat, Precision, SharedSettings } from '../plan/settings.js'
import type { TimingCacheOptions } from './timing-cache.js'

/** Where builds run: on a thread of this process (`none`), or in a process of their own. */
export type Isolation = 'none' | 'process'

/**
 * Options of {@link Builder}: how plans are built. An option that is not given stays as TensorRT has it. An option that
 * the loaded TensorRT does not have is ERR_TRT_UNSUPPORTED when a build begins; the message names both versions.
 *
 * "(10.6)" means: in TensorRT 10 from 10.6 on. Every option exists in TensorRT 11 and TensorRT-RTX, too, unless it says
 * otherwise.
 * @see https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/c-api/classnvinfer1_1_1_i_builder_config.html
 */
export interface BuilderOptions extends SharedSettings, TimingCacheOptions {
  /**
   * The path of a TensorRT library, or of the folder that has it; default: $TENSORRT_PATH, else the first that can
   * build here.
   */
  readonly tensorrt?: string | URL | undefined
  /** The number of the GPU to build for; default 0. TensorRT-RTX needs none. */
  readonly device?: number | undefined
  /**
   * Where builds run; default `none`: on a thread of this process. `process`: in child processes, so that a crash
   * inside TensorRT rejects with ERR_TRT_CRASH and this process goes on, and an abort ends TensorRT's work at once. A
   * process is used again until it dies, and ends with this one; as many builds run at once as the machine has cores.
   */
  readonly isolation?: Isolation | undefined

  /**
   * The most device memory that the temporary data of a layer may take: bytes, or text such as `"512MiB"` or `"2GiB"`.
   * setMemoryPoolLimit(kWORKSPACE)
   */
  readonly workspace?: number | string | undefined
  /** The most shared memory that a kernel may take, in bytes or as text. setMemoryPoolLimit(kTACTIC_SHARED_MEMORY) */
  readonly tacticSharedMemory?: number | string | undefined
  /**
   * The most device memory that the search for kernels may take, in bytes or as text. setMemoryPoolLimit(kTACTIC_DRAM)
   */
  readonly tacticDram?: number | string | undefined

  /**
   * The precisions that layers may compute in, besides FP32; default: none.
   *
   * - Weakly typed networks (TensorRT 10): TensorRT chooses among them for each layer. BuilderFlag kFP16, kBF16, kINT8,
   *   kFP8, kINT4 (10.1).
   * - Strongly typed networks (TensorRT 11, TensorRT-RTX, and 10 with `stronglyTyped`): types are the model's. `fp16`
   *   or `bf16` converts a model that has nothing of the type, on a thread of its own, as `convertPrecision` of
   *   node-tensorrt/onnx does without options; `plan.info.conversion` tells what was converted. What overflows float16
   *   on your data is not known there: where that may be, convert the model yourself, with `ranges`.
   *
   * `int8`, `fp8` and `int4` need QuantizeLinear and DequantizeLinear in the model; in place of these, `int8` takes the
   * option `calibrator` of {@link Builder.build} with TensorRT 10, weakly typed. A precision that a strongly typed
   * network then does not have is ERR_TRT_PRECISION: a tensor of the type for `fp16` and `bf16`, quantizing layers for
   * the others.
   */
  readonly precision?: Precision | readonly Precision[] | undefined
  /**
   * Gives each tensor a range of INT8 that was not measured, as trtexec does for `--int8` alone: ±2 what goes into a
   * layer, ±4 what comes out. It is for measuring times only: outputs mean nothing. The plan says so
   * (`plan.info.settings`, and the name of its engine), and {@link Engine} opens it only with `allowPlaceholderRanges`.
   * Needs `precision` with `int8` and a model without quantizing layers (else ERR_TRT_PRECISION); TensorRT 10 only,
   * weakly typed. Default false. ITensor::setDynamicRange
   * @see https://docs.nvidia.com/deeplearning/tensorrt/10.16.1/_static/c-api/classnvinfer1_1_1_i_tensor.html
   */
  readonly placeholderRanges?: boolean | undefined
  /**
   * The types that layers compute in, by their names; a name may have one `*`, later entries win. Needs
   * `precisionConstraints`. TensorRT 10 only, weakly typed. ILayer::setPrecision
   */
  readonly layerPrecisions?: Readonly<Record<string, TensorRTDType>> | undefined
  /**
   * The types of layers' outputs, one for all or one for each, by names as above. Needs `precisionConstraints`.
   * TensorRT 10 only, weakly typed. ILayer::setOutputType
   */
  readonly layerOutputTypes?: Readonly<Record<string, TensorRTDType | readonly TensorRTDType[]>> | undefined
  /**
   * The types and memory layouts of inputs, by name. An engine of this package runs `chw` alone: a plan with another
   * layout, of an input or an output, is ERR_TRT_UNSUPPORTED to {@link Engine.load}, and so are these options there.
   * Such plans are for other programs.
   */
  readonly inputFormats?: Readonly<Record<string, IOFormat>> | undefined
  /** The types and memory layouts of outputs, by name; see {@link inputFormats}. */
  readonly outputFormats?: Readonly<Record<string, IOFormat>> | undefined

  /**
   * The GPUs that the plan has kernels for: `current`, or compute capabilities such as `['8.6', '12.0']`. TensorRT-RTX
   * only. setComputeCapability
   */
  readonly computeCapabilities?: 'current' | readonly string[] | undefined

  /**
   * Whether weights can be replaced later: all (true: BuilderFlag::kREFIT), with the same weights again ('identical':
   * kREFIT_IDENTICAL), or only `refittableWeights` ('individual': kREFIT_INDIVIDUAL, 10.2). TensorRT-RTX needs a GPU's
   * driver for this, and for `stripWeights`, where a model has weights.
   */
  readonly refit?: boolean | 'identical' | 'individual' | undefined
  /** The names of weights for refit 'individual'. INetworkDefinition::markWeightsRefittable (10.2) */
  readonly refittableWeights?: readonly string[] | undefined

  /**
   * Paths of plugin libraries to load; each exports getCreators(). IPluginRegistry::loadLibrary of the builder's
   * registry
   */
  readonly plugins?: readonly string[] | undefined
}
