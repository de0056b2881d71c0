import { checkedList, isText } from '../base/checks.js'
import { type Check, is } from '../base/option-table.js'
import { expected } from '../errors.js'
import type { TensorRTDType } from '../tensor.js'

export const precisions = ['fp32', 'fp16', 'bf16', 'int8', 'fp8', 'int4'] as const
/**
 * A precision that a plan may be built with, by the names that Polygraphy and trtexec have.
 * @useDeclaredType
 */
export type Precision = (typeof precisions)[number]

export const tensorFormats = [
  'chw',
  'chw2',
  'chw4',
  'chw16',
  'chw32',
  'hwc',
  'hwc8',
  'hwc16',
  'dhwc',
  'dhwc8',
  'cdhw32',
] as const
/**
 * A memory layout of an input or output, by trtexec's names: `chw` is row-major; a number says how many channels are
 * packed together.
 * @useDeclaredType
 */
export type TensorFormatName = (typeof tensorFormats)[number]

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

const tacticSources = ['cublas', 'cublasLt', 'cudnn', 'edgeMaskConvolutions', 'jitConvolutions'] as const
/**
 * A source of kernels.
 * @see https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/c-api/namespacenvinfer1.html TacticSource
 * @useDeclaredType
 */
export type TacticSource = (typeof tacticSources)[number]
const previewFeatures = [
  'profileSharing0806',
  'aliasedPluginIO1003',
  'runtimeActivationResize1010',
  'multiDeviceRuntime1016',
] as const
/**
 * A feature of TensorRT that is not on by default yet; the number at the end is the version that brought it.
 * @useDeclaredType
 */
export type PreviewFeature = (typeof previewFeatures)[number]
const verbosities = ['layerNames', 'detailed', 'none'] as const
/**
 * How much a plan tells of its layers: their names, all details (precisions, tactics, shapes), or nothing.
 * @useDeclaredType
 */
export type ProfilingVerbosity = (typeof verbosities)[number]
const compatibilities = ['none', 'ampere+', 'sameComputeCapability'] as const
/**
 * The GPUs that a plan runs on: those of the same model, Ampere and later, or those of the same compute capability.
 * @useDeclaredType
 */
export type HardwareCompatibility = (typeof compatibilities)[number]
const platforms = ['same', 'windows-amd64'] as const
/**
 * The system that a plan runs on: that of the build, or Windows on x86-64.
 * @useDeclaredType
 */
export type RuntimePlatform = (typeof platforms)[number]

/**
 * What {@link Builder} takes, and a plan's {@link BuildSettings} tell, as one and the same: a row each in {@link
 * sharedSettings}. Native code knows them by the same names (native/building/configure.cc).
 */
export interface SharedSettings {
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
   * What happens where a layer cannot have the type that was asked for: the build fails (`obey`), or the layer has
   * another (`prefer`). TensorRT 10 only. BuilderFlag kOBEY_PRECISION_CONSTRAINTS, kPREFER_PRECISION_CONSTRAINTS
   */
  readonly precisionConstraints?: 'obey' | 'prefer' | undefined
  /** 0 (fastest build) to 5 (longest search); TensorRT's default is 3. setBuilderOptimizationLevel */
  readonly optimizationLevel?: number | undefined
  /** How often each kernel is timed. setAvgTimingIterations */
  readonly averageTiming?: number | undefined
  /** How many kernels are timed for a layer; -1, in settings: TensorRT decides. setMaxNbTactics (10.4) */
  readonly maxTactics?: number | undefined
  /**
   * The most CUDA streams that layers may run on besides the engine's own; 0 takes the least memory, and -1, in
   * settings, says that TensorRT decides. setMaxAuxStreams
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
  /** Whether refittable weights are left out of the plan. BuilderFlag::kSTRIP_PLAN */
  readonly stripWeights?: boolean | undefined
  /** Paths of plugin libraries that go into the plan. setPluginsToSerialize; needs `versionCompatible`. */
  readonly pluginsToSerialize?: readonly string[] | undefined
  /**
   * Whether InstanceNormalization becomes TensorRT's own layers and not a plugin; TensorRT's default is true.
   * OnnxParserFlag::kNATIVE_INSTANCENORM (10.14)
   */
  readonly nativeInstanceNorm?: boolean | undefined
}

/** What each of them may be. */
export const sharedSettings = {
  stronglyTyped: is.boolean,
  tf32: is.boolean,
  sparsity: is.boolean,
  strictNans: is.boolean,
  distributiveIndependence: is.boolean,
  precisionConstraints: is.choice('obey', 'prefer'),
  optimizationLevel: is.whole(0, 5),
  averageTiming: is.whole(1, 1e6),
  maxTactics: is.whole(1, 1e6),
  auxiliaryStreams: is.whole(0, 1e3),
  tacticSources: is.several(...tacticSources),
  previewFeatures: is.several(...previewFeatures),
  disableTimingCache: is.boolean,
  compilationCache: is.boolean,
  monitorMemory: is.boolean,
  profilingVerbosity: is.choice(...verbosities),
  versionCompatible: is.boolean,
  excludeLeanRuntime: is.boolean,
  hardwareCompatibility: is.choice(...compatibilities),
  runtimePlatform: is.choice(...platforms),
  stripWeights: is.boolean,
  pluginsToSerialize: checkedTexts,
  nativeInstanceNorm: is.boolean,
} satisfies { readonly [Name in keyof Required<SharedSettings>]: Check<SharedSettings[Name]> }

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedTexts(value: unknown, name: string): string[] {
  const texts = checkedList(value, name, 'an array of texts', isText)
  if (texts.length === 0) throw expected('an array of one or more texts', name, value)
  return texts
}

/** What not every version of TensorRT, or not every build, tells. */
type Sometimes =
  | 'strictNans'
  | 'distributiveIndependence'
  | 'monitorMemory'
  | 'precisionConstraints'
  | 'maxTactics'
  | 'hardwareCompatibility'
  | 'runtimePlatform'
  | 'nativeInstanceNorm'

type Told<Settings> = { readonly [Name in keyof Settings]-?: NonNullable<Settings[Name]> }

/**
 * What a plan was built with, as TensorRT's builder configuration and network reported it, by the options' names. A
 * setting that the TensorRT version does not have is not there.
 */
export interface BuildSettings extends Pick<SharedSettings, Sometimes>, Told<Omit<SharedSettings, Sometimes>> {
  /** The most bytes of device memory that the temporary data of a layer may take. */
  readonly workspace: number
  /** The most bytes of device memory that the search for kernels may take. */
  readonly tacticDram: number
  /** The most bytes of shared memory that a kernel may take. */
  readonly tacticSharedMemory: number
  /**
   * Which weights can be replaced: none (`false`), all (`true`), all with the same values again, or those that were
   * marked.
   */
  readonly refit: boolean | 'identical' | 'individual'
  /** The compute capabilities that the plan has kernels for (TensorRT-RTX only). */
  readonly computeCapabilities?: readonly string[] | undefined
  /** Weakly typed: those that the flags allow. Strongly typed: those that the network has. */
  readonly precision: readonly Precision[]
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
