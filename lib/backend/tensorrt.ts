import { capabilities } from '../capabilities.js'
import { TensorRTError } from '../errors.js'
import { Tensor } from '../tensor.js'
import type { Backend, RunOptions } from './backend.js'
import { loadAddon, native, type NativeEngine, tensorrtPath } from './native.js'

export interface TensorRTOptions {
  /** The number of the GPU. */
  readonly device: number
  /** The path of a TensorRT library, or of the folder that has it. */
  readonly tensorrt?: string
  readonly signal?: AbortSignal
}

/**
 * Opens a plan on a GPU, off the main thread.
 * @throws TensorRTError ERR_TRT_PLAN, ERR_TRT_NO_LIBRARY, ERR_TRT_NO_DRIVER, ERR_TRT_NO_GPU, ERR_TRT_UNSUPPORTED, ERR_TRT_OUT_OF_MEMORY, ERR_TRT_CUDA
 * @see https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/c-api/classnvinfer1_1_1_i_runtime.html deserializeCudaEngine
 */
export async function openTensorRT(plan: Uint8Array, { device, tensorrt, signal }: TensorRTOptions): Promise<Backend> {
  const engine = await native(() => loadAddon().openEngine(plan, { device, tensorrt: tensorrtPath(tensorrt) }))
  if (signal?.aborted) {
    await native(() => engine.close())
    throw signal.reason
  }
  return new TensorRTBackend(engine, device)
}

/** Whether this machine can both build plans and run them. */
export async function canRunTensorRT({ device, tensorrt }: TensorRTOptions): Promise<boolean> {
  const found = await capabilities(tensorrt === undefined ? {} : { tensorrt })
  return device < found.gpus.length && found.tensorrt.some((library) => library.canBuild && library.canRun)
}

class TensorRTBackend implements Backend {
  readonly kind = 'tensorrt'
  readonly description: string
  readonly #engine: NativeEngine

  constructor(engine: NativeEngine, device: number) {
    this.#engine = engine
    this.description = `${engine.library} on GPU ${device}`
  }

  get inputs(): Backend['inputs'] {
    return this.#engine.inputs
  }

  get outputs(): Backend['outputs'] {
    return this.#engine.outputs
  }

  async run(inputs: Readonly<Record<string, Tensor>>, { signal }: RunOptions): Promise<Record<string, Tensor>> {
    signal?.throwIfAborted()
    const given = this.#engine.inputs.map(({ name }) => {
      const tensor = inputs[name]
      if (tensor === undefined) throw new TensorRTError('ERR_TRT_MISSING_INPUT', `Input '${name}' is missing`)
      return { shape: tensor.shape, data: tensor.data }
    })
    const results = await native(() => this.#engine.run(given))
    const outputs = Object.create(null) as Record<string, Tensor>
    this.#engine.outputs.forEach(({ name, dtype }, i) => {
      const result = results[i]
      if (result !== undefined) outputs[name] = Tensor.fromBytes(dtype, result.data, result.shape)
    })
    return outputs
  }

  close(): Promise<void> {
    return native(() => this.#engine.close())
  }
}
