import type { Backend } from './backend/backend.js'
import type { BuildOptions } from './builder.js'
import { checkedTimeout, type Limits, within } from './deadline.js'
import { expected, TensorRTError } from './errors.js'
import {
  checkedInputs,
  copyInput,
  type GivenInput,
  infosByName,
  readInput,
  type TensorInfos,
  type TensorRecord,
} from './infer-arguments.js'
import { checkedSource, type ModelSource, openModel } from './model-source.js'
import { openBackend, type OpenOptions } from './open-backend.js'
import { checkedSignal, readOptions } from './options.js'
import { Tensor } from './tensor.js'

export interface EngineOptions {
  /**
   * What runs the model. `tensorrt`: a GPU. `cpu`: onnxruntime-node, for ONNX only. `auto`, the default: for a plan TensorRT; for ONNX TensorRT where this
   * machine can build and run with it, else the CPU, and {@link Engine.backend} says which.
   */
  readonly backend?: 'auto' | 'tensorrt' | 'cpu' | undefined
  /** The number of the GPU; 0 unless given. */
  readonly device?: number | undefined
  /** The path of a TensorRT library, or of the folder that has it. */
  readonly tensorrt?: string | undefined
  /** For ONNX with dynamic inputs on TensorRT: the shapes to build for, as in {@link BuildOptions}. A plan has its own. */
  readonly shapes?: BuildOptions['shapes'] | undefined
  /** Aborts the loading. */
  readonly signal?: AbortSignal | undefined
}

export interface InferOptions {
  /** Rejects the call with the signal's reason, at once; the result of what runs already is dropped. */
  readonly signal?: AbortSignal | undefined
  /** After so many milliseconds the call is rejected with ERR_TRT_TIMEOUT. It counts from the call, so waiting for {@link Engine.ready} is in it. */
  readonly timeoutMs?: number | undefined
}

interface Loaded {
  readonly backend: Backend
  readonly inputs: TensorInfos
  readonly outputs: TensorInfos
}

/**
 * A model that is ready to run. Neither loading nor running it blocks the event loop.
 *
 * ```ts
 * await using engine = await Engine.load('model.onnx', { backend: 'cpu' })
 * const { scores } = await engine.infer({ images: new Tensor('float32', pixels, [1, 3, 224, 224]) })
 * ```
 *
 * An engine that has nothing to do does not keep the process alive; loading and each {@link infer} under way do.
 */
export class Engine implements AsyncDisposable {
  /**
   * Fulfilled when the engine is loaded. Rejected when it cannot be, with the error that each {@link infer} then gives too; nobody has to handle it here.
   * Its codes: ERR_TRT_FILE, ERR_TRT_MODEL_FORMAT, ERR_TRT_CLOSED; for ONNX on the CPU ERR_TRT_NO_ONNXRUNTIME, ERR_TRT_ONNX_PARSE, ERR_TRT_DTYPE; for TensorRT those
   * of finding it, of the build and ERR_TRT_PLAN; or it is the reason of the signal.
   */
  readonly ready: Promise<void>
  readonly #loading = new AbortController()
  /** Ends when nothing of the loading is under way any more, which may be later than `ready` when it was cut short. */
  readonly #load: Promise<void>
  #loaded: Loaded | undefined
  #failure: { readonly error: unknown } | undefined
  #closing: Promise<void> | undefined

  /**
   * Begins to load: a path or `file:` URL of ONNX or of a TensorRT plan, or the bytes of one, which are copied here.
   * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT
   */
  constructor(source: ModelSource, options?: EngineOptions) {
    const { signal, ...open } = checkedEngineOptions(options)
    this.#load = this.#open(checkedSource(source), open)
    this.#load.catch(() => {})
    this.ready = within({ signal }, () => within({ signal: this.#loading.signal }, () => this.#load)).catch((error: unknown) => {
      this.#failure = { error }
      this.#loading.abort(error)
      throw error
    })
    this.ready.catch(() => {})
  }

  /** `new Engine(source, options)`, awaited until it is {@link ready}. */
  static async load(source: ModelSource, options?: EngineOptions): Promise<Engine> {
    const engine = new Engine(source, options)
    await engine.ready
    return engine
  }

  async #open(source: string | Uint8Array, options: OpenOptions): Promise<void> {
    const { signal } = this.#loading
    const model = await openModel(source)
    signal.throwIfAborted()
    const backend = await openBackend(model, options, signal)
    if (signal.aborted) return backend.close()
    this.#loaded = { backend, inputs: infosByName(backend.inputs), outputs: infosByName(backend.outputs) }
  }

  /** What the model takes, by name; frozen. @throws TensorRTError ERR_TRT_NOT_READY before {@link ready}, and what `ready` was rejected with */
  get inputs(): TensorInfos {
    return this.#known().inputs
  }

  /** What the model gives, by name; frozen. @throws TensorRTError as {@link inputs} */
  get outputs(): TensorInfos {
    return this.#known().outputs
  }

  /** What runs the model. @throws TensorRTError as {@link inputs} */
  get backend(): Backend['kind'] {
    return this.#known().backend.kind
  }

  /** A line for people: the library, its version, the device. @throws TensorRTError as {@link inputs} */
  get description(): string {
    return this.#known().backend.description
  }

  #known(): Loaded {
    if (this.#failure) throw this.#failure.error
    if (!this.#loaded) throw new TensorRTError('ERR_TRT_NOT_READY', 'The engine has not finished loading: await engine.ready first')
    return this.#loaded
  }

  /**
   * Runs the model: a record of Tensors in, a record of Tensors out, keyed by name. A model with one input takes the bare Tensor too, and then a model with one
   * output gives a bare Tensor. The data is copied before this returns, so the caller may reuse its arrays at once. Called before {@link ready} it waits.
   * @throws TensorRTError (as a rejection) ERR_TRT_INVALID_ARGUMENT, ERR_TRT_MISSING_INPUT, ERR_TRT_UNKNOWN_INPUT, ERR_TRT_DTYPE, ERR_TRT_SHAPE, ERR_TRT_DETACHED,
   * ERR_TRT_CLOSED, ERR_TRT_TIMEOUT, ERR_TRT_EXECUTION, ERR_TRT_DEVICE_LOST
   */
  infer(inputs: Readonly<Record<string, Tensor>>, options?: InferOptions): Promise<TensorRecord>
  /** With a bare Tensor. For a model with several outputs: `engine.infer<TensorRecord>(tensor)`. */
  infer<R extends Tensor | TensorRecord = Tensor>(input: Tensor, options?: InferOptions): Promise<R>
  async infer(input: Tensor | Readonly<Record<string, Tensor>>, options?: InferOptions): Promise<Tensor | TensorRecord> {
    const limits = checkedInferOptions(options)
    const given = readInput(input)
    this.#refuseIfOver()
    return within(limits, (signal) => (this.#loaded ? this.#run(this.#loaded, given, signal) : this.#runWhenReady(given, signal)))
  }

  async #runWhenReady(given: GivenInput, signal: AbortSignal | undefined): Promise<Tensor | TensorRecord> {
    const copy = copyInput(given)
    await this.ready
    signal?.throwIfAborted()
    this.#refuseIfOver()
    return this.#run(this.#known(), copy, signal)
  }

  async #run({ backend, inputs, outputs }: Loaded, given: GivenInput, signal: AbortSignal | undefined): Promise<Tensor | TensorRecord> {
    const results = await backend.run(checkedInputs(given, inputs), { signal })
    const [only, ...others] = Object.keys(outputs)
    const bare = given instanceof Tensor && only !== undefined && others.length === 0
    return (bare ? results[only] : undefined) ?? results
  }

  #refuseIfOver(): void {
    if (this.#failure) throw this.#failure.error
    if (this.#closing) throw closed()
  }

  /** Refuses new work, lets running work end, frees everything. A load under way is cut short. Twice without harm. */
  async close(): Promise<void> {
    await (this.#closing ??= this.#close())
  }

  async #close(): Promise<void> {
    this.#loading.abort(closed())
    await this.#load.catch(() => {})
    await this.#loaded?.backend.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

function closed(): TensorRTError {
  return new TensorRTError('ERR_TRT_CLOSED', 'The engine is closed')
}

function checkedInferOptions(options: unknown): Limits {
  const { signal, timeoutMs } = readOptions(options, ['signal', 'timeoutMs'], 'infer')
  return { signal: checkedSignal(signal), timeoutMs: checkedTimeout(timeoutMs) }
}

const backends = ['auto', 'tensorrt', 'cpu'] as const

function checkedEngineOptions(options: unknown): OpenOptions & { readonly signal: AbortSignal | undefined } {
  const given = readOptions(options, ['backend', 'device', 'tensorrt', 'shapes', 'signal'], 'Engine')
  const backend = backends.find((name) => name === (given.backend ?? 'auto'))
  const device = given.device ?? 0
  const { tensorrt, shapes } = given
  if (backend === undefined) throw expected(`one of ${backends.join(', ')}`, 'backend', given.backend)
  if (!Number.isInteger(device) || (device as number) < 0) throw expected('the number of a GPU', 'device', device)
  if (tensorrt !== undefined && (typeof tensorrt !== 'string' || tensorrt === '')) throw expected('a path', 'tensorrt', tensorrt)
  if (shapes !== undefined && (typeof shapes !== 'object' || shapes === null)) throw expected('an object', 'shapes', shapes)
  return {
    backend,
    device: device as number,
    signal: checkedSignal(given.signal),
    ...(tensorrt !== undefined && { tensorrt }),
    ...(shapes !== undefined && { shapes: shapes as NonNullable<BuildOptions['shapes']> }),
  }
}
