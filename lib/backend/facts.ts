import type { TensorRTDType } from '../tensor.js'

/** full: builder and runtime; lean, dispatch: runtimes for version-compatible plans; rtx: TensorRT-RTX. */
export type LibraryKind = 'full' | 'lean' | 'dispatch' | 'rtx'

/**
 * How a library was found: at the path that was given, at that of the variable TENSORRT_PATH, by the dynamic loader, in
 * a usual folder, in a Python wheel's folder.
 */
export type FoundBy = 'option' | 'TENSORRT_PATH' | 'loader' | 'folder' | 'python'

/** A GPU as the CUDA driver describes it. */
export interface Gpu {
  /** Its number, which the option `device` takes. */
  readonly index: number
  /** Its name, as the driver tells it, such as `NVIDIA L4`. */
  readonly name: string
  /** Its compute capability, such as `8.6`. */
  readonly computeCapability: string
  /** Its memory, in bytes. */
  readonly memory: number
  /** How many streaming multiprocessors it has. */
  readonly multiprocessors: number
  /** Whether it shares the memory of the CPU. */
  readonly integrated: boolean
}

/** What TensorRT tells of an engine as it is. */
export interface EngineFacts {
  /** What TensorRT's inspector says of the engine, as it says it: JSON; empty where it says nothing. */
  readonly document: string
}

/** An input or output of a network. */
export interface NetworkTensor {
  /** Its name in the model. */
  readonly name: string
  /** Its data type; `unknown` where this package does not know it. */
  readonly dtype: TensorRTDType | 'unknown'
  /** Its dimensions; -1 where one is dynamic. */
  readonly shape: readonly number[]
  /** The names of the dimensions, one for each, empty where it has none; an empty array where the model names none. */
  readonly dimensionNames: readonly string[]
}

/** What is known of a network once a library has parsed it. */
export interface ParsedFacts {
  /** The library that parsed the model, for people: `TensorRT-RTX 1.7.1`. */
  readonly library: string
  /** Which kind of TensorRT library that is. */
  readonly kind: LibraryKind
  /** The version of the library. */
  readonly version: string
  /** The inputs of the network, in the model's order. */
  readonly inputs: readonly NetworkTensor[]
  /** The outputs of the network, in the model's order. */
  readonly outputs: readonly NetworkTensor[]
  /** Layers of the parsed network, before TensorRT fused any. */
  readonly layers: number
  /** How long parsing took, in milliseconds. */
  readonly parseMs: number
}

/**
 * What was counted of one output of a model over all inferences. It depends neither on their order nor on how many ran
 * at once.
 */
export interface Observed {
  readonly name: string
  /** In the inference that came to its end first. */
  readonly shape: readonly number[]
  /** Elements that are finite. */
  readonly count: number
  /** NaN and infinities, which are counted in nothing else. */
  readonly nonFinite: number
  /** Of the finite ones; 0 where there is none. */
  readonly min: number
  readonly max: number
  /**
   * Bin i of `counts` has the |x| from i · width to below (i + 1) · width. The smallest power of two for which all fit
   * into 4096 bins; 0 where all elements are zero: they are in bin 0 then too.
   */
  readonly width: number
  /** How many elements each bin has, up to the last one that has any. */
  readonly counts: Float64Array
}

/** What INT8's ranges were taken from, where a calibrator gave them. */
export interface CalibrationFacts {
  /** The calibrator of TensorRT that was used. */
  readonly algorithm: 'entropy' | 'minmax'
  /** How many batches TensorRT took; 0 where the ranges are those of an earlier calibration. */
  readonly batches: number
  /** Whether TensorRT took the text that `readCache()` gave. */
  readonly fromCache: boolean
}

/** What a library tells of a build, once there is a plan. */
export interface BuiltFacts {
  /** How long the build took, in milliseconds. */
  readonly buildMs: number
  /** Where a calibrator was given. */
  readonly calibration?: CalibrationFacts | undefined
  /** The timing cache, where the build used one. */
  readonly timingCache?:
    | {
        /** The size of its file before the build; 0: there was none. */
        readonly bytesBefore: number
        /** The size of its file after the build. */
        readonly bytesAfter: number
      }
    | undefined
  /** The GPU that it was built for; absent where TensorRT-RTX built without one. */
  readonly gpu?: Pick<Gpu, 'name' | 'computeCapability'> | undefined
}
