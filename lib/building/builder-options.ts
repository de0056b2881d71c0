import type { TensorRTDType } from '../tensor.js'
import type {
  HardwareCompatibility,
  IOFormat,
  Precision,
  PreviewFeature,
  ProfilingVerbosity,
  RuntimePlatform,
  TacticSource,
} from '../plan/settings.js'
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
export interface BuilderOptions extends TimingCacheOptions {
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
   * Whether the types are the model's, so that TensorRT chooses none; default false on TensorRT 10. Always true
   * elsewhere, where false is an error. NetworkDefinitionCreationFlag::kSTRONGLY_TYPED
   */
  readonly stronglyTyped?: boolean | undefined
  /**
   * Whether FP32 layers may use TensorFloat-32 (10 bits of mantissa); TensorRT's default is true. BuilderFlag::kTF32
   */
  readonly tf32?: boolean | undefined
  /** Whether layers may use kernels for weights of 2:4 sparsity. BuilderFlag::kSPARSE_WEIGHTS */
  readonly sparsity?: boolean | undefined
  /** Whether NaN and infinity are kept through all layers. BuilderFlag::kSTRICT_NANS (10.6) */
  readonly strictNans?: boolean | undefined
  /** Whether a row's result is the same at each place in a batch. BuilderFlag::kDISTRIBUTIVE_INDEPENDENCE (10.12) */
  readonly distributiveIndependence?: boolean | undefined
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
   * What happens where a layer cannot have the type that was asked for: the build fails (`obey`), or the layer has
   * another (`prefer`). TensorRT 10 only. BuilderFlag kOBEY_PRECISION_CONSTRAINTS, kPREFER_PRECISION_CONSTRAINTS
   */
  readonly precisionConstraints?: 'obey' | 'prefer' | undefined
  /**
   * The types and memory layouts of inputs, by name. An engine of this package runs `chw` alone: a plan with another
   * layout, of an input or an output, is ERR_TRT_UNSUPPORTED to {@link Engine.load}, and so are these options there.
   * Such plans are for other programs.
   */
  readonly inputFormats?: Readonly<Record<string, IOFormat>> | undefined
  /** The types and memory layouts of outputs, by name; see {@link inputFormats}. */
  readonly outputFormats?: Readonly<Record<string, IOFormat>> | undefined

  /** 0 (fastest build) to 5 (longest search); TensorRT's default is 3. setBuilderOptimizationLevel */
  readonly optimizationLevel?: number | undefined
  /** How often each kernel is timed. setAvgTimingIterations */
  readonly averageTiming?: number | undefined
  /** How many kernels are timed for a layer. setMaxNbTactics (10.4) */
  readonly maxTactics?: number | undefined
  /**
   * The most CUDA streams that layers may run on besides the engine's own; 0 takes the least memory. setMaxAuxStreams
   */
  readonly auxiliaryStreams?: number | undefined
  /** The only sources of kernels that are used; `cublas`, `cublasLt` and `cudnn` are TensorRT 10's. setTacticSources */
  readonly tacticSources?: readonly TacticSource[] | undefined
  /**
   * Features of TensorRT that are not on by default yet: `aliasedPluginIO1003` (10.3), `runtimeActivationResize1010`
   * (10.10); `profileSharing0806` and `multiDeviceRuntime1016` (10.16) are TensorRT 10's. setPreviewFeature
   */
  readonly previewFeatures?: readonly PreviewFeature[] | undefined
  /** Whether equal layers are timed each by itself. BuilderFlag::kDISABLE_TIMING_CACHE */
  readonly disableTimingCache?: boolean | undefined
  /**
   * Whether compiled kernels go into the timing cache; TensorRT's default is true. false:
   * BuilderFlag::kDISABLE_COMPILATION_CACHE
   */
  readonly compilationCache?: boolean | undefined
  /** Whether TensorRT reports the memory that it takes while it builds. BuilderFlag::kMONITOR_MEMORY (10.6) */
  readonly monitorMemory?: boolean | undefined
  /**
   * How much the engine tells of its layers; {@link Engine.layers} needs `detailed` for precisions.
   * setProfilingVerbosity
   */
  readonly profilingVerbosity?: ProfilingVerbosity | undefined

  /** Whether later versions of TensorRT can load the plan. BuilderFlag::kVERSION_COMPATIBLE */
  readonly versionCompatible?: boolean | undefined
  /**
   * Whether the lean runtime is left out of a version-compatible plan. BuilderFlag::kEXCLUDE_LEAN_RUNTIME; needs
   * `versionCompatible`.
   */
  readonly excludeLeanRuntime?: boolean | undefined
  /**
   * The GPUs that the plan runs on: the model that built it (`none`), Ampere and later (`ampere+`), or those of the
   * same compute capability (10.9). Not with TensorRT-RTX, which has `computeCapabilities`.
   * setHardwareCompatibilityLevel
   */
  readonly hardwareCompatibility?: HardwareCompatibility | undefined
  /** The system that the plan runs on. setRuntimePlatform (10.2) */
  readonly runtimePlatform?: RuntimePlatform | undefined
  /**
   * The GPUs that the plan has kernels for: `current`, or compute capabilities such as `['8.6', '12.0']`. TensorRT-RTX
   * only. setComputeCapability
   */
  readonly computeCapabilities?: 'current' | readonly string[] | undefined

  /** Whether refittable weights are left out of the plan. BuilderFlag::kSTRIP_PLAN */
  readonly stripWeights?: boolean | undefined
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
  /** Paths of plugin libraries that go into the plan. setPluginsToSerialize; needs `versionCompatible`. */
  readonly pluginsToSerialize?: readonly string[] | undefined
  /**
   * Whether InstanceNormalization becomes TensorRT's own layers and not a plugin; TensorRT's default is true.
   * OnnxParserFlag::kNATIVE_INSTANCENORM (10.14)
   */
  readonly nativeInstanceNorm?: boolean | undefined
}
