import type { Cut } from '../base/cancellation.js'
import type { Tensor } from '../tensor.js'
import type {
  Backend,
  EngineAuditFacts,
  EngineMemory,
  EngineStats,
  ModelTensor,
  Results,
  RunOptions,
  UnsupportedTensor,
} from './backend.js'
import { connect, forget, readSync, register, sharedBytes, writeShapes } from './completions.js'
import { fromNative, loadAddon, native } from './native.js'
import type { NativeAddon, NativeEngine, NativeSessionOptions } from './native-types.js'
import { placed } from './results.js'

/** What is known of an engine that it does not say itself. */
export interface Told {
  /** The precisions that a plan was built for, beside 32 bits. */
  readonly precisions?: readonly string[]
  readonly dimensionNames?: ReadonlyMap<string, readonly (string | undefined)[]>
  /** Why its backend was taken, where `auto` chose. */
  readonly reason?: string | undefined
}

/** Opens an engine of the addon. */
export async function openAddonEngine(
  lanes: NativeSessionOptions,
  opener: (addon: NativeAddon) => Promise<NativeEngine>,
  told: Told = {},
): Promise<Backend> {
  return native(async () => {
    connect()
    return new AddonBackend(await opener(loadAddon()), lanes, told)
  })
}

/** Lanes of one's own on an engine that another thread shared. @throws TensorRTError ERR_TRT_TOKEN and what the making of lanes throws */
export async function attachEngine(name: string, lanes: NativeSessionOptions): Promise<Backend> {
  return openAddonEngine(lanes, (addon) => addon.attachEngine(name, lanes))
}

/** An engine of the addon, whatever it runs on. */
export class AddonBackend implements Backend {
  readonly kind: Backend['kind']
  readonly reason: string | undefined
  readonly description: string
  readonly inputs: Backend['inputs']
  readonly outputs: Backend['outputs']
  readonly unsupported: readonly UnsupportedTensor[]
  readonly concurrency: number
  readonly batches: number
  readonly maxBatch: number | undefined
  readonly precisions: readonly string[]
  /** Only of what runs on a GPU. */
  readonly audit?: NonNullable<Backend['audit']>
  readonly #engine: NativeEngine
  /** Audits under way, the aborted ones too, until nothing of them runs. */
  readonly #audits = new Set<Promise<unknown>>()

  constructor(
    engine: NativeEngine,
    { lanes, slots, batching, maxQueue }: NativeSessionOptions,
    { precisions = [], dimensionNames, reason }: Told = {},
  ) {
    this.#engine = engine
    this.precisions = precisions
    this.reason = reason
    const named = (info: ModelTensor): ModelTensor => ({
      ...info,
      dimensionNames: info.dimensionNames ?? dimensionNames?.get(info.name) ?? [],
    })
    this.inputs = engine.inputs.map(named)
    this.outputs = engine.outputs.map(named)
    this.unsupported = engine.unsupported
    const onGpu = engine.device >= 0
    this.kind = onGpu ? 'tensorrt' : 'cpu'
    this.description = `${engine.library} on ${onGpu ? `GPU ${engine.device}` : 'the CPU'}`
    if (onGpu) this.audit = (options, cut) => this.#auditLayers(options, cut)
    this.batches = lanes * (onGpu ? slots : 1)
    this.maxBatch = batching?.maxBatch
    this.concurrency = Math.min(this.batches * (this.maxBatch ?? 1), maxQueue)
  }

  run<R>(inputs: readonly Tensor[], options: RunOptions | undefined, finish: (results: Results) => R): Promise<R> {
    return new Promise<R>((resolve) => {
      const into = options?.into
      const request = register({
        outputs: this.outputs,
        into,
        description: this.description,
        settle: (results) => {
          resolve(finish(into === undefined ? results : results.map((result, i) => placed(result, into[i]))))
        },
        fail: resolve,
      })
      try {
        this.#aim(into)
        writeShapes(inputs)
        this.#submit(request, options?.outputs, inputs)
      } catch (error) {
        forget(request)
        throw fromNative(error)
      }
      options?.cut?.onCut(() => this.#giveUp(request))
    })
  }

  #submit(request: number, outputs: RunOptions['outputs'], inputs: readonly Tensor[]): void {
    const only = inputs[0]
    // most models have one input: a call without a spread costs half
    if (inputs.length === 1 && only !== undefined) this.#engine.submit(request, maskOf(outputs), only.data)
    else this.#engine.submit(request, maskOf(outputs), ...inputs.map((tensor) => tensor.data))
  }

  #giveUp(request: number): void {
    forget(request)
    this.#engine.cancel(request)
  }

  /** Tells native code of outputs that go straight to memory of allocate(). */
  #aim(into: RunOptions['into']): void {
    into?.forEach((tensor, i) => {
      if (tensor !== undefined) this.#engine.setTarget(i, tensor.data)
    })
  }

  runSync(inputs: readonly Tensor[], options: RunOptions | undefined): Results {
    try {
      this.#aim(options?.into)
      writeShapes(inputs)
      const objects = this.#engine.runSync(maskOf(options?.outputs), ...inputs.map((tensor) => tensor.data))
      const results = readSync(this.outputs, options?.into, objects)
      return options?.into === undefined ? results : results.map((result, i) => placed(result, options.into?.[i]))
    } catch (error) {
      throw fromNative(error)
    }
  }

  allocate(bytes: number): ArrayBuffer {
    return direct(() => this.#engine.allocate(bytes))
  }

  stats(): EngineStats {
    return direct(() => this.#engine.stats())
  }

  memory(): EngineMemory {
    return { ...direct(() => this.#engine.memory()), host: sharedBytes }
  }

  share(): string {
    return direct(() => this.#engine.share())
  }

  async #auditLayers(options: Parameters<NativeEngine['audit']>[0], cut: Cut | undefined): Promise<EngineAuditFacts> {
    const running = direct(() => this.#engine.audit(options))
    const { promise } = running
    const ended = promise.catch(() => {}).finally(() => this.#audits.delete(ended))
    this.#audits.add(ended)
    cut?.onCut(() => running.cancel())
    return native(() => promise)
  }

  async close(): Promise<void> {
    await Promise.all(this.#audits)
    await native(() => this.#engine.close())
  }
}

function direct<T>(call: () => T): T {
  try {
    return call()
  } catch (error) {
    throw fromNative(error)
  }
}

/** Bit i for output i; negative for all. */
function maskOf(outputs: RunOptions['outputs']): number {
  return outputs === undefined ? -1 : outputs.reduce((mask, wanted, i) => mask + (wanted ? 2 ** i : 0), 0)
}
