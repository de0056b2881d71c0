import type { ProfileShapes } from './backend/backend.js'
import { fromNative, loadAddon, native, type NativeBuildRequest, type NativeProfile, tensorrtPath } from './backend/native.js'
import { expected, TensorRTError } from './errors.js'
import { checkedSource, type ModelSource } from './model-source.js'
import { checkedSignal, readOptions } from './options.js'
import { Plan } from './plan.js'
import { checkedShape } from './tensor.js'

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

/** The shapes of one input: one shape for all three, or a range. */
export type InputShapes = readonly number[] | ProfileShapes

/** The shapes of an optimization profile, by input. Needed for every input that the model leaves dynamic. */
export type Shapes = Readonly<Record<string, InputShapes>>

/** Where a build is. TensorRT's phases nest; `parent` is empty for the outermost. */
export interface BuildProgress {
  readonly phase: string
  readonly parent: string
  /** Steps done, from 0. */
  readonly step: number
  readonly steps: number
}

export interface BuildOptions {
  /** One optimization profile, or several. */
  readonly shapes?: Shapes | readonly Shapes[]
  /** Called on this thread as the build goes on. What it throws ends the build and rejects it. */
  readonly onProgress?: (progress: BuildProgress) => void
  /** Rejects the build at once with the signal's reason; TensorRT itself stops at its next step. */
  readonly signal?: AbortSignal | undefined
}

/**
 * Turns ONNX into plans, on a thread of its own.
 *
 * ```ts
 * const plan = await new Builder({ workspace: '1GiB' }).build('model.onnx', { shapes: { images: { min: [1, 3, 224, 224], opt: [8, 3, 224, 224], max: [32, 3, 224, 224] } } })
 * await plan.save('model.plan')
 * ```
 * @see https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/c-api/classnvinfer1_1_1_i_builder.html
 */
export class Builder {
  readonly #options: Omit<NativeBuildRequest, 'model' | 'path' | 'profiles'>

  /** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
  constructor(options?: BuilderOptions) {
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
    this.#options = {
      tensorrt: tensorrtPath(tensorrt),
      device,
      ...(workspace !== undefined && { workspace: checkedBytes(workspace, 'workspace') }),
      ...(optimizationLevel !== undefined && { optimizationLevel }),
      ...(tf32 !== undefined && { tf32: tf32 ? 1 : 0 }),
    }
  }

  /**
   * Builds a plan from ONNX: a path (weights in files beside it are found from there) or bytes, which are copied here.
   * @throws TensorRTError (as a rejection) ERR_TRT_FILE, ERR_TRT_ONNX_PARSE, ERR_TRT_UNSUPPORTED_OPERATOR, ERR_TRT_UNKNOWN_INPUT, ERR_TRT_SHAPES_REQUIRED, ERR_TRT_SHAPE,
   * ERR_TRT_BUILD, ERR_TRT_NO_LIBRARY, ERR_TRT_NO_DRIVER, ERR_TRT_NO_GPU, ERR_TRT_UNSUPPORTED, ERR_TRT_INVALID_ARGUMENT
   */
  async build(model: ModelSource, options?: BuildOptions): Promise<Plan> {
    const given = readOptions(options, ['shapes', 'onProgress', 'signal'], 'build')
    const signal = checkedSignal(given.signal)
    if (given.onProgress !== undefined && typeof given.onProgress !== 'function')
      throw expected('a function', 'onProgress', given.onProgress)
    const profiles = checkedProfiles(given.shapes)
    const source = checkedSource(model)
    signal?.throwIfAborted()
    const request = { ...this.#options, profiles, ...(typeof source === 'string' ? { path: source } : { model: source }) }
    return runBuild(request, given.onProgress as BuildOptions['onProgress'], signal)
  }
}

function runBuild(request: NativeBuildRequest, onProgress: BuildOptions['onProgress'], signal: AbortSignal | undefined): Promise<Plan> {
  return new Promise((resolve, reject) => {
    let over = false
    const stop = (reason: unknown): void => {
      over = true
      build.cancel()
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- the user's own reason, whatever it is
      reject(reason)
    }
    const report = (phase: string, parent: string, step: number, steps: number): void => {
      if (over) return
      try {
        onProgress?.({ phase, parent, step, steps })
      } catch (error) {
        stop(error)
      }
    }
    const onAbort = (): void => {
      stop(signal?.reason)
    }
    const build = startBuild(request, report)
    signal?.addEventListener('abort', onAbort, { once: true })
    native(() => build.promise)
      .then(({ plan, ...info }) => {
        resolve(new Plan(new Uint8Array(plan), Object.freeze(info)))
      }, reject)
      .finally(() => {
        over = true
        signal?.removeEventListener('abort', onAbort)
      })
  })
}

function startBuild(...args: Parameters<ReturnType<typeof loadAddon>['build']>): ReturnType<ReturnType<typeof loadAddon>['build']> {
  try {
    return loadAddon().build(...args)
  } catch (error) {
    throw fromNative(error)
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

function checkedProfiles(shapes: unknown): NativeProfile[] {
  if (shapes === undefined) return []
  if (typeof shapes !== 'object' || shapes === null)
    throw expected('an object of shapes by input, or an array of such objects,', 'shapes', shapes)
  const profiles = Array.isArray(shapes) ? (shapes as unknown[]) : [shapes]
  return profiles.map((profile) => {
    if (typeof profile !== 'object' || profile === null) throw expected('an object of shapes by input', 'shapes', profile)
    return Object.entries(profile).map(([name, value]) => ({ name, ...checkedRange(value, name) }))
  })
}

function checkedRange(value: unknown, input: string): ProfileShapes {
  if (Array.isArray(value)) {
    const shape = checkedShape(value, `the shape of '${input}'`)
    return { min: shape, opt: shape, max: shape }
  }
  if (typeof value !== 'object' || value === null) throw expected('a shape, or { min, opt, max },', `the shapes of '${input}'`, value)
  const { min, opt, max } = readOptions(value, ['min', 'opt', 'max'], `the shapes of '${input}'`)
  for (const [key, shape] of Object.entries({ min, opt, max })) {
    if (shape === undefined)
      throw new TensorRTError('ERR_TRT_SHAPES_REQUIRED', `Input '${input}' has no ${key} shape: give min, opt and max`)
  }
  return {
    min: checkedShape(min, `min of '${input}'`),
    opt: checkedShape(opt, `opt of '${input}'`),
    max: checkedShape(max, `max of '${input}'`),
  }
}
