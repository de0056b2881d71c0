import { loadAddon, native, tensorrtPath } from './backend/native.js'
import type { NativeRefitter } from './backend/native-types.js'
import { within } from './base/cancellation.js'
import { TensorRTError } from './errors.js'
import { checkedSource, type ModelSource, onnxSource } from './base/source.js'
import { awaitRestacked } from './base/stacks.js'
import { closeModel, openModel, withContent } from './engine/source.js'
import { checkedText } from './base/checks.js'
import {
  checkedCall,
  checkedOptions,
  is,
  option,
  type OptionTable,
  placeRows,
  signalOption,
  type TensorRTPlace,
} from './base/option-table.js'
import { type Abortable, checkedAbort } from './base/options.js'
import { weightsFor } from './building/reconversion.js'
import { Plan, type PlanInfo, planOf } from './plan.js'
import { checkedOrigin, isStripped, refittedInfo } from './plan/origin.js'
import { byteSize, copiedBytes, type DType, expectedTensor, Tensor, typedDataOf } from './tensor.js'

/** Options of {@link Refitter}. */
export interface RefitterOptions {
  /** The TensorRT that has the plan, and its GPU. Without a library the first is taken that runs the plan. */
  readonly tensorrt?: TensorRTPlace | undefined
}

/** Weights of a plan that can be replaced. */
export interface WeightsInfo {
  /** The name of the weights: of weights from ONNX that of the initializer; empty where TensorRT has none. */
  readonly name: string
  /** The data type that the weights have to have; absent where TensorRT does not tell. */
  readonly dtype?: DType | undefined
  /** How many elements the weights have; absent where TensorRT does not tell. */
  readonly count?: number | undefined
  /**
   * Whether {@link Refitter.refit} needs them and they were not set: all of a plan that has none (which a bare plan of
   * a TensorRT before 10.14 does not tell), and those that TensorRT fused with others that were set.
   */
  readonly missing: boolean
}

/** Options of {@link Refitter.refit}. */
export interface RefitOptions extends Abortable {
  /** Whether the new plan can be refitted again; default false. Needs TensorRT 10.14. */
  readonly refittable?: boolean | undefined
}

const refitRows = {
  refittable: option(is.boolean, false),
  signal: signalOption,
} satisfies OptionTable<RefitOptions>

/**
 * Replaces the weights of a plan that was built with the option `refit` or `stripWeights`, without building it again.
 * Needs the GPU that the plan is for.
 *
 * A plan that was built with `stripWeights` alone, or with `refit: 'identical'`, takes only the weights that it was
 * built from: what it computes with others is undefined, and TensorRT does not report it. With `refit: true` it takes
 * any that fit.
 *
 * Calls run one after another, each on a thread; the plan is loaded before the first. An engine that runs the plan does
 * not change: load a new one from {@link refit}'s result, or from the stripped plan with the option `weights` of {@link
 * Engine.load}.
 * @see https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/c-api/classnvinfer1_1_1_i_refitter.html
 * @example
 * ```ts
 * import { Refitter } from 'node-tensorrt'
 *
 * const refitter = new Refitter('model.plan')
 * await refitter.setFromOnnx('model.onnx')
 * const plan = await refitter.refit()
 * await plan.save('refitted.plan')
 * await refitter.close()
 * ```
 */
export class Refitter implements AsyncDisposable {
  readonly #opened: Promise<Opened>
  /** Ends when all that was asked for so far has ended. */
  #last: Promise<unknown>
  /** Where the plan comes from. */
  readonly #source: Plan | string | Uint8Array
  #closing: Promise<void> | undefined

  /**
   * Begins to load: a Plan, or a path, `file:` URL or the bytes of one, which are copied here. What goes wrong with it
   * is told by each call.
   * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT
   */
  constructor(plan: Plan | ModelSource, options?: RefitterOptions) {
    const checked = checkedRefitterOptions(options)
    const source = plan instanceof Plan ? plan : checkedSource(plan, 'plan')
    this.#source = source
    this.#opened = open(source, checked)
    this.#opened.catch(() => {})
    this.#last = this.#opened.catch(() => {})
  }

  /**
   * All weights that can be replaced.
   * @throws TensorRTError (as a rejection) ERR_TRT_WEIGHTS where the plan was not built to be refitted; ERR_TRT_CLOSED,
   * ERR_TRT_INVALID_ARGUMENT, ERR_TRT_DEVICE_LOST; and what loading the plan gave: ERR_TRT_FILE, ERR_TRT_MODEL_FORMAT,
   * ERR_TRT_PLAN, ERR_TRT_NO_LIBRARY, ERR_TRT_NO_DRIVER, ERR_TRT_NO_GPU, ERR_TRT_UNSUPPORTED, ERR_TRT_CUDA
   * @see https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/c-api/classnvinfer1_1_1_i_refitter.html
   * getAllWeights, getMissingWeights, getWeightsPrototype
   */
  async weights(options?: Abortable): Promise<WeightsInfo[]> {
    const signal = checkedAbort(options, 'weights')
    return this.#run(signal, ({ refitter }) => refitter.weights())
  }

  /**
   * Gives weights their new values, for the next {@link refit}: a tensor of their data type and count; its shape does
   * not matter. The data is copied here.
   * @throws TensorRTError (as a rejection) ERR_TRT_WEIGHTS for an unknown name, ERR_TRT_DTYPE, ERR_TRT_SHAPE for
   * another count, ERR_TRT_DETACHED, and as {@link weights}
   * @see https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/c-api/classnvinfer1_1_1_i_refitter.html
   * setNamedWeights
   */
  async set(name: string, tensor: Tensor, options?: Abortable): Promise<void> {
    const signal = checkedAbort(options, 'set')
    checkedText(name, 'name', 'a name')
    if (!Tensor.is(tensor)) throw expectedTensor('a Tensor', `the weights ${JSON.stringify(name)}`, tensor)
    const bytes = bytesOf(tensor, name)
    return this.#run(signal, ({ refitter }) => refitter.set(name, tensor.dtype, tensor.size, bytes))
  }

  /**
   * Gives all weights the values that they have in an ONNX model, by name: a path (weights in files beside it are found
   * from there) or bytes, which are copied here. The model is the one that the plan was built from, but for its
   * weights. It is checked as a build checks it, and converted as that was, where the plan was built with half
   * precision by types (`plan.info.conversion`): where these weights would convert otherwise (a number beyond float16),
   * that is ERR_TRT_WEIGHTS.
   * @throws TensorRTError (as a rejection) ERR_TRT_FILE, ERR_TRT_ONNX_PARSE where it is damaged or reaches outside of
   * its folder, ERR_TRT_WEIGHTS when it lacks some or they do not fit, ERR_TRT_PRECISION where it cannot be converted,
   * and as {@link weights}
   * @see
   * https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/c-api/classnvonnxparser_1_1_i_parser_refitter.html
   * refitFromBytes, refitFromFile
   */
  async setFromOnnx(model: ModelSource, options?: Abortable): Promise<void> {
    const signal = checkedAbort(options, 'setFromOnnx')
    const source = onnxSource(model, 'model')
    return this.#run(signal, async ({ refitter, info }) => refitter.setFromOnnx(await weightsFor(source, info, signal)))
  }

  /**
   * A plan with the weights that were set, and the old ones for the rest. What was set stays set.
   * @throws TensorRTError (as a rejection) ERR_TRT_WEIGHTS, which names those that are missing (`details.missing`: one
   * a line); ERR_TRT_UNSUPPORTED, and as {@link weights}
   * @see https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/c-api/classnvinfer1_1_1_i_refitter.html
   * refitCudaEngine
   * @see https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/c-api/classnvinfer1_1_1_i_cuda_engine.html
   * serializeWithConfig
   */
  async refit(options?: RefitOptions): Promise<Plan> {
    const { signal, refittable } = checkedCall(options, refitRows, 'refit')
    return this.#run(signal, async ({ refitter, info }) => {
      const { plan, ...built } = await refitter.refit(refittable)
      return planOf(new Uint8Array(plan), Object.freeze({ ...refittedInfo(info, refittable), ...built }), this.#source)
    })
  }

  /** Refuses new calls, lets those under way end, frees everything. Twice without harm. */
  async close(): Promise<void> {
    await (this.#closing ??= this.#close())
  }

  async #close(): Promise<void> {
    await this.#last
    const opened = await this.#opened.catch(() => undefined)
    if (opened) await native(() => opened.refitter.close())
  }

  /** Calls {@link close}, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** Runs after what was asked for before; not at all when the signal came first. */
  async #run<T>(signal: AbortSignal | undefined, work: (opened: Opened) => Promise<T>): Promise<T> {
    if (this.#closing) throw new TensorRTError('ERR_TRT_CLOSED', 'The refitter is closed')
    const before = this.#last
    const call = async (): Promise<T> => {
      await before
      signal?.throwIfAborted()
      const opened = await this.#opened
      return native(() => work(opened))
    }
    const run = (): Promise<T> => {
      const called = call()
      this.#last = called.catch(() => {})
      return called
    }
    return awaitRestacked(within({ signal }, run))
  }
}

/** What a loaded plan is, and what it came with. */
interface Opened {
  readonly refitter: NativeRefitter
  readonly info: PlanInfo
}

async function open(
  source: Plan | string | Uint8Array,
  options: { readonly tensorrt: string; readonly device: number },
): Promise<Opened> {
  const model = await openModel(source)
  if (model.kind !== 'plan')
    throw new TensorRTError('ERR_TRT_MODEL_FORMAT', `Expected a TensorRT plan in ${model.label} but found ONNX`)
  try {
    const { info } = model.plan
    const given = { ...options, origin: checkedOrigin(model.plan), stripped: isStripped(info) }
    return {
      refitter: await withContent(model.plan, (plan) => native(() => loadAddon().openRefitter(plan, given))),
      info,
    }
  } finally {
    await closeModel(model)
  }
}

function checkedRefitterOptions(options: unknown): { readonly tensorrt: string; readonly device: number } {
  const { library, device } = checkedOptions(options, placeRows, 'Refitter').tensorrt
  return { tensorrt: tensorrtPath(library), device }
}

function bytesOf(tensor: Tensor, name: string): Uint8Array {
  const wanted = byteSize(tensor.dtype, tensor.shape)
  const data = typedDataOf(tensor)
  if (data.byteLength === wanted) return new Uint8Array(copiedBytes(data))
  const found = `Expected ${wanted} bytes behind the weights ${JSON.stringify(name)} but found ${data.byteLength}`
  throw new TensorRTError('ERR_TRT_DETACHED', `${found}: their buffer was transferred away or resized`)
}
