import type { Backend } from './backend/backend.js'
import type { BuildOptions } from './builder.js'
import type { NativeOnnxSource, NativeSessionOptions } from './backend/native.js'
import { TensorRTError } from './errors.js'
import type { Model, PlanToOpen } from './model-source.js'
import type { Plan } from './plan.js'
import { checkedOrigin } from './plan/origin.js'

export interface OpenOptions {
  readonly backend: 'auto' | 'tensorrt' | 'cpu'
  readonly device: number
  readonly lanes: NativeSessionOptions
  readonly tensorrt?: string
  readonly shapes?: NonNullable<BuildOptions['shapes']>
  readonly weights?: NativeOnnxSource
}

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
  const backend = options.backend === 'auto' ? await chooseBackend(options) : options.backend
  signal.throwIfAborted()
  if (backend === 'cpu') return (await import('./backend/cpu.js')).openCpu(model.data)
  const { bytes, info } = await buildForEngine(model.data, options, signal)
  return openPlan({ name: 'The plan', bytes, info }, options, signal)
}

function refuseForPlan(label: string, { backend, shapes }: OpenOptions): void {
  const refuse = (why: string): TensorRTError => new TensorRTError('ERR_TRT_INVALID_ARGUMENT', `${label} is a TensorRT plan: ${why}`)
  if (backend === 'cpu') throw refuse("only TensorRT runs it. For backend 'cpu' give the ONNX model that it was built from")
  if (shapes !== undefined) throw refuse('its shapes were decided when it was built. Leave out the option shapes')
}

async function chooseBackend({ device, tensorrt }: OpenOptions): Promise<'tensorrt' | 'cpu'> {
  const { canRunTensorRT } = await import('./backend/tensorrt.js')
  return (await canRunTensorRT({ device, ...(tensorrt !== undefined && { tensorrt }) })) ? 'tensorrt' : 'cpu'
}

async function openPlan(plan: PlanToOpen, options: OpenOptions, signal: AbortSignal): Promise<Backend> {
  const origin = checkedOrigin(plan)
  const { openTensorRT } = await import('./backend/tensorrt.js')
  const backend = await openTensorRT(plan.bytes, { ...options, origin }, options.lanes)
  if (!signal.aborted) return backend
  await backend.close()
  throw signal.reason
}

async function buildForEngine(model: Uint8Array | string, { device, tensorrt, shapes }: OpenOptions, signal: AbortSignal): Promise<Plan> {
  const { Builder } = await import('./builder.js')
  const builder = new Builder({ device, ...(tensorrt !== undefined && { tensorrt }) })
  return builder.build(model, { signal, ...(shapes !== undefined && { shapes }) })
}
