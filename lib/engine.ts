import type {
  Backend,
  EngineCounters,
  EngineMemory,
  EngineStats,
  Results,
  UnsupportedTensor,
} from './backend/backend.js'
import { Cut, within } from './base/cancellation.js'
import { checkedWhole } from './base/checks.js'
import { fitsDims, shapeText } from './base/dims.js'
import { isIterable } from './base/iterables.js'
import { type Abortable, checkedAbort, readOptions, unaborted } from './base/options.js'
import { anew, awaited, failing } from './base/stacks.js'
import { type AnyTensor, type DeviceTensor, deviceTensor } from './device-tensor.js'
import {
  checkAttached,
  copyInput,
  type GivenInput,
  infosByName,
  InputChecker,
  isTensor,
  readInput,
  refuseUnsupported,
  refuseUnsupportedInputs,
  releaseInput,
} from './engine/arguments.js'
import {
  type BareInput,
  type BareInputForOne,
  type BareOutput,
  checkDeclaration,
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
import { checkedBenchmarkOptions } from './engine/benchmark-options.js'
import { takenSince } from './engine/choice.js'
import { type AnyTensorRecord, Forms } from './engine/forms.js'
import {
  type GivenOptions,
  type InferOptions,
  type InferSyncOptions,
  readInferOptions,
  readWarmUpOptions,
  runOptions,
} from './engine/infer-options.js'
import { attacherOf, type EngineToken, Opener, openerOf } from './engine/opener.js'
import type { AttachOptions, DeclaredOptions, EngineOptions, Undeclared, UndeclaredOptions } from './engine/options.js'
import type { EngineSource } from './engine/source.js'
import { inOrder } from './engine/stream.js'
import { warmUp } from './engine/warmup.js'
import { expected, TensorRTError } from './errors.js'
import { byteSize, checkedShape, type DType, expectedTensor, Tensor } from './tensor.js'

interface Loaded {
  readonly backend: Backend
  readonly inputs: TensorInfos
  readonly outputs: TensorInfos
  /** In the model's order. */
  readonly inputNames: readonly string[]
  readonly outputNames: readonly string[]
  readonly unsupported: readonly UnsupportedTensor[]
  readonly checker: InputChecker
  readonly forms: Forms
}

/** Makes the value of a call. */
type Finish = (results: Results) => AnyTensor | AnyTensorRecord

/** The options of a call but those that a cut takes the place of. */
type CutOptions = Omit<InferOptions, 'signal' | 'timeoutMs' | 'location'> & {
  readonly location?: 'host' | 'device' | Readonly<Record<string, 'host' | 'device'>> | undefined
}

/**
 * The same as {@link Engine.infer} for servers of this package, which know themselves when a client has gone or has
 * waited too long: once the cut happens the promise is rejected with its reason, and the request leaves the queue or
 * its result is dropped. No AbortSignal, listener or timer is made for it. The engine has to be ready. One cut is for
 * one request; it may happen after that has ended.
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
  readonly #loading = new AbortController()
  /** The file that the model is of, where it is of one. */
  readonly #model: string | undefined
  /** Ends when nothing of the loading is under way any more, which may be later than `ready` when it was cut short. */
  #load: Promise<void> = Promise.resolve()
  #loaded: Loaded | undefined
  #failure: { readonly error: unknown } | undefined
  #closing: Promise<void> | undefined
  /**
   * Benchmarks under way, the aborted ones too: of several parts, one after the other, which all end before the backend
   * closes.
   */
  readonly #benchmarks = new Set<Promise<unknown>>()

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
    const opener = source instanceof Opener ? source : openerOf(source, options)
    this.#model = opener.file
    const load = (): Promise<void> => (this.#load = this.#open(opener))
    this.ready = within({ signal: opener.signal }, () => within({ signal: this.#loading.signal }, load)).catch(
      (reason: unknown) => this.#fail(reason),
    )
  }

  async #fail(reason: unknown): Promise<never> {
    const error = reason === closing ? closed() : reason
    this.#failure = { error }
    this.#loading.abort(error)
    try {
      return await failing(error)
    } finally {
      // nobody has to handle it; from here on, since V8 names who waits only where one does
      this.ready.catch(() => {})
    }
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
    await awaited(engine.ready)
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
    await awaited(engine.ready)
    return engine
  }

  async #open(opener: Opener): Promise<void> {
    const { signal } = this.#loading
    const backend = await opener.open(signal)
    if (signal.aborted) return backend.close()
    try {
      this.#loaded = loadedOf(backend, opener.declaration)
    } catch (error) {
      await backend.close()
      throw error
    }
  }

  /**
   * The inputs of the model, by name; frozen.
   * @throws TensorRTError ERR_TRT_NOT_READY before {@link ready}, and what `ready` was rejected with
   */
  get inputs(): TensorInfos<I> {
    return this.#known().inputs as TensorInfos<I>
  }

  /**
   * The outputs of the model, by name; frozen.
   * @throws TensorRTError as {@link inputs}
   */
  get outputs(): TensorInfos<O> {
    return this.#known().outputs as TensorInfos<O>
  }

  /**
   * The names of the inputs, in the model's order, which {@link inputs} does not keep for names like "7".
   * @throws TensorRTError as {@link inputs}
   */
  get inputNames(): readonly TensorName<I>[] {
    return this.#known().inputNames
  }

  /**
   * The names of the outputs, in the model's order.
   * @throws TensorRTError as {@link inputs}
   */
  get outputNames(): readonly TensorName<O>[] {
    return this.#known().outputNames
  }

  /**
   * Outputs that no Tensor can hold, such as texts; they are not among {@link outputs}. A call that needs one is
   * refused. A model with such an input is refused when it is loaded.
   * @throws TensorRTError as {@link inputs}
   */
  get unsupported(): readonly UnsupportedTensor[] {
    return this.#known().unsupported
  }

  /**
   * What runs the model: `tensorrt` or `cpu`.
   * @throws TensorRTError as {@link inputs}
   */
  get backend(): Backend['kind'] {
    return this.#known().backend.kind
  }

  /**
   * Why `auto` of {@link EngineOptions.backend} took the CPU: what TensorRT lacks here, and what mends it ("No CUDA
   * driver: … What to do: …"). Undefined where TensorRT runs the model, and where the CPU was asked for.
   * @throws TensorRTError as {@link inputs}
   */
  get backendReason(): string | undefined {
    return this.#known().backend.reason
  }

  /**
   * A line for people: the library, its version, the device.
   * @throws TensorRTError as {@link inputs}
   */
  get description(): string {
    return this.#known().backend.description
  }

  /**
   * How many inferences it takes to keep the lanes busy: those that compute and those that are prepared meanwhile, each
   * of `maxBatch` with the option `batching`; no more than the queue has room for.
   * @throws TensorRTError as {@link inputs}
   */
  get concurrency(): number {
    return this.#known().backend.concurrency ?? 2
  }

  #known(): Loaded {
    if (this.#failure) throw anew(this.#failure.error)
    if (!this.#loaded)
      throw new TensorRTError('ERR_TRT_NOT_READY', 'The engine has not finished loading: await engine.ready first')
    return this.#loaded
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
      this.#refuseIfOver()
      const { signal, timeoutMs } = given ?? {}
      const run =
        given === undefined && this.#loaded !== undefined
          ? this.#run(this.#loaded, tensors, given, undefined)
          : within({ signal, timeoutMs }, (cut) =>
              this.#loaded ? this.#run(this.#loaded, tensors, given, cut) : this.#runWhenReady(tensors, given, cut),
            )
      return run as Promise<never> // what it is of, the overloads say
    } catch (error) {
      return rejected(anew(error)) // here, where the caller is near: a stack has ten frames
    }
  }

  static {
    const runner =
      (readOptions: (options: unknown) => GivenOptions | undefined): typeof runWithCut =>
      (engine, inputs, options, cut) => {
        try {
          cut.throwIfHappened()
          engine.#refuseIfOver()
          return engine.#run(engine.#known(), readInput(inputs), readOptions(options), cut)
        } catch (error) {
          return rejected(anew(error))
        }
      }
    runWithCut = runner((options) => readInferOptions(options, 'infer'))
    warmUpWithCut = runner(readWarmUpOptions)
  }

  async #runWhenReady(
    input: GivenInput,
    options: GivenOptions | undefined,
    cut: Cut | undefined,
  ): Promise<AnyTensor | AnyTensorRecord> {
    const copy = copyInput(input)
    try {
      await awaited(this.ready)
      cut?.throwIfHappened()
      this.#refuseIfOver()
      // eslint-disable-next-line @typescript-eslint/return-await -- once it has begun, it holds what it needs itself
      return this.#run(this.#known(), copy, options, cut)
    } finally {
      releaseInput(copy)
    }
  }

  #run(
    loaded: Loaded,
    input: GivenInput,
    options: GivenOptions | undefined,
    cut: Cut | undefined,
  ): Promise<AnyTensor | AnyTensorRecord> {
    const { backend, checker, forms } = loaded
    if (options === undefined) refuseUnusable(loaded)
    const inputs = checker.check(input)
    if (backend.device === undefined) refuseLacking(backend, inputs, options)
    const run =
      options === undefined && cut === undefined ? forms.defaults : { ...runOptions(options, loaded, inputs), cut }
    const finish: Finish = isTensor(input) ? forms.bare(options?.outputs) : forms.record
    return backend.run(inputs, run, finish)
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
    return this.#inferSync(input, options) as never
  }

  #inferSync(input: unknown, options: unknown): AnyTensor | AnyTensorRecord {
    const given = readInferOptions(options, 'inferSync')
    const tensors = readInput(input)
    this.#refuseIfOver()
    const loaded = this.#known()
    const { backend, checker, forms } = loaded
    if (backend.runSync === undefined) throw lacking('inferSync()', backend)
    if (given === undefined) refuseUnusable(loaded)
    const checked = checker.check(tensors)
    const run = given === undefined ? forms.defaults : runOptions(given, loaded, checked)
    const finish: Finish = isTensor(tensors) ? forms.bare(given?.outputs) : forms.record
    return finish(backend.runSync(checked, run))
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
    const names = ['inFlight', 'signal', 'outputs', 'location', 'priority', 'queueTimeoutMs'] as const
    const { inFlight, signal: aborts, ...call } = readOptions(options, names, 'stream')
    const signal = unaborted(aborts)
    if (!isIterable(inputs)) throw expected('an iterable of inputs', 'the inputs of stream', inputs)
    const wanted = inFlight === undefined ? undefined : checkedWhole(inFlight, 'inFlight', 1)
    await awaited(within({ signal }, () => this.ready))
    const most = wanted ?? this.concurrency
    const run = (input: unknown, cancelled: AbortSignal): Promise<AnyTensor | AnyTensorRecord> =>
      this.infer(input as InputRecord<I>, { signal: cancelled, ...call } as InferOptions<O>) as Promise<
        AnyTensor | AnyTensorRecord
      >
    yield* inOrder(inputs, { most, signal, run })
  }

  /**
   * Runs the model until memory is allocated and CUDA graphs are captured on all lanes: on zeros of every profile's
   * best shape, or of the static shape where there is none. A shape tensor has every profile's best values ({@link
   * TensorInfo.profileValues}). It runs no more inferences at once than the lanes have memory for. On the CPU, which
   * inputs are shape tensors is known from their values in the option `shapes` alone.
   * @param options `iterations`: how often each shape runs, 1 to 10000; default 4. `signal`: rejects the call with its
   * reason.
   * @throws TensorRTError (as a rejection) as {@link infer}; ERR_TRT_SHAPES_REQUIRED where the shapes of a dynamic
   * input are not known
   */
  async warmup(options?: {
    readonly iterations?: number | undefined
    readonly signal?: AbortSignal | undefined
  }): Promise<void> {
    const { iterations = 4, ...given } = readOptions(options, ['iterations', 'signal'], 'warmup')
    const signal = unaborted(given.signal)
    const times = checkedWhole(iterations, 'iterations', 1, 10_000)
    await awaited(within({ signal }, () => this.ready))
    const { backend } = this.#known()
    await warmUp(backend, times, (inputs) =>
      within({ signal }, (cut) => warmUpWithCut(this as unknown as Engine, inputs, undefined, cut ?? new Cut())),
    )
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
    this.#refuseIfOver()
    const { backend, inputs, outputs } = this.#known()
    const info = typeof name === 'string' ? (inputs[name] ?? outputs[name]) : undefined
    const names = [...Object.keys(inputs), ...Object.keys(outputs)]
    if (info === undefined)
      throw expected(`one of ${names.map((known) => JSON.stringify(known)).join(', ')}`, 'name', name)
    const dims = checkedShape(shape)
    if (!fitsDims(dims, info.shape))
      throw new TensorRTError(
        'ERR_TRT_SHAPE',
        `Expected shape ${shapeText(info.shape)} for ${JSON.stringify(name)} but received ${shapeText(dims)}`,
      )
    const pinned = backend.allocate?.(allocatable(byteSize(info.dtype, dims)))
    return pinned === undefined ? Tensor.zeros(info.dtype, dims) : Tensor.fromBytes(info.dtype, pinned, dims)
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
    this.#refuseIfOver()
    const { backend } = this.#known()
    const length = checkedWhole(bytes, 'bytes', 0)
    return backend.allocate === undefined
      ? ordinaryBytes(length)
      : new Uint8Array(backend.allocate(allocatable(length)))
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
    return this.#loaded?.backend.onReleased?.(memory, callback) ?? false
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
    this.#refuseIfOver()
    const { backend } = this.#known()
    if (backend.upload === undefined) throw lacking('upload()', backend)
    const { dtype, shape, byteLength, data } = tensor
    const uploading = backend.upload(data)
    return within({ signal }, async () => deviceTensor(dtype, shape, byteLength, await uploading))
  }

  /**
   * A token by which {@link attach} finds this engine, in any thread of this process. It is valid as long as any engine
   * uses these weights.
   * @throws TensorRTError ERR_TRT_NOT_READY, ERR_TRT_CLOSED; ERR_TRT_UNSUPPORTED on the CPU where the addon does not
   * load
   */
  share(): EngineToken {
    return this.#share((backend) => backend.share?.())
  }

  #share(idOf: (backend: Backend) => string | undefined): EngineToken {
    this.#refuseIfOver()
    const { backend } = this.#known()
    const id = idOf(backend)
    if (id === undefined) throw lacking('share()', backend)
    return Object.freeze({ pid: process.pid, id })
  }

  static {
    shareQueue = (engine) => engine.#share((backend) => backend.shareQueue?.())
  }

  /**
   * How many inferences this engine has run, and how long they took; where it shares a queue, those of all engines that
   * share it.
   * @throws TensorRTError ERR_TRT_NOT_READY, ERR_TRT_CLOSED; ERR_TRT_UNSUPPORTED on the CPU where the addon does not
   * load
   */
  stats(): EngineStats {
    const { backend } = this.#known()
    if (backend.stats === undefined) throw lacking('stats', backend)
    return backend.stats()
  }

  /**
   * What this engine has done, as counters that only grow: requests and batches, failures by kind, and nanoseconds in
   * all and by batch size. A read stops no lane. Where it shares a queue, they are of all engines that share it.
   * @throws TensorRTError as {@link stats}
   */
  counters(): EngineCounters {
    const { backend } = this.#known()
    if (backend.counters === undefined) throw lacking('counters()', backend)
    return backend.counters()
  }

  /**
   * The memory that this engine takes, in bytes.
   * @throws TensorRTError as {@link stats}
   */
  memory(): EngineMemory {
    const { backend } = this.#known()
    if (backend.memory === undefined) throw lacking('memory', backend)
    return backend.memory()
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
    this.#refuseIfOver()
    return within({ signal }, async (cut) => {
      // one that is loaded begins now: a close() that follows waits for it
      if (this.#loaded === undefined) await awaited(this.ready)
      cut?.throwIfHappened()
      this.#refuseIfOver()
      const { backend } = this.#known()
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
    this.#refuseIfOver()
    return within({ signal: checked.signal }, async (cut) => {
      if (this.#loaded === undefined) await awaited(this.ready)
      cut?.throwIfHappened()
      this.#refuseIfOver()
      const loaded = this.#known()
      const { backend, checker } = loaded
      if (!isMeasurable(backend)) throw lacking('benchmark()', backend)
      refuseUnusable(loaded)
      // a close() lets what is under way end, and refuses other calls meanwhile
      const infer = (inputs: TensorRecord): Promise<unknown> =>
        this.#closing
          ? this.#run(loaded, readInput(inputs), undefined, undefined)
          : this.infer(inputs as InputRecord<I>)
      const running = runBenchmark({ backend, checker, model: this.#model, infer }, checked, cut)
      const ended = running.then(nothing, nothing).finally(() => this.#benchmarks.delete(ended))
      this.#benchmarks.add(ended)
      return running
    })
  }

  #refuseIfOver(): void {
    if (this.#failure) throw anew(this.#failure.error)
    if (this.#closing) throw closed()
  }

  /**
   * Refuses new work, waits for inferences under way, and frees everything. A load under way is cut short. A second
   * call does no harm.
   */
  async close(): Promise<void> {
    await (this.#closing ??= this.#close())
  }

  async #close(): Promise<void> {
    this.#loading.abort(closing)
    await this.#load.catch(() => {})
    await Promise.all(this.#benchmarks)
    await this.#loaded?.backend.close()
  }

  /** Calls {@link close}, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

/**
 * The memory of a tensor or view; none where its buffer was transferred away. @throws TensorRTError
 * ERR_TRT_INVALID_ARGUMENT
 */
function bytesOf(memory: unknown): Uint8Array {
  const view = Tensor.is(memory) ? memory.data : memory
  if (!ArrayBuffer.isView(view)) throw expectedTensor('a Tensor on the host, or a view of memory,', 'memory', memory)
  return view.byteLength === 0 ? new Uint8Array(0) : new Uint8Array(view.buffer, view.byteOffset, view.byteLength)
}

/** @throws TensorRTError ERR_TRT_OUT_OF_MEMORY */
function ordinaryBytes(bytes: number): Uint8Array<ArrayBuffer> {
  try {
    return new Uint8Array(bytes)
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause
    throw new TensorRTError('ERR_TRT_OUT_OF_MEMORY', `${bytes} bytes are more than can be had`, {
      cause,
      details: { bytes },
    })
  }
}

/** @throws TensorRTError ERR_TRT_DECLARATION, ERR_TRT_DTYPE */
function loadedOf(backend: Backend, declaration: Declaration): Loaded {
  refuseUnsupportedInputs(backend.unsupported ?? [])
  checkDeclaration(declaration, backend)
  const [inputs, outputs] = [infosByName(backend.inputs), infosByName(backend.outputs)]
  const inputNames = Object.freeze(backend.inputs.map(({ name }) => name))
  const outputNames = Object.freeze(backend.outputs.map(({ name }) => name))
  const checker = new InputChecker(inputs, inputNames)
  const declared = declaration.outputs && Object.keys(declaration.outputs)
  const unsupported = Object.freeze((backend.unsupported ?? []).map((tensor) => Object.freeze(tensor)))
  const total = outputNames.length + unsupported.filter(({ use }) => use === 'output').length
  const forms = new Forms(outputNames, total, inputNames, declared)
  return { backend, inputs, outputs, inputNames, outputNames, unsupported, checker, forms }
}

/** @throws TensorRTError ERR_TRT_DTYPE where a call without options needs what no Tensor can hold */
function refuseUnusable({ unsupported, forms, outputNames }: Loaded): void {
  if (unsupported.length > 0) refuseUnsupported(unsupported, forms.wanted, outputNames)
}

/**
 * @throws TensorRTError ERR_TRT_UNSUPPORTED where nothing stays on the device of a backend, which has no queue of
 * levels either
 */
function refuseLacking(backend: Backend, inputs: readonly AnyTensor[], options: GivenOptions | undefined): void {
  if (inputs.some(({ location }) => location === 'device')) throw lacking('a DeviceTensor', backend)
  const { location = 'host', priority = 1, queueTimeoutMs } = options ?? {}
  if (location !== 'host') throw lacking("location: 'device'", backend)
  if (priority !== 1) throw lacking('priority', backend)
  if (queueTimeoutMs !== undefined) throw lacking('queueTimeoutMs', backend)
}

/** Why a load is cut short by close(); nobody sees it. */
const closing = Symbol('closing')

/** Bytes of one block: a larger ArrayBuffer over memory that is not JavaScript's own ends the process in Node 20. */
const mostAllocated = 2 ** 32

/** @throws TensorRTError ERR_TRT_OUT_OF_MEMORY */
function allocatable(bytes: number): number {
  if (bytes <= mostAllocated) return bytes
  throw new TensorRTError('ERR_TRT_OUT_OF_MEMORY', `${bytes} bytes are more than a block may have: 4 GiB`, {
    details: { bytes },
  })
}

const nothing = (): void => {}

function closed(): TensorRTError {
  return new TensorRTError('ERR_TRT_CLOSED', 'The engine is closed')
}

async function rejected(reason: unknown): Promise<never> {
  throw reason
}

function onlyOnGpu(what: string, { reason }: Backend): TensorRTError {
  return new TensorRTError(
    'ERR_TRT_UNSUPPORTED',
    `${what} needs the TensorRT backend; this engine runs on the CPU${takenSince(reason)}`,
  )
}

/** What another backend on the same machine could have: this one says why it has not. */
function lacking(what: string, backend: Backend): TensorRTError {
  if (backend.lacks === undefined) return onlyOnGpu(what, backend)
  return new TensorRTError('ERR_TRT_UNSUPPORTED', `${what} ${backend.lacks}`)
}
