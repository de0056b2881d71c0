import type { Backend, EngineCounters, EngineMemory, EngineStats, UnsupportedTensor } from './backend/backend.js'
import { shapeText } from './base/dims.js'
import { Cut, within } from './base/cancellation.js'
import { isIterable } from './base/iterables.js'
import { checkedCall, is, option, type OptionTable, signalOption } from './base/option-table.js'
import { type Abortable, checkedAbort } from './base/options.js'
import { shown, shownAs, type Shown } from './base/shown.js'
import { restacked, awaitRestacked } from './base/stacks.js'
import { type AnyTensor, type DeviceTensor, deviceTensor } from './device-tensor.js'
import { checkAttached, copyInput, type CallInput, readInput, releaseInput } from './engine/arguments.js'
import {
  type BareInput,
  type BareInputForOne,
  type BareOutput,
  type Declaration,
  type DeclaredTypes,
  type InputRecord,
  type LocatedTensor,
  type OutputLocation,
  type SelectedOutputs,
  type TensorInfos,
  type TensorName,
  type TensorRecord,
  type TensorTypes,
} from './engine/declaration.js'
import type { Benchmark, BenchmarkOptions, EngineLayers } from './benchmark/types.js'
import { checkedLayersOptions, engineLayers, type EngineLayersOptions } from './engine/layers.js'
import { isMeasurable, runBenchmark } from './engine/benchmark.js'
import { refuseUnusable, run, runSync } from './engine/calls.js'
import { callsOf, lacking, type Loaded, Loading, onlyOnGpu } from './engine/loading.js'
import { allocatedBytes, allocatedTensor, bytesOf } from './engine/memory.js'
import { checkedBenchmarkOptions } from './engine/benchmark-options.js'
import { type AnyTensorRecord } from './engine/forms.js'
import {
  type CallOptions,
  type InferOptions,
  type InferSyncOptions,
  readInferOptions,
  readWarmUpOptions,
} from './engine/infer-options.js'
import { attacherOf, type EngineToken, Opener, openerOf } from './engine/opener.js'
import type { AttachOptions, DeclaredOptions, EngineOptions, Undeclared, UndeclaredOptions } from './engine/options.js'
import type { EngineSource } from './engine/source.js'
import { inOrder } from './engine/stream.js'
import { warmUp, type WarmupOptions, warmupRows } from './engine/warmup.js'
import { expected } from './errors.js'
import { type DType, expectedTensor, Tensor, typedDataOf } from './tensor.js'

/** The options of a call but those that a cut takes the place of. */
type CutOptions = Omit<InferOptions, 'signal' | 'timeoutMs' | 'location'> & {
  readonly location?: 'host' | 'device' | Readonly<Record<string, 'host' | 'device'>> | undefined
}

/**
 * The same as {@link Engine.infer} for servers of this package, which know themselves when a client has gone or has
 * waited too long: once the cut happens the promise is rejected with its reason, and the request leaves the queue or
 * its result is dropped. No AbortSignal, listener or timer is made for it. The engine has to be ready. One cut is for
 * one request; it may happen after that has ended. Texts of outputs stay bytes: bytesOfTensor gives them, nobody else.
 */
export let runWithCut: (
  engine: Engine,
  inputs: AnyTensor | AnyTensorRecord,
  options: CutOptions | undefined,
  cut: Cut,
) => Promise<AnyTensor | AnyTensorRecord>

/**
 * The same for a run that warms up: it is nobody's request, so that neither `maxQueue` nor `queueTimeoutMs` of a level
 * ends it.
 */
export let warmUpWithCut: typeof runWithCut

/**
 * A token as of {@link Engine.share} for the queue of this engine, where `share` gives that of whoever was shared first
 * on the same weights: with `queue: 'shared'` requests of other threads fill batches of this one. For this package.
 * @throws TensorRTError as {@link Engine.share}
 */
export let shareQueue: (engine: Engine) => EngineToken

/**
 * The model of an engine that is ready, for runs whose inputs were read and checked elsewhere in this package.
 * @throws TensorRTError ERR_TRT_NOT_READY, ERR_TRT_CLOSED, and what {@link Engine.ready} was rejected with
 */
export let openOf: (engine: Engine) => Loaded

/** @inline */
type AnyIterable<T> = AsyncIterable<T> | Iterable<T>

/** Options of {@link Engine.stream}. */
export interface StreamOptions<O extends TensorTypes = TensorTypes, L extends OutputLocation<O> | undefined = 'host'> {
  /** How many inferences are under way at once; default: as many as keep all lanes busy. */
  readonly inFlight?: number | undefined
  /** Ends the iteration with the signal's reason; what is under way is cancelled. */
  readonly signal?: AbortSignal | undefined
  /** The names of the outputs that are wanted, as {@link InferOptions.outputs}. */
  readonly outputs?: readonly TensorName<O>[] | undefined
  /** Where outputs are left, as {@link InferOptions.location}. */
  readonly location?: L | undefined
  /** The level of its requests, as {@link InferOptions.priority}. */
  readonly priority?: number | undefined
  /** How long each may wait for a lane, in milliseconds, as {@link InferOptions.queueTimeoutMs}. */
  readonly queueTimeoutMs?: number | undefined
}

/** Of what is each call's own, {@link Engine.infer} says what is wrong. */
const streamRows = {
  inFlight: option(is.whole(1)),
  signal: signalOption,
  outputs: option((outputs) => outputs),
  location: option((location) => location),
  priority: option((priority) => priority),
  queueTimeoutMs: option((timeout) => timeout),
} satisfies OptionTable<StreamOptions>

/**
 * What {@link Engine.released} tells, without a promise for each call: whether an inference uses the memory. Then the
 * callback is called once, when none does any more. For this package.
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT
 */
export let onReleased: (engine: Engine, memory: Tensor | ArrayBufferView, callback: () => void) => boolean

/**
 * A model that is loaded and ready to run. Neither loading nor running it blocks the event loop. An engine that has
 * nothing to do does not keep the process alive; loading, and each {@link infer} under way, do.
 * @example
 * ```ts
 * import { Engine, Tensor } from 'node-tensorrt'
 *
 * const engine = await Engine.load('model.onnx', { shapes: { images: [1, 3, 224, 224] } })
 * try {
 *   const { scores } = await engine.infer({ images: Tensor.zeros('float32', [1, 3, 224, 224]) })
 *   console.log(engine.backend, scores?.shape)
 * } finally {
 *   await engine.close()
 * }
 * ```
 */
export class Engine<
  I extends TensorTypes = TensorTypes,
  O extends TensorTypes = TensorTypes,
> implements AsyncDisposable {
  /**
   * Fulfilled when the engine is loaded. Rejected when it cannot be, with the error that each {@link infer} then gives,
   * too; nobody has to handle it here.
   *
   * The codes: ERR_TRT_FILE, ERR_TRT_MODEL_FORMAT, ERR_TRT_CLOSED; for ONNX on the CPU ERR_TRT_NO_ONNXRUNTIME,
   * ERR_TRT_ONNX_PARSE, ERR_TRT_DTYPE; for TensorRT those of finding it (ERR_TRT_NO_LIBRARY, ERR_TRT_NO_DRIVER,
   * ERR_TRT_NO_GPU), those of {@link Builder.build}, and ERR_TRT_PLAN. Or it is the reason of the signal.
   */
  readonly ready: Promise<void>
  readonly #loading: Loading

  /**
   * Begins to load a model: the path or `file:` URL of ONNX or of a TensorRT plan, the bytes of one, or a {@link Plan}.
   * {@link Engine.load} does the same and waits until it is {@link ready}.
   *
   * Bytes are copied here: a gigabyte takes some tenths of a second of this thread. A path is read on other threads. A
   * plan that is truncated, damaged, or made for another TensorRT, GPU or system is refused before TensorRT sees it, as
   * far as its header and its sidecar tell.
   * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT
   */
  constructor(source: EngineSource, ...options: UndeclaredOptions<I, O>)
  /**
   * With the data types of inputs and outputs, by name, which are compared with the model when it is loaded:
   * ERR_TRT_DECLARATION where it has others.
   */
  constructor(source: EngineSource, options: DeclaredOptions<I, O>)
  constructor(source: EngineSource | Opener, options?: EngineOptions & Declaration) {
    this.#loading = new Loading(source instanceof Opener ? source : openerOf(source, options))
    this.ready = this.#loading.ready
  }

  /**
   * Loads a model, and waits until it is ready to run.
   * @param source the path or `file:` URL of ONNX or of a TensorRT plan, the bytes of one, or a {@link Plan}
   * @returns the engine; without a declaration its inputs and outputs may be of any data type
   * @throws TensorRTError (as a rejection) as {@link ready}
   * @example
   * ```ts
   * import { Engine } from 'node-tensorrt'
   *
   * const engine = await Engine.load('model.onnx', {
   *   shapes: { images: { min: [1, 3, 224, 224], opt: [8, 3, 224, 224], max: [32, 3, 224, 224] } },
   *   lanes: 2,
   * })
   * console.log(engine.description, engine.inputs)
   * await engine.close()
   * ```
   */
  static async load(source: EngineSource, options?: EngineOptions & Undeclared): Promise<Engine>
  /**
   * With the data types of inputs and outputs, by name. They are compared with the model (ERR_TRT_DECLARATION where it
   * has others), and TypeScript knows the types of the results.
   * @throws TensorRTError (as a rejection) as {@link ready}
   * @example
   * ```ts
   * import { Engine, Tensor } from 'node-tensorrt'
   *
   * const engine = await Engine.load('model.onnx', { inputs: { images: 'float32' }, outputs: { scores: 'float32' } })
   * const { scores } = await engine.infer({ images: Tensor.zeros('float32', [1, 3, 224, 224]) })
   * const numbers: Float32Array = scores.data
   * console.log(numbers.length)
   * await engine.close()
   * ```
   */
  static async load<I extends TensorTypes = TensorTypes, O extends TensorTypes = TensorTypes>(
    source: EngineSource,
    options: DeclaredOptions<I, O>,
  ): Promise<Engine<I, O>>
  static async load(source: EngineSource, options?: EngineOptions & Declaration): Promise<Engine> {
    const engine = new Engine(source, options as EngineOptions)
    await awaitRestacked(engine.ready)
    return engine
  }

  /**
   * An engine on the weights of another one, which {@link share} gave a token for, in any thread of the process. The
   * weights are in memory once. It has lanes and a queue of its own, or with `queue: 'shared'` those of the owner, so
   * that requests of several threads fill one batch. It goes on when the others close.
   * @throws TensorRTError (as a rejection) ERR_TRT_INVALID_ARGUMENT, ERR_TRT_TOKEN, and what making lanes throws, as
   * {@link load}
   */
  static async attach(token: EngineToken, options?: AttachOptions & Undeclared): Promise<Engine>
  /**
   * With the data types of inputs and outputs, by name.
   * @throws TensorRTError (as a rejection) as without them; ERR_TRT_DECLARATION
   */
  static async attach<I extends TensorTypes = TensorTypes, O extends TensorTypes = TensorTypes>(
    token: EngineToken,
    options: AttachOptions & DeclaredTypes<I, O>,
  ): Promise<Engine<I, O>>
  static async attach(token: EngineToken, options?: AttachOptions & Declaration): Promise<Engine> {
    const opener = attacherOf(token, options)
    const engine = new Engine(opener as unknown as EngineSource)
    await awaitRestacked(engine.ready)
    return engine
  }

  /**
   * The inputs of the model, by name; frozen.
   * @throws TensorRTError ERR_TRT_NOT_READY before {@link ready}, and what `ready` was rejected with
   */
  get inputs(): TensorInfos<I> {
    return this.#loading.known().inputs as TensorInfos<I>
  }

  /**
   * The outputs of the model, by name; frozen.
   * @throws TensorRTError as {@link inputs}
   */
  get outputs(): TensorInfos<O> {
    return this.#loading.known().outputs as TensorInfos<O>
  }

  /**
   * The inputs that {@link infer} may leave out, by name; frozen. The model has a value for each, which a tensor that
   * is given takes the place of, for that call: initializers that are inputs, too, of a model of IR version 4 or later.
   * They are not among {@link inputs}. With the option `batching`, whose requests run together, none can be given
   * (ERR_TRT_UNSUPPORTED). Empty on TensorRT, which makes constants of them, and on the CPU where the addon does not
   * load: there a tensor for one is ERR_TRT_UNKNOWN_INPUT.
   * @throws TensorRTError as {@link inputs}
   */
  get optionalInputs(): TensorInfos {
    return this.#loading.known().optionalInputs
  }

  /**
   * What the exporter left in the model (`metadata_props` of ONNX), by its keys; frozen, without a prototype.
   * Ultralytics writes the names of classes there. Of a plan, which has none, it is empty: of an engine that was built
   * from ONNX when it was loaded, or came from the cache then, it is the model's.
   * @throws TensorRTError as {@link inputs}
   * @example
   * ```ts
   * import { Engine } from 'node-tensorrt'
   *
   * const engine = await Engine.load('model.onnx')
   * console.log(engine.customMetadata['names'], engine.customMetadata['stride'])
   * await engine.close()
   * ```
   */
  get customMetadata(): Readonly<Record<string, string>> {
    return this.#loading.known().customMetadata
  }

  /**
   * The names of the inputs, in the model's order, which {@link inputs} does not keep for names like "7".
   * @throws TensorRTError as {@link inputs}
   */
  get inputNames(): readonly TensorName<I>[] {
    return this.#loading.known().inputNames
  }

  /**
   * The names of the outputs, in the model's order.
   * @throws TensorRTError as {@link inputs}
   */
  get outputNames(): readonly TensorName<O>[] {
    return this.#loading.known().outputNames
  }

  /**
   * Outputs that no Tensor can hold, such as sequences; they are not among {@link outputs}. A call that needs one is
   * refused. A model with such an input is refused when it is loaded, and so is one that has no other output.
   * @throws TensorRTError as {@link inputs}
   */
  get unsupported(): readonly UnsupportedTensor[] {
    return this.#loading.known().unsupported
  }

  /**
   * What runs the model: `tensorrt` or `cpu`.
   * @throws TensorRTError as {@link inputs}
   */
  get backend(): Backend['kind'] {
    return this.#loading.known().backend.kind
  }

  /**
   * Why `auto` of {@link EngineOptions.backend} took the CPU: what TensorRT lacks here, and what mends it ("No CUDA
   * driver: … What to do: …"). Then which options of the groups `tensorrt` and `cpu` are for what does not run the
   * model ("of the options, tensorrt.builder and tensorrt.cudaGraph do not count here"). Undefined where there is
   * nothing to tell.
   * @throws TensorRTError as {@link inputs}
   */
  get backendReason(): string | undefined {
    return this.#loading.known().reason
  }

  /**
   * A line for people: the library, its version, the device.
   * @throws TensorRTError as {@link inputs}
   */
  get description(): string {
    return this.#loading.known().backend.description
  }

  /**
   * How many inferences it takes to keep the lanes busy: those that compute and those that are prepared meanwhile, each
   * of `maxBatch` with the option `batching`; no more than the queue has room for.
   * @throws TensorRTError as {@link inputs}
   */
  get concurrency(): number {
    return this.#loading.known().backend.concurrency ?? 2
  }

  /**
   * Runs the model: tensors by name in, tensors by name out. The data of inputs is copied before this returns, so the
   * caller may reuse its arrays at once. The data of a tensor made by {@link allocate} is not copied: leave it alone
   * until the promise settles, and after an abort or a timeout until {@link released}. A call before {@link ready}
   * waits for it.
   *
   * With `location: 'device'` outputs stay on the device, as {@link DeviceTensor}s. These may be inputs of any engine
   * of the same device, and may be disposed as soon as that call has returned.
   * @throws TensorRTError (as a rejection) ERR_TRT_INVALID_ARGUMENT, ERR_TRT_MISSING_INPUT, ERR_TRT_UNKNOWN_INPUT,
   * ERR_TRT_DTYPE, ERR_TRT_SHAPE, ERR_TRT_DETACHED, ERR_TRT_BUFFER_IN_USE, ERR_TRT_DISPOSED, ERR_TRT_DEVICE,
   * ERR_TRT_QUEUE_FULL, ERR_TRT_QUEUE_TIMEOUT, ERR_TRT_CLOSED, ERR_TRT_TIMEOUT, ERR_TRT_OUT_OF_MEMORY,
   * ERR_TRT_EXECUTION, ERR_TRT_DEVICE_LOST
   * @see https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/c-api/classnvinfer1_1_1_i_execution_context.html
   * enqueueV3
   * @example
   * ```ts
   * import { Engine, Tensor } from 'node-tensorrt'
   *
   * const engine = await Engine.load('model.onnx')
   * const images = Tensor.zeros('float32', [1, 3, 224, 224])
   * const { scores } = await engine.infer({ images }, { outputs: ['scores'], timeoutMs: 1000 })
   * if (scores?.dtype === 'float32') console.log(Math.max(...scores.data))
   * await engine.close()
   * ```
   */
  infer<
    const W extends readonly TensorName<O>[] | undefined = undefined,
    const L extends OutputLocation<O> | undefined = undefined,
  >(
    inputs: InputRecord<I>,
    options?: InferOptions<O, L> & { readonly outputs?: W | undefined },
  ): Promise<SelectedOutputs<O, W, L>>
  /**
   * A bare tensor in, the output that `outputs` names out: for a model with one input.
   * @throws TensorRTError (as a rejection) as with tensors by name
   */
  infer<N extends TensorName<O>, const L extends OutputLocation<O> | undefined = undefined>(
    input: BareInput<I>,
    options: InferOptions<O, L> & { readonly outputs: readonly [N] },
  ): Promise<LocatedTensor<O[N], L, N>>
  /**
   * A bare tensor in, a bare tensor out: for a model with one input and one output.
   * @throws TensorRTError (as a rejection) as with tensors by name
   */
  infer<const L extends OutputLocation<O> | undefined = undefined>(
    input: BareInputForOne<I, O>,
    options?: InferOptions<O, L> & { readonly outputs?: undefined },
  ): Promise<BareOutput<O, L>>
  infer<const L extends OutputLocation<O> | undefined = undefined>(
    input: BareInputForOne<I, O> | InputRecord<I>,
    options?: InferOptions<O, L>,
  ): Promise<LocatedTensor<DType, L, string> | TensorRecord<TensorTypes, L>>
  infer(input: unknown, options?: unknown): Promise<never> {
    try {
      const given = readInferOptions(options, 'infer')
      // before the input is read: a signal that is aborted already costs nothing
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- the caller's own reason, whatever it is
      if (given?.signal?.aborted) return Promise.reject(given.signal.reason)
      const tensors = readInput(input)
      this.#loading.refuseIfOver()
      const { loaded } = this.#loading
      const { signal, timeoutMs } = given ?? {}
      const running =
        given === undefined && loaded !== undefined
          ? run(loaded, tensors, given, undefined)
          : within({ signal, timeoutMs }, (cut) =>
              loaded ? run(loaded, tensors, given, cut) : this.#runWhenReady(tensors, given, cut),
            )
      return running as Promise<never> // what it is of, the overloads say
    } catch (error) {
      return rejected(restacked(error)) // here, where the caller is near: a stack has ten frames
    }
  }

  static {
    const runner =
      (readOptions: (options: unknown) => CallOptions | undefined): typeof runWithCut =>
      (engine, inputs, options, cut) => {
        try {
          cut.throwIfHappened()
          return run(engine.#loading.open(), readInput(inputs), readOptions(options), cut, true)
        } catch (error) {
          return rejected(restacked(error))
        }
      }
    runWithCut = runner((options) => readInferOptions(options, 'infer'))
    warmUpWithCut = runner(readWarmUpOptions)
  }

  async #runWhenReady(
    input: CallInput,
    options: CallOptions | undefined,
    cut: Cut | undefined,
  ): Promise<AnyTensor | AnyTensorRecord> {
    const copy = copyInput(input)
    try {
      await awaitRestacked(this.ready)
      cut?.throwIfHappened()
      // eslint-disable-next-line @typescript-eslint/return-await -- once it has begun, it holds what it needs itself
      return run(this.#loading.open(), copy, options, cut)
    } finally {
      releaseInput(copy)
    }
  }

  /**
   * The same as {@link infer} on the calling thread, which it blocks: for scripts, and for the lowest latency. It
   * borrows a lane that is idle, or waits for one.
   * @throws TensorRTError as {@link infer}; ERR_TRT_NOT_READY before {@link ready}; ERR_TRT_UNSUPPORTED on the CPU
   * where the addon does not load
   */
  inferSync<
    const W extends readonly TensorName<O>[] | undefined = undefined,
    const L extends OutputLocation<O> | undefined = undefined,
  >(
    inputs: InputRecord<I>,
    options?: InferSyncOptions<O, L> & { readonly outputs?: W | undefined },
  ): SelectedOutputs<O, W, L>
  /** A bare tensor in, the output that `outputs` names out: for a model with one input. */
  inferSync<N extends TensorName<O>, const L extends OutputLocation<O> | undefined = undefined>(
    input: BareInput<I>,
    options: InferSyncOptions<O, L> & { readonly outputs: readonly [N] },
  ): LocatedTensor<O[N], L, N>
  /** A bare tensor in, a bare tensor out: for a model with one input and one output. */
  inferSync<const L extends OutputLocation<O> | undefined = undefined>(
    input: BareInputForOne<I, O>,
    options?: InferSyncOptions<O, L> & { readonly outputs?: undefined },
  ): BareOutput<O, L>
  inferSync<const L extends OutputLocation<O> | undefined = undefined>(
    input: BareInputForOne<I, O> | InputRecord<I>,
    options?: InferSyncOptions<O, L>,
  ): LocatedTensor<DType, L, string> | TensorRecord<TensorTypes, L>
  inferSync(input: unknown, options?: unknown): never {
    const given = readInferOptions(options, 'inferSync')
    const tensors = readInput(input)
    return runSync(this.#loading.open(), tensors, given) as never
  }

  /**
   * Runs the model on what an iterable gives, and gives the results in the same order, each as soon as it and those
   * before it are there. `inFlight` of them are under way at once; results that were not taken yet count among these.
   *
   * It ends at once with the first error, whichever input it is of, and with an abort: what is under way is cancelled,
   * and the iterator is told to return. Leaving the loop early waits for that, a second at most.
   * @example
   * ```ts
   * import { Engine, Tensor } from 'node-tensorrt'
   *
   * const engine = await Engine.load('model.onnx', { inputs: { images: 'float32' }, outputs: { scores: 'float32' } })
   * const inputs = [1, 2, 3].map((batch) => ({ images: Tensor.zeros('float32', [batch, 3, 224, 224]) }))
   * for await (const { scores } of engine.stream(inputs)) console.log(scores.shape)
   * await engine.close()
   * ```
   */
  stream<
    const W extends readonly TensorName<O>[] | undefined = undefined,
    const L extends OutputLocation<O> | undefined = undefined,
  >(
    inputs: AnyIterable<InputRecord<I>>,
    options?: StreamOptions<O, L> & { readonly outputs?: W | undefined },
  ): AsyncGenerator<SelectedOutputs<O, W, L>, void, undefined>
  /** Bare tensors in, the output that `outputs` names out: for a model with one input. */
  stream<N extends TensorName<O>, const L extends OutputLocation<O> | undefined = undefined>(
    inputs: AnyIterable<BareInput<I>>,
    options: StreamOptions<O, L> & { readonly outputs: readonly [N] },
  ): AsyncGenerator<LocatedTensor<O[N], L, N>, void, undefined>
  /** Bare tensors in, bare tensors out: for a model with one input and one output. */
  stream<const L extends OutputLocation<O> | undefined = undefined>(
    inputs: AnyIterable<BareInputForOne<I, O>>,
    options?: StreamOptions<O, L> & { readonly outputs?: undefined },
  ): AsyncGenerator<BareOutput<O, L>, void, undefined>
  stream(inputs: AnyIterable<unknown>, options?: unknown): AsyncGenerator<never, void, undefined> {
    return this.#stream(inputs, options) as AsyncGenerator<never, void, undefined>
  }

  async *#stream(
    inputs: AnyIterable<unknown>,
    options: unknown,
  ): AsyncGenerator<AnyTensor | AnyTensorRecord, void, undefined> {
    const { inFlight, signal, ...call } = checkedCall(options, streamRows, 'stream')
    if (!isIterable(inputs)) throw expected('an iterable of inputs', 'the inputs of stream', inputs)
    await awaitRestacked(within({ signal }, () => this.ready))
    const most = inFlight ?? this.concurrency
    const run = (input: unknown, cancelled: AbortSignal): Promise<AnyTensor | AnyTensorRecord> =>
      this.infer(input as InputRecord<I>, { signal: cancelled, ...call } as InferOptions<O>) as Promise<
        AnyTensor | AnyTensorRecord
      >
    yield* inOrder(inputs, { most, signal, run })
  }

  /**
   * Runs the model until memory is allocated and CUDA graphs are captured on all lanes: on zeros of every profile's
   * best shape, or of the static shape where there is none. A shape tensor has every profile's best values ({@link
   * TensorInfo.profileValues}). With `shapes` or `inputs` it runs these alone. It runs no more inferences at once than
   * the lanes have memory for. On the CPU, which inputs are shape tensors is known from their values in the option
   * `shapes` of the engine alone: else `inputs` has them.
   * @throws TensorRTError (as a rejection) as {@link infer}; ERR_TRT_SHAPES_REQUIRED where the shapes of a dynamic
   * input are not known
   * @example
   * ```ts
   * import { Engine } from 'node-tensorrt'
   *
   * const engine = await Engine.load('model.onnx')
   * await engine.warmup({ shapes: { images: [8, 3, 224, 224] } })
   * await engine.close()
   * ```
   */
  async warmup(options?: WarmupOptions<I>): Promise<void> {
    const { signal, ...wanted } = checkedCall(options, warmupRows, 'warmup')
    const inputs = copyInput(wanted.inputs)
    try {
      await awaitRestacked(within({ signal }, () => this.ready))
      const { backend } = this.#loading.known()
      await warmUp(backend, { ...wanted, inputs }, (inputs) =>
        within({ signal }, (cut) => warmUpWithCut(this as unknown as Engine, inputs, undefined, cut ?? new Cut())),
      )
    } finally {
      releaseInput(inputs)
    }
  }

  /**
   * A tensor for an input or output, in pinned memory, which {@link infer} reads or writes without a copy. One
   * inference at a time may use it, and it cannot be transferred to another thread. Its elements are undefined until
   * they are written. On the CPU backend it is ordinary memory. Page-locking holds up the calling thread: allocate
   * once, and use the tensor again.
   * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT, ERR_TRT_SHAPE, ERR_TRT_OUT_OF_MEMORY, ERR_TRT_NOT_READY,
   * ERR_TRT_CLOSED
   */
  allocate<N extends TensorName<I> | TensorName<O>>(
    name: N,
    shape: readonly number[],
  ): Tensor<N extends TensorName<I> ? I[N] : N extends TensorName<O> ? O[N] : never>
  allocate(name: string, shape: readonly number[]): Tensor {
    return allocatedTensor(this.#loading.open(), name, shape)
  }

  /**
   * A block of the memory that {@link allocate} gives, of `bytes` bytes: its tensors are views of it, such as
   * `Tensor.fromBytes('float32', block.subarray(0, 48), [4, 3])`. Several of them may be inputs of one inference, and
   * outputs that `into` names on other bytes. Inferences that are under way at once have to use bytes of their own:
   * else ERR_TRT_BUFFER_IN_USE, until {@link released}. What the bytes are is undefined until they are written. The
   * block begins at a multiple of 256 bytes, on a GPU and on the CPU; at one of 8 where it is JavaScript's own memory:
   * on the CPU where the addon does not load, and in runtimes that have no external ArrayBuffers.
   * @param bytes the length of the block, from 0 to 4 GiB
   * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT, ERR_TRT_OUT_OF_MEMORY, ERR_TRT_NOT_READY, ERR_TRT_CLOSED
   * @see https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html cuMemHostAlloc
   */
  allocateBytes(bytes: number): Uint8Array<ArrayBuffer> {
    return allocatedBytes(this.#loading.open().backend, bytes)
  }

  /**
   * Fulfilled when no inference uses any byte of this memory, which {@link allocate} or {@link allocateBytes} gave: at
   * once where none does, and for other memory, which inferences copy. After an `infer` that was aborted, or timed out,
   * while it ran it is fulfilled once the lane has ended that run: then the memory may be written again. An `infer`
   * that is called meanwhile on the same bytes is waited for, too. A closed engine answers as well.
   * @param memory a tensor on the host, or a view of a block
   * @param options `signal`: rejects the call with its reason
   * @throws TensorRTError (as a rejection) ERR_TRT_INVALID_ARGUMENT; or it is the reason of the signal
   */
  async released(memory: Tensor | ArrayBufferView, options?: Abortable): Promise<void> {
    const signal = checkedAbort(options, 'released')
    const bytes = bytesOf(memory)
    const wait = (resolve: () => void): void => {
      if (!this.#onReleased(bytes, resolve)) resolve()
    }
    await within({ signal }, () => new Promise<void>(wait))
  }

  /** @see onReleased */
  #onReleased(memory: Uint8Array, callback: () => void): boolean {
    return this.#loading.loaded?.backend.calls?.onReleased(memory, callback) ?? false
  }

  static {
    onReleased = (engine, memory, callback) => engine.#onReleased(bytesOf(memory), callback)
  }

  /**
   * Copies a tensor to the device of this engine; any engine of that device takes the copy as an input. The data is
   * read before this returns, so the caller may reuse its array at once. That of a tensor made by {@link allocate} is
   * not: leave it alone until the promise settles.
   * @throws TensorRTError (as a rejection) ERR_TRT_INVALID_ARGUMENT, ERR_TRT_DETACHED, ERR_TRT_BUFFER_IN_USE,
   * ERR_TRT_NOT_READY, ERR_TRT_CLOSED, ERR_TRT_OUT_OF_MEMORY, ERR_TRT_DEVICE_LOST; ERR_TRT_UNSUPPORTED on the CPU where
   * the addon does not load; or it is the reason of the signal
   * @see https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html cuMemcpyHtoDAsync
   */
  async upload<D extends DType>(tensor: Tensor<D>, options?: Abortable): Promise<DeviceTensor<D>>
  async upload(tensor: Tensor, options?: Abortable): Promise<DeviceTensor> {
    const signal = checkedAbort(options, 'upload')
    if (!Tensor.is(tensor)) throw expectedTensor('a Tensor', 'the tensor of upload', tensor)
    checkAttached(tensor, 'the tensor of upload')
    const { dtype, shape, byteLength } = tensor
    const uploading = callsOf(this.#loading.open(), 'upload()').upload(typedDataOf(tensor))
    return within({ signal }, async () => deviceTensor(dtype, shape, byteLength, await uploading))
  }

  /**
   * A token by which {@link attach} finds this engine, in any thread of this process. It is valid as long as any engine
   * uses these weights.
   * @throws TensorRTError ERR_TRT_NOT_READY, ERR_TRT_CLOSED; ERR_TRT_UNSUPPORTED on the CPU where the addon does not
   * load
   */
  share(): EngineToken {
    return this.#share('share')
  }

  #share(by: 'share' | 'shareQueue'): EngineToken {
    return Object.freeze({ pid: process.pid, id: callsOf(this.#loading.open(), 'share()')[by]() })
  }

  static {
    openOf = (engine) => engine.#loading.open()
    shareQueue = (engine) => engine.#share('shareQueue')
  }

  /**
   * How many inferences this engine has run, and how long they took; where it shares a queue, those of all engines that
   * share it. A closed engine tells what it came to: until {@link close} had ended, and where others share its queue
   * not what they do after that.
   * @throws TensorRTError ERR_TRT_NOT_READY, and what {@link ready} was rejected with; ERR_TRT_UNSUPPORTED on the CPU
   * where the addon does not load
   */
  stats(): EngineStats {
    return callsOf(this.#loading.known(), 'stats').stats()
  }

  /**
   * What this engine has done, as counters that only grow: requests and batches, failures by kind, and nanoseconds in
   * all and by batch size. A read stops no lane. Where it shares a queue, they are of all engines that share it. A
   * closed engine tells the last ones, as {@link stats}.
   * @throws TensorRTError as {@link stats}
   */
  counters(): EngineCounters {
    return callsOf(this.#loading.known(), 'counters()').counters()
  }

  /**
   * The memory that this engine takes, in bytes; all 0 once it is closed. What engines that share its weights or its
   * queue still hold, they tell.
   * @throws TensorRTError as {@link stats}
   */
  memory(): EngineMemory {
    return callsOf(this.#loading.known(), 'memory').memory()
  }

  /**
   * Tells what the engine is made of, and where its time goes: its layers with their times, time by precision, and
   * warnings where a precision that was asked for is absent. It runs the engine on a context and memory of its own, at
   * the best shapes of a profile, on zeros; other work on the GPU disturbs the times. TensorRT tells precisions only of
   * plans that were built with `profilingVerbosity: 'detailed'`; of others the result says so in `limited`.
   * @throws TensorRTError (as a rejection) ERR_TRT_INVALID_ARGUMENT, ERR_TRT_UNSUPPORTED on the CPU backend,
   * ERR_TRT_CLOSED, ERR_TRT_OUT_OF_MEMORY, ERR_TRT_EXECUTION, ERR_TRT_DEVICE_LOST, and what {@link ready} was rejected
   * with
   * @see https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/c-api/classnvinfer1_1_1_i_engine_inspector.html
   * getEngineInformation
   * @see https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/c-api/classnvinfer1_1_1_i_profiler.html
   * reportLayerTime
   */
  async layers(options?: EngineLayersOptions): Promise<EngineLayers> {
    const { signal, ...checked } = checkedLayersOptions(options)
    this.#loading.refuseIfOver()
    return within({ signal }, async (cut) => {
      // one that is loaded begins now: a close() that follows waits for it
      if (this.#loading.loaded === undefined) await awaitRestacked(this.ready)
      cut?.throwIfHappened()
      const { backend } = this.#loading.open()
      if (backend.layers === undefined) throw onlyOnGpu('layers()', backend)
      return engineLayers(
        await backend.layers({ profile: checked.profile, iterations: checked.iterations }, cut),
        checked,
        backend.precisions,
      )
    })
  }

  /**
   * Measures how fast the model is, as trtexec does: queries in streams of their own, beside the lanes, timed by CUDA
   * events; then one query alone, end to end; then {@link infer}. On the CPU a query is a call of onnxruntime's Run, on
   * as many threads as there are streams. Other work on the machine disturbs the times.
   * @throws TensorRTError (as a rejection) ERR_TRT_INVALID_ARGUMENT, ERR_TRT_UNKNOWN_INPUT, ERR_TRT_DTYPE,
   * ERR_TRT_SHAPE, ERR_TRT_SHAPES_REQUIRED, ERR_TRT_CLOSED, ERR_TRT_OUT_OF_MEMORY, ERR_TRT_EXECUTION,
   * ERR_TRT_DEVICE_LOST; ERR_TRT_UNSUPPORTED for what only TensorRT has, and on the CPU where the addon does not load;
   * and what {@link ready} was rejected with
   * @see https://github.com/NVIDIA/TensorRT/tree/main/samples/trtexec
   */
  async benchmark(options?: BenchmarkOptions): Promise<Benchmark> {
    const checked = checkedBenchmarkOptions(options)
    this.#loading.refuseIfOver()
    return within({ signal: checked.signal }, async (cut) => {
      if (this.#loading.loaded === undefined) await awaitRestacked(this.ready)
      cut?.throwIfHappened()
      const loaded = this.#loading.open()
      const { backend, checker } = loaded
      if (!isMeasurable(backend)) throw lacking('benchmark()', backend)
      refuseUnusable(loaded)
      // a close() lets what is under way end, and refuses other calls meanwhile
      const infer = (inputs: TensorRecord): Promise<unknown> =>
        this.#loading.isClosing
          ? run(loaded, readInput(inputs), undefined, undefined)
          : this.infer(inputs as InputRecord<I>)
      const measured = { backend, checker, model: this.#loading.file, infer }
      return this.#loading.held.add(runBenchmark(measured, checked, cut))
    })
  }

  /**
   * Refuses new work, waits for inferences under way, and frees everything. A load under way is cut short. A second
   * call does no harm.
   */
  async close(): Promise<void> {
    await this.#loading.close()
  }

  /** Calls {@link close}, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** @internal What `console.log` shows. */
  [shownAs](...how: Shown): string {
    const { loaded, file } = this.#loading
    const briefly = (infos: TensorInfos): object =>
      Object.fromEntries(Object.values(infos).map(({ name, dtype, shape }) => [name, `${dtype} ${shapeText(shape)}`]))
    const told = loaded && {
      backend: loaded.backend.kind,
      inputs: briefly(loaded.inputs),
      outputs: briefly(loaded.outputs),
    }
    return shown('Engine', { state: this.#state(), file, ...told }, how)
  }

  #state(): 'loading' | 'ready' | 'failed' | 'closed' {
    if (this.#loading.isClosing) return 'closed'
    try {
      this.#loading.refuseIfOver()
    } catch {
      return 'failed'
    }
    return this.#loading.loaded ? 'ready' : 'loading'
  }
}

async function rejected(reason: unknown): Promise<never> {
  throw reason
}
