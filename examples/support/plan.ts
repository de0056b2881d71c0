import {
  Builder,
  type BuildOptions,
  capabilities,
  Engine,
  type EngineOptions,
  type ErrorCode,
  type Plan,
} from 'node-tensorrt'
import { TensorRTError } from 'node-tensorrt'
import { note, withBar } from './program.js'

/** What says that a plan cannot be built on this machine at all, rather than that building it failed. */
const noTensorRT: readonly ErrorCode[] = [
  'ERR_TRT_NO_LIBRARY',
  'ERR_TRT_NO_ADDON',
  'ERR_TRT_NO_DRIVER',
  'ERR_TRT_NO_GPU',
  'ERR_TRT_PLATFORM',
]

/** A plan of a model, or nothing where there is no TensorRT that could build it. */
export async function planOf(model: Uint8Array, options: BuildOptions = {}): Promise<Plan | undefined> {
  try {
    await using builder = new Builder()
    return await withBar('{bar} {value}/{total} building the plan: {phase}', (show) =>
      builder.build(model, { ...options, onProgress: ({ phase, step, steps }) => show(step, steps, { phase }) }),
    )
  } catch (error) {
    if (!(error instanceof TensorRTError && noTensorRT.includes(error.code))) throw error
    note(`No plan is built: ${error.message}`)
    return undefined
  }
}

/** Runs the plan where there is a GPU and a TensorRT that runs on it, else the model on the CPU. */
export async function engineOf(
  model: Uint8Array,
  plan: Plan | undefined,
  options: EngineOptions = {},
): Promise<Engine> {
  const { gpus, tensorrt } = await capabilities()
  return plan !== undefined && gpus.length > 0 && tensorrt.some(({ canRun }) => canRun)
    ? await Engine.load(plan.bytes, options)
    : await Engine.load(model, { ...options, backend: 'cpu' })
}
