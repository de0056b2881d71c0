import type { BuildProgress } from '../building/in-process.js'
import type { Shapes } from '../building/shapes.js'
import type { EngineCacheOptions } from '../cache/options.js'
import type { ModelSource } from '../base/source.js'
import type { CpuEngineOptions } from './cpu-options.js'
import type { DeclaredTypes, TensorTypes } from './declaration.js'
import type { EngineBuilderOptions } from './opening.js'

/**
 * How requests that come close together are merged into one batch. Every input and output needs a dynamic dimension 0.
 */
export interface BatchingOptions {
  /** The most rows that a batch may have. */
  readonly maxBatch: number
  /** How long a request may wait for others, in milliseconds; default 0: a batch leaves as soon as a lane is free. */
  readonly maxDelayMs?: number | undefined
  /**
   * Batch sizes, in rows, at which a batch leaves without waiting for more; default: none. A batch is made up when a
   * lane takes it: of the largest preferred size that the waiting requests, in their order, can form; the rest waits.
   * Where none can be formed, all that fit leave after `maxDelayMs`. The rows of one request are never split.
   */
  readonly preferred?: readonly number[] | undefined
  /**
   * Batch sizes, in rows, that a batch is filled up to, so that it meets a CUDA graph that was captured; `true`: the
   * powers of two, and `maxBatch`; default false.
   */
  readonly pad?: boolean | readonly number[] | undefined
  /**
   * Whether requests settle in the order in which they left the queue, though a later batch may end first on another
   * lane; default false.
   */
  readonly preserveOrder?: boolean | undefined
  /**
   * For tests: nothing leaves before so many requests wait at one time; from then on it has no effect. Closing the
   * engine ends it, too. Default: none. Triton's is TRITONSERVER_DELAY_SCHEDULER.
   */
  readonly holdUntil?: number | undefined
  /** The limits of each level that `priorities.policies` does not name; without `priorities` those of all requests. */
  readonly queue?: QueuePolicy | undefined
  /** Levels of priority; default: one. With `maxBatch: 1` requests have levels and do not merge. */
  readonly priorities?: Priorities | undefined
}

/**
 * What limits the requests of one level while they wait, as Triton's ModelQueuePolicy.
 * @see
 * https://docs.nvidia.com/deeplearning/triton-inference-server/user-guide/docs/user_guide/batcher.html#queue-policy
 */
export interface QueuePolicy {
  /**
   * The most requests of the level that may wait; default: no limit but {@link LaneOptions.maxQueue}. One more is
   * rejected with ERR_TRT_QUEUE_FULL.
   */
  readonly maxQueue?: number | undefined
  /**
   * How long a request may wait, in milliseconds, from its call until a lane takes it; the time that it runs does not
   * count. 0.001 is a microsecond, the least. Default: no limit. {@link InferOptions.queueTimeoutMs} may shorten it.
   */
  readonly queueTimeoutMs?: number | undefined
  /**
   * What becomes of a request that has waited so long; default `reject`.
   *
   * - `reject`: its call is rejected with ERR_TRT_QUEUE_TIMEOUT.
   * - `delay`: it goes behind all others of its level, has no queue timeout any more, and runs when its turn comes.
   */
  readonly onQueueTimeout?: 'reject' | 'delay' | undefined
}

/**
 * Levels of priority. Level 1 leaves the queue first, then 2, and so on; within a level requests leave in the order of
 * their calls. A batch may have requests of several levels. A level waits for as long as requests of those before it
 * keep all lanes busy: under such a load it may never run (starvation), as in Triton. A queue timeout bounds the wait.
 * @see
 * https://docs.nvidia.com/deeplearning/triton-inference-server/user-guide/docs/user_guide/batcher.html#priority-levels
 */
export interface Priorities {
  /** How many levels there are, 2 to 100. */
  readonly levels: number
  /** The level of a request that names none; default: the last, so that a request is urgent only where it says so. */
  readonly default?: number | undefined
  /** The limits of levels, by level: `{ 1: { maxQueue: 16 } }`; {@link BatchingOptions.queue} is that of the others. */
  readonly policies?: { readonly [level: number]: QueuePolicy } | undefined
}

/**
 * How an engine runs inferences, on a GPU and on the CPU. `profile`, `priority` and `cudaGraph` are TensorRT's: any
 * value but the default asks for TensorRT, see {@link EngineOptions.backend}.
 */
export interface LaneOptions {
  /**
   * How many inferences may compute at the same time, 1 to 64; default 1. Each lane is a thread: on a GPU with an
   * execution context and CUDA streams of its own, on the CPU with `threads` threads. All lanes share the weights.
   */
  readonly lanes?: number | undefined
  /** The number of the optimization profile; default `auto`: the one that fits the shapes best. */
  readonly profile?: 'auto' | number | undefined
  /** The priority of the CUDA streams; default `normal`. */
  readonly priority?: 'normal' | 'high' | undefined
  /**
   * Whether shapes that come again are captured as CUDA graphs; default `auto`, which like `true` captures them where
   * that is possible. TensorRT-RTX captures graphs itself, or not.
   */
  readonly cudaGraph?: 'auto' | boolean | undefined
  /** Merges requests into batches; default: each request runs by itself. */
  readonly batching?: BatchingOptions | undefined
  /** The most requests that may wait; default 4096. One more is rejected with ERR_TRT_QUEUE_FULL. */
  readonly maxQueue?: number | undefined
  /**
   * The most bytes that the inputs of waiting requests may have; default 256 MiB. Tensors of {@link Engine.allocate} do
   * not count. A request beyond it is rejected with ERR_TRT_QUEUE_FULL, and so is one that has more by itself.
   */
  readonly maxQueueBytes?: number | undefined
  /**
   * How a lane's thread waits for the GPU; on the CPU it has no effect.
   *
   * - `spin`: it polls, and keeps a core busy as long as anything runs.
   * - `block`: it sleeps; waking it takes some ten microseconds.
   * - `adaptive` (default): where the last inferences took less than half a millisecond it polls for twice as long as
   *   they took, on at most half of the cores and not at all where there are two or fewer; then it sleeps.
   *
   * @see https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EVENT.html
   */
  readonly wait?: 'spin' | 'block' | 'adaptive' | undefined
}

/** Options of {@link Engine.load} and `new Engine`. */
export interface EngineOptions extends LaneOptions, CpuEngineOptions {
  /**
   * What runs the model; default `auto`.
   *
   * - `tensorrt`: TensorRT, on a GPU.
   * - `cpu`: onnxruntime, on the CPU; for ONNX only.
   * - `auto`: for a plan TensorRT. For ONNX TensorRT where this machine can build and run with it, else the CPU. {@link
   *   Engine.backend} tells which, {@link Engine.backendReason} why.
   *
   * Some options ask for TensorRT: `tensorrt`, `device`, `memoryLimit`, `builder`, `weights`, `plugins`, `hostCode`,
   * `allowPlaceholderRanges` and `anyGpu`, and `profile`, `priority` and `cudaGraph` with any value but the default.
   * Where TensorRT cannot build and run here, `auto` with one of them is an error that says why; so is a $TENSORRT_PATH
   * from which nothing can be loaded. Beside `cpu` they are always an error. `threads` and `onnxruntime` are an error
   * beside `tensorrt` and for a plan; with `auto` they count where the CPU is taken.
   */
  readonly backend?: 'auto' | 'tensorrt' | 'cpu' | undefined
  /** The number of the GPU; default 0. */
  readonly device?: number | undefined
  /**
   * The path of a TensorRT library, or of the folder that has it; default: $TENSORRT_PATH, else the first that is
   * found.
   */
  readonly tensorrt?: string | URL | undefined
  /**
   * The most bytes of GPU memory that the engine may take, with its lanes and those of all engines that attach to it;
   * default: no limit. An inference that would need more is rejected with ERR_TRT_OUT_OF_MEMORY, whose message says how
   * much, and the engine goes on working. {@link Engine.memory} tells what it takes.
   */
  readonly memoryLimit?: number | undefined
  /**
   * For ONNX with dynamic inputs: the shapes to build for, by input: one optimization profile, or several. A plan has
   * its own. The CPU needs none; if they are given, an inference beyond them is refused there, too.
   */
  readonly shapes?: Shapes | readonly Shapes[] | undefined
  /**
   * For ONNX on TensorRT: how to build the plan. `device` and `tensorrt` are the engine's. With `stripWeights` the
   * weights are taken from the model when the plan is opened.
   */
  readonly builder?: EngineBuilderOptions | undefined
  /**
   * For ONNX on TensorRT: where the plan is kept, so that it is built once. Default `true`: the user's cache folder,
   * see {@link EngineCacheOptions.folder}; a text: another folder; an object: a folder and the most bytes in it. What
   * TensorRT-RTX compiles for this GPU is kept there, too. `false`: the plan is built each time.
   */
  readonly cache?: boolean | string | URL | EngineCacheOptions | undefined
  /**
   * For ONNX on TensorRT: called as the build goes on, on the thread of the caller. What it throws ends the loading.
   */
  readonly onProgress?: ((progress: BuildProgress) => void) | undefined
  /**
   * For a plan that was built with the option `stripWeights` (it has no weights) or `refit` (they are replaced): the
   * ONNX model that the weights are taken from, before anything runs.
   *
   * Without it a plan that has no weights is ERR_TRT_WEIGHTS, where that is known: TensorRT 10.14 and newer tell it;
   * before that a {@link Plan} of a builder and a plan's sidecar do, and a bare plan runs with no weights at all. The
   * weights of an engine that is loaded never change: load a new one.
   * @see
   * https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/c-api/classnvonnxparser_1_1_i_parser_refitter.html
   */
  readonly weights?: ModelSource | undefined
  /**
   * For a plan whose sidecar says that it was built for another GPU: `true` lets TensorRT decide whether it runs here,
   * as it does where it was built with a hardware compatibility that reaches so far. Default false: such a plan is
   * ERR_TRT_PLAN; another GPU model of the same compute capability only gives a process warning (code TRT_OTHER_GPU).
   * @see https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/c-api/namespacenvinfer1.html
   * HardwareCompatibilityLevel
   */
  readonly anyGpu?: boolean | undefined
  /**
   * The paths of the libraries that have the plugins of a plan; they export `getCreators()`. Each is loaded once, into
   * TensorRT's runtime for this GPU: its code runs in your process, and stays while any engine of that runtime does. A
   * model that is built here runs with `builder.plugins`, too.
   * @see https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/c-api/classnvinfer1_1_1_i_plugin_registry.html
   * loadLibrary
   */
  readonly plugins?: readonly (string | URL)[] | undefined
  /**
   * Whether a plan may run code that it has in it: the lean runtime of a version-compatible plan, and serialized
   * plugins. That is native code of the plan's maker, which runs in your process with all its rights: `true` only for
   * plans whose maker you trust. Default false: such a plan is ERR_TRT_PLAN.
   * @see https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/c-api/classnvinfer1_1_1_i_runtime.html
   * setEngineHostCodeAllowed
   */
  readonly hostCode?: boolean | undefined
  /**
   * `true` also opens a plan that was built with the option `placeholderRanges`: its times are real, its outputs mean
   * nothing. Default false: such a plan is ERR_TRT_PLACEHOLDER_RANGES.
   */
  readonly allowPlaceholderRanges?: boolean | undefined
  /** Aborts the loading, which is then rejected with the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

/** The options of an engine of which nothing is declared. */
export interface Undeclared {
  /** Not given. */
  readonly inputs?: undefined
  /** Not given. */
  readonly outputs?: undefined
}

/** The same for `new Engine`, where type arguments without a declaration are refused: nobody would check them. */
export type UndeclaredOptions<I extends TensorTypes, O extends TensorTypes> = string extends keyof I & keyof O
  ? [options?: EngineOptions & Undeclared]
  : [options: never]

/** The options of an engine with the data types of its inputs and outputs, by name. */
export type DeclaredOptions<I extends TensorTypes, O extends TensorTypes> = EngineOptions & DeclaredTypes<I, O>

/** Options of {@link Engine.attach}. */
export interface AttachOptions extends LaneOptions {
  /**
   * Whose queue and lanes run the inferences; default `own`.
   *
   * - `own`: a queue and lanes of this engine's own, as the other options say.
   * - `shared`: those of the owner, the engine that was loaded, so that requests of several threads fill one batch. An
   *   option about lanes or the queue beside it is ERR_TRT_INVALID_ARGUMENT, since they are as the owner made them.
   *   `maxQueue` and `maxQueueBytes` count what waits for all, and so do {@link Engine.stats} and {@link
   *   Engine.memory}. Queue and lanes live until the last engine that works with them is closed, the owner or another;
   *   after that attaching is ERR_TRT_TOKEN.
   */
  readonly queue?: 'own' | 'shared' | undefined
  /** Aborts the attaching, which is then rejected with the signal's reason. */
  readonly signal?: AbortSignal | undefined
}
