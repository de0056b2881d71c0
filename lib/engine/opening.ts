import type { Backend } from '../backend/backend.js'
import type { CpuOptions } from '../backend/cpu-options.js'
import type { NativeSessionOptions } from '../backend/native-types.js'
import type { BuildOptions } from '../builder.js'
import type { BuilderOptions } from '../building/options.js'
import { checkedProfiles } from '../building/shapes.js'
import type { CachePlace } from '../cache/options.js'
import { reworded, TensorRTError } from '../errors.js'
import { reasonForCpu, takenSince, withOnnxRemedy } from './choice.js'
import { type OnnxSource, onnxSource } from '../base/source.js'
import type { Model, PlanToOpen } from './source.js'
import type { Plan } from '../plan.js'
import { checkedOrigin, dimensionNamesOf, precisionsOf } from '../plan/origin.js'

export interface OpenOptions {
  readonly backend: 'auto' | 'tensorrt' | 'cpu'
  /** The names of options that ask for TensorRT, of those that are for the CPU alone, and of all that were given. */
  readonly wishes: readonly string[]
  readonly forCpu: readonly string[]
  readonly given: readonly string[]
  readonly cpu: CpuOptions
  readonly device: number
  readonly lanes: NativeSessionOptions
  readonly tensorrt?: string
  readonly shapes?: NonNullable<BuildOptions['shapes']>
  readonly builder?: EngineBuilderOptions
  readonly onProgress?: NonNullable<BuildOptions['onProgress']>
  /** Where plans are kept; nothing: nowhere. */
  readonly cache: CachePlace | undefined
  readonly weights?: OnnxSource
}

/** How an engine is built from ONNX; TensorRT and the GPU are those that run it. */
export type EngineBuilderOptions = Omit<BuilderOptions, 'tensorrt' | 'device'>

/**
 * Opens a model on the backend that was asked for. The backends are imported only here, when one is wanted: neither needs what the other needs.
 * With `auto` the machine decides, not the model: what TensorRT refuses to build is an error, not a reason to run it slowly elsewhere.
 */
export async function openBackend(model: Model, options: OpenOptions, signal: AbortSignal): Promise<Backend> {
  if (model.kind === 'plan') {
    refuseForPlan(model.label, options)
    return openPlan(model.plan, options, signal)
  }
  if (options.weights !== undefined)
    throw new TensorRTError('ERR_TRT_INVALID_ARGUMENT', `${model.label} is ONNX and has its own weights: the option weights is for a plan`)
  const choice = await chooseBackend(options)
  signal.throwIfAborted()
  if (choice.backend === 'cpu') return openOnCpu(model.data, options, choice.reason)
  const { bytes, info } = await buildForEngine(model.data, options, signal)
  // what was built without weights takes them from where it was built from
  const weights = options.builder?.stripWeights === true ? { weights: onnxSource(model.data, 'model') } : {}
  return openPlan({ name: 'The plan', bytes, info }, { ...options, ...weights }, signal)
}

function refuseForPlan(label: string, { backend, shapes, builder, forCpu }: OpenOptions): void {
  const refuse = (why: string): TensorRTError => new TensorRTError('ERR_TRT_INVALID_ARGUMENT', `${label} is a TensorRT plan: ${why}`)
  if (backend === 'cpu') throw refuse("only TensorRT runs it. For backend 'cpu' give the ONNX model that it was built from")
  if (shapes !== undefined) throw refuse('its shapes were decided when it was built. Leave out the option shapes')
  if (builder !== undefined) throw refuse('it is built already. Leave out the option builder')
  if (forCpu[0] !== undefined) throw refuse(`it never runs on the CPU. Leave out the option ${forCpu[0]}`)
}

interface Choice {
  readonly backend: 'tensorrt' | 'cpu'
  /** Why the CPU, where nobody asked for it. */
  readonly reason?: string
}

/** For ONNX. The driver is asked before anything is built. @throws TensorRTError where TensorRT is wished for, and cannot build and run here */
async function chooseBackend({ backend, device, tensorrt, wishes }: OpenOptions): Promise<Choice> {
  if (backend === 'cpu') return { backend }
  const { whyNoTensorRT } = await import('../backend/tensorrt.js')
  const why = await whyNoTensorRT({ device, tensorrt })
  if (why === undefined) return { backend: 'tensorrt' }
  if (backend === 'tensorrt') throw why
  return { backend: 'cpu', reason: reasonForCpu(why, wishes) }
}

async function openOnCpu(model: Uint8Array | string, options: OpenOptions, reason: string | undefined): Promise<Backend> {
  const profiles = checkedProfiles(options.shapes)
  const { openCpu } = await import('../backend/cpu.js')
  try {
    return await openCpu(model, { ...options, profiles }, reason)
  } catch (error) {
    if (!(error instanceof TensorRTError)) throw error
    const since = takenSince(reason, error.message)
    throw since === '' ? error : reworded(error, `${error.message} (on the CPU backend${since})`)
  }
}

async function openPlan(plan: PlanToOpen, options: OpenOptions, signal: AbortSignal): Promise<Backend> {
  const origin = checkedOrigin(plan)
  const { openTensorRT } = await import('../backend/tensorrt.js')
  const told = { precisions: precisionsOf(plan.info), dimensionNames: dimensionNamesOf(plan.info) }
  const opened = openTensorRT(plan.bytes, { ...options, origin, told }, options.lanes)
  const backend = await opened.catch((error: unknown) => {
    throw withOnnxRemedy(error)
  })
  if (!signal.aborted) return backend
  await backend.close()
  throw signal.reason
}

/** Its end is the end of the build too, aborted or not. */
async function buildForEngine(model: Uint8Array | string, options: OpenOptions, signal: AbortSignal): Promise<Plan> {
  const { device, tensorrt, shapes, onProgress, cache: place } = options
  const given = { ...options.builder, device, ...(tensorrt !== undefined && { tensorrt }) }
  const how = { signal, ...(shapes !== undefined && { shapes }), ...(onProgress !== undefined && { onProgress }) }
  if (place === undefined) {
    const { Builder } = await import('../builder.js')
    await using builder = new Builder(given)
    return await builder.build(model, how)
  }
  const { EngineCache } = await import('../cache/engine-cache.js')
  await using cache = new EngineCache(place)
  return (await cache.plan(model, { ...how, builder: given })).plan
}
