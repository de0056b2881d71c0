import type { TensorRTDType } from '../tensor.js'

export type Precision = 'fp32' | 'fp16' | 'bf16' | 'int8' | 'fp8' | 'int4'

/** A memory layout of an input or output, by trtexec's names: `chw` is row-major; a number says how many channels are packed together. */
export type TensorFormatName = 'chw' | 'chw2' | 'chw4' | 'chw16' | 'chw32' | 'hwc' | 'hwc8' | 'hwc16' | 'dhwc' | 'dhwc8' | 'cdhw32'

export interface TensorFormat {
  /** The tensor's type, by ITensor::setType: TensorRT 10, weakly typed networks. Elsewhere it can only say what the model has already. */
  readonly dtype?: TensorRTDType
  /** The layouts that TensorRT may choose from; all unless given. ITensor::setAllowedFormats. */
  readonly formats?: readonly TensorFormatName[]
}

export type TacticSource = 'cublas' | 'cublasLt' | 'cudnn' | 'edgeMaskConvolutions' | 'jitConvolutions'
export type PreviewFeature = 'profileSharing0806' | 'aliasedPluginIO1003' | 'runtimeActivationResize1010' | 'multiDeviceRuntime1016'
export type ProfilingVerbosity = 'layerNames' | 'detailed' | 'none'
export type HardwareCompatibility = 'none' | 'ampere+' | 'sameComputeCapability'
export type RuntimePlatform = 'same' | 'windows-amd64'

/**
 * What a plan was built with, as TensorRT's builder configuration and network reported it, by the options' names. A setting that the TensorRT version does not have is not there.
 */
export interface BuildSettings {
  /** Bytes. */
  readonly workspace: number
  /** Bytes. */
  readonly tacticDram: number
  /** Bytes. */
  readonly tacticSharedMemory: number
  readonly optimizationLevel: number
  readonly averageTiming: number
  /** -1: TensorRT decides. */
  readonly auxiliaryStreams: number
  /** -1: TensorRT decides. */
  readonly maxTactics?: number
  readonly tf32: boolean
  readonly sparsity: boolean
  readonly strictNans?: boolean
  readonly monitorMemory?: boolean
  readonly distributiveIndependence?: boolean
  readonly disableTimingCache: boolean
  readonly compilationCache: boolean
  readonly versionCompatible: boolean
  readonly excludeLeanRuntime: boolean
  readonly stripWeights: boolean
  readonly profilingVerbosity: ProfilingVerbosity
  readonly hardwareCompatibility?: HardwareCompatibility
  readonly runtimePlatform?: RuntimePlatform
  readonly refit: boolean | 'identical' | 'individual'
  readonly precisionConstraints?: 'obey' | 'prefer'
  readonly tacticSources: readonly TacticSource[]
  readonly previewFeatures: readonly PreviewFeature[]
  readonly computeCapabilities?: readonly string[]
  readonly pluginsToSerialize: readonly string[]
  readonly nativeInstanceNorm?: boolean
  /** Weakly typed: those that the flags allow. Strongly typed: those that the network has. */
  readonly precision: readonly Precision[]
  readonly stronglyTyped: boolean
  /** Ranges of INT8 that nobody measured; only where they were asked for. */
  readonly placeholderRanges?: true
  /** Those that were asked for, and likewise below. */
  readonly inputFormats: Readonly<Record<string, Required<TensorFormat>>>
  readonly outputFormats: Readonly<Record<string, Required<TensorFormat>>>
  /** By the layer's whole name. */
  readonly layerPrecisions: Readonly<Record<string, TensorRTDType>>
  readonly layerOutputTypes: Readonly<Record<string, readonly TensorRTDType[]>>
}
