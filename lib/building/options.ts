import type { NativeBuildOptions } from '../backend/native.js'
import { tensorrtPath } from '../backend/native.js'
import { expected } from '../errors.js'
import { readOptions } from '../options.js'

export interface BuilderOptions {
  /** The path of a TensorRT library, or of the folder that has it; else $TENSORRT_PATH, else the first that can build here. */
  readonly tensorrt?: string
  /** The number of the GPU to build for; 0 unless given. TensorRT-RTX needs none. */
  readonly device?: number
  /**
   * The most device memory that a layer's temporary data may take: bytes, or "512MiB", "2GiB"; TensorRT's own default unless given.
   * @see https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/c-api/classnvinfer1_1_1_i_builder_config.html setMemoryPoolLimit(kWORKSPACE)
   */
  readonly workspace?: number | string
  /**
   * 0 (fastest build) to 5 (longest search); TensorRT's own default, 3, unless given.
   * @see https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/c-api/classnvinfer1_1_1_i_builder_config.html setBuilderOptimizationLevel
   */
  readonly optimizationLevel?: number
  /**
   * Whether FP32 layers may use TensorFloat-32 (10 bits of mantissa) on the GPU's tensor cores; TensorRT's default is true.
   * @see https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/c-api/namespacenvinfer1.html BuilderFlag::kTF32
   */
  readonly tf32?: boolean
}

/** The options as native code takes them. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedBuilderOptions(options: unknown): NativeBuildOptions {
  const {
    tensorrt,
    device = 0,
    workspace,
    optimizationLevel,
    tf32,
  } = readOptions(options, ['tensorrt', 'device', 'workspace', 'optimizationLevel', 'tf32'], 'Builder')
  if (tensorrt !== undefined && (typeof tensorrt !== 'string' || tensorrt === '')) throw expected('a path', 'tensorrt', tensorrt)
  if (!isInteger(device, 0, 1023)) throw expected('the number of a GPU', 'device', device)
  if (optimizationLevel !== undefined && !isInteger(optimizationLevel, 0, 5))
    throw expected('an integer from 0 to 5', 'optimizationLevel', optimizationLevel)
  if (tf32 !== undefined && typeof tf32 !== 'boolean') throw expected('true or false', 'tf32', tf32)
  return {
    tensorrt: tensorrtPath(tensorrt),
    device,
    ...(workspace !== undefined && { workspace: checkedBytes(workspace, 'workspace') }),
    ...(optimizationLevel !== undefined && { optimizationLevel }),
    ...(tf32 !== undefined && { tf32: tf32 ? 1 : 0 }),
  }
}

function isInteger(value: unknown, min: number, max: number): value is number {
  return Number.isInteger(value) && (value as number) >= min && (value as number) <= max
}

const byteUnits: Readonly<Record<string, number>> = { '': 1, B: 1, KIB: 2 ** 10, MIB: 2 ** 20, GIB: 2 ** 30, KB: 1e3, MB: 1e6, GB: 1e9 }

/** A number of bytes, or text such as "512MiB". @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedBytes(value: unknown, name: string): number {
  const [, digits, unit] = typeof value === 'string' ? (/^(\d+(?:\.\d+)?) ?([a-z]*)$/i.exec(value) ?? []) : []
  const factor = byteUnits[unit?.toUpperCase() ?? '']
  const bytes = typeof value === 'number' ? value : digits !== undefined && factor !== undefined ? Math.round(Number(digits) * factor) : NaN
  if (Number.isSafeInteger(bytes) && bytes > 0) return bytes
  throw expected('a number of bytes, or text such as "512MiB" or "2GiB",', name, value)
}
