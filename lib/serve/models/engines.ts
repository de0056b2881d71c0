// The engines of a version: one for each instance group and device, of one copy of the weights on each device.
import { join } from 'node:path'
import { batchingOf, dynamicBatchingOf } from '../config/batching.js'
import { modelFileOf } from '../config/backends.js'
import { completeConfig } from '../config/complete.js'
import type { ModelFacts, ModelTensorFacts } from '../config/model-facts.js'
import { type Instance, instancesOf } from '../config/instances.js'
import {
  type ModelConfig,
  type ModelInput,
  ModelOptimizationPolicy_ModelPriority as ModelPriority,
} from '../../kserve/messages/model_config_pb.js'
import { invalid } from '../faults.js'
import { versionPath } from '../repository/folder.js'
import type { ServeEngineOptions } from '../public-types.js'
import type { LoadOptions, ModelSettings } from './settings.js'
import type { Shapes } from '../../building/shapes.js'
import { Engine } from '../../engine.js'
import type { LaneOptions } from '../../engine/lane-options.js'
import type { EngineOptions } from '../../engine/options.js'
import { capabilities } from '../../capabilities.js'
import type { TensorInfo } from '../../backend/backend.js'
import { inspectModel, type ValueInfo } from '../../onnx/info.js'
import { readModel } from '../../onnx/model.js'
import { type DType, isNumberDType } from '../../tensor.js'

export interface OpenVersion {
  /** Complete. */
  readonly config: ModelConfig
  readonly engines: readonly OpenEngine[]
}

export interface OpenEngine {
  readonly engine: Engine
  readonly lanes: number
  /** The number of its GPU; -1 for the CPU. */
  readonly device: number
}

/**
 * Requests that may wait where the configuration has no limit: Triton has none. What waits is bounded by the bytes in
 * flight of the front-end.
 */
const mostWaiting = 2 ** 20

/**
 * Opens the engines of a version. The first engine of a device tells what the model is; it has one lane until the
 * configuration is complete, and gives its weights to those with lanes and a queue as the configuration says.
 * @throws Fault, TensorRTError (as a rejection); no engine is left open
 */
export async function openVersion(files: LoadOptions): Promise<OpenVersion> {
  const { settings } = files
  const { file, runtime } = modelFileOf(files.config)
  const path = join(versionPath(files.folder, files.version), file)
  const format = runtime === 'onnxruntime' || file.endsWith('.onnx') ? 'onnx' : 'plan'
  const gpus = await gpusFor(files.config, settings.engine)
  const instances = instancesOf(files.config, gpus).map((instance) => placed(instance, format, settings))
  const opening = new Opening(path, { ...files, settings: { ...settings, engine: { ...settings.engine, gpus } } })
  try {
    if (format === 'onnx' && instances.some(({ kind }) => kind === 'gpu'))
      await opening.complete(await factsOfOnnx(path, files.folder.name))
    for (const instance of instances) await opening.open(instance, format)
    return opening.result()
  } catch (error) {
    await opening.closeAll()
    throw error
  } finally {
    await opening.closeOwners()
  }
}

/** Tests and machines without a GPU run on the CPU what the configuration has on a GPU. */
function placed(instance: Instance, format: ModelFacts['format'], { engine }: ModelSettings): Instance {
  return engine.backend === 'cpu' && format === 'onnx' ? { ...instance, kind: 'cpu', device: 0 } : instance
}

class Opening {
  readonly #path: string
  readonly #files: LoadOptions
  readonly #owners = new Map<string, Engine>()
  readonly #engines: OpenEngine[] = []
  #config: ModelConfig | undefined

  constructor(path: string, files: LoadOptions) {
    this.#path = path
    this.#files = files
  }

  async complete(facts: ModelFacts): Promise<ModelConfig> {
    const { folder, config, settings } = this.#files
    const all = { ...facts, isSingleFile: folder.file !== undefined }
    return (this.#config ??= completeConfig(config, folder.name, all, settings.autoComplete, settings.engine.gpus))
  }

  async open(instance: Instance, format: ModelFacts['format']): Promise<void> {
    const owner = await this.#owner(instance, format)
    const config = await this.complete(factsOfEngine(owner, format))
    const engine = await Engine.attach(owner.share(), { ...lanesOf(config, instance), signal: this.#files.signal })
    this.#engines.push({ engine, lanes: instance.lanes, device: instance.kind === 'cpu' ? -1 : instance.device })
  }

  /** Whose weights all engines of a device have. */
  async #owner(instance: Instance, format: ModelFacts['format']): Promise<Engine> {
    const key = `${instance.kind} ${instance.device}`
    const known = this.#owners.get(key)
    if (known !== undefined) return known
    const options = { ...this.#placeOf(instance, format), signal: this.#files.signal }
    const engine = await Engine.load(this.#path, options)
    this.#owners.set(key, engine)
    return engine
  }

  #placeOf({ kind, device, lanes }: Instance, format: ModelFacts['format']): EngineOptions {
    const { tensorrt, cache } = this.#files.settings.engine
    if (kind === 'cpu') return { backend: 'cpu', lanes } // the cores are divided by them
    const backend = 'tensorrt'
    if (format === 'plan') return { backend, tensorrt: { ...tensorrt, device } }
    const { hostCode: _ofPlans, ...ofModels } = tensorrt ?? {}
    return {
      backend,
      tensorrt: { ...ofModels, device },
      cache,
      shapes: this.#config === undefined ? undefined : shapesToBuild(this.#config),
    }
  }

  result(): OpenVersion {
    if (this.#config === undefined) throw invalid(`Expected an instance group for model '${this.#files.folder.name}'`)
    return { config: this.#config, engines: this.#engines }
  }

  async closeAll(): Promise<void> {
    await Promise.all(this.#engines.map(({ engine }) => engine.close()))
  }

  async closeOwners(): Promise<void> {
    await Promise.all([...this.#owners.values()].map((engine) => engine.close()))
  }
}

/**
 * How its engines merge requests; nothing where each runs by itself, as with shape tensors, whose values are of one
 * request.
 */
export function mergingOf(config: ModelConfig): LaneOptions['batching'] {
  return config.input.some(({ isShapeTensor }) => isShapeTensor) ? undefined : batchingOf(config)
}

function lanesOf(config: ModelConfig, { kind, lanes, profile }: Instance): LaneOptions {
  const common: LaneOptions = { lanes, batching: mergingOf(config), maxQueue: mostWaiting }
  if (kind === 'cpu') return common
  const { priority, cuda } = config.optimization ?? {}
  return {
    ...common,
    tensorrt: {
      profile,
      priority: priority === ModelPriority.PRIORITY_MAX ? 'high' : 'normal',
      cudaGraph: cuda === undefined ? 'auto' : cuda.graphs,
    },
  }
}

/** One profile: from one row to all of a batch, best for the largest preferred size. */
function shapesToBuild(config: ModelConfig): Shapes | undefined {
  const { maxBatchSize: max } = config
  const preferred = Math.max(0, ...(dynamicBatchingOf(config)?.preferredBatchSize ?? [])) || max
  const entries = config.input.map((input) => {
    const dims = fixedDims(config, input)
    return [
      input.name,
      max === 0 ? dims : { min: [1, ...dims], opt: [preferred, ...dims], max: [max, ...dims] },
    ] as const
  })
  return Object.fromEntries(entries)
}

function fixedDims({ name: model }: ModelConfig, { name, dims, reshape }: ModelInput): readonly number[] {
  const sizes = (reshape?.shape ?? dims).map(Number)
  if (sizes.every((size) => size >= 0)) return sizes
  throw invalid(
    `Expected dims without -1 for input '${name}' of model '${model}', since its plan is built for them, but received [${sizes.join(',')}]: ` +
      'give sizes, or a plan with the shapes that it is to take',
  )
}

// Which GPUs an instance group has that names none.

/** Looked up once for a server, when the first of its models wants to know. */
const ofMachine = new WeakMap<ServeEngineOptions, Promise<readonly number[]>>()

/**
 * The GPUs of groups that name none: those of the settings, else all of the machine, as in Triton. Not looked up where
 * no group needs them.
 */
export async function gpusFor(config: ModelConfig, settings: ServeEngineOptions): Promise<readonly number[]> {
  if (settings.gpus !== undefined) return settings.gpus
  if (settings.backend === 'cpu' || !hasGroupWithoutGpus(config)) return [0]
  const known = ofMachine.get(settings) ?? gpusOfMachine(settings)
  ofMachine.set(settings, known)
  return known
}

function hasGroupWithoutGpus(config: ModelConfig): boolean {
  return instancesOf(config, []).length < instancesOf(config, [0]).length
}

/** GPU 0 where none is seen: its engine says what is missing, and what to do about it. */
async function gpusOfMachine({ tensorrt }: ServeEngineOptions): Promise<readonly number[]> {
  const { gpus } = await capabilities({ tensorrt: { library: tensorrt?.library } })
  return gpus.length === 0 ? [0] : gpus.map(({ index }) => index)
}

// What a model says of itself, by its engine or by its ONNX file.

export function factsOfEngine(engine: Engine, format: ModelFacts['format']): ModelFacts {
  const known = (names: readonly string[], infos: Readonly<Record<string, TensorInfo>>): readonly ModelTensorFacts[] =>
    names.map((name) => infos[name]).filter((info) => info !== undefined).map(factsOf) // prettier-ignore
  return {
    format,
    inputs: known(engine.inputNames, engine.inputs),
    outputs: known(engine.outputNames, engine.outputs),
    unsupported: engine.unsupported,
  }
}

function factsOf({ name, dtype, shape, profiles, profileValues }: TensorInfo): ModelTensorFacts {
  return { name, dtype, shape, profiles, isShapeTensor: profileValues.length > 0 }
}

/**
 * What has to be known before a plan can be built of it: texts are nothing that TensorRT has.
 * @throws TensorRTError (as a rejection) ERR_TRT_FILE, ERR_TRT_ONNX_PARSE; Fault INVALID_ARG where a number of
 * dimensions is not known
 */
export async function factsOfOnnx(path: string, model: string): Promise<ModelFacts> {
  const { inputs, outputs } = inspectModel(await readModel(path))
  const all = [...inputs, ...outputs]
  return {
    format: 'onnx',
    inputs: inputs.filter(isTensor).map((value) => factsOfValue(value, model)),
    outputs: outputs.filter(isTensor).map((value) => factsOfValue(value, model)),
    unsupported: all
      .filter((value) => !isTensor(value))
      .map(({ name, kind, dtype }) => ({ name, type: kind === 'tensor' ? dtype : kind })),
  }
}

type TensorValue = ValueInfo & { readonly dtype: DType }

function isTensor(value: ValueInfo): value is TensorValue {
  return value.kind === 'tensor' && isNumberDType(value.dtype)
}

function factsOfValue({ name, dtype, shape }: TensorValue, model: string): ModelTensorFacts {
  if (shape === undefined)
    throw invalid(
      `Expected a number of dimensions for tensor '${name}' of model '${model}', but its ONNX file has none`,
    )
  return {
    name,
    dtype,
    shape: shape.map((size) => (typeof size === 'number' ? size : -1)),
    profiles: [],
    isShapeTensor: false,
  }
}
