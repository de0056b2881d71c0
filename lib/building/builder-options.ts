import type { TensorRTDType } from '../tensor.js'
import type {
  HardwareCompatibility,
  Precision,
  PreviewFeature,
  ProfilingVerbosity,
  RuntimePlatform,
  TacticSource,
  TensorFormat,
} from '../plan/settings.js'
import type { TimingCacheOptions } from './timing-cache.js'

/** Where builds run: on a thread of this process, or in a process of their own. */
export type Isolation = 'none' | 'process'

/**
 * How plans are built. What is not given stays as TensorRT has it; what the loaded TensorRT lacks is ERR_TRT_UNSUPPORTED at the build, with both versions.
 * "10.6" below: TensorRT 10 from 10.6 on; every option is there in TensorRT 11 and TensorRT-RTX unless it says otherwise.
 * @see https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/c-api/classnvinfer1_1_1_i_builder_config.html
 */
export interface BuilderOptions extends TimingCacheOptions {
  /** The path of a TensorRT library, or of the folder that has it; else $TENSORRT_PATH, else the first that can build here. */
  readonly tensorrt?: string
  /** The number of the GPU to build for; 0 unless given. TensorRT-RTX needs none. */
  readonly device?: number
  /**
   * 'process': builds run in child processes, so that a crash inside TensorRT rejects with ERR_TRT_CRASH and this process goes on, and an abort ends TensorRT's
   * work at once. A process is used again until it dies, and ends with this one; as many builds run at once as the machine has cores. 'none' unless given.
   */
  readonly isolation?: Isolation

  /** The most device memory that a layer's temporary data may take: bytes, or "512MiB", "2GiB". setMemoryPoolLimit(kWORKSPACE) */
  readonly workspace?: number | string
  /** The most shared memory that a kernel may take, bytes or text. setMemoryPoolLimit(kTACTIC_SHARED_MEMORY) */
  readonly tacticSharedMemory?: number | string
  /** The most device memory that the search for kernels may take, bytes or text. setMemoryPoolLimit(kTACTIC_DRAM) */
  readonly tacticDram?: number | string

  /**
   * What layers may compute in, besides FP32.
   *
   * TensorRT 10, weakly typed: BuilderFlag kFP16, kBF16, kINT8, kFP8, kINT4 (10.1). TensorRT 11, TensorRT-RTX, and 10 with `stronglyTyped`: types are the model's. There
   * 'fp16' or 'bf16' converts a model that has nothing of the type, on a thread of its own, as `convertPrecision` of node-tensorrt/onnx does without options; `plan.info.conversion`
   * says what became of it. What overflows float16 on your data it cannot know: convert the model yourself, with
   * `ranges`, where that may be. A precision that the network does not have then is ERR_TRT_PRECISION: a tensor of that
   * type for fp16 and bf16, quantizing layers for the others. int8, fp8 and int4 need quantizing layers
   * (QuantizeLinear, DequantizeLinear) everywhere; in place of them int8 takes a `calibrator` of build() in TensorRT
   * 10, weakly typed.
   */
  readonly precision?: Precision | readonly Precision[]
  /**
   * Gives each tensor a range of INT8 that nobody measured, as trtexec does for `--int8` alone: ±2 what goes into a layer, ±4 what comes out. Only for how long a plan takes: what it
   * answers means nothing. The plan says so (`plan.info.settings`, and the name of its engine), and {@link Engine} opens it only with `allowPlaceholderRanges`. Needs `precision` with 'int8'
   * and a model without quantizing layers (else ERR_TRT_PRECISION); TensorRT 10 only, weakly typed. ITensor::setDynamicRange
   * @see https://docs.nvidia.com/deeplearning/tensorrt/10.16.1/_static/c-api/classnvinfer1_1_1_i_tensor.html
   */
  readonly placeholderRanges?: boolean
  /** Types are the model's. NetworkDefinitionCreationFlag::kSTRONGLY_TYPED; false by default on TensorRT 10, always true elsewhere, where false is an error. */
  readonly stronglyTyped?: boolean
  /** Whether FP32 layers may use TensorFloat-32 (10 bits of mantissa); TensorRT's default is true. BuilderFlag::kTF32 */
  readonly tf32?: boolean
  /** Whether layers may use kernels for weights of 2:4 sparsity. BuilderFlag::kSPARSE_WEIGHTS */
  readonly sparsity?: boolean
  /** Whether NaN and infinity are kept through all layers. BuilderFlag::kSTRICT_NANS (10.6) */
  readonly strictNans?: boolean
  /** Whether a row's result is the same at each place in a batch. BuilderFlag::kDISTRIBUTIVE_INDEPENDENCE (10.12) */
  readonly distributiveIndependence?: boolean
  /** Types of layers by name; a name may hold one `*`, later entries win. ILayer::setPrecision (TensorRT 10 only, weakly typed). Needs `precisionConstraints`. */
  readonly layerPrecisions?: Readonly<Record<string, TensorRTDType>>
  /** Types of layers' outputs, one for all or one for each, by names as above. ILayer::setOutputType (TensorRT 10 only, weakly typed). Needs `precisionConstraints`. */
  readonly layerOutputTypes?: Readonly<Record<string, TensorRTDType | readonly TensorRTDType[]>>
  /** Whether the build fails where a layer's type cannot be had. BuilderFlag kOBEY_PRECISION_CONSTRAINTS, kPREFER_PRECISION_CONSTRAINTS (TensorRT 10 only) */
  readonly precisionConstraints?: 'obey' | 'prefer'
  /**
   * Types and layouts of inputs, by name. An engine of this package runs `chw` alone: a plan with any other, of an input or an output, is ERR_TRT_UNSUPPORTED to
   * `Engine.load`, and so are these options there. Such plans are for other programs.
   */
  readonly inputFormats?: Readonly<Record<string, TensorFormat>>
  /** Types and layouts of outputs, by name: as {@link inputFormats}. */
  readonly outputFormats?: Readonly<Record<string, TensorFormat>>

  /** 0 (fastest build) to 5 (longest search); TensorRT's default is 3. setBuilderOptimizationLevel */
  readonly optimizationLevel?: number
  /** How often each kernel is timed. setAvgTimingIterations */
  readonly averageTiming?: number
  /** How many kernels are timed for a layer. setMaxNbTactics (10.4) */
  readonly maxTactics?: number
  /** The most streams that layers may run on besides the engine's; 0 takes the least memory. setMaxAuxStreams */
  readonly auxiliaryStreams?: number
  /** Exactly these sources of kernels. setTacticSources; cublas, cublasLt and cudnn are TensorRT 10's. */
  readonly tacticSources?: readonly TacticSource[]
  /** Features to be tried before they are common. setPreviewFeature: aliasedPluginIO1003 (10.3), runtimeActivationResize1010 (10.10); profileSharing0806 and multiDeviceRuntime1016 (10.16) are TensorRT 10's. */
  readonly previewFeatures?: readonly PreviewFeature[]
  /** Whether equal layers are timed each for itself. BuilderFlag::kDISABLE_TIMING_CACHE */
  readonly disableTimingCache?: boolean
  /** Whether compiled kernels go into the timing cache; TensorRT's default is true. false: BuilderFlag::kDISABLE_COMPILATION_CACHE */
  readonly compilationCache?: boolean
  /** Whether TensorRT reports the memory that it takes while it builds. BuilderFlag::kMONITOR_MEMORY (10.6) */
  readonly monitorMemory?: boolean
  /** How much the engine can tell about its layers. setProfilingVerbosity */
  readonly profilingVerbosity?: ProfilingVerbosity

  /** Whether later TensorRT versions can load the plan. BuilderFlag::kVERSION_COMPATIBLE */
  readonly versionCompatible?: boolean
  /** Whether the lean runtime is left out of a version-compatible plan. BuilderFlag::kEXCLUDE_LEAN_RUNTIME; needs `versionCompatible`. */
  readonly excludeLeanRuntime?: boolean
  /** The GPUs that the plan runs on: the model that built it, Ampere and later, or those of the same compute capability (10.9). setHardwareCompatibilityLevel (not TensorRT-RTX: `computeCapabilities`) */
  readonly hardwareCompatibility?: HardwareCompatibility
  /** The system that the plan runs on. setRuntimePlatform (10.2) */
  readonly runtimePlatform?: RuntimePlatform
  /** GPUs that the plan holds kernels for: 'current', or compute capabilities such as ['8.6', '12.0']. setComputeCapability (TensorRT-RTX only) */
  readonly computeCapabilities?: 'current' | readonly string[]

  /** Whether refittable weights are left out of the plan. BuilderFlag::kSTRIP_PLAN */
  readonly stripWeights?: boolean
  /**
   * Whether weights can be replaced later: all (true: BuilderFlag::kREFIT), with the same weights again ('identical': kREFIT_IDENTICAL), or only
   * `refittableWeights` ('individual': kREFIT_INDIVIDUAL, 10.2). TensorRT-RTX needs a GPU's driver for this, and for `stripWeights`, where a model has weights.
   */
  readonly refit?: boolean | 'identical' | 'individual'
  /** The names of weights for refit 'individual'. INetworkDefinition::markWeightsRefittable (10.2) */
  readonly refittableWeights?: readonly string[]

  /** Paths of plugin libraries to load; each exports getCreators(). IPluginRegistry::loadLibrary of the builder's registry */
  readonly plugins?: readonly string[]
  /** Paths of plugin libraries that go into the plan. setPluginsToSerialize; needs `versionCompatible`. */
  readonly pluginsToSerialize?: readonly string[]
  /** Whether InstanceNormalization becomes TensorRT's own layers and not a plugin; TensorRT's default is true. OnnxParserFlag::kNATIVE_INSTANCENORM (10.14) */
  readonly nativeInstanceNorm?: boolean
}
