import type { NativeSessionOptions } from '../backend/native-types.js'
import type { BuildProgress } from '../building/in-process.js'
import { type BuilderOptions, checkedBuilderOptions } from '../building/options.js'
import type { Shapes } from '../building/shapes.js'
import { checkedCache, type EngineCacheOptions } from '../cache/options.js'
import { expected } from '../errors.js'
import { wishesFor, wishesForCpu } from './choice.js'
import { checkedCpuOptions, type CpuEngineOptions, cpuNames } from './cpu-options.js'
import { checkedDeclaration, type Declaration, type DeclaredTypes, type TensorTypes } from './declaration.js'
import type { EngineBuilderOptions, OpenOptions } from './opening.js'
import { checkedChoice, checkedListener, checkedNumber, checkedSignal, checkedWhole, isWhole } from '../base/checks.js'
import { checkedPlace, plainCopy, readOptions } from '../base/options.js'
import { type ModelSource, onnxSource } from '../base/source.js'

/** Requests that come close together are run as one batch. Every input and output needs a dynamic dimension 0. */
export interface BatchingOptions {
  /** The most rows that a batch may have. */
  readonly maxBatch: number
  /** How long a request may wait for others, in milliseconds; 0, the default: a batch leaves as soon as a lane is free. */
  readonly maxDelayMs?: number | undefined
  /** Sizes at which a batch leaves without waiting for more. */
  readonly preferred?: readonly number[] | undefined
  /** Sizes that a batch is filled up to, so that it meets a CUDA graph that is there; `true`: the powers of two, and maxBatch. */
  readonly pad?: boolean | readonly number[] | undefined
}

/** How an engine works, on a GPU and on the CPU. `profile`, `priority` and `cudaGraph` are TensorRT's, and but for their defaults wishes for it: see {@link EngineOptions.backend}. */
export interface LaneOptions {
  /** How many inferences may compute at once; 1 unless given. Each is a thread: on a GPU with an execution context and streams, on the CPU with `threads`. They share the weights. */
  readonly lanes?: number | undefined
  /** The optimization profile; `auto`, the default: the one that fits the shapes best. */
  readonly profile?: 'auto' | number | undefined
  /** Of the CUDA streams; `normal` unless given. */
  readonly priority?: 'normal' | 'high' | undefined
  /** Whether shapes that come again are captured as CUDA graphs; `auto`, the default, and `true`: where that is possible. */
  readonly cudaGraph?: 'auto' | boolean | undefined
  readonly batching?: BatchingOptions | undefined
  /** The most requests that may wait; 4096 unless given. One more is rejected with ERR_TRT_QUEUE_FULL. */
  readonly maxQueue?: number | undefined
}

export interface EngineOptions extends LaneOptions, CpuEngineOptions {
  /**
   * What runs the model. `tensorrt`: a GPU. `cpu`: onnxruntime, for ONNX only. `auto`, the default: for a plan TensorRT; for ONNX TensorRT where this
   * machine can build and run with it, else the CPU; {@link Engine.backend} says which, {@link Engine.backendReason} why.
   *
   * `tensorrt`, `device`, `builder` and `weights`, and `profile`, `priority` and `cudaGraph` with any value but the default, ask for TensorRT: where it cannot build
   * and run here, `auto` is then an error that says why, and so is a $TENSORRT_PATH where nothing can be loaded. Beside `cpu` they are always an error; so are
   * `threads` and `onnxruntime` beside `tensorrt` and for a plan. With `auto` those count where the CPU is taken.
   */
  readonly backend?: 'auto' | 'tensorrt' | 'cpu' | undefined
  /** The number of the GPU; 0 unless given. */
  readonly device?: number | undefined
  /** The path of a TensorRT library, or of the folder that has it; else $TENSORRT_PATH, else the first that is found. */
  readonly tensorrt?: string | undefined
  /**
   * For ONNX with dynamic inputs: the shapes to build for, by input. A plan has its own. The CPU needs none; given, they are checked as TensorRT's are, and an inference
   * beyond them is refused there, too.
   */
  readonly shapes?: Shapes | readonly Shapes[] | undefined
  /** For ONNX on TensorRT: how to build it; `device` and `tensorrt` are those of the engine. With `stripWeights` the weights come from the model when the plan is opened. */
  readonly builder?: EngineBuilderOptions | undefined
  /**
   * For ONNX on TensorRT: where the plan is kept, so that it is built once. `true`, the default, or a folder, or a folder and the most bytes in it: see
   * {@link EngineCache}. `false`: it is built each time.
   */
  readonly cache?: boolean | string | EngineCacheOptions | undefined
  /** For ONNX on TensorRT: called on this thread as the build goes on, where there is one. What it throws ends the loading. */
  readonly onProgress?: ((progress: BuildProgress) => void) | undefined
  /**
   * For a plan that was built with the option `stripWeights` (it has no weights) or `refit` (they are replaced): the ONNX model that they are taken from, before
   * anything runs. Weights of an engine that is loaded never change, since its lanes run on them: load a new one.
   * @see https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/c-api/classnvonnxparser_1_1_i_parser_refitter.html
   */
  readonly weights?: ModelSource | undefined
  /** Aborts the loading. */
  readonly signal?: AbortSignal | undefined
}

/** The options of an engine of which nothing is declared. */
export interface Undeclared {
  readonly inputs?: undefined
  readonly outputs?: undefined
}

/** The same for `new Engine`, where type arguments without a declaration are refused: nobody would check them. */
export type UndeclaredOptions<I extends TensorTypes, O extends TensorTypes> = string extends keyof I & keyof O
  ? [options?: EngineOptions & Undeclared]
  : [options: never]

export type DeclaredOptions<I extends TensorTypes, O extends TensorTypes> = EngineOptions & DeclaredTypes<I, O>

/** How an engine that was shared is attached to. */
export interface AttachOptions extends LaneOptions {
  readonly signal?: AbortSignal | undefined
}

const backends = ['auto', 'tensorrt', 'cpu'] as const
const laneNames = ['lanes', 'profile', 'priority', 'cudaGraph', 'batching', 'maxQueue'] as const
const ownNames = [
  'backend',
  'device',
  'tensorrt',
  'shapes',
  'inputs',
  'outputs',
  'builder',
  'cache',
  'onProgress',
  'weights',
  'signal',
] as const
type GivenLanes = Partial<Record<(typeof laneNames)[number], unknown>>

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedEngineOptions(
  options: unknown,
): OpenOptions & { readonly signal: AbortSignal | undefined; readonly declaration: Declaration } {
  const given = readOptions(options, [...ownNames, ...cpuNames, ...laneNames], 'Engine')
  const { shapes, weights } = given
  const signal = checkedSignal(given.signal)
  const backend = checkedChoice(given.backend === undefined ? 'auto' : given.backend, 'backend', backends)
  const { tensorrt, device } = checkedPlace(given)
  if (shapes !== undefined && (typeof shapes !== 'object' || shapes === null)) throw expected('an object', 'shapes', shapes)
  const lanes = checkedLanes(given)
  const wishes = wishesFor(given)
  if (backend === 'cpu' && wishes.length > 0) throw expected('no option that asks for TensorRT', "backend 'cpu'", wishes[0])
  const forCpu = wishesForCpu(given)
  if (backend === 'tensorrt' && forCpu.length > 0) throw expected('no option that is for the CPU', "backend 'tensorrt'", forCpu[0])
  return {
    backend,
    wishes,
    forCpu,
    given: Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [name])),
    cpu: checkedCpuOptions(given),
    device,
    lanes,
    signal,
    declaration: checkedDeclaration(given),
    cache: checkedCache(given.cache),
    ...checkedBuild(given),
    ...(tensorrt !== undefined && { tensorrt }),
    ...(shapes !== undefined && { shapes: shapes as NonNullable<EngineOptions['shapes']> }),
    ...(weights !== undefined && !signal?.aborted && { weights: onnxSource(weights, 'weights') }),
  }
}

function checkedBuild({ builder, onProgress }: { builder?: unknown; onProgress?: unknown }): Pick<OpenOptions, 'builder' | 'onProgress'> {
  const listener = checkedListener<NonNullable<EngineOptions['onProgress']>>(onProgress, 'onProgress')
  return {
    ...(builder !== undefined && { builder: checkedBuilder(builder) }),
    ...(listener !== undefined && { onProgress: listener }),
  }
}

function checkedBuilder(builder: unknown): EngineBuilderOptions {
  const copy = plainCopy(builder)
  checkedBuilderOptions(copy)
  const { tensorrt, device } = copy as BuilderOptions
  if (tensorrt !== undefined) throw expected('nothing, since it is an option of the engine itself,', 'builder.tensorrt', tensorrt)
  if (device !== undefined) throw expected('nothing, since it is an option of the engine itself,', 'builder.device', device)
  return copy as EngineBuilderOptions
}

/** The options of attach(), which has an engine already. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedAttachOptions(options: unknown): {
  readonly lanes: NativeSessionOptions
  /** The options that ask for TensorRT. */
  readonly wishes: readonly string[]
  readonly signal: AbortSignal | undefined
  readonly declaration: Declaration
} {
  const given = readOptions(options, ['signal', 'inputs', 'outputs', ...laneNames], 'Engine.attach')
  return {
    lanes: checkedLanes(given),
    wishes: wishesFor(given),
    signal: checkedSignal(given.signal),
    declaration: checkedDeclaration(given),
  }
}

function checkedLanes({
  lanes = 1,
  profile = 'auto',
  priority = 'normal',
  cudaGraph = 'auto',
  batching,
  maxQueue = 4096,
}: GivenLanes): NativeSessionOptions {
  if (cudaGraph !== 'auto' && typeof cudaGraph !== 'boolean') throw expected("'auto', true or false", 'cudaGraph', cudaGraph)
  return {
    lanes: checkedWhole(lanes, 'lanes', 1, 64, 'a number of lanes from 1 to 64'),
    profile: profile === 'auto' ? -1 : checkedWhole(profile, 'profile', 0, 1023, "'auto' or the number of an optimization profile"),
    highPriority: checkedChoice(priority, 'priority', ['normal', 'high']) === 'high' ? 1 : 0,
    graphs: cudaGraph === false ? 0 : 1,
    slots: 2,
    maxQueue: checkedWhole(maxQueue, 'maxQueue', 1, 2 ** 24, 'a number of requests from 1'),
    ...(batching !== undefined && { batching: checkedBatching(batching) }),
  }
}

function checkedBatching(batching: unknown): NonNullable<NativeSessionOptions['batching']> {
  const given = readOptions(batching, ['maxBatch', 'maxDelayMs', 'preferred', 'pad'], 'batching')
  const { maxDelayMs = 0, preferred = [], pad = false } = given
  const maxBatch = checkedWhole(given.maxBatch, 'batching.maxBatch', 1, 2 ** 20, 'a number of rows from 1')
  return {
    maxBatch,
    maxDelayMs: checkedNumber(maxDelayMs, 'batching.maxDelayMs', 0, 60_000, 'milliseconds from 0 to 60000'),
    preferred: checkedSizes(preferred, maxBatch, 'batching.preferred'),
    pad: typeof pad === 'boolean' ? (pad ? powersOfTwo(maxBatch) : []) : checkedSizes(pad, maxBatch, 'batching.pad'),
  }
}

/** Sizes in order, each once. */
function checkedSizes(sizes: unknown, maxBatch: number, name: string): number[] {
  if (!Array.isArray(sizes) || !sizes.every((size) => isWhole(size, 1, maxBatch)))
    throw expected(`an array of sizes from 1 to ${maxBatch}`, name, sizes)
  return [...new Set(sizes)].sort((a, b) => a - b)
}

function powersOfTwo(most: number): number[] {
  const sizes = [most]
  for (let size = 1; size < most; size *= 2) sizes.push(size)
  return sizes.sort((a, b) => a - b)
}
