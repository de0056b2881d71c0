import { availableParallelism } from 'node:os'
import type { FreeDimensions } from '../onnx/free-dimensions.js'
import type { NativeProfile, NativeSessionOptions } from './native-types.js'

/** How far onnxruntime changes a graph before it runs it, from not at all to all that it can do. */
export const optimizations = ['disabled', 'basic', 'extended', 'layout', 'all'] as const
export type Optimization = (typeof optimizations)[number]

/** The options of an engine that are about the CPU alone, checked; both ways to run ONNX there take them. */
export interface CpuOptions {
  /** Of one inference; {@link threadsFor} where there is none. */
  readonly threads?: number | undefined
  /** Of onnxruntime's library, or of the folder that has it. */
  readonly library?: string | undefined
  readonly optimization: Optimization
  readonly deterministic: boolean
  /** onnxruntime's own names and values; {@link sessionConfig} has the rest. */
  readonly config: Readonly<Record<string, string>>
  /** Absolute paths of libraries with custom operators. */
  readonly customOps?: readonly string[] | undefined
}

/** What a model is opened with on the CPU. */
export interface OpenCpuOptions {
  readonly cpu: CpuOptions
  readonly lanes: NativeSessionOptions
  /** The shapes that inferences are held to; none: any that the model takes. */
  readonly profiles: readonly NativeProfile[]
  /** Sizes of dimensions that the model leaves open; it has all of them. */
  readonly freeDimensions?: FreeDimensions | undefined
  /**
   * The names of the engine's options that were given: `lanes` does not tell a default from the same value that was
   * asked for.
   */
  readonly given: readonly string[]
}

/**
 * How many threads one inference has: all lanes together as many as there are cores, unless the user says otherwise.
 */
export function threadsFor({ threads }: CpuOptions, lanes: number): number {
  return threads ?? Math.max(1, Math.floor(availableParallelism() / lanes))
}

/**
 * The entries of onnxruntime's session configuration: threads that have nothing to do sleep, unless the user says
 * otherwise.
 */
export function sessionConfig({ config }: CpuOptions): Readonly<Record<string, string>> {
  return { 'session.intra_op.allow_spinning': '0', ...config }
}
