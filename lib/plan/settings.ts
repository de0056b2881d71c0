import type { TensorRTDType } from '../tensor.js'

/** A precision that a plan may be built with, by the names that Polygraphy and trtexec have. */
export type Precision = 'fp32' | 'fp16' | 'bf16' | 'int8' | 'fp8' | 'int4'

/**
 * A memory layout of an input or output, by trtexec's names: `chw` is row-major; a number says how many channels are
 * packed together.
 */
export type TensorFormatName =
  'chw' | 'chw2' | 'chw4' | 'chw16' | 'chw32' | 'hwc' | 'hwc8' | 'hwc16' | 'dhwc' | 'dhwc8' | 'cdhw32'

/** The type and the memory layouts that an input or output of a plan may have. */
export interface IOFormat {
  /**
   * The tensor's type, by ITensor::setType: TensorRT 10, weakly typed networks. Elsewhere it can only say what the
   * model has already.
   */
  readonly dtype?: TensorRTDType | undefined
  /** The layouts that TensorRT may choose from; all unless given. ITensor::setAllowedFormats. */
  readonly formats?: readonly TensorFormatName[] | undefined
}

/**
 * A source of kernels.
 * @see https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/c-api/namespacenvinfer1.html TacticSource
 */
export type TacticSource = 'cublas' | 'cublasLt' | 'cudnn' | 'edgeMaskConvolutions' | 'jitConvolutions'
/** A feature of TensorRT that is not on by default yet; the number at the end is the version that brought it. */
export type PreviewFeature =
  'profileSharing0806' | 'aliasedPluginIO1003' | 'runtimeActivationResize1010' | 'multiDeviceRuntime1016'
/** How much a plan tells of its layers: their names, all details (precisions, tactics, shapes), or nothing. */
export type ProfilingVerbosity = 'layerNames' | 'detailed' | 'none'
/** The GPUs that a plan runs on: those of the same model, Ampere and later, or those of the same compute capability. */
export type HardwareCompatibility = 'none' | 'ampere+' | 'sameComputeCapability'
/** The system that a plan runs on: that of the build, or Windows on x86-64. */
export type RuntimePlatform = 'same' | 'windows-amd64'

/**
 * What a plan was built with, as TensorRT's builder configuration and network reported it, by the options' names. A
 * setting that the TensorRT version does not have is not there.
 */
export interface BuildSettings {
  /** The most bytes of device memory that the temporary data of a layer may take. */
  readonly workspace: number
  /** The most bytes of device memory that the search for kernels may take. */
  readonly tacticDram: number
  /** The most bytes of shared memory that a kernel may take. */
  readonly tacticSharedMemory: number
  /** 0 (fastest build) to 5 (longest search). */
  readonly optimizationLevel: number
  /** How often each kernel was timed. */
  readonly averageTiming: number
  /** The most streams that layers may run on beside the engine's own; -1: TensorRT decides. */
  readonly auxiliaryStreams: number
  /** How many kernels are timed for a layer; -1: TensorRT decides. */
  readonly maxTactics?: number | undefined
  /** Whether FP32 layers may use TensorFloat-32. */
  readonly tf32: boolean
  /** Whether layers may use kernels for weights of 2:4 sparsity. */
  readonly sparsity: boolean
  /** Whether NaN and infinity are kept through all layers. */
  readonly strictNans?: boolean | undefined
  /** Whether TensorRT reported the memory that the build took. */
  readonly monitorMemory?: boolean | undefined
  /** Whether a row's result is the same at each place in a batch. */
  readonly distributiveIndependence?: boolean | undefined
  /** Whether equal layers were timed each by itself. */
  readonly disableTimingCache: boolean
  /** Whether compiled kernels go into the timing cache. */
  readonly compilationCache: boolean
  /** Whether later versions of TensorRT load the plan. */
  readonly versionCompatible: boolean
  /** Whether the plan, a version-compatible one, has no lean runtime in it. */
  readonly excludeLeanRuntime: boolean
  /** Whether refittable weights were left out of the plan. */
  readonly stripWeights: boolean
  /** How much the plan tells of its layers. */
  readonly profilingVerbosity: ProfilingVerbosity
  /** The GPUs that the plan runs on. */
  readonly hardwareCompatibility?: HardwareCompatibility | undefined
  /** The system that the plan runs on. */
  readonly runtimePlatform?: RuntimePlatform | undefined
  /**
   * Which weights can be replaced: none (`false`), all (`true`), all with the same values again, or those that were
   * marked.
   */
  readonly refit: boolean | 'identical' | 'individual'
  /**
   * Of a weakly typed network: the precisions that its flags allow. Of a strongly typed one: those that the network
   * has.
   */
  readonly precisionConstraints?: 'obey' | 'prefer' | undefined
  /** The sources of kernels that the build used. */
  readonly tacticSources: readonly TacticSource[]
  /** The preview features that were on. */
  readonly previewFeatures: readonly PreviewFeature[]
  /** The compute capabilities that the plan has kernels for (TensorRT-RTX only). */
  readonly computeCapabilities?: readonly string[] | undefined
  /** The paths of the plugin libraries that are in the plan. */
  readonly pluginsToSerialize: readonly string[]
  /** Whether InstanceNormalization is TensorRT's own layer rather than a plugin. */
  readonly nativeInstanceNorm?: boolean | undefined
  /** Weakly typed: those that the flags allow. Strongly typed: those that the network has. */
  readonly precision: readonly Precision[]
  /** Whether the types are the model's: TensorRT chooses no other. */
  readonly stronglyTyped: boolean
  /**
   * Present where the ranges of INT8 were not measured, because `placeholderRanges` asked for that: outputs mean
   * nothing.
   */
  readonly placeholderRanges?: true | undefined
  /** The types and layouts of inputs that were asked for, by name. */
  readonly inputFormats: Readonly<Record<string, Required<IOFormat>>>
  /** The types and layouts of outputs that were asked for, by name. */
  readonly outputFormats: Readonly<Record<string, Required<IOFormat>>>
  /** The types of layers that were asked for, by the layer's whole name. */
  readonly layerPrecisions: Readonly<Record<string, TensorRTDType>>
  /** The types of layers' outputs that were asked for, by the layer's whole name. */
  readonly layerOutputTypes: Readonly<Record<string, readonly TensorRTDType[]>>
}
