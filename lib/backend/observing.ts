import { within } from '../base/cancellation.js'
import { fitsDims, shapeText } from '../base/dims.js'
import { TensorRTError } from '../errors.js'
import { expectedTensor, Tensor, isWhole } from '../tensor.js'
import type { Backend, ModelTensor } from './backend.js'
import type { CpuOptions } from './cpu-options.js'
import type { Observed } from './facts.js'
import { loadAddon, nativeSync } from './native.js'
import type { NativeSessionOptions } from './native-types.js'
import type { ObservedModel } from './onnxruntime.js'
import { whyPortable } from './portable/why.js'

export type { Observed } from './facts.js'

/** How a model runs that is observed; checked already. */
export interface ObservationOptions {
  /** How many inferences run at once, 1 unless given. */
  readonly lanes?: number | undefined
  /** As that of an engine on the CPU. */
  readonly cpu?: Partial<CpuOptions> | undefined
  readonly signal?: AbortSignal | undefined
}

/**
 * A model on the CPU whose outputs of float32 are counted where they are computed, on the thread of the lane, and given
 * to nobody: one whose every activation was made an output is measured in one pass over the data. What is kept is a
 * histogram for each output, 32 KiB; an inference takes what onnxruntime does for all its outputs.
 */
export class Observation implements AsyncDisposable {
  readonly #model: ObservedModel

  private constructor(model: ObservedModel) {
    this.#model = model
  }

  /**
   * Bytes are not copied, and not to be changed until it is open; of a path, onnxruntime finds weights in files beside
   * it.
   * @throws TensorRTError ERR_TRT_NO_ADDON, ERR_TRT_PLATFORM, ERR_TRT_NO_ONNXRUNTIME, ERR_TRT_ONNX_PARSE, ERR_TRT_FILE,
   * ERR_TRT_OUT_OF_MEMORY; ERR_TRT_DTYPE for an input that no Tensor can hold; ERR_TRT_INVALID_ARGUMENT where no output
   * is of float32; the signal's reason
   */
  static open(model: Uint8Array | string, options: ObservationOptions = {}): Promise<Observation> {
    return within({ signal: options.signal }, async (cut) => {
      refuseWithoutAddon()
      const { openToObserve } = await import('./onnxruntime.js')
      const opened = await openToObserve(model, { cpu: cpuOptions(options), lanes: laneOptions(options), profiles: [] })
      const refused =
        cut?.happened === true ? new TensorRTError('ERR_TRT_CLOSED', 'Nobody waits for it') : whyNotRun(opened.backend)
      if (refused === undefined) return new Observation(opened)
      await opened.backend.close()
      throw refused
    })
  }

  /** What the model takes, in its own order. */
  get inputs(): Backend['inputs'] {
    return this.#model.backend.inputs
  }

  /**
   * Runs the model on inputs in its own order; their data was copied when this returns. It is settled once all is
   * counted; an inference that fails or is given up has counted nothing, unless it was at its end already. More than
   * `lanes` at once wait in a queue, which is bounded: ERR_TRT_QUEUE_FULL.
   * @throws TensorRTError ERR_TRT_CLOSED, ERR_TRT_INVALID_ARGUMENT, ERR_TRT_DTYPE, ERR_TRT_SHAPE, ERR_TRT_DETACHED,
   * ERR_TRT_EXECUTION, ERR_TRT_OUT_OF_MEMORY; the signal's reason
   */
  run(inputs: readonly Tensor[], { signal }: { readonly signal?: AbortSignal | undefined } = {}): Promise<void> {
    return within({ signal }, async (cut) => {
      checkInputs(inputs, this.inputs)
      await this.#model.backend.run(inputs, { cut }, () => {})
    })
  }

  /**
   * What was counted so far, of each output that some inference has computed, in the model's order. @throws
   * TensorRTError ERR_TRT_CLOSED
   */
  observed(): readonly Observed[] {
    return nativeSync(() => this.#model.observed())
  }

  /** Lets what runs come to its end. Twice without harm. */
  close(): Promise<void> {
    return this.#model.backend.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

function refuseWithoutAddon(): void {
  const why = whyPortable()
  if (why === undefined) return
  throw new TensorRTError(codeWithoutAddon(), `To count what a model computes takes the addon of node-tensorrt: ${why}`)
}

function codeWithoutAddon(): 'ERR_TRT_PLATFORM' | 'ERR_TRT_NO_ADDON' {
  try {
    loadAddon()
  } catch (error) {
    if (error instanceof TensorRTError && error.code === 'ERR_TRT_PLATFORM') return error.code
  }
  return 'ERR_TRT_NO_ADDON'
}

function cpuOptions({ cpu }: ObservationOptions): CpuOptions {
  return { optimization: 'all', deterministic: false, config: {}, ...cpu }
}

function laneOptions({ lanes = 1 }: ObservationOptions): NativeSessionOptions {
  const queue = { maxQueue: 4096, maxQueueBytes: 2 ** 28, wait: 'adaptive' } as const
  return { ...queue, lanes, profile: -1, highPriority: 0, graphs: 0, slots: 1 }
}

/** Inputs that no Tensor can hold, since nobody can give them. */
function whyNotRun({ unsupported = [] }: Backend): TensorRTError | undefined {
  const input = unsupported.find(({ use }) => use === 'input')
  if (input === undefined) return undefined
  return new TensorRTError(
    'ERR_TRT_DTYPE',
    `Expected inputs that a Tensor can hold but the model's input ${JSON.stringify(input.name)} is ${input.type}`,
  )
}

function checkInputs(given: readonly Tensor[], inputs: readonly ModelTensor[]): void {
  if (given.length !== inputs.length) {
    throw new TensorRTError('ERR_TRT_INVALID_ARGUMENT', `Expected ${inputs.length} inputs but received ${given.length}`)
  }
  inputs.forEach((info, i) => checkInput(given[i], info))
}

function checkInput(tensor: unknown, { name, dtype, shape }: ModelTensor): void {
  const label = `input ${JSON.stringify(name)}`
  if (!Tensor.is(tensor)) throw expectedTensor('a Tensor', label, tensor)
  if (tensor.dtype !== dtype)
    throw new TensorRTError('ERR_TRT_DTYPE', `Expected ${dtype} for ${label} but received ${tensor.dtype}`)
  if (!fitsDims(tensor.shape, shape)) {
    const found = `but received one of ${shapeText(tensor.shape)}`
    throw new TensorRTError('ERR_TRT_SHAPE', `Expected a tensor of shape ${shapeText(shape)} for ${label} ${found}`)
  }
  if (!isWhole(tensor)) {
    throw new TensorRTError('ERR_TRT_DETACHED', `The buffer of ${label} was transferred away or resized`)
  }
}
