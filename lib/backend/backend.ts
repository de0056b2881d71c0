import type { Cut } from '../base/cancellation.js'
import type { AnyTensor, DeviceMemory } from '../device-tensor.js'
import type { DType, Tensor } from '../tensor.js'
import type { EngineFacts } from './facts.js'

/** The shapes that an optimization profile allows for one input. */
export interface ProfileShapes {
  /** The smallest size of each dimension. */
  readonly min: readonly number[]
  /** The sizes that TensorRT optimizes for. */
  readonly opt: readonly number[]
  /** The largest size of each dimension. */
  readonly max: readonly number[]
}

/** The same with the input's name. */
export interface NamedShapes extends ProfileShapes {
  /** The input's name. */
  readonly name: string
}

/** What a model says of one of its inputs or outputs. */
export interface TensorInfo<D extends DType = DType> {
  /** Its name in the model. */
  readonly name: string
  /** Its data type. */
  readonly dtype: D
  /**
   * Its dimensions, the outermost first; -1 where a size is known only at run time. None: a scalar; on the CPU it may
   * also be that the model says no shape at all, which onnxruntime does not tell apart, and any shape is taken.
   */
  readonly shape: readonly number[]
  /**
   * The names of dynamic dimensions, where the model names them: `['batch', undefined, 'height', 'width']`; an entry
   * for each dimension.
   */
  readonly dimensionNames: readonly (string | undefined)[]
  /**
   * One entry per optimization profile; empty for outputs, for static inputs, and on the CPU unless the engine was
   * given `shapes`.
   */
  readonly profiles: readonly ProfileShapes[]
  /**
   * Of an input whose values decide shapes (a shape tensor): the values that each optimization profile takes, in the
   * order of its elements. Empty for all others, where
   * TensorRT does not tell them, and on the CPU unless the engine was given `shapes` with them.
   * @see https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/python-api/infer/Core/Engine.html
   * get_tensor_profile_values
   */
  readonly profileValues: readonly ProfileShapes[]
  /** TensorRT's description of the memory layout, `linear` for row-major. */
  readonly format: string
}

/** The same as a backend tells it, which need not know names of dimensions. */
export type ModelTensor = Omit<TensorInfo, 'dimensionNames' | 'profileValues'> &
  Partial<Pick<TensorInfo, 'dimensionNames'>> & {
    /** Of an input that the CPU reads: the values that each optimization profile takes, as far as they are known. */
    readonly values?: readonly ProfileShapes[] | undefined
  }

/** An input or output of a model that no Tensor can hold. */
export interface UnsupportedTensor {
  /** Its name in the model. */
  readonly name: string
  /** Whether it goes into the model or comes out of it. */
  readonly use: 'input' | 'output'
  /**
   * What it is: the name of a data type, such as `complex64`, or `sequence`, `map`, `sparse tensor`, `optional` or
   * `opaque`; `no tensor` where that is not known.
   */
  readonly type: string
}

export interface RunOptions {
  /** Once it happens, nobody waits for the result any more: work that has not begun is given up. */
  readonly cut?: Cut | undefined
  /** The level, at most as many as the backend has; the queue's default unless given. */
  readonly priority?: number | undefined
  /** How long it may wait for a lane; the level's unless given. */
  readonly queueTimeoutMs?: number | undefined
  /** It waits for as long as it takes, whatever its level allows: a run that warms up, which is nobody's request. */
  readonly unlimited?: boolean | undefined
  /** Texts of outputs come as bytes, for someone who hands them on; on the addon alone. */
  readonly packed?: boolean | undefined
  /** Which outputs are wanted, by position; all unless given. */
  readonly outputs?: readonly boolean[] | undefined
  /** Tensors for inputs that may be left out, by position among these; none unless given. */
  readonly optionalInputs?: readonly (AnyTensor | undefined)[] | undefined
  /** Tensors that outputs go to, by position. */
  readonly into?: readonly (AnyTensor | undefined)[] | undefined
  /** Which outputs stay on the device, by position; none unless given. */
  readonly keep?: readonly boolean[] | undefined
}

/** The outputs by position; nothing where one was not wanted. */
export type Results = readonly (AnyTensor | undefined)[]

/** Milliseconds, over the last thousand or so. */
export interface Percentiles {
  /** The median, in milliseconds. */
  readonly p50: number
  /** 95 % took at most so long, in milliseconds. */
  readonly p95: number
  /** 99 % took at most so long, in milliseconds. */
  readonly p99: number
  /** How many were measured since the engine was loaded. */
  readonly count: number
}

/** What an engine has done since it was loaded; with a shared queue what all have done that share it. */
export interface EngineStats {
  /** Requests in the queue. */
  readonly waiting: number
  /** Requests on a lane. */
  readonly inFlight: number
  /** Requests that gave a result. */
  readonly completed: number
  /** Requests that failed. */
  readonly failed: number
  /** Requests that an abort or a timeout took out of the queue or, on the CPU, ended while they ran. */
  readonly cancelled: number
  /** Batches that were enqueued; with the option `batching` fewer than requests. */
  readonly batches: number
  /**
   * Bytes of inputs that the host copied. Tensors made by {@link Engine.allocate} are not copied, and not counted,
   * unless a batch on the CPU has to put them beside others.
   */
  readonly bytesCopied: number
  /** From the call until a lane took it, by the host's clock, in milliseconds. */
  readonly queueMs: Percentiles
  /**
   * Copying inputs to the GPU, in milliseconds, by CUDA events, of a sample of the batches. Nothing is copied on the
   * CPU.
   */
  readonly copyInMs: Percentiles
  /** The computation, in milliseconds: on a GPU by CUDA events, of a sample of the batches; on the CPU of each. */
  readonly computeMs: Percentiles
  /** Copying outputs from the GPU, in milliseconds, by CUDA events, of a sample of the batches. */
  readonly copyOutMs: Percentiles
}

/** Requests that gave no result, each counted once; see {@link EngineCounters}. */
export interface FailureCounts {
  /** Refused on arrival: ERR_TRT_QUEUE_FULL. */
  readonly rejected: number
  /** Waited too long for a lane: ERR_TRT_QUEUE_TIMEOUT. */
  readonly queueTimeout: number
  /** Aborted, or beyond `timeoutMs`, while they waited. */
  readonly cancelledWaiting: number
  /** Aborted, or beyond `timeoutMs`, on a lane. */
  readonly cancelledRunning: number
  /** Failed for any other reason, such as ERR_TRT_EXECUTION. */
  readonly failed: number
}

/** Where the time of the batches of one size went; see {@link EngineCounters}. */
export interface BatchSizeCounters {
  /** Rows of such a batch, without those that only pad it. */
  readonly rows: number
  /** Batches of that size that ran to their end. */
  readonly executions: number
  /** Requests that gave a result, in all of them. */
  readonly requests: number
  /** Nanoseconds from the call until a lane took it, a sum over requests. */
  readonly queueNs: number
  /** Nanoseconds of bringing inputs to the device, a sum over executions. */
  readonly inputNs: number
  /** Nanoseconds of the computation, a sum over executions. */
  readonly computeNs: number
  /** Nanoseconds of bringing outputs to the requests, a sum over executions. */
  readonly outputNs: number
}

/** What CUDA events have timed, of a sample of the batches; all 0 on the CPU. See {@link EngineCounters}. */
export interface SampledCounters {
  /** Batches that were sampled. */
  readonly executions: number
  /** Nanoseconds of copying inputs to the GPU, a sum over these executions. */
  readonly copyInNs: number
  /** Nanoseconds of the computation, a sum over these executions. */
  readonly computeNs: number
  /** Nanoseconds of copying outputs from the GPU, a sum over these executions. */
  readonly copyOutNs: number
}

/**
 * Counters that only grow: of every request and every batch since the engine was loaded, so that the difference of two
 * reads is what happened between them ({@link EngineStats} has percentiles, of about the last thousand). Nanoseconds
 * are by the host's clock, but for `sampled`. Where a queue is shared, they are of all engines that share it, each
 * request counted once.
 *
 * `requests` and all of `failures` add up to the requests that came to their end.
 */
export interface EngineCounters {
  /** Requests that gave a result. */
  readonly requests: number
  /** Rows of these requests: sizes of dimension 0, with the option `batching`; else 1 each. */
  readonly rows: number
  /** Batches that ran to their end; with the option `batching` fewer than requests. */
  readonly executions: number
  /** Requests that gave no result, by kind. */
  readonly failures: FailureCounts
  /** Nanoseconds from the call until a lane took it, a sum over requests that gave a result. */
  readonly queueNs: number
  /**
   * Nanoseconds of bringing inputs to the device, a sum over requests: each has all of its batch's time, as in Triton's
   * `inference_stats`.
   */
  readonly inputNs: number
  /** Nanoseconds of the computation, a sum over requests in the same way. */
  readonly computeNs: number
  /** Nanoseconds of bringing outputs to the requests, a sum over requests in the same way. */
  readonly outputNs: number
  /** The same by rows of a batch, ascending; sums over executions, as in Triton's `batch_stats`. */
  readonly batchSizes: readonly BatchSizeCounters[]
  /** By CUDA events, of the batches that were sampled. */
  readonly sampled: SampledCounters
}

/** Bytes. */
export interface EngineMemory {
  /**
   * Bytes on the device for this model: inputs, outputs and scratch memory of all its lanes, those of engines that are
   * attached to it too, its weights, and what else TensorRT allocates for it. Captured CUDA graphs and loaded kernels,
   * which the driver keeps, are not counted. 0 on the CPU.
   */
  readonly device: number
  /**
   * Bytes of pinned memory in use, by all engines of the device in this process; on the CPU ordinary memory, by all
   * engines there.
   */
  readonly pinned: number
  /** Bytes of such memory that are kept for later use. */
  readonly pinnedKept: number
  /**
   * Bytes of the inputs of waiting requests, of this engine and of all that share its queue, in whatever memory; see
   * the option `maxQueueBytes`.
   */
  readonly queued: number
  /** Bytes of tensors that stay on the device ({@link DeviceTensor}), of all engines of the device in this process. */
  readonly tensors: number
  /** Bytes of such memory that are kept for later use. */
  readonly tensorsKept: number
  /** Bytes of ordinary memory through which small results come, once per thread. */
  readonly host: number
}

/** What an engine tells of itself. */
export interface EngineReport {
  readonly stats: EngineStats
  readonly counters: EngineCounters
  readonly memory: EngineMemory
}

/** How layers are timed. */
export interface LayersRun {
  readonly profile: number
  readonly iterations: number
  /** In the order of the backend's inputs; unless given zeros, at the profile's best shapes. */
  readonly inputs?: readonly Tensor[] | undefined
}

/** What the inspector and the profiler tell of an engine's layers. */
export interface LayerFacts extends EngineFacts {
  readonly layers: number
  /** How much the plan tells: `detailed`, `layer_names_only`, `none`, or `unknown`. */
  readonly verbosity: string
  /** The inputs' shapes, at which it ran. */
  readonly shapes: readonly { readonly name: string; readonly shape: readonly number[] }[]
  /** In the order in which the layers ran; names may come twice. */
  readonly times: readonly { readonly name: string; readonly averageMs: number; readonly medianMs: number }[]
}

/** How a benchmark runs; complete, and checked. */
export interface BenchmarkRun {
  /** In the order of the backend's inputs, each with a shape that fits. */
  readonly inputs: readonly Tensor[]
  readonly profile: number
  readonly streams: number
  readonly threads: boolean
  readonly depth: number
  readonly warmUpMs: number
  readonly durationMs: number
  readonly iterations: number
  /** Of all streams: the times of so many are kept, of more a sample. */
  readonly mostQueries: number
  readonly sleepMs: number
  readonly idleMs: number
  readonly transfers: boolean
  readonly cudaGraph: boolean
  readonly spinWait: boolean
  readonly endToEnd: boolean
  readonly outputs: boolean
}

/** What a benchmark measured. */
export interface BenchmarkFacts {
  /** The library and its version. */
  readonly runtime: string
  /** The GPU's name; empty for the CPU. */
  readonly device: string
  /**
   * Of each query of all streams, in no order, eight numbers of milliseconds: the begin and end of its enqueue by the
   * host's clock, then begin and duration of copy in, computation and copy out; begins are since the start. Of more
   * than `mostQueries` a sample without the warm-up: the fastest, the slowest, and others by chance.
   */
  readonly queries: Float64Array
  /** How many queries there were, and how many of them after the warm-up. */
  readonly seen: number
  readonly counted: number
  /** When the first copy in of those began and the last copy out ended, in milliseconds since the start. */
  readonly beginMs: number
  readonly endMs: number
  /** Milliseconds of each query that was alone; of more than `mostQueries` a sample. */
  readonly endToEnd: Float64Array
  /** How many queries were alone. */
  readonly alone: number
  readonly outputs: readonly { readonly shape: readonly number[]; readonly data: ArrayBuffer }[]
  /** Why there was no CUDA graph, where one was asked for. */
  readonly graphRefused: string
}

/** Told about ten times a second while a benchmark runs: where it is, and how far by the clock that ends that part. */
export type BenchmarkListener = (part: 'queries' | 'end-to-end', elapsedMs: number) => void

/** What native code does for an engine, by the names that it has there (native/node/engine.cc). */
export interface EngineCalls {
  /** A copy on its device; `data` is read before this returns, unless it is memory of allocate(). */
  upload(data: NodeJS.TypedArray): Promise<DeviceMemory>
  allocate(bytes: number): ArrayBuffer
  /**
   * Whether an inference uses any byte of that memory of allocate(); then the callback is called once, when none does
   * any more. Of a closed engine, too.
   */
  onReleased(memory: Uint8Array, callback: () => void): boolean
  /** Of a closed engine what it came to. */
  stats(): EngineStats
  /** Of a closed engine what it came to. */
  counters(): EngineCounters
  /** Of a closed engine 0 of what was its own. */
  memory(): EngineMemory
  /**
   * Until all is there that the lanes have had made in the background, contexts for CUDA graphs: what runs then
   * captures them. How many of these no request has met yet.
   */
  prepared(): Promise<number>
  /** The name by which other threads of the process find the engine. */
  share(): string
  /** The same for its own lanes and queue, whichever of the engines on its weights was shared first. */
  shareQueue(): string
}

/**
 * What runs a model: the seam between {@link Engine} and the addon or onnxruntime-node. A backend gets inputs that are
 * checked already (all there, in the order of `inputs`, right data type, shape that fits), and has copied their data
 * when `run` returns.
 */
export interface Backend {
  readonly kind: 'tensorrt' | 'cpu'
  /** A line for people: the library and its version, and the device. */
  readonly description: string
  /** Why it was taken, where `auto` chose what nobody had asked for. */
  readonly reason?: string | undefined
  readonly inputs: readonly ModelTensor[]
  readonly outputs: readonly ModelTensor[]
  /** Inputs that a call may leave out; none unless given. */
  readonly optionalInputs?: readonly ModelTensor[] | undefined
  /** What the model's exporter left in it; nothing where that is not known. */
  readonly customMetadata?: Readonly<Record<string, string>> | undefined
  /** Inputs and outputs of the model that are not among them, since no Tensor can hold them. */
  readonly unsupported?: readonly UnsupportedTensor[] | undefined
  /** `finish` makes the promise's value. */
  run<R>(inputs: readonly AnyTensor[], options: RunOptions | undefined, finish: (results: Results) => R): Promise<R>
  /** Lets running work end, then frees everything. Twice without harm. */
  close(): Promise<void>

  /**
   * Where it has none of what follows that not only a GPU could have: why, as the end of a sentence that begins with
   * the name of what is lacking.
   */
  readonly lacks?: string | undefined

  // what not every backend has
  runSync?(inputs: readonly AnyTensor[], options: RunOptions | undefined): Results
  /**
   * The number of the GPU, -1 for the CPU, on which tensors may stay; nothing where none can: then it is given no such
   * inputs and options.
   */
  readonly device?: number | undefined
  /** What only the addon's engines can do, called as it is there. */
  readonly calls?: EngineCalls | undefined
  /** Runs the engine layer by layer, beside its lanes; once cut short it ends before the next execution. */
  layers?(options: LayersRun, cut: Cut | undefined): Promise<LayerFacts>
  /**
   * Measures the engine, beside its lanes; once cut short it ends before the next query. What the listener throws ends
   * it, too.
   */
  benchmark?(run: BenchmarkRun, cut: Cut | undefined, listener: BenchmarkListener | undefined): Promise<BenchmarkFacts>
  /** The precisions that the plan was built for, where that is known. */
  readonly precisions?: readonly string[] | undefined
  /** How many inferences it takes to keep all lanes busy, as far as the queue has room for them. */
  readonly concurrency?: number | undefined
  /** The most bytes that the inputs of waiting requests may have. */
  readonly maxQueueBytes?: number | undefined
  /** How many batches the lanes have memory for. */
  readonly batches?: number | undefined
  /** Levels of priority of its queue; nothing where it has no queue of the addon's. */
  readonly levels?: number | undefined
  /** The most rows of a batch; nothing where requests are not merged. */
  readonly maxBatch?: number | undefined
}
