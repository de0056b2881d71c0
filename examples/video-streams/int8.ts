import { Builder } from '../../lib/builder.js'
import { capabilities } from '../../lib/capabilities.js'
import { Engine, type EngineOptions } from '../../lib/index.js'
import { type ErrorCode, TensorRTError } from '../../lib/errors.js'
import { type ModelProto, writeModel } from '../../lib/onnx/index.js'
import { Calibrator, quantize } from '../../lib/quantization/index.js'
import type { Tensor } from '../../lib/tensor.js'
import { note } from '../support/program.js'

/** What says that a plan cannot be built on this machine at all. */
const noTensorRT: readonly ErrorCode[] = [
  'ERR_TRT_NO_LIBRARY',
  'ERR_TRT_NO_ADDON',
  'ERR_TRT_NO_DRIVER',
  'ERR_TRT_NO_GPU',
  'ERR_TRT_PLATFORM',
]

export interface Int8Model {
  readonly name: string
  readonly model: ModelProto
  /** The name of its input, and how large that is: [3, height, width]. */
  readonly input: string
  readonly picture: readonly number[]
}

/** An engine, and what became of the model on the way. */
export interface Int8Engine {
  readonly engine: Engine
  readonly name: string
  /** Convolutions and products whose multiplications are of INT8, 0 to 1. */
  readonly share: number
  /** Bytes of the plan; undefined where none could be built. */
  readonly plan: number | undefined
}

/**
 * Quantized by ranges that were measured on the pictures, built where there is a TensorRT that builds, and run by it
 * where there is a GPU for it: else on the CPU.
 */
export async function int8Engine(
  { name, model, input, picture }: Int8Model,
  pictures: readonly Tensor[],
  maxBatch: number,
  options: EngineOptions,
): Promise<Int8Engine> {
  const quantized = await quantize(model, new Calibrator(pictures))
  const bytes = writeModel(quantized.model)
  const range = { min: [1, ...picture], opt: [maxBatch, ...picture], max: [maxBatch, ...picture] }
  const plan = options.backend === 'cpu' ? undefined : await built(bytes, { [input]: range })
  const { gpus, tensorrt } = await capabilities()
  const onGpu = plan !== undefined && gpus.length > 0 && tensorrt.some(({ canRun }) => canRun)
  const engine = onGpu
    ? await Engine.load(plan.bytes, options)
    : await Engine.load(bytes, { ...options, backend: 'cpu' })
  note(`${name}, INT8, runs on ${engine.description}`)
  return { engine, name, share: quantized.report.multiplyAdds.share, plan: plan?.bytes.length }
}

async function built(
  model: Uint8Array,
  shapes: Readonly<Record<string, { min: number[]; opt: number[]; max: number[] }>>,
): Promise<{ readonly bytes: Uint8Array } | undefined> {
  try {
    await using builder = new Builder()
    return await builder.build(model, { shapes })
  } catch (error) {
    if (!(error instanceof TensorRTError && noTensorRT.includes(error.code))) throw error
    note(`No plan is built: ${error.message}`)
    return undefined
  }
}
