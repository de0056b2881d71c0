/** Lanes, the queue and batching: their options, and these checked, as native code has them. */
import type { NativeSessionOptions } from '../backend/native-types.js'
import { checkedQueueTimeout } from '../base/cancellation.js'
import { checkedBoolean, checkedObject, checkedWhole, isWhole } from '../base/checks.js'
import { checkedOptions, checkedRows, is, namesOf, option, type OptionTable } from '../base/option-table.js'
import { readOptions } from '../base/options.js'
import { expected } from '../errors.js'

/**
 * How requests that come close together are merged into one batch. Every input and output needs a dynamic dimension 0.
 */
export interface BatchingOptions {
  /** The most rows that a batch may have. */
  readonly maxBatch: number
  /** How long a request may wait for others, in milliseconds; default 0: a batch leaves as soon as a lane is free. */
  readonly maxDelayMs?: number | undefined
  /**
   * Batch sizes, in rows, at which a batch leaves without waiting for more; default: none. A batch is made up when a
   * lane takes it: of the largest preferred size that the waiting requests, in their order, can form; the rest waits.
   * Where none can be formed, all that fit leave after `maxDelayMs`. The rows of one request are never split.
   */
  readonly preferred?: readonly number[] | undefined
  /**
   * Batch sizes, in rows, that a batch is filled up to, so that it meets a CUDA graph that was captured; `true`: the
   * powers of two, and `maxBatch`; default false.
   */
  readonly pad?: boolean | readonly number[] | undefined
  /**
   * Whether requests settle in the order in which they left the queue, though a later batch may end first on another
   * lane; default false.
   */
  readonly preserveOrder?: boolean | undefined
  /**
   * For tests: nothing leaves before so many requests wait at one time; from then on it has no effect. Closing the
   * engine ends it, too. Default: none. Triton's is TRITONSERVER_DELAY_SCHEDULER.
   */
  readonly holdUntil?: number | undefined
  /** The limits of each level that `priorities.policies` does not name; without `priorities` those of all requests. */
  readonly queue?: QueuePolicy | undefined
  /** Levels of priority; default: one. With `maxBatch: 1` requests have levels and do not merge. */
  readonly priorities?: Priorities | undefined
}

/**
 * What limits the requests of one level while they wait, as Triton's ModelQueuePolicy.
 * @see
 * https://docs.nvidia.com/deeplearning/triton-inference-server/user-guide/docs/user_guide/batcher.html#queue-policy
 */
export interface QueuePolicy {
  /**
   * The most requests of the level that may wait; default: no limit but {@link LaneOptions.maxQueue}. One more is
   * rejected with ERR_TRT_QUEUE_FULL.
   */
  readonly maxQueue?: number | undefined
  /**
   * How long a request may wait, in milliseconds, from its call until a lane takes it; the time that it runs does not
   * count. 0.001 is a microsecond, the least. Default: no limit. {@link InferOptions.queueTimeoutMs} may shorten it.
   */
  readonly queueTimeoutMs?: number | undefined
  /**
   * What becomes of a request that has waited so long; default `reject`.
   *
   * - `reject`: its call is rejected with ERR_TRT_QUEUE_TIMEOUT.
   * - `delay`: it goes behind all others of its level, has no queue timeout any more, and runs when its turn comes.
   */
  readonly onQueueTimeout?: 'reject' | 'delay' | undefined
}

/**
 * Levels of priority. Level 1 leaves the queue first, then 2, and so on; within a level requests leave in the order of
 * their calls. A batch may have requests of several levels. A level waits for as long as requests of those before it
 * keep all lanes busy: under such a load it may never run (starvation), as in Triton. A queue timeout bounds the wait.
 * @see
 * https://docs.nvidia.com/deeplearning/triton-inference-server/user-guide/docs/user_guide/batcher.html#priority-levels
 */
export interface Priorities {
  /** How many levels there are, 2 to 100. */
  readonly levels: number
  /** The level of a request that names none; default: the last, so that a request is urgent only where it says so. */
  readonly default?: number | undefined
  /** The limits of levels, by level: `{ 1: { maxQueue: 16 } }`; {@link BatchingOptions.queue} is that of the others. */
  readonly policies?: { readonly [level: number]: QueuePolicy } | undefined
}

/** What of its lanes TensorRT alone has. */
export interface TensorRTLaneOptions {
  /** The number of the optimization profile; default `auto`: the one that fits the shapes best. */
  readonly profile?: 'auto' | number | undefined
  /** The priority of the CUDA streams; default `normal`. */
  readonly priority?: 'normal' | 'high' | undefined
  /**
   * Whether shapes that come again are captured as CUDA graphs; default `auto`, which like `true` captures them where
   * that is possible. TensorRT-RTX captures graphs itself, or not.
   */
  readonly cudaGraph?: 'auto' | boolean | undefined
  /**
   * How a lane's thread waits for the GPU.
   *
   * - `spin`: it polls, and keeps a core busy as long as anything runs.
   * - `block`: it sleeps; waking it takes some ten microseconds.
   * - `adaptive` (default): where the last inferences took less than half a millisecond it polls for twice as long as
   *   they took, on at most half of the cores and not at all where there are two or fewer; then it sleeps.
   *
   * @see https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EVENT.html
   */
  readonly wait?: 'spin' | 'block' | 'adaptive' | undefined
}

/** How an engine runs inferences, on a GPU and on the CPU. */
export interface LaneOptions {
  /**
   * How many inferences may compute at the same time, 1 to 64; default 1. Each lane is a thread: on a GPU with an
   * execution context and CUDA streams of its own, on the CPU with `cpu.threads` threads. All lanes share the weights.
   */
  readonly lanes?: number | undefined
  /** Merges requests into batches; default: each request runs by itself. */
  readonly batching?: BatchingOptions | undefined
  /** The most requests that may wait; default 4096. One more is rejected with ERR_TRT_QUEUE_FULL. */
  readonly maxQueue?: number | undefined
  /**
   * The most bytes that the inputs of waiting requests may have; default 256 MiB. Tensors of {@link Engine.allocate} do
   * not count. A request beyond it is rejected with ERR_TRT_QUEUE_FULL, and so is one that has more by itself.
   */
  readonly maxQueueBytes?: number | undefined
  /** What TensorRT is given; on the CPU it does not count: see {@link EngineOptions.backend}. */
  readonly tensorrt?: TensorRTLaneOptions | undefined
}

const laneTable = {
  lanes: option(is.whole(1, 64, 'a number of lanes from 1 to 64'), 1),
  batching: option((value) => value), // which depends on maxQueue
  maxQueue: option(is.whole(1, 2 ** 24, 'a number of requests from 1'), 4096),
  maxQueueBytes: option(is.whole(1, Number.MAX_SAFE_INTEGER, 'a number of bytes from 1'), 256 * 2 ** 20),
} satisfies OptionTable<Omit<LaneOptions, 'tensorrt'>>

/** Those of the group `tensorrt`. */
export const tensorrtLaneTable = {
  profile: option(checkedProfile, -1),
  priority: option<'normal' | 'high'>(is.choice('normal', 'high'), 'normal'),
  cudaGraph: option(checkedCudaGraph, true),
  wait: option<NonNullable<TensorRTLaneOptions['wait']>>(is.choice('spin', 'block', 'adaptive'), 'adaptive'),
} satisfies OptionTable<TensorRTLaneOptions>

/** The names of these options, without the group. */
export const laneNames = namesOf(laneTable)

type LaneValues = Partial<Record<keyof typeof laneTable, unknown>>
type TensorRTLaneValues = Partial<Record<keyof typeof tensorrtLaneTable, unknown>>

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT where one of them is given */
export function refuseLanes(given: LaneValues, ofTensorRT: TensorRTLaneValues): void {
  const entries = [
    ...laneNames.map((name) => [name, given[name]] as const),
    ...namesOf(tensorrtLaneTable).map((name) => [`tensorrt.${name}`, ofTensorRT[name]] as const),
  ]
  const [name, value] = entries.find(([, value]) => value !== undefined) ?? []
  if (name !== undefined)
    throw expected(`no ${name} beside queue 'shared', where lanes and queue are the owner's,`, name, value)
}

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedLanes(given: LaneValues, ofTensorRT: TensorRTLaneValues): NativeSessionOptions {
  const { batching, ...native } = checkedRows(given, laneTable)
  const { profile, priority, cudaGraph, wait } = checkedRows(ofTensorRT, tensorrtLaneTable, 'tensorrt.')
  return {
    ...native,
    wait,
    profile,
    highPriority: priority === 'high' ? 1 : 0,
    graphs: cudaGraph ? 1 : 0,
    slots: 2,
    ...(batching !== undefined && { batching: checkedBatching(batching, native.maxQueue) }),
  }
}

/** -1: whichever fits. */
function checkedProfile(profile: unknown, name: string): number {
  if (profile === 'auto') return -1
  return checkedWhole(profile, name, 0, 1023, "'auto' or the number of an optimization profile")
}

function checkedCudaGraph(cudaGraph: unknown, name: string): boolean {
  return cudaGraph === 'auto' || checkedBoolean(cudaGraph, name, "'auto', true or false")
}

type NativeBatching = NonNullable<NativeSessionOptions['batching']>

const batchingTable = {
  maxBatch: option(is.whole(1, 2 ** 20, 'a number of rows from 1')),
  maxDelayMs: option(is.milliseconds(60_000), 0),
  preferred: option((value) => value, []),
  pad: option((value) => value, false),
  preserveOrder: option(is.boolean, false),
  holdUntil: option((value) => value),
  queue: option((value) => value),
  priorities: option((value) => value),
} satisfies OptionTable<BatchingOptions>

/** `most`: requests may wait. */
function checkedBatching(batching: unknown, most: number): NativeBatching {
  const given = checkedOptions(batching, batchingTable, 'batching', 'batching.')
  const { preferred, pad, preserveOrder, holdUntil, queue, priorities } = given
  const maxBatch = batchingTable.maxBatch.check(given.maxBatch, 'batching.maxBatch')!
  const requests = `a number of requests from 1 to maxQueue (${most})`
  return {
    maxBatch,
    maxDelayMs: given.maxDelayMs,
    preferred: checkedSizes(preferred, maxBatch, 'batching.preferred'),
    pad: typeof pad === 'boolean' ? (pad ? powersOfTwo(maxBatch) : []) : checkedSizes(pad, maxBatch, 'batching.pad'),
    preserveOrder: preserveOrder ? 1 : 0,
    holdUntil: holdUntil === undefined ? 0 : checkedWhole(holdUntil, 'batching.holdUntil', 1, most, requests),
    ...checkedLevels(queue, priorities),
  }
}

const priorityLevels = 'a number of levels from 2 to 100'

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
function checkedLevels(queue: unknown, priorities: unknown): Pick<NativeBatching, 'levels' | 'defaultLevel'> {
  const policy = checkedPolicy(queue, 'batching.queue')
  if (priorities === undefined) return { levels: [policy], defaultLevel: 1 }
  const given = readOptions(priorities, ['levels', 'default', 'policies'], 'batching.priorities')
  const count = checkedWhole(given.levels, 'batching.priorities.levels', 2, 100, priorityLevels)
  const { default: level = count, policies = {} } = given
  const defaultLevel = checkedWhole(level, 'batching.priorities.default', 1, count, `a level from 1 to ${count}`)
  const levels: NativeBatching['levels'][number][] = Array.from({ length: count }, () => policy)
  for (const [name, value] of Object.entries(
    checkedObject(policies, 'batching.priorities.policies', 'an object of policies by level'),
  )) {
    const named = Number(name)
    if (!isWhole(named, 1, count) || String(named) !== name)
      throw expected(`a level from 1 to ${count}`, 'a name in batching.priorities.policies', name)
    if (value !== undefined) levels[named - 1] = checkedPolicy(value, `batching.priorities.policies[${name}]`)
  }
  return { levels, defaultLevel }
}

const policyTable = {
  maxQueue: option(is.whole(1, 2 ** 24, 'a number of requests from 1'), 0),
  queueTimeoutMs: option(checkedQueueTimeout, 0),
  onQueueTimeout: option(is.choice('reject', 'delay'), 'reject'),
} satisfies OptionTable<QueuePolicy>

function checkedPolicy(policy: unknown, name: string): NativeBatching['levels'][number] {
  const { maxQueue, queueTimeoutMs = 0, onQueueTimeout } = checkedOptions(policy, policyTable, name, `${name}.`)
  return { maxQueue, queueTimeoutMs, delays: onQueueTimeout === 'delay' ? 1 : 0 }
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
