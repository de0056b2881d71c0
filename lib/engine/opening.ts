import type { Backend } from '../backend/backend.js'
import { checkedProfiles } from '../building/shapes.js'
import type { RuntimeCache } from '../cache/runtime-cache.js'
import { reworded, TensorRTError } from '../errors.js'
import { autoChoiceNote, isLackOfCpu, isUnableToBuild, reasonForCpu, withOnnxRemedy } from './choice.js'
import { type OnnxSource, onnxSource } from '../base/source.js'
import type { FreeDimensions } from '../onnx/free-dimensions.js'
import type { ModelMetadata } from '../onnx/metadata.js'
import type { OpenOptions as CheckedOptions } from './options.js'
import { type Model, type PlanToOpen, withContent } from './source.js'
import { shapesToBuild, type TensorRTShapes } from './tensorrt-shapes.js'
import type { Plan } from '../plan.js'
import { checkedOrigin, dimensionNamesOf, hasPlaceholderRanges, isStripped, precisionsOf } from '../plan/origin.js'

/** Checked options, with the shapes that a caller within this package knows. */
type OpenOptions = CheckedOptions & { readonly tensorrtShapes: TensorRTShapes }

/**
 * Opens a model on the backend that was asked for. The backends are imported only here, when one is wanted: neither
 * needs what the other needs. With `auto` the machine decides, not the model: what TensorRT refuses to build is an
 * error, not a reason to run it slowly elsewhere; that its builder lacks what this GPU needs is the machine's.
 */
export async function openBackend(model: Model, options: OpenOptions, signal: AbortSignal): Promise<Backend> {
  if (model.kind === 'plan') {
    refuseForPlan(model.label, options)
    return openPlan(model.plan, options, signal)
  }
  if (options.freeDimensions !== undefined) await refuseUnknown(model.data, options.freeDimensions)
  const choice = await chooseBackend(options)
  signal.throwIfAborted()
  if (choice.backend === 'cpu') return openOnCpu(model.data, options, choice.reason)
  refuseForOnnx(model.label, options)
  refusePlaceholders(model.label, options.builder?.placeholderRanges === true, options)
  const data = await sizedFor(model.data, options, signal)
  const built = await buildOrReason(data, options, signal)
  if (typeof built === 'string') return openOnCpu(model.data, options, built)
  const { bytes, info } = built.plan
  const { metadataOfSource } = await import('../onnx/metadata.js')
  // what was built without weights takes them from where it was built from
  const weights = options.builder?.stripWeights === true ? onnxSource(data, 'model') : undefined
  const plugins = [...new Set([...(options.builder?.plugins ?? []), ...options.plan.plugins])]
  return openPlan(
    { name: 'The plan', content: bytes, info },
    { ...options, weights, plan: { ...options.plan, plugins } },
    signal,
    { ...built.runtimeCache, customMetadata: await metadataOfSource(model.data) },
  )
}

async function refuseUnknown(model: string | Uint8Array, sizes: FreeDimensions): Promise<void> {
  const { refuseUnknownDimensions } = await import('../onnx/free-dimensions.js')
  await refuseUnknownDimensions(model, sizes)
}

async function sizedFor(
  data: string | Uint8Array,
  { freeDimensions }: OpenOptions,
  signal: AbortSignal,
): Promise<string | Uint8Array> {
  if (freeDimensions === undefined) return data
  const { sizedInWorker } = await import('../building/conversion.js')
  return sizedInWorker(data, freeDimensions, signal)
}

function refuseForPlan(label: string, { backend, shapes, freeDimensions, builder }: OpenOptions): void {
  const refuse = (why: string): TensorRTError =>
    new TensorRTError('ERR_TRT_INVALID_ARGUMENT', `${label} is a TensorRT plan: ${why}`)
  if (backend === 'cpu')
    throw refuse("only TensorRT runs it. For backend 'cpu' give the ONNX model that it was built from")
  if (shapes !== undefined) throw refuse('its shapes were decided when it was built. Leave out the option shapes')
  if (freeDimensions !== undefined)
    throw refuse('its dimensions were decided when it was built. Leave out the option freeDimensions')
  if (builder !== undefined) throw refuse('it is built already. Leave out the option tensorrt.builder')
}

function refuseForOnnx(label: string, { weights, anyGpu }: OpenOptions): void {
  const refuse = (why: string): TensorRTError =>
    new TensorRTError('ERR_TRT_INVALID_ARGUMENT', `${label} is ONNX and ${why}`)
  if (weights !== undefined) throw refuse('has its own weights: the option tensorrt.weights is for a plan')
  if (anyGpu !== undefined) throw refuse('is built for the GPU that is here: the option tensorrt.anyGpu is for a plan')
}

/**
 * Before anything is built or loaded, where it is known by then; native code finds the mark in the plan itself. @throws
 * TensorRTError ERR_TRT_PLACEHOLDER_RANGES
 */
function refusePlaceholders(label: string, known: boolean, { plan }: OpenOptions): void {
  if (known && !plan.allowPlaceholderRanges) throw withPlaceholders(label)
}

function withPlaceholders(label: string): TensorRTError {
  return new TensorRTError(
    'ERR_TRT_PLACEHOLDER_RANGES',
    `${label} has ranges of INT8 that nobody measured (option placeholderRanges of Builder): its times are real, its outputs mean nothing. ` +
      'Build it from a model that quantize() made or with a calibrator; only to time it, give the option tensorrt.allowPlaceholderRanges: true',
  )
}

type Wanted = Pick<OpenOptions, 'backend' | 'device' | 'tensorrt'>

export interface Choice {
  readonly backend: 'tensorrt' | 'cpu'
  /** Why the CPU, where nobody asked for it. */
  readonly reason?: string | undefined
}

/**
 * For ONNX. The driver is asked before anything is built. @throws TensorRTError where TensorRT is demanded, and cannot
 * build and run here
 */
export async function chooseBackend({ backend, device, tensorrt }: Wanted): Promise<Choice> {
  if (backend === 'cpu') return { backend }
  const { whyNoTensorRT } = await import('../backend/tensorrt.js')
  const obstacle = await whyNoTensorRT({ device, tensorrt })
  if (obstacle === undefined) return { backend: 'tensorrt' }
  // whoever demands TensorRT hears from itself whether it can build
  if (backend === 'tensorrt' && obstacle.isDoubt) return { backend: 'tensorrt' }
  if (backend === 'tensorrt') throw obstacle.why
  return { backend: 'cpu', reason: reasonForCpu(obstacle.why, tensorrt) }
}

async function openOnCpu(
  model: Uint8Array | string,
  options: OpenOptions,
  reason: string | undefined,
): Promise<Backend> {
  const profiles = checkedProfiles(options.shapes)
  const { openCpu } = await import('../backend/cpu.js')
  try {
    return await openCpu(model, { ...options, lanes: options.cpuLanes, profiles }, reason)
  } catch (error) {
    if (!isLackOfCpu(error)) throw error
    const since = autoChoiceNote(reason, error.message)
    throw since === '' ? error : reworded(error, `${error.message} (on the CPU backend${since})`)
  }
}

/** What is known of the model that a plan was built from. */
interface OfModel {
  readonly customMetadata?: ModelMetadata | undefined
}

async function openPlan(
  plan: PlanToOpen,
  options: OpenOptions,
  signal: AbortSignal,
  { bytes: compiled, keep: keepCompiled, customMetadata }: Partial<RuntimeCache> & OfModel = {},
): Promise<Backend> {
  const origin = checkedOrigin(plan, options)
  refusePlaceholders(plan.name, hasPlaceholderRanges(plan.info), options)
  const { openTensorRT } = await import('../backend/tensorrt.js')
  const known = { precisions: precisionsOf(plan.info), dimensionNames: dimensionNamesOf(plan.info), keepCompiled }
  const { device, tensorrt, plan: asked, lanes } = options
  const weights = options.weights && (await weightsOf(options.weights, plan, signal))
  const given = {
    device,
    tensorrt,
    plan: asked,
    weights,
    origin,
    stripped: isStripped(plan.info),
    compiled,
    customMetadata,
    known,
  }
  const backend = await nativelyOpened(plan, (content) => openTensorRT(content, given, lanes))
  if (!signal.aborted) return backend
  await backend.close()
  throw signal.reason
}

/** As the plan's own model was given to TensorRT. */
async function weightsOf(weights: OnnxSource, { info }: PlanToOpen, signal: AbortSignal): Promise<OnnxSource> {
  const { weightsFor } = await import('../building/reconversion.js')
  return weightsFor(weights, info, signal)
}

async function nativelyOpened(
  plan: PlanToOpen,
  open: (content: Uint8Array | number) => Promise<Backend>,
): Promise<Backend> {
  try {
    return await withContent(plan, open)
  } catch (error) {
    if (error instanceof TensorRTError && error.code === 'ERR_TRT_PLACEHOLDER_RANGES') throw withPlaceholders(plan.name)
    throw withOnnxRemedy(error)
  }
}

/** The plan; or with `auto` the reason for the CPU, where it turned out that TensorRT cannot build for this GPU. */
async function buildOrReason(
  model: Uint8Array | string,
  options: OpenOptions,
  signal: AbortSignal,
): Promise<Built | string> {
  try {
    return await buildForEngine(model, options, signal)
  } catch (error) {
    if (options.backend !== 'auto' || signal.aborted || !isUnableToBuild(error)) throw error
    return reasonForCpu(error, options.tensorrt)
  }
}

interface Built {
  readonly plan: Plan
  /** Of a plan of TensorRT-RTX that is in the cache. */
  readonly runtimeCache?: RuntimeCache | undefined
}

/** Its end is the end of the build too, aborted or not. */
async function buildForEngine(model: Uint8Array | string, options: OpenOptions, signal: AbortSignal): Promise<Built> {
  const { device, tensorrt, onProgress, cache: wish } = options
  const shapes = shapesToBuild(options.shapes, options.tensorrtShapes)
  const given = { ...options.builder, tensorrt: { device, library: tensorrt } }
  const how = { signal, shapes, onProgress }
  if (wish === undefined) {
    const { Builder } = await import('../builder.js')
    await using builder = new Builder(given)
    return { plan: await builder.build(model, how) }
  }
  const { EngineCache } = await import('../cache/engine-cache.js')
  await using cache = new EngineCache(wish)
  const { plan, path } = await cache.plan(model, { ...how, builder: given })
  if (path === undefined || plan.info.kind !== 'rtx') return { plan }
  const { openRuntimeCache } = await import('../cache/runtime-cache.js')
  return { plan, runtimeCache: await openRuntimeCache(cache, path, options) }
}
