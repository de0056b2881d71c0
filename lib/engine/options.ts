/** The options of engines: what users give, and the same checked. */
import type { BuildProgress } from '../building/in-process.js'
import type { Shapes } from '../building/shapes.js'
import { isMap } from 'node:util/types'
import { checkedChoice, checkedObject, checkedSignal, checkedWhole, isText } from '../base/checks.js'
import {
  checkedRows,
  elsewhereOf,
  is,
  namesOf,
  needed,
  option,
  type OptionTable,
  placeTable,
  readGroup,
  signalOption,
  type TensorRTPlace,
} from '../base/option-table.js'
import { plainCopy, readOptions } from '../base/options.js'
import { checkedPaths, type ModelSource, onnxSource } from '../base/source.js'
import { type BuilderOptions, checkedBuilderOptions, refuseVectorized } from '../building/options.js'
import { checkedCache, type EngineCacheOptions } from '../cache/options.js'
import { expected } from '../errors.js'
import type { FreeDimensions } from '../onnx/free-dimensions.js'
import { type CpuEngineOptions, cpuTable } from './cpu-options.js'
import { checkedDeclaration, type DeclaredTypes, type TensorTypes } from './declaration.js'
import {
  checkedLanes,
  laneNames,
  type LaneOptions,
  refuseLanes,
  type TensorRTLaneOptions,
  tensorrtLaneTable,
} from './lane-options.js'

/** How an engine is built from ONNX; TensorRT and the GPU are those that run it. */
export type EngineBuilderOptions = Omit<BuilderOptions, 'tensorrt'>

/** What an engine gives to TensorRT. */
export interface TensorRTEngineOptions extends TensorRTPlace, TensorRTLaneOptions {
  /**
   * The most bytes of GPU memory that the engine may take, with its lanes and those of all engines that attach to it;
   * default: no limit. An inference that would need more is rejected with ERR_TRT_OUT_OF_MEMORY, whose message says how
   * much, and the engine goes on working. {@link Engine.memory} tells what it takes.
   */
  readonly memoryLimit?: number | undefined
  /**
   * For ONNX: how to build the plan, by the engine's own library and for its GPU. With `stripWeights` the
   * weights are taken from the model when the plan is opened.
   */
  readonly builder?: EngineBuilderOptions | undefined
  /**
   * For a plan that was built with the option `stripWeights` (it has no weights) or `refit` (they are replaced): the
   * ONNX model that the weights are taken from, before anything runs.
   *
   * Without it a plan that has no weights is ERR_TRT_WEIGHTS, where that is known: TensorRT 10.14 and newer tell it;
   * before that a {@link Plan} of a builder and a plan's sidecar do, and a bare plan runs with no weights at all. The
   * weights of an engine that is loaded never change: load a new one.
   * @see
   * https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/c-api/classnvonnxparser_1_1_i_parser_refitter.html
   */
  readonly weights?: ModelSource | undefined
  /**
   * For a plan whose sidecar says that it was built for another GPU: `true` lets TensorRT decide whether it runs here,
   * as it does where it was built with a hardware compatibility that reaches so far. Default false: such a plan is
   * ERR_TRT_PLAN; another GPU model of the same compute capability only gives a process warning (code TRT_OTHER_GPU).
   * @see https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/c-api/namespacenvinfer1.html
   * HardwareCompatibilityLevel
   */
  readonly anyGpu?: boolean | undefined
  /**
   * The paths of the libraries that have the plugins of a plan; they export `getCreators()`. Each is loaded once, into
   * TensorRT's runtime for this GPU: its code runs in your process, and stays while any engine of that runtime does. A
   * model that is built here runs with `builder.plugins`, too.
   * @see https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/c-api/classnvinfer1_1_1_i_plugin_registry.html
   * loadLibrary
   */
  readonly plugins?: readonly (string | URL)[] | undefined
  /**
   * Whether a plan may run code that it has in it: the lean runtime of a version-compatible plan, and serialized
   * plugins. That is native code of the plan's maker, which runs in your process with all its rights: `true` only for
   * plans whose maker you trust. Default false: such a plan is ERR_TRT_PLAN.
   * @see https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/c-api/classnvinfer1_1_1_i_runtime.html
   * setEngineHostCodeAllowed
   */
  readonly hostCode?: boolean | undefined
  /**
   * `true` also opens a plan that was built with the option `placeholderRanges`: its times are real, its outputs mean
   * nothing. Default false: such a plan is ERR_TRT_PLACEHOLDER_RANGES.
   */
  readonly allowPlaceholderRanges?: boolean | undefined
}

/** Options of {@link Engine.load} and `new Engine`. */
export interface EngineOptions extends LaneOptions {
  /**
   * What runs the model; default `auto`.
   *
   * - `tensorrt`: TensorRT, on a GPU.
   * - `cpu`: onnxruntime, on the CPU; for ONNX only.
   * - `auto`: for a plan TensorRT. For ONNX TensorRT where this machine can build and run with it, else the CPU. {@link
   *   Engine.backend} tells which, {@link Engine.backendReason} why.
   *
   * The options of the groups `tensorrt` and `cpu` count where that runs, so that the same lines do on a laptop and on
   * a GPU server. Where the other one runs they are checked, and named in {@link Engine.backendReason}. A
   * `tensorrt.library` or `tensorrt.device` that is not there is a reason for the CPU with `auto`; `tensorrt` is the
   * way to demand a GPU. A $TENSORRT_PATH from which nothing can be loaded is an error with `auto`, too.
   */
  readonly backend?: 'auto' | 'tensorrt' | 'cpu' | undefined
  /** What TensorRT is given, where it runs the model. */
  readonly tensorrt?: TensorRTEngineOptions | undefined
  /** What onnxruntime is given, where it runs the model on the CPU. */
  readonly cpu?: CpuEngineOptions | undefined
  /**
   * For ONNX with dynamic inputs: the shapes to build for, by input: one optimization profile, or several. A plan has
   * its own. The CPU needs none; if they are given, an inference beyond them is refused there, too.
   */
  readonly shapes?: Shapes | readonly Shapes[] | undefined
  /**
   * For ONNX: sizes, whole numbers from 1, for dimensions of inputs that the model leaves open, by the names that it
   * gives them or by their denotations: `{ batch: 1, DATA_CHANNEL: 3 }`. All dimensions of that name have the size, so
   * that more of the graph is known before it runs. A name that no input has is ERR_TRT_INVALID_ARGUMENT. With
   * TensorRT it is the model that is built; it is to have less than 2 GiB, its weights in other files too.
   * @see https://onnxruntime.ai/docs/api/c/struct_ort_api.html AddFreeDimensionOverrideByName, AddFreeDimensionOverride
   */
  readonly freeDimensions?: Readonly<Record<string, number>> | undefined
  /**
   * For ONNX on TensorRT: where the plan is kept, so that it is built once. Default `true`: the user's cache folder,
   * see {@link EngineCacheOptions.folder}; a text: another folder; an object: a folder and the most bytes in it. What
   * TensorRT-RTX compiles for this GPU is kept there, too. `false`: the plan is built each time.
   */
  readonly cache?: boolean | string | URL | EngineCacheOptions | undefined
  /**
   * For ONNX on TensorRT: called as the build goes on, on the thread of the caller. What it throws ends the loading.
   */
  readonly onProgress?: ((progress: BuildProgress) => void) | undefined
  /** Aborts the loading, which is then rejected with the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

/** The options of an engine of which nothing is declared. */
export interface Undeclared {
  /** Not given. */
  readonly inputs?: undefined
  /** Not given. */
  readonly outputs?: undefined
}

/** The same for `new Engine`, where type arguments without a declaration are refused: nobody would check them. */
export type UndeclaredOptions<I extends TensorTypes, O extends TensorTypes> = string extends keyof I & keyof O
  ? [options?: EngineOptions & Undeclared]
  : [options: never]

/** The options of an engine with the data types of its inputs and outputs, by name. */
export type DeclaredOptions<I extends TensorTypes, O extends TensorTypes> = EngineOptions & DeclaredTypes<I, O>

/** Options of {@link Engine.attach}. */
export interface AttachOptions extends LaneOptions {
  /**
   * Whose queue and lanes run the inferences; default `own`.
   *
   * - `own`: a queue and lanes of this engine's own, as the other options say.
   * - `shared`: those of the owner, the engine that was loaded, so that requests of several threads fill one batch. An
   *   option about lanes or the queue beside it is ERR_TRT_INVALID_ARGUMENT, since they are as the owner made them.
   *   `maxQueue` and `maxQueueBytes` count what waits for all, and so do {@link Engine.stats} and {@link
   *   Engine.memory}. Queue and lanes live until the last engine that works with them is closed, the owner or another;
   *   after that attaching is ERR_TRT_TOKEN.
   */
  readonly queue?: 'own' | 'shared' | undefined
  /** Aborts the attaching, which is then rejected with the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

/** What any runtime can mean. */
const ownTable = {
  signal: signalOption,
  backend: option(is.choice('auto', 'tensorrt', 'cpu'), 'auto'),
  shapes: option(checkedShapes),
  freeDimensions: option(checkedFreeDimensions),
  onProgress: option(is.listener<NonNullable<EngineOptions['onProgress']>>()),
  cache: needed(checkedCache),
} satisfies OptionTable<Omit<EngineOptions, keyof LaneOptions | 'cpu'>>

/** Of the group `tensorrt`, beside its lanes: what is of this package. */
const tensorrtTable = {
  ...placeTable,
  builder: option(checkedBuilder),
  anyGpu: option(is.boolean),
  weights: option((weights) => weights), // copied, unless the signal is aborted
}

/** The same that native code takes as they are, by the same names (native/node/engine.cc). */
const planTable = {
  memoryLimit: option(is.whole(1, Number.MAX_SAFE_INTEGER, 'a number of bytes from 1')),
  plugins: option(checkedPaths, []),
  hostCode: option(is.boolean, false),
  allowPlaceholderRanges: option(is.boolean, false),
}

/** The groups of an engine's options: what each has, for tests too. */
export const engineGroups = {
  cpu: cpuTable,
  tensorrt: { ...tensorrtTable, ...planTable, ...tensorrtLaneTable },
} satisfies { cpu: OptionTable<CpuEngineOptions>; tensorrt: OptionTable<TensorRTEngineOptions> }

const groupNames = { cpu: namesOf(engineGroups.cpu), tensorrt: namesOf(engineGroups.tensorrt) }

/** All options of an engine, but the data types that are declared: for what opens one and hands them on. */
export const engineOptionNames = [...namesOf(ownTable), ...namesOf(engineGroups), ...laneNames]

/** Where the options of the groups are, for who gives one beside its group. */
export const engineElsewhere = {
  onnxruntime: 'cpu',
  ...elsewhereOf({ cpu: { members: groupNames.cpu }, tensorrt: { members: groupNames.tensorrt } }),
}

/** The options of the groups that were given, by the runtime that would not run them: `tensorrt.builder`. */
export interface GivenInGroups {
  readonly tensorrt: readonly string[]
  readonly cpu: readonly string[]
}

function givenIn(group: keyof GivenInGroups, values: Readonly<Partial<Record<string, unknown>>>): readonly string[] {
  return Object.keys(values).flatMap((name) => (values[name] === undefined ? [] : [`${group}.${name}`]))
}

/** The options of an engine, checked. */
export type OpenOptions = Omit<ReturnType<typeof checkedEngineOptions>, 'signal' | 'declaration' | 'inGroups'>

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedEngineOptions(options: unknown) {
  const given = readOptions(options, [...engineOptionNames, 'inputs', 'outputs'], 'Engine', engineElsewhere)
  const own = checkedRows(given, ownTable)
  const [forCpu, forTensorRT] = [
    readGroup(given.cpu, groupNames.cpu, 'cpu'),
    readGroup(given.tensorrt, groupNames.tensorrt, 'tensorrt'),
  ]
  const { library, weights, ...tensorrt } = checkedRows(forTensorRT, tensorrtTable, 'tensorrt.')
  return {
    ...own,
    ...tensorrt,
    tensorrt: library,
    plan: checkedRows(forTensorRT, planTable, 'tensorrt.'),
    weights: weights === undefined || own.signal?.aborted ? undefined : onnxSource(weights, 'tensorrt.weights'),
    /** The names of the options beside the groups that were given. */
    given: namesOf(given).filter((name) => given[name] !== undefined && name !== 'cpu' && name !== 'tensorrt'),
    inGroups: { tensorrt: givenIn('tensorrt', forTensorRT), cpu: givenIn('cpu', forCpu) },
    cpu: checkedRows(forCpu, cpuTable, 'cpu.'),
    lanes: checkedLanes(given, forTensorRT),
    /** The same where the CPU runs the model. */
    cpuLanes: checkedLanes(given, {}),
    declaration: checkedDeclaration(given),
  }
}

function checkedShapes(shapes: unknown): NonNullable<EngineOptions['shapes']> {
  if (typeof shapes === 'object' && shapes !== null) return shapes as NonNullable<EngineOptions['shapes']>
  throw expected('an object', 'shapes', shapes)
}

/** Names end at a zero in native code. */
function checkedFreeDimensions(sizes: unknown, name: string): FreeDimensions | undefined {
  if (isMap(sizes)) throw expected('a record of sizes (Object.fromEntries(map) makes one)', name, sizes)
  const entries = Object.entries(checkedObject(sizes, name, 'a record of sizes by dimension')) as [string, unknown][]
  const checked = entries.map(([key, size]): [string, number] => {
    if (!isText(key)) throw expected('names of dimensions', name, key)
    return [key, checkedWhole(size, `${name}[${JSON.stringify(key)}]`, 1, 2 ** 31 - 1, 'a size from 1')]
  })
  return checked.length === 0 ? undefined : Object.fromEntries(checked)
}

function checkedBuilder(builder: unknown, name: string): EngineBuilderOptions {
  const copy = plainCopy(checkedObject(builder, name, 'an object of options')) as BuilderOptions
  checkedBuilderOptions(copy)
  if (copy.tensorrt !== undefined)
    throw expected("nothing, since the engine's own library and GPU build,", `${name}.tensorrt`, copy.tensorrt)
  refuseVectorized(copy)
  return copy
}

/** The options of attach(), which has an engine already. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedAttachOptions(options: unknown) {
  const names = ['queue', 'signal', 'inputs', 'outputs', 'tensorrt', ...laneNames] as const
  const laneGroup = namesOf(tensorrtLaneTable)
  const given = readOptions(options, names, 'Engine.attach', elsewhereOf({ tensorrt: { members: laneGroup } }))
  const forTensorRT = readGroup(given.tensorrt, laneGroup, 'tensorrt')
  const queue = checkedChoice(given.queue === undefined ? 'own' : given.queue, 'queue', ['own', 'shared'])
  if (queue === 'shared') refuseLanes(given, forTensorRT)
  return {
    queue,
    lanes: checkedLanes(given, forTensorRT),
    /** The same where the CPU runs the model. */
    cpuLanes: checkedLanes(given, {}),
    inGroups: { tensorrt: givenIn('tensorrt', forTensorRT), cpu: [] as readonly string[] },
    signal: checkedSignal(given.signal),
    declaration: checkedDeclaration(given),
  }
}
