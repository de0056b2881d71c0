import type { NativeSessionOptions } from '../backend/native.js'
import type { BuildProgress } from '../building/in-process.js'
import { type BuilderOptions, checkedBuilderOptions } from '../building/options.js'
import type { Shapes } from '../building/shapes.js'
import { checkedCache, type EngineCacheOptions } from '../cache/options.js'
import { expected } from '../errors.js'
import { checkedDeclaration, type Declaration, type DeclaredTypes, type TensorTypes } from './declaration.js'
import type { EngineBuilderOptions, OpenOptions } from './opening.js'
import { checkedPlace, checkedSignal, isWhole, plainCopy, readOptions } from '../base/options.js'
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

/** How an engine works on a GPU; the CPU backend refuses them. */
export interface LaneOptions {
  /** How many inferences may compute at once: execution contexts, each with a thread and streams; 1 unless given. They share the weights. */
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

export interface EngineOptions extends LaneOptions {
  /**
   * What runs the model. `tensorrt`: a GPU. `cpu`: onnxruntime-node, for ONNX only. `auto`, the default: for a plan TensorRT; for ONNX TensorRT where this
   * machine can build and run with it, else the CPU, and {@link Engine.backend} says which.
   */
  readonly backend?: 'auto' | 'tensorrt' | 'cpu' | undefined
  /** The number of the GPU; 0 unless given. */
  readonly device?: number | undefined
  /** The path of a TensorRT library, or of the folder that has it. */
  readonly tensorrt?: string | undefined
  /** For ONNX with dynamic inputs on TensorRT: the shapes to build for, by input. A plan has its own. */
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
const gpuNames = ['builder', 'cache', 'onProgress', 'weights'] as const
type GivenLanes = Partial<Record<(typeof laneNames)[number], unknown>>

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedEngineOptions(
  options: unknown,
): OpenOptions & { readonly signal: AbortSignal | undefined; readonly declaration: Declaration } {
  const known = ['backend', 'device', 'tensorrt', 'shapes', 'signal', 'inputs', 'outputs', ...gpuNames, ...laneNames] as const
  const given = readOptions(options, known, 'Engine')
  const backend = backends.find((name) => name === (given.backend ?? 'auto'))
  const { shapes, weights } = given
  const signal = checkedSignal(given.signal)
  if (backend === undefined) throw expected(`one of ${backends.join(', ')}`, 'backend', given.backend)
  const { tensorrt, device } = checkedPlace(given)
  if (shapes !== undefined && (typeof shapes !== 'object' || shapes === null)) throw expected('an object', 'shapes', shapes)
  const named = [...gpuNames, ...laneNames].find((name) => given[name] !== undefined)
  if (backend === 'cpu' && named !== undefined) throw expected('no option of a GPU', "backend 'cpu'", named)
  return {
    backend,
    device,
    lanes: checkedLanes(given),
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
  if (onProgress !== undefined && typeof onProgress !== 'function') throw expected('a function', 'onProgress', onProgress)
  return {
    ...(builder !== undefined && { builder: checkedBuilder(builder) }),
    ...(onProgress !== undefined && { onProgress: onProgress as NonNullable<EngineOptions['onProgress']> }),
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
  readonly signal: AbortSignal | undefined
  readonly declaration: Declaration
} {
  const given = readOptions(options, ['signal', 'inputs', 'outputs', ...laneNames], 'Engine.attach')
  return { lanes: checkedLanes(given), signal: checkedSignal(given.signal), declaration: checkedDeclaration(given) }
}

function checkedLanes({
  lanes = 1,
  profile = 'auto',
  priority = 'normal',
  cudaGraph = 'auto',
  batching,
  maxQueue = 4096,
}: GivenLanes): NativeSessionOptions {
  if (!isWhole(lanes, 1, 64)) throw expected('a number of lanes from 1 to 64', 'lanes', lanes)
  if (profile !== 'auto' && !isWhole(profile, 0, 1023))
    throw expected("'auto' or the number of an optimization profile", 'profile', profile)
  if (priority !== 'normal' && priority !== 'high') throw expected("'normal' or 'high'", 'priority', priority)
  if (cudaGraph !== 'auto' && typeof cudaGraph !== 'boolean') throw expected("'auto', true or false", 'cudaGraph', cudaGraph)
  if (!isWhole(maxQueue, 1, 2 ** 24)) throw expected('a number of requests from 1', 'maxQueue', maxQueue)
  return {
    lanes,
    profile: profile === 'auto' ? -1 : profile,
    highPriority: priority === 'high' ? 1 : 0,
    graphs: cudaGraph === false ? 0 : 1,
    slots: 2,
    maxQueue,
    ...(batching !== undefined && { batching: checkedBatching(batching) }),
  }
}

function checkedBatching(batching: unknown): NonNullable<NativeSessionOptions['batching']> {
  const given = readOptions(batching, ['maxBatch', 'maxDelayMs', 'preferred', 'pad'], 'batching')
  const { maxBatch, maxDelayMs = 0, preferred = [], pad = false } = given
  if (!isWhole(maxBatch, 1, 2 ** 20)) throw expected('a number of rows from 1', 'batching.maxBatch', maxBatch)
  if (typeof maxDelayMs !== 'number' || !(maxDelayMs >= 0 && maxDelayMs <= 60_000))
    throw expected('milliseconds from 0 to 60000', 'batching.maxDelayMs', maxDelayMs)
  return {
    maxBatch,
    maxDelayMs,
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
