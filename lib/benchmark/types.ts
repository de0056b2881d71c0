import type { TensorInfo } from '../backend/backend.js'
import type { Tensor } from '../tensor.js'

/** What a benchmark is doing. */
export type BenchmarkPhase = 'warm-up' | 'measure' | 'end-to-end' | 'javascript' | 'layers'

export interface BenchmarkProgress {
  readonly phase: BenchmarkPhase
  /** Of this phase; both by the host's clock. `totalMs` is what it takes at least: a phase that is to run a number of queries may take longer. */
  readonly elapsedMs: number
  readonly totalMs: number
}

/** How an engine is measured; the defaults are those of trtexec 10. */
export interface BenchmarkOptions {
  /**
   * Tensors on the host, by name. Inputs that are not given are random as trtexec's are: floating-point numbers from -1 to 1, signed integers from -128 to 127, unsigned
   * ones from 0 to 255, booleans; the same in each run, and again and again after the first 2^20. What the CPU reads (a shape tensor) has the profile's best values.
   */
  readonly inputs?: Readonly<Record<string, Tensor>> | undefined
  /** Of inputs without tensors, by name; unless given the profile's best. Dynamic without either: ERR_TRT_SHAPES_REQUIRED. */
  readonly shapes?: Readonly<Record<string, readonly number[]>> | undefined
  /** The number of the optimization profile that it runs in; 0 unless given. */
  readonly profile?: number | undefined
  /** So many queries run side by side, each in an execution context with three CUDA streams of its own (on the CPU: each on a lane); 1 unless given, at most 64. */
  readonly streams?: number | undefined
  /** Whether each stream has a host thread of its own; else one thread serves all. On the CPU each always has one. */
  readonly threads?: boolean | undefined
  /** How many queries of a stream are under way at once. 2 unless given: copies of one overlap the computation of another. 1 is trtexec's `--exposeDMA`. */
  readonly depth?: 1 | 2 | undefined
  /** Queries whose computation begins within so many milliseconds are not counted; 200 unless given. */
  readonly warmUpMs?: number | undefined
  /**
   * It measures at least so long, 3000 unless given, and at least so many queries of each stream, 10 unless given. Each query is kept, 330 bytes of it in Node's heap: more than
   * fit there are ERR_TRT_OUT_OF_MEMORY.
   */
  readonly durationMs?: number | undefined
  readonly iterations?: number | undefined
  /** The computation of the first queries waits so long for the host, so that it can enqueue ahead; 0 unless given. */
  readonly sleepMs?: number | undefined
  /** Between two queries, after the warm-up, the host does nothing for so long; 0 unless given. */
  readonly idleMs?: number | undefined
  /** Whether inputs are copied in and outputs copied out at each query; true unless given, and always false on the CPU. */
  readonly transfers?: boolean | undefined
  /** Whether the computation is captured into a CUDA graph and that is launched; false unless given. Where it cannot be captured it runs without, and a warning says so. */
  readonly cudaGraph?: boolean | undefined
  /** Whether the host asks all the time whether the GPU is done, rather than sleep; false unless given. */
  readonly spinWait?: boolean | undefined
  /** Which percentiles are told, each from 0 to 100; 90, 95 and 99 unless given. */
  readonly percentiles?: readonly number[] | undefined
  /**
   * Whether it measures too how long one query takes that is alone, from its inputs in pinned memory to its outputs there; true unless given. After a warm-up of `warmUpMs` it
   * takes a third of `durationMs`, and `iterations` queries at least; so does `javascript`, and `layers` about as long.
   */
  readonly endToEnd?: boolean | undefined
  /** Whether it measures too what {@link Engine.infer} takes, one call at a time; true unless given. It needs `endToEnd`. */
  readonly javascript?: boolean | undefined
  /** Whether it measures too how long each layer takes, in a run of its own, as `engine.audit()` does; false unless given. On TensorRT only. */
  readonly layers?: boolean | undefined
  /** Whether the result has the outputs of the last query of the first stream; false unless given. */
  readonly outputs?: boolean | undefined
  /** Rejects the benchmark at once; the query under way ends first. */
  readonly signal?: AbortSignal | undefined
  /** Called about ten times a second. What it throws ends the benchmark. */
  readonly onProgress?: ((progress: BenchmarkProgress) => void) | undefined
}

/** Milliseconds, but for `cv`. */
export interface Summary {
  readonly min: number
  readonly max: number
  readonly mean: number
  /** Of an even number of values the mean of the two in the middle. */
  readonly median: number
  /** The coefficient of variation in percent: the population's standard deviation by the mean; 0 where the mean is. */
  readonly cv: number
  /** By nearest rank: the value that so many percent do not exceed, `{ '99': 1.25 }`. */
  readonly percentiles: Readonly<Record<string, number>>
}

/** A summary that has a number of its own of values. */
export interface CountedSummary extends Summary {
  readonly queries: number
}

/** What was measured with: the options, each with its value. */
export interface BenchmarkSettings {
  readonly profile: number
  readonly streams: number
  readonly threads: boolean
  readonly depth: 1 | 2
  readonly warmUpMs: number
  readonly durationMs: number
  readonly iterations: number
  readonly sleepMs: number
  readonly idleMs: number
  readonly transfers: boolean
  readonly cudaGraph: boolean
  readonly spinWait: boolean
  readonly percentiles: readonly number[]
  readonly endToEnd: boolean
  readonly javascript: boolean
  readonly layers: boolean
  /** Of all inputs. */
  readonly shapes: Readonly<Record<string, readonly number[]>>
}

/** One query: milliseconds since the start, by names that trtexec gives them. */
export interface TraceRow {
  /** When the host began and ended to enqueue, by its clock. */
  readonly startEnqMs: number
  readonly endEnqMs: number
  /** The others by the GPU's clock (on the CPU by the host's). */
  readonly startH2dMs: number
  readonly endH2dMs: number
  readonly startComputeMs: number
  readonly endComputeMs: number
  readonly startD2hMs: number
  readonly endD2hMs: number
  readonly h2dMs: number
  readonly computeMs: number
  readonly d2hMs: number
  /** The sum of these three. */
  readonly latencyMs: number
}

/** Over all executions, by TensorRT's profiler. */
export interface LayerTiming {
  readonly name: string
  readonly timeMs: number
  readonly averageMs: number
  readonly medianMs: number
  /** Of the time of all layers, from 0 to 100. */
  readonly percentage: number
}

export interface BenchmarkWarning {
  readonly code: 'enqueue-bound' | 'copy-in-bound' | 'copy-out-bound' | 'unstable' | 'several-streams' | 'no-graph'
  readonly message: string
}

/** How fast a model is. Plain data, frozen; all but `outputs` keeps its meaning as JSON. */
export interface Benchmark {
  readonly kind: 'benchmark'
  /** The library and its version. */
  readonly runtime: string
  readonly backend: 'tensorrt' | 'cpu'
  /** The GPU's number, -1 for the CPU. */
  readonly device: { readonly index: number; readonly name?: string }
  /** The model's file, where it has one. */
  readonly model?: string
  readonly settings: BenchmarkSettings
  /** Queries that are not counted: those before the first whose computation began after `ms`. */
  readonly warmUp: { readonly queries: number; readonly ms: number }
  readonly queries: number
  /** From the first counted query's begin to the last one's end. */
  readonly wallMs: number
  /** Queries per second of `wallMs`, whatever their batch. */
  readonly throughput: number
  /** The sum of the three below, query by query: what a query takes on its way without waiting for others. */
  readonly latency: Summary
  /** What the host takes to enqueue the computation; 0 on the CPU, where there is no queue. */
  readonly enqueue: Summary
  /** What inputs take to the device, the computation, outputs from the device; copies are 0 without transfers. */
  readonly copyIn: Summary
  readonly compute: Summary
  readonly copyOut: Summary
  /** One query at a time, by the host's clock: copy in, enqueue, copy out, wait. */
  readonly endToEnd?: CountedSummary
  /** The same by {@link Engine.infer}, and how much longer that takes, by the medians. */
  readonly javascript?: { readonly infer: CountedSummary; readonly addsMs: number }
  /** In the order in which they ran. */
  readonly layers?: readonly LayerTiming[]
  /** How many executions the layers were timed in. */
  readonly layerRuns?: number
  /** With `layers`: what TensorRT's inspector says of the engine, as it says it. */
  readonly layerInfo?: string
  readonly outputs?: Readonly<Record<string, Tensor>>
  readonly warnings: readonly BenchmarkWarning[]
  /** Each counted query, in the order in which they began. */
  readonly trace: readonly TraceRow[]
}

/** What can be measured: an {@link Engine}. */
export interface Benchmarkable {
  readonly inputs: Readonly<Record<string, Pick<TensorInfo, 'shape' | 'profiles'>>>
  benchmark(options?: BenchmarkOptions): Promise<Benchmark>
}
