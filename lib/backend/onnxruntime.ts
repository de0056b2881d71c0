import { dirname, resolve } from 'node:path'
import { refuseOdd } from '../base/files.js'
import type { OnnxSource } from '../base/source.js'
import { openAddonEngine, type KnownFacts } from './addon.js'
import type { Backend, ProfileShapes } from './backend.js'
import { type CpuOptions, type OpenCpuOptions, type Optimization, sessionConfig, threadsFor } from './cpu-options.js'
import type { Observed } from './facts.js'
import { withDamage } from './damage.js'
import { loadAddon, native } from './native.js'
import type { NativeCpuOptions, NativeEngine, NativeModel } from './native-types.js'
import { place } from './onnxruntime-library.js'
import { profilesFor } from './profiles.js'

/** onnxruntime's GraphOptimizationLevel. */
const levels: { readonly [O in Optimization]: number } = { disabled: 0, basic: 1, extended: 2, layout: 3, all: 99 }

/**
 * Opens an ONNX model on the CPU through the addon: onnxruntime's library on lanes of the same core as TensorRT's.
 * Bytes are not copied, and not to be changed until then.
 * @throws TensorRTError ERR_TRT_NO_ONNXRUNTIME, ERR_TRT_ONNX_PARSE, ERR_TRT_FILE, ERR_TRT_OUT_OF_MEMORY,
 * ERR_TRT_UNSUPPORTED, ERR_TRT_INVALID_ARGUMENT and those of profilesFor
 * @see https://onnxruntime.ai/docs/api/c/struct_ort_api.html CreateSession, CreateSessionFromArray
 */
export async function openOnnxRuntime(
  model: Uint8Array | string,
  { cpu, lanes, profiles, freeDimensions }: OpenCpuOptions,
  reason?: string,
): Promise<Backend> {
  return open(model, { cpu, lanes, profiles, freeDimensions }, 0, { reason })
}

/** A model that is observed: see {@link NativeEngine.observed}. */
export interface ObservedModel {
  readonly backend: Backend
  observed(): readonly Observed[]
}

/**
 * The same for a model whose outputs are counted, and given to nobody. @throws TensorRTError also
 * ERR_TRT_INVALID_ARGUMENT where it has none of float32
 */
export async function openToObserve(
  model: Uint8Array | string,
  options: Omit<OpenCpuOptions, 'given'>,
): Promise<ObservedModel> {
  let engine: NativeEngine | undefined
  const backend = await open(model, options, 1, {}, (opened) => (engine = opened))
  return { backend, observed: () => engine?.observed?.() ?? [] }
}

async function open(
  model: Uint8Array | string,
  { cpu, lanes, profiles, freeDimensions }: Omit<OpenCpuOptions, 'given'>,
  observe: 0 | 1,
  known: KnownFacts,
  seen: (engine: NativeEngine) => void = () => {},
): Promise<Backend> {
  turnOffTelemetry()
  if (typeof model === 'string') await refuseOddWeights(model)
  const loaded = await native(() =>
    loadAddon().loadOnnx(sourceOf(model), { ...nativeOptions(cpu, lanes.lanes), freeDimensions, observe }),
  ).catch(async (error: unknown) => {
    throw await withDamage(error, () => native(() => loadAddon().inspectModel(sourceOf(model))))
  })
  const byInput = profilesOrDiscard(profiles, loaded)
  const valuesOf = (name: string): readonly ProfileShapes[] | undefined =>
    byInput[loaded.inputs.findIndex((input) => input.name === name)]?.values
  return openAddonEngine(
    async () => {
      const engine = await loaded.open({ ...lanes, profiles: byInput.map(({ profiles }) => profiles) })
      seen(engine)
      return engine
    },
    { ...known, valuesOf },
  )
}

/**
 * onnxruntime 1.30 writes a log and a database of telemetry as soon as it has an environment; who wants that sets the
 * variable. By Node's own setter, on its own thread: a native one on another thread would move the variables away
 * beneath a thread that reads one. In a worker it is a copy that this sets, and the addon does the rest.
 */
function turnOffTelemetry(): void {
  process.env['ORT_DISABLE_TELEMETRY'] ??= '1'
}

function profilesOrDiscard(profiles: OpenCpuOptions['profiles'], loaded: NativeModel): ReturnType<typeof profilesFor> {
  try {
    return profilesFor(profiles, loaded.inputs)
  } catch (error) {
    loaded.discard()
    throw error
  }
}

/**
 * A pipe or a device among the files with weights, which onnxruntime would wait for. What else is wrong with a model it
 * says itself.
 */
async function refuseOddWeights(path: string): Promise<void> {
  const { externalFiles } = await loadAddon()
    .inspectModel({ path })
    .catch(() => ({ externalFiles: [] }))
  for (const name of externalFiles) await refuseOdd(resolve(dirname(path), name))
}

function sourceOf(model: Uint8Array | string): OnnxSource {
  return typeof model === 'string' ? { path: model } : { model }
}

function nativeOptions(cpu: CpuOptions, lanes: number): NativeCpuOptions {
  return {
    ...place(cpu.library),
    threads: threadsFor(cpu, lanes),
    optimization: levels[cpu.optimization],
    deterministic: cpu.deterministic ? 1 : 0,
    config: sessionConfig(cpu),
    customOps: cpu.customOps,
  }
}
