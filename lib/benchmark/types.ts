import type { TensorInfo } from '../backend/backend.js'
import type { EngineFacts } from '../backend/facts.js'
import type { Tensor, TensorRTDType } from '../tensor.js'

/** A phase of a benchmark, in this order; phases that were not asked for are left out. */
export type BenchmarkPhase = 'warm-up' | 'measure' | 'end-to-end' | 'javascript' | 'layers'

/** What {@link BenchmarkOptions.onProgress} is called with. */
export interface BenchmarkProgress {
  /** What the benchmark is doing. */
  readonly phase: BenchmarkPhase
  /** How long this phase has run, in milliseconds by the host's clock. */
  readonly elapsedMs: number
  /** How long this phase takes at least, in milliseconds; one that has to run a number of queries may take longer. */
  readonly totalMs: number
}

/** How an engine is measured; the defaults are those of trtexec 10. */
export interface BenchmarkOptions {
  /**
   * Tensors on the host, by the names of inputs. Inputs that are not given are random, as trtexec's are: floating-point
   * numbers from -1 to 1, signed integers from -128 to 127, unsigned ones from 0 to 255, booleans. They are the same in
   * each run, and repeat after the first 2^20 elements. An input that the CPU reads (a shape tensor) has the profile's
   * best values.
   */
  readonly inputs?: Readonly<Record<string, Tensor>> | undefined
  /**
   * The shapes of inputs without tensors, by name; default: the profile's best. A dynamic input with neither is
   * ERR_TRT_SHAPES_REQUIRED.
   */
  readonly shapes?: Readonly<Record<string, readonly number[]>> | undefined
  /** The number of the optimization profile; default 0. */
  readonly profile?: number | undefined
  /**
   * How many queries run side by side, 1 to 64; default 1. Each has an execution context and three CUDA streams of its
   * own (on the CPU: a lane).
   */
  readonly streams?: number | undefined
  /**
   * Whether each stream has a host thread of its own; default false: one thread serves all. On the CPU each stream
   * always has one.
   */
  readonly threads?: boolean | undefined
  /**
   * How many queries of a stream are under way at once; default 2: the copies of one overlap the computation of
   * another. 1 is trtexec's `--exposeDMA`.
   */
  readonly depth?: 1 | 2 | undefined
  /** Queries whose computation begins within so many milliseconds are not counted; default 200. */
  readonly warmUpMs?: number | undefined
  /**
   * It measures at least so many milliseconds, up to a day; default 3000. Of more than 2^20 queries (or as many as fit
   * into a quarter of Node's heap) a sample is kept: see {@link Benchmark.trace}.
   */
  readonly durationMs?: number | undefined
  /** It measures at least so many queries of each stream; default 10. */
  readonly iterations?: number | undefined
  /**
   * The computation of the first queries waits so many milliseconds for the host, so that it can enqueue ahead; default
   * 0.
   */
  readonly sleepMs?: number | undefined
  /** Between two queries, after the warm-up, the host does nothing for so many milliseconds; default 0. */
  readonly idleMs?: number | undefined
  /** Whether inputs are copied in and outputs copied out at each query; default true, and always false on the CPU. */
  readonly transfers?: boolean | undefined
  /**
   * Whether the computation is captured into a CUDA graph, which is then launched; default false. Where it cannot be
   * captured it runs without, and a warning says so.
   */
  readonly cudaGraph?: boolean | undefined
  /** Whether the host polls the GPU rather than sleep until it is done; default false. */
  readonly spinWait?: boolean | undefined
  /** Which percentiles are computed, each from 0 to 100; default 90, 95 and 99. */
  readonly percentiles?: readonly number[] | undefined
  /**
   * Whether it also measures how long one query takes that runs alone, from its inputs in pinned memory to its outputs
   * there; default true. After a warm-up of `warmUpMs` that takes a third of `durationMs`, and `iterations` queries at
   * least; so does `javascript`, and `layers` about as long.
   */
  readonly endToEnd?: boolean | undefined
  /** Whether it also measures {@link Engine.infer}, one call at a time; default true. Needs `endToEnd`. */
  readonly javascript?: boolean | undefined
  /**
   * Whether it also measures how long each layer takes, in a run of its own, as {@link Engine.layers} does; default
   * false. On TensorRT only.
   */
  readonly layers?: boolean | undefined
  /** Whether the result has the outputs of the last query of the first stream; default false. */
  readonly outputs?: boolean | undefined
  /** Rejects the benchmark at once; the query under way ends first. */
  readonly signal?: AbortSignal | undefined
  /** Called about ten times a second. What it throws ends the benchmark. */
  readonly onProgress?: ((progress: BenchmarkProgress) => void) | undefined
}

/** A summary of times, in milliseconds but for `cv`. */
export interface Summary {
  /** The shortest time. */
  readonly min: number
  /** The longest time. */
  readonly max: number
  /** The arithmetic mean. */
  readonly mean: number
  /** The median: of an even number of values the mean of the two in the middle. */
  readonly median: number
  /**
   * The coefficient of variation, in percent: the population's standard deviation by the mean; 0 where the mean is 0.
   */
  readonly cv: number
  /** Percentiles by nearest rank: the value that so many percent do not exceed, such as `{ '99': 1.25 }`. */
  readonly percentiles: Readonly<Record<string, number>>
}

/** A summary with the number of its values. */
export interface CountedSummary extends Summary {
  /** How many queries were measured. */
  readonly queries: number
}

/** The options that a benchmark ran with, each with its value; see {@link BenchmarkOptions}. */
export interface BenchmarkSettings {
  /** The optimization profile. */
  readonly profile: number
  /** Queries side by side. */
  readonly streams: number
  /** Whether each stream had a host thread of its own. */
  readonly threads: boolean
  /** Queries of a stream under way at once. */
  readonly depth: 1 | 2
  /** The warm-up, in milliseconds. */
  readonly warmUpMs: number
  /** The least duration, in milliseconds. */
  readonly durationMs: number
  /** The least number of queries of each stream. */
  readonly iterations: number
  /** How long the first queries waited for the host, in milliseconds. */
  readonly sleepMs: number
  /** The pause between two queries, in milliseconds. */
  readonly idleMs: number
  /** Whether inputs and outputs were copied. */
  readonly transfers: boolean
  /** Whether a CUDA graph was asked for. */
  readonly cudaGraph: boolean
  /** Whether the host polled the GPU. */
  readonly spinWait: boolean
  /** The percentiles that were computed. */
  readonly percentiles: readonly number[]
  /** Whether single queries were measured. */
  readonly endToEnd: boolean
  /** Whether {@link Engine.infer} was measured. */
  readonly javascript: boolean
  /** Whether layers were measured. */
  readonly layers: boolean
  /** The shapes of all inputs, by name. */
  readonly shapes: Readonly<Record<string, readonly number[]>>
}

/**
 * One query: milliseconds, by the names of trtexec's `--exportTimes`. Points in time count from the start of the
 * benchmark; those of enqueueing are by the host's clock, all others by the GPU's (on the CPU by the host's).
 */
export interface TraceRow {
  /** When the host began to enqueue. */
  readonly startEnqMs: number
  /** When the host had enqueued. */
  readonly endEnqMs: number
  /** When the copy of inputs began. */
  readonly startH2dMs: number
  /** When the copy of inputs ended. */
  readonly endH2dMs: number
  /** When the computation began. */
  readonly startComputeMs: number
  /** When the computation ended. */
  readonly endComputeMs: number
  /** When the copy of outputs began. */
  readonly startD2hMs: number
  /** When the copy of outputs ended. */
  readonly endD2hMs: number
  /** How long the copy of inputs took. */
  readonly h2dMs: number
  /** How long the computation took. */
  readonly computeMs: number
  /** How long the copy of outputs took. */
  readonly d2hMs: number
  /** The sum of `h2dMs`, `computeMs` and `d2hMs`. */
  readonly latencyMs: number
}

/** The type that a layer computes with, `unknown` where TensorRT does not tell. */
export type LayerPrecision = TensorRTDType | 'unknown'

/** A layer of a built engine, as the inspector tells of it. */
export interface EngineLayer {
  /** The layer's name: of a fused layer those of its parts. */
  readonly name: string
  /** TensorRT's name for the implementation, such as `CaskConvolution`; `unknown` where it does not tell. */
  readonly type: string
  /** The type of its first input, as NVIDIA's Engine Explorer has it; `unknown` where TensorRT does not tell. */
  readonly precision: LayerPrecision
}

/** How long a layer took, by TensorRT's profiler. */
export interface LayerTiming extends EngineLayer {
  /** The mean of the executions, in milliseconds. */
  readonly averageMs: number
  /** The median of the executions, in milliseconds. */
  readonly medianMs: number
  /** The share of the time of all layers, from 0 to 1. */
  readonly timeShare: number
}

/** How much of an engine computes in a precision. */
export interface PrecisionShare {
  /** The precision of these layers. */
  readonly precision: LayerPrecision
  /** How many layers there are. */
  readonly layers: number
  /** Their share of the time of all layers, from 0 to 1. */
  readonly timeShare: number
}

/** What a built engine is made of, and where its time goes. Plain data, frozen. */
export interface EngineLayers extends EngineFacts {
  /** How many layers the engine has. */
  readonly count: number
  /** The layers in the order in which they ran; those that TensorRT's profiler told no time of come last. */
  readonly layers: readonly LayerTiming[]
  /** How much computes in each precision; the one with most of the time first. */
  readonly precisions: readonly PrecisionShare[]
  /**
   * The time of all layers in an average execution, in milliseconds: one after the other, and with the profiler's own
   * cost.
   */
  readonly totalMs: number
  /** How many executions were timed. */
  readonly iterations: number
  /** The number of the optimization profile that it ran in. */
  readonly profile: number
  /** The shapes of the inputs that it ran at, by name. */
  readonly shapes: Readonly<Record<string, readonly number[]>>
  /** Why TensorRT does not tell all; absent where the plan was built with `profilingVerbosity: 'detailed'`. */
  readonly limited?: string | undefined
  /** What is not as expected: a precision that is absent, layers without a known precision. */
  readonly warnings: readonly string[]
}

/** Something about a benchmark that a reader has to know. */
export interface BenchmarkWarning {
  /** What it is, for programs. */
  readonly code:
    | 'enqueue-bound'
    | 'copy-in-bound'
    | 'copy-out-bound'
    | 'unstable'
    | 'several-streams'
    | 'no-graph'
    /** Of `trt bench`: flags of a build were given, and the CPU backend, which builds nothing, was measured. */
    | 'not-built'
  /** The same for people. */
  readonly message: string
}

/** How fast a model is. Plain data, frozen; all but `outputs` keeps its meaning as JSON. */
export interface Benchmark {
  /** What this is. */
  readonly kind: 'benchmark'
  /** The library that ran the model, and its version. */
  readonly runtime: string
  /** What ran the model. */
  readonly backend: 'tensorrt' | 'cpu'
  /** The device that ran the model. */
  readonly device: {
    /** The number of the GPU, -1 for the CPU. */
    readonly index: number
    /** The name of the GPU. */
    readonly name?: string | undefined
  }
  /** The path of the model's file, where it has one. */
  readonly model?: string | undefined
  /** What it was measured with. */
  readonly settings: BenchmarkSettings
  /** The warm-up: queries before the first whose computation began after `ms`, which are not counted. */
  readonly warmUp: {
    /** How many queries it had. */
    readonly queries: number
    /** How long it took, in milliseconds. */
    readonly ms: number
  }
  /** How many queries were counted. */
  readonly queries: number
  /** From the begin of the first counted query to the end of the last one, in milliseconds. */
  readonly wallMs: number
  /** Queries per second of `wallMs`, whatever their batch. */
  readonly throughput: number
  /** The sum of `copyIn`, `compute` and `copyOut`, query by query: what a query takes without waiting for others. */
  readonly latency: Summary
  /** How long the host takes to enqueue the computation; 0 on the CPU, where there is no queue. */
  readonly enqueue: Summary
  /** How long inputs take to the device; 0 without transfers. */
  readonly copyIn: Summary
  /** How long the computation takes. */
  readonly compute: Summary
  /** How long outputs take from the device; 0 without transfers. */
  readonly copyOut: Summary
  /** One query at a time, by the host's clock: copy in, enqueue, copy out, wait. */
  readonly endToEnd?: CountedSummary | undefined
  /** One query at a time by {@link Engine.infer}. */
  readonly javascript?:
    | {
        /** From the call to the result, by the host's clock. */
        readonly infer: CountedSummary
        /**
         * How much longer that takes than `endToEnd`, by the medians, in milliseconds. Absent if it cannot be measured:
         * if `addsRangeMs` is not wholly above 0, because the times vary by more than the difference.
         */
        readonly addsMs?: number | undefined
        /** The lowest and the highest difference between the medians of consecutive parts of both, in milliseconds. */
        readonly addsRangeMs: readonly [low: number, high: number]
      }
    | undefined
  /** The layers and their times, as {@link Engine.layers} tells them; where `layers` was asked for. */
  readonly layers?: EngineLayers | undefined
  /** The outputs of the last query of the first stream, where `outputs` was asked for. */
  readonly outputs?: Readonly<Record<string, Tensor>> | undefined
  /** What makes the figures doubtful. */
  readonly warnings: readonly BenchmarkWarning[]
  /**
   * Each counted query, in the order in which they began. Of more than 2^20 (or as many as fit into a quarter of Node's
   * heap) so many of them: the fastest, the slowest, and others by chance, each as likely as any other of its stream.
   * `queries`, `wallMs`, `throughput` and the extremes of `latency` are of all; a percentile P of the sample of n is
   * one from P - e to P + e of all, where e is 2 √(P (100 - P) / n): at 2^20, 0.1 for the median and 0.02 for 99.
   */
  readonly trace: readonly TraceRow[]
}

/** What can be measured: an {@link Engine}. */
export interface Benchmarkable {
  /** The inputs of the model, by name. */
  readonly inputs: Readonly<Record<string, Pick<TensorInfo, 'shape' | 'profiles'>>>
  /** Measures the model; see {@link Engine.benchmark}. */
  benchmark(options?: BenchmarkOptions): Promise<Benchmark>
}
