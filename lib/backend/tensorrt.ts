import type { Cut } from '../base/cancellation.js'
import { isLack } from '../base/remedies.js'
import type { OnnxSource } from '../base/source.js'
import { TensorRTError } from '../errors.js'
import type { Tensor } from '../tensor.js'
import type { Backend, EngineAuditFacts, EngineMemory, ModelTensor, EngineStats, Results, RunOptions } from './backend.js'
import { connect, forget, readSync, register, sharedBytes, writeShapes } from './completions.js'
import { fromNative, loadAddon, native, tensorrtPath } from './native.js'
import type { NativeEngine, NativePlanOrigin, NativeSessionOptions } from './native-types.js'
import { placed } from './results.js'

/** How the lanes of an engine work; what a user left out has its default. */
export type LaneOptions = NativeSessionOptions

export interface TensorRTOptions {
  /** The number of the GPU. */
  readonly device: number
  /** The path of a TensorRT library, or of the folder that has it. */
  readonly tensorrt?: string | undefined
  /** The ONNX model that the plan's weights are taken from before anything runs. */
  readonly weights?: OnnxSource | undefined
}

/**
 * Opens a plan on a GPU, off the main thread.
 * @throws TensorRTError ERR_TRT_PLAN, ERR_TRT_NO_LIBRARY, ERR_TRT_NO_DRIVER, ERR_TRT_NO_GPU, ERR_TRT_UNSUPPORTED, ERR_TRT_INVALID_ARGUMENT, ERR_TRT_OUT_OF_MEMORY,
 * ERR_TRT_CUDA, ERR_TRT_DEVICE_LOST, ERR_TRT_WEIGHTS; with weights ERR_TRT_ONNX_PARSE, ERR_TRT_FILE
 * @see https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/c-api/classnvinfer1_1_1_i_runtime.html deserializeCudaEngine
 */
export async function openTensorRT(
  plan: Uint8Array,
  { device, tensorrt, origin, weights, told = {} }: TensorRTOptions & { readonly origin?: NativePlanOrigin; readonly told?: ToldOfPlan },
  lanes: LaneOptions,
): Promise<Backend> {
  const given = { ...(origin !== undefined && { origin }), ...(weights !== undefined && { weights }) }
  const options = { ...lanes, device, tensorrt: tensorrtPath(tensorrt), ...given }
  return open(lanes, (addon) => addon.openEngine(plan, options), told)
}

/** What a plan's sidecar knows and the engine does not say. */
export interface ToldOfPlan {
  /** The precisions that it was built for, beside 32 bits. */
  readonly precisions?: readonly string[]
  readonly dimensionNames?: ReadonlyMap<string, readonly (string | undefined)[]>
}

/** Lanes of one's own on an engine that another thread shared. @throws TensorRTError ERR_TRT_TOKEN and those of openTensorRT */
export async function attachTensorRT(name: string, lanes: LaneOptions): Promise<Backend> {
  return open(lanes, (addon) => addon.attachEngine(name, lanes), {})
}

async function open(
  lanes: LaneOptions,
  opener: (addon: ReturnType<typeof loadAddon>) => Promise<NativeEngine>,
  told: ToldOfPlan,
): Promise<Backend> {
  return native(async () => {
    connect()
    return new TensorRTBackend(await opener(loadAddon()), lanes, told)
  })
}

/**
 * What keeps this machine from both building plans and running them: ERR_TRT_NO_ADDON, ERR_TRT_PLATFORM, ERR_TRT_NO_DRIVER, ERR_TRT_NO_GPU, ERR_TRT_NO_LIBRARY, with
 * the remedy; nothing where it can. Nothing is built for that.
 */
export async function whyNoTensorRT({
  device,
  tensorrt,
}: Pick<TensorRTOptions, 'device' | 'tensorrt'>): Promise<TensorRTError | undefined> {
  try {
    await native(async () => loadAddon().chooseBuilder({ tensorrt: tensorrtPath(tensorrt), device, toRun: 1 }))
    return undefined
  } catch (error) {
    if (error instanceof TensorRTError && isLack(error.code)) return error
    throw error
  }
}

class TensorRTBackend implements Backend {
  readonly kind = 'tensorrt'
  readonly description: string
  readonly inputs: Backend['inputs']
  readonly outputs: Backend['outputs']
  readonly concurrency: number
  readonly batches: number
  readonly maxBatch: number | undefined
  readonly precisions: readonly string[]
  readonly #engine: NativeEngine
  /** Audits under way, the aborted ones too, until nothing of them runs. */
  readonly #audits = new Set<Promise<unknown>>()

  constructor(engine: NativeEngine, { lanes, slots, batching, maxQueue }: LaneOptions, { precisions = [], dimensionNames }: ToldOfPlan) {
    this.#engine = engine
    this.precisions = precisions
    const named = (info: ModelTensor): ModelTensor => ({ ...info, dimensionNames: dimensionNames?.get(info.name) ?? [] })
    this.inputs = engine.inputs.map(named)
    this.outputs = engine.outputs.map(named)
    this.description = `${engine.library} on GPU ${engine.device}`
    this.batches = lanes * slots
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

  async audit(options: Parameters<NativeEngine['audit']>[0], cut: Cut | undefined): Promise<EngineAuditFacts> {
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
