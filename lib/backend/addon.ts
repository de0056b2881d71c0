import { isPromise } from 'node:util/types'
import type { Cut } from '../base/cancellation.js'
import { deepFrozen } from '../base/options.js'
import { Work } from '../base/work.js'
import { type AnyTensor, memoryOf } from '../device-tensor.js'
import type {
  LayersRun,
  Backend,
  BenchmarkFacts,
  BenchmarkListener,
  BenchmarkRun,
  LayerFacts,
  EngineCalls,
  EngineReport,
  ModelTensor,
  Results,
  RunOptions,
  UnsupportedTensor,
} from './backend.js'
import { connect, forget, lastTicket, readSync, register, sharedBytes, writeCall } from './completions.js'
import { AddonMemory } from './device-memory.js'
import { fromNative, loadAddon, native, nativeSync } from './native.js'
import type {
  NativeAddon,
  NativeBenchmarkOptions,
  NativeData,
  NativeDestinations,
  NativeEngine,
  NativeInput,
  NativeSessionOptions,
  NativeTensor,
} from './native-types.js'
import type { Tensor } from '../tensor.js'
import { placed } from './results.js'
import { bytesOfTensor, typedDataOf } from '../tensor.js'

/** What is known of an engine that it does not say itself. */
export interface KnownFacts {
  /** The precisions that a plan was built for, beside 32 bits. */
  readonly precisions?: readonly string[] | undefined
  readonly dimensionNames?: ReadonlyMap<string, readonly (string | undefined)[]> | undefined
  /** The values of an input that the profiles name, by its name; TensorRT tells them itself. */
  readonly valuesOf?: ((name: string) => ModelTensor['values']) | undefined
  /** Why its backend was taken, where `auto` chose. */
  readonly reason?: string | undefined
  /** Takes what TensorRT-RTX compiled for it. Never rejected. */
  readonly keepCompiled?: ((bytes: Uint8Array) => Promise<void>) | undefined
}

/** Opens an engine of the addon. */
export async function openAddonEngine(
  opener: (addon: NativeAddon) => NativeEngine | Promise<NativeEngine>,
  known: KnownFacts = {},
): Promise<Backend> {
  return native(async () => {
    connect()
    return new AddonBackend(await opener(loadAddon()), known)
  })
}

/**
 * Lanes of one's own, or the owner's, on an engine that another thread shared. @throws TensorRTError ERR_TRT_TOKEN and
 * what the making of lanes throws
 */
export async function attachEngine(
  name: string,
  queue: 'own' | 'shared',
  lanes: NativeSessionOptions,
): Promise<Backend> {
  return openAddonEngine((addon) => (queue === 'shared' ? addon.joinEngine(name) : addon.attachEngine(name, lanes)))
}

/** An engine of the addon, whatever it runs on. */
export class AddonBackend implements Backend {
  readonly kind: Backend['kind']
  readonly reason: string | undefined
  readonly description: string
  readonly device: number
  readonly inputs: Backend['inputs']
  readonly outputs: Backend['outputs']
  readonly optionalInputs: readonly ModelTensor[]
  readonly customMetadata: Readonly<Record<string, string>>
  readonly unsupported: readonly UnsupportedTensor[]
  readonly concurrency: number
  readonly maxQueueBytes: number
  readonly batches: number
  readonly maxBatch: number | undefined
  readonly levels: number
  readonly precisions: readonly string[]
  /** Only of what runs on a GPU. */
  readonly layers?: NonNullable<Backend['layers']>
  readonly calls: EngineCalls
  readonly #engine: NativeEngine
  /** Audits and benchmarks under way, the aborted ones too, until nothing of them runs. */
  readonly #beside = new Work()
  /** What it told last: native code tells nothing once it was told to close. */
  #last: EngineReport | undefined
  readonly #keep: KnownFacts['keepCompiled']
  /** Ends with the last that was handed to it. */
  #kept: Promise<void> = Promise.resolve()

  constructor(
    engine: NativeEngine,
    { precisions = [], dimensionNames, valuesOf, reason, keepCompiled }: KnownFacts = {},
  ) {
    this.#engine = engine
    const calls = callsOf(engine)
    this.calls = {
      ...calls,
      stats: () => this.#last?.stats ?? calls.stats(),
      counters: () => this.#last?.counters ?? calls.counters(),
      memory: () => this.#last?.memory ?? calls.memory(),
    }
    this.#keep = keepCompiled
    this.precisions = precisions
    this.reason = reason
    const named = (info: ModelTensor): ModelTensor => ({
      ...info,
      dimensionNames: info.dimensionNames ?? dimensionNames?.get(info.name) ?? [],
    })
    this.inputs = engine.inputs.map(named).map((info) => ({ ...info, values: info.values ?? valuesOf?.(info.name) }))
    this.outputs = engine.outputs.map(named)
    this.optionalInputs = engine.optionalInputs
    this.customMetadata = engine.customMetadata
    this.unsupported = engine.unsupported
    this.device = engine.device
    const onGpu = engine.device >= 0
    this.kind = onGpu ? 'tensorrt' : 'cpu'
    this.description = `${engine.library} on ${onGpu ? `GPU ${engine.device}` : 'the CPU'}`
    if (onGpu) this.layers = (options, cut) => this.#timeLayers(options, cut)
    const { batches, maxBatch, maxQueue, maxQueueBytes, levels } = engine.queue
    this.batches = batches
    this.maxBatch = maxBatch > 1 ? maxBatch : undefined
    this.maxQueueBytes = maxQueueBytes
    this.levels = levels
    this.concurrency = Math.min(batches * maxBatch, maxQueue)
    // now that the lanes are made: a process that ends without close() has that at least
    void this.#keepCompiled()
  }

  run<R>(inputs: readonly AnyTensor[], options: RunOptions | undefined, finish: (results: Results) => R): Promise<R> {
    return new Promise<R>((resolve, reject) => {
      const into = options?.into
      const request = register({
        outputs: this.outputs,
        into,
        packed: options?.packed,
        description: this.description,
        settle: (results) => {
          resolve(finish(into === undefined ? results : results.map((result, i) => placed(result, into[i]))))
        },
        fail: resolve,
      })
      try {
        this.#submit(request, options, inputs)
      } catch (error) {
        forget(request)
        throw fromNative(error)
      }
      const cut = options?.cut
      if (cut === undefined) return
      const ticket = lastTicket()
      cut.onCut(() => {
        forget(request)
        this.#engine.cancel(ticket)
        // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- the caller's own reason, whatever it is
        reject(cut.reason)
      })
    })
  }

  #submit(request: number, options: RunOptions | undefined, inputs: readonly AnyTensor[]): void {
    const outputs = maskOf(options?.outputs)
    const destinations = destinationsOf(options)
    const only = inputs[0]
    // most models have one input: a call without a spread costs half
    if (inputs.length === 1 && only !== undefined && options?.optionalInputs === undefined) {
      const data = dataOf(only)
      writeCall(inputs, options)
      this.#engine.submit(request, outputs, destinations, data)
    } else {
      const data = allData(inputs, options)
      writeCall(inputs, options)
      this.#engine.submit(request, outputs, destinations, ...data)
    }
  }

  runSync(inputs: readonly AnyTensor[], options: RunOptions | undefined): Results {
    try {
      const data = allData(inputs, options)
      const destinations = destinationsOf(options)
      writeCall(inputs, options && { optionalInputs: options.optionalInputs })
      const objects = this.#engine.runSync(maskOf(options?.outputs), destinations, ...data)
      const results = readSync(this.outputs, options?.into, objects)
      return options?.into === undefined ? results : results.map((result, i) => placed(result, options.into?.[i]))
    } catch (error) {
      throw fromNative(error)
    }
  }

  async #timeLayers({ profile, iterations, inputs }: LayersRun, cut: Cut | undefined): Promise<LayerFacts> {
    const given = { profile, iterations, inputs: inputs?.map(nativeInput) }
    const running = nativeSync(() => this.#engine.audit(given))
    const { facts, ...ran } = await this.#besideLanes(running, cut)
    return { ...facts, ...ran }
  }

  async benchmark(
    run: BenchmarkRun,
    cut: Cut | undefined,
    listener: BenchmarkListener | undefined,
  ): Promise<BenchmarkFacts> {
    const running = nativeSync(() => this.#engine.benchmark(nativeBenchmark(run)))
    const watched = listener === undefined ? undefined : watch(running, listener)
    try {
      const facts = await this.#besideLanes(running, cut)
      return { ...facts, runtime: this.#engine.library }
    } finally {
      watched?.end()
    }
  }

  /** What runs beside the lanes: close() waits for its end. */
  #besideLanes<T>(running: { readonly promise: Promise<T>; cancel(): void }, cut: Cut | undefined): Promise<T> {
    const promise = this.#beside.add(running.promise)
    cut?.onCut(() => running.cancel())
    return native(() => promise)
  }

  async close(): Promise<void> {
    await this.#beside.idle()
    await this.#keepCompiled()
    const { calls } = this
    this.#last = deepFrozen({ stats: calls.stats(), counters: calls.counters(), memory: calls.memory() })
    const ended = await native(() => this.#engine.close())
    if (ended !== undefined) this.#last = deepFrozen({ ...ended, memory: noMemory })
  }

  /**
   * What was compiled since the last time. Nothing that goes wrong there is an error of the engine: it would be
   * compiled again.
   */
  #keepCompiled(): Promise<void> {
    const keep = this.#keep
    if (keep === undefined) return this.#kept
    const step = async (): Promise<void> => {
      const bytes = await this.#engine.runtimeCache()
      if (bytes !== undefined) await keep(new Uint8Array(bytes))
    }
    return (this.#kept = this.#kept.then(step).catch(() => {}))
  }
}

/** What a closed engine takes. */
const noMemory: EngineReport['memory'] = Object.freeze({
  device: 0,
  pinned: 0,
  pinnedKept: 0,
  queued: 0,
  tensors: 0,
  tensorsKept: 0,
  host: 0,
})

/** The functions of an engine, whose failures are TensorRTErrors. */
function callsOf(engine: NativeEngine): EngineCalls {
  const functions = Object.entries(engine).filter(([, member]) => typeof member === 'function')
  const guarded = functions.map(([name, call]: [string, (...given: unknown[]) => unknown]) => [
    name,
    (...given: unknown[]) => {
      const result = nativeSync(() => call(...given))
      return isPromise(result) ? native(() => result) : result
    },
  ])
  return {
    ...(Object.fromEntries(guarded) as Omit<EngineCalls, 'upload' | 'memory'>),
    upload: (data) => native(async () => new AddonMemory(await engine.upload(data))),
    memory: () => ({ ...nativeSync(() => engine.memory()), host: sharedBytes }),
  }
}

const nativeInput = (tensor: Tensor): NativeInput => ({ shape: tensor.shape, data: hostData(tensor) })

function nativeBenchmark({ inputs, ...run }: BenchmarkRun): NativeBenchmarkOptions {
  const numbers = Object.fromEntries(Object.entries(run).map(([name, value]) => [name, Number(value)]))
  return { ...(numbers as Omit<NativeBenchmarkOptions, 'inputs'>), inputs: inputs.map(nativeInput) }
}

/** Tells a listener of a benchmark; when that throws, it is cancelled, and end() throws the same. */
function watch(
  running: Pick<ReturnType<NativeEngine['benchmark']>, 'progress' | 'cancel'>,
  listener: BenchmarkListener,
): { end(): void } {
  let failure: { readonly error: unknown } | undefined
  const timer = setInterval(() => {
    const { phase, elapsedMs } = running.progress()
    try {
      listener(phase, elapsedMs)
    } catch (error) {
      failure = { error }
      clearInterval(timer)
      running.cancel()
    }
  }, 100)
  return {
    end() {
      clearInterval(timer)
      if (failure !== undefined) throw failure.error
    },
  }
}

/** The array of numbers as it is; texts packed. */
const hostData = (tensor: Tensor): NodeJS.TypedArray =>
  tensor.dtype === 'string' ? bytesOfTensor(tensor) : typedDataOf(tensor)

/** What native code takes for a tensor. @throws TensorRTError ERR_TRT_DISPOSED */
function dataOf(tensor: AnyTensor): NativeData {
  return tensor.location === 'host' ? hostData(tensor) : (memoryOf(tensor).handle as NativeTensor)
}

/** Of the inputs that every call has, then of those of this one alone. @throws TensorRTError ERR_TRT_DISPOSED */
function allData(inputs: readonly AnyTensor[], options: RunOptions | undefined): NativeData[] {
  const given = options?.optionalInputs?.filter((tensor) => tensor !== undefined) ?? []
  return [...inputs, ...given].map(dataOf)
}

/**
 * Where outputs go that stay on their device, or that `into` names; none where all go to the host, in memory of their
 * own.
 * @throws TensorRTError ERR_TRT_DISPOSED
 */
function destinationsOf(options: RunOptions | undefined): NativeDestinations | undefined {
  if (options === undefined) return undefined
  const { into, keep } = options
  return (into ?? keep)?.map((_, i) => {
    const target = into?.[i]
    return target === undefined ? keep?.[i] : dataOf(target)
  })
}

/** Bit i for output i, negative for all; a byte for each output where a number has too few bits. */
function maskOf(outputs: RunOptions['outputs']): number | Uint8Array {
  if (outputs === undefined) return -1
  if (outputs.length > 53) return Uint8Array.from(outputs, Number)
  return outputs.reduce((mask, wanted, i) => mask + (wanted ? 2 ** i : 0), 0)
}
