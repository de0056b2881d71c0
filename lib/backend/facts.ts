import type { TensorRTDType } from '../tensor.js'

/** full: builder and runtime; lean, dispatch: runtimes for version-compatible plans; rtx: TensorRT-RTX. */
export type LibraryKind = 'full' | 'lean' | 'dispatch' | 'rtx'

/** How a library was found: at the path that was given, by the dynamic loader, in a usual folder, in a Python wheel's folder. */
export type FoundBy = 'option' | 'loader' | 'folder' | 'python'

/** A GPU as the CUDA driver describes it. */
export interface Gpu {
  /** Its number, which the option `device` takes. */
  readonly index: number
  readonly name: string
  /** Such as "8.6". */
  readonly computeCapability: string
  /** Bytes. */
  readonly memory: number
  readonly multiprocessors: number
  /** Whether it shares the memory of the CPU. */
  readonly integrated: boolean
}

/** An input or output of a network. */
export interface NetworkTensor {
  readonly name: string
  /** `unknown`: one that this package does not know yet. */
  readonly dtype: TensorRTDType | 'unknown'
  /** -1 where a dimension is dynamic. */
  readonly shape: readonly number[]
  /** One for each dimension, empty where it has none; empty where the model names none. */
  readonly dimensionNames: readonly string[]
}

/** What is known of a network once a library has parsed it. */
export interface ParsedFacts {
  /** The library that did it, for people: "TensorRT-RTX 1.7.1". */
  readonly library: string
  readonly kind: LibraryKind
  readonly version: string
  /** The network's inputs and outputs, in the model's order. */
  readonly inputs: readonly NetworkTensor[]
  readonly outputs: readonly NetworkTensor[]
  /** Layers of the parsed network, before TensorRT fused any. */
  readonly layers: number
  readonly parseMs: number
}
