/** The options of engines: what users give, and the same checked. */
import type { BuildProgress } from '../building/in-process.js'
import type { Shapes } from '../building/shapes.js'
import { checkedArray, checkedChoice, checkedSignal } from '../base/checks.js'
import {
  checkedRows,
  is,
  namesOf,
  needed,
  option,
  type OptionTable,
  placeRows,
  signalOption,
} from '../base/option-table.js'
import { plainCopy, readOptions } from '../base/options.js'
import { checkedPath, type ModelSource, onnxSource } from '../base/source.js'
import { type BuilderOptions, checkedBuilderOptions, refuseVectorized } from '../building/options.js'
import { checkedCache, type EngineCacheOptions } from '../cache/options.js'
import { expected } from '../errors.js'
import { checkedCpuOptions, type CpuEngineOptions, cpuNames } from './cpu-options.js'
import { checkedDeclaration, type DeclaredTypes, type TensorTypes } from './declaration.js'
import { checkedLanes, laneNames, type LaneOptions, refuseLanes } from './lane-options.js'

/** How an engine is built from ONNX; TensorRT and the GPU are those that run it. */
export type EngineBuilderOptions = Omit<BuilderOptions, 'tensorrt' | 'device'>

/** Options of {@link Engine.load} and `new Engine`. */
export interface EngineOptions extends LaneOptions, CpuEngineOptions {
  /**
   * What runs the model; default `auto`.
   *
   * - `tensorrt`: TensorRT, on a GPU.
   * - `cpu`: onnxruntime, on the CPU; for ONNX only.
   * - `auto`: for a plan TensorRT. For ONNX TensorRT where this machine can build and run with it, else the CPU. {@link
   *   Engine.backend} tells which, {@link Engine.backendReason} why.
   *
   * Some options ask for TensorRT: `tensorrt`, `device`, `memoryLimit`, `builder`, `weights`, `plugins`, `hostCode`,
   * `allowPlaceholderRanges` and `anyGpu`, and `profile`, `priority` and `cudaGraph` with any value but the default.
   * Where TensorRT cannot build and run here, `auto` with one of them is an error that says why; so is a $TENSORRT_PATH
   * from which nothing can be loaded. Beside `cpu` they are always an error. `threads` and `onnxruntime` are an error
   * beside `tensorrt` and for a plan; with `auto` they count where the CPU is taken.
   */
  readonly backend?: 'auto' | 'tensorrt' | 'cpu' | undefined
  /** The number of the GPU; default 0. */
  readonly device?: number | undefined
  /**
   * The path of a TensorRT library, or of the folder that has it; default: $TENSORRT_PATH, else the first that is
   * found.
   */
  readonly tensorrt?: string | URL | undefined
  /**
   * The most bytes of GPU memory that the engine may take, with its lanes and those of all engines that attach to it;
   * default: no limit. An inference that would need more is rejected with ERR_TRT_OUT_OF_MEMORY, whose message says how
   * much, and the engine goes on working. {@link Engine.memory} tells what it takes.
   */
  readonly memoryLimit?: number | undefined
  /**
   * For ONNX with dynamic inputs: the shapes to build for, by input: one optimization profile, or several. A plan has
   * its own. The CPU needs none; if they are given, an inference beyond them is refused there, too.
   */
  readonly shapes?: Shapes | readonly Shapes[] | undefined
  /**
   * For ONNX on TensorRT: how to build the plan. `device` and `tensorrt` are the engine's. With `stripWeights` the
   * weights are taken from the model when the plan is opened.
   */
  readonly builder?: EngineBuilderOptions | undefined
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
  onProgress: option(is.listener<NonNullable<EngineOptions['onProgress']>>()),
  cache: needed(checkedCache),
}

/** What asks for TensorRT by being given at all. */
const tensorrtTable = {
  ...placeRows,
  builder: option(checkedBuilder),
  anyGpu: option(is.boolean),
  weights: option((weights) => weights), // copied, unless the signal is aborted
}

/** The same that native code takes as they are, by the same names (native/node/engine.cc). */
const planTable = {
  memoryLimit: option(is.whole(1, Number.MAX_SAFE_INTEGER, 'a number of bytes from 1')),
  plugins: option(checkedPlugins, []),
  hostCode: option(is.boolean, false),
  allowPlaceholderRanges: option(is.boolean, false),
}

const engineTable = { ...ownTable, ...tensorrtTable, ...planTable } satisfies OptionTable<
  Omit<EngineOptions, keyof LaneOptions | keyof CpuEngineOptions>
>

/** All options of an engine, but the data types that are declared: for what opens one and hands them on. */
export const engineOptionNames = [...namesOf(engineTable), ...cpuNames, ...laneNames]

type Values = Readonly<Partial<Record<string, unknown>>>

const isGiven = (given: Values) => (name: string) => given[name] !== undefined

/** What asks for TensorRT with any value but the default. */
const unlessDefault = { profile: 'auto', priority: 'normal', cudaGraph: 'auto' } as const

/** The names of the options that ask for TensorRT. */
function wishesOf(given: Values): readonly string[] {
  const always = namesOf({ ...tensorrtTable, ...planTable })
  const chosen = namesOf(unlessDefault).filter((name) => given[name] !== unlessDefault[name])
  return [...always, ...chosen].filter(isGiven(given))
}

/** The options of an engine, checked. */
export type OpenOptions = Omit<ReturnType<typeof checkedEngineOptions>, 'signal' | 'declaration'>

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedEngineOptions(options: unknown) {
  const given = readOptions(options, [...engineOptionNames, 'inputs', 'outputs'], 'Engine')
  const own = checkedRows(given, ownTable)
  const { weights, ...tensorrt } = checkedRows(given, tensorrtTable)
  const lanes = checkedLanes(given)
  const [wishes, forCpu] = [wishesOf(given), cpuNames.filter(isGiven(given))]
  if (own.backend === 'cpu' && wishes.length > 0)
    throw expected('no option that asks for TensorRT', "backend 'cpu'", wishes[0])
  if (own.backend === 'tensorrt' && forCpu.length > 0)
    throw expected('no option that is for the CPU', "backend 'tensorrt'", forCpu[0])
  return {
    ...own,
    ...tensorrt,
    plan: checkedRows(given, planTable),
    weights: weights === undefined || own.signal?.aborted ? undefined : onnxSource(weights, 'weights'),
    /** The names of options that ask for TensorRT, of those that are for the CPU alone, and of all that were given. */
    wishes,
    forCpu,
    given: Object.keys(given).filter(isGiven(given)),
    cpu: checkedCpuOptions(given),
    lanes,
    declaration: checkedDeclaration(given),
  }
}

function checkedShapes(shapes: unknown): NonNullable<EngineOptions['shapes']> {
  if (typeof shapes === 'object' && shapes !== null) return shapes as NonNullable<EngineOptions['shapes']>
  throw expected('an object', 'shapes', shapes)
}

/** Paths are made absolute here: a later chdir changes nothing. */
function checkedPlugins(plugins: unknown): readonly string[] {
  return checkedArray(plugins, 'plugins', 'an array of paths').map((path, i) => checkedPath(path, `plugins[${i}]`))
}

function checkedBuilder(builder: unknown): EngineBuilderOptions {
  const copy = plainCopy(builder)
  checkedBuilderOptions(copy)
  const { tensorrt, device } = copy as BuilderOptions
  if (tensorrt !== undefined)
    throw expected('nothing, since it is an option of the engine itself,', 'builder.tensorrt', tensorrt)
  if (device !== undefined)
    throw expected('nothing, since it is an option of the engine itself,', 'builder.device', device)
  refuseVectorized(copy as BuilderOptions)
  return copy as EngineBuilderOptions
}

/** The options of attach(), which has an engine already. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedAttachOptions(options: unknown) {
  const given = readOptions(options, ['queue', 'signal', 'inputs', 'outputs', ...laneNames], 'Engine.attach')
  const queue = checkedChoice(given.queue === undefined ? 'own' : given.queue, 'queue', ['own', 'shared'])
  if (queue === 'shared') refuseLanes(given)
  return {
    queue,
    lanes: checkedLanes(given),
    wishes: wishesOf(given),
    signal: checkedSignal(given.signal),
    declaration: checkedDeclaration(given),
  }
}
