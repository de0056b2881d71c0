/** The options of engines, checked, and as native code has them. */
import type { NativeSessionOptions } from '../backend/native-types.js'
import { checkedQueueTimeout } from '../base/cancellation.js'
import {
  checkedArray,
  checkedBoolean,
  checkedChoice,
  checkedObject,
  checkedSignal,
  checkedWhole,
  isWhole,
} from '../base/checks.js'
import {
  checkedOptions,
  checkedRows,
  is,
  option,
  type OptionTable,
  placeRows,
  signalOption,
} from '../base/option-table.js'
import { plainCopy, readOptions } from '../base/options.js'
import { checkedPath, onnxSource } from '../base/source.js'
import { type BuilderOptions, checkedBuilderOptions, refuseVectorized } from '../building/options.js'
import { checkedCache } from '../cache/options.js'
import { expected } from '../errors.js'
import { wishesFor, wishesForCpu } from './choice.js'
import { checkedCpuOptions, type CpuEngineOptions, cpuNames } from './cpu-options.js'
import { checkedDeclaration, type Declaration } from './declaration.js'
import type { EngineBuilderOptions, OpenOptions } from './opening.js'
import type { BatchingOptions, EngineOptions, LaneOptions, QueuePolicy } from './options.js'

const laneTable = {
  lanes: option(is.whole(1, 64, 'a number of lanes from 1 to 64'), 1),
  profile: option(checkedProfile, -1),
  priority: option(is.choice('normal', 'high'), 'normal'),
  cudaGraph: option(checkedCudaGraph, true),
  batching: option((value) => value), // which depends on maxQueue
  maxQueue: option(is.whole(1, 2 ** 24, 'a number of requests from 1'), 4096),
  maxQueueBytes: option(is.whole(1, Number.MAX_SAFE_INTEGER, 'a number of bytes from 1'), 256 * 2 ** 20),
  wait: option(is.choice('spin', 'block', 'adaptive'), 'adaptive'),
} satisfies OptionTable<LaneOptions>
const laneNames = namesOf(laneTable)

const severalTogether = ['device', 'tensorrt', 'cache', 'weights'] as const

/** What is checked by itself; {@link severalTogether} is not. */
const ownTable = {
  signal: signalOption,
  backend: option(is.choice('auto', 'tensorrt', 'cpu'), 'auto'),
  shapes: option(checkedShapes),
  memoryLimit: option(is.whole(1, Number.MAX_SAFE_INTEGER, 'a number of bytes from 1')),
  builder: option(checkedBuilder),
  onProgress: option(is.listener<NonNullable<EngineOptions['onProgress']>>()),
  anyGpu: option(is.boolean),
  plugins: option(checkedPlugins, []),
  hostCode: option(is.boolean, false),
  allowPlaceholderRanges: option(is.boolean, false),
} satisfies OptionTable<
  Omit<EngineOptions, (typeof severalTogether)[number] | keyof LaneOptions | keyof CpuEngineOptions>
>

/** All options of an engine, but the data types that are declared: for what opens one and hands them on. */
export const engineOptionNames = [...namesOf(ownTable), ...severalTogether, ...cpuNames, ...laneNames]

type LaneValues = Partial<Record<keyof typeof laneTable, unknown>>

function namesOf<Table extends object>(table: Table): readonly (keyof Table & string)[] {
  return Object.keys(table) as (keyof Table & string)[]
}

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedEngineOptions(
  options: unknown,
): OpenOptions & { readonly signal: AbortSignal | undefined; readonly declaration: Declaration } {
  const given = readOptions(options, [...engineOptionNames, 'inputs', 'outputs'], 'Engine')
  const own = checkedRows(given, ownTable)
  const lanes = checkedLanes(given)
  const [wishes, forCpu] = [wishesFor(given), wishesForCpu(given)]
  if (own.backend === 'cpu' && wishes.length > 0)
    throw expected('no option that asks for TensorRT', "backend 'cpu'", wishes[0])
  if (own.backend === 'tensorrt' && forCpu.length > 0)
    throw expected('no option that is for the CPU', "backend 'tensorrt'", forCpu[0])
  const { weights } = given
  return {
    ...own,
    ...checkedRows(given, placeRows),
    wishes,
    forCpu,
    given: Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [name])),
    cpu: checkedCpuOptions(given),
    lanes,
    declaration: checkedDeclaration(given),
    cache: checkedCache(given.cache),
    weights: weights === undefined || own.signal?.aborted ? undefined : onnxSource(weights, 'weights'),
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
export function checkedAttachOptions(options: unknown): {
  readonly queue: 'own' | 'shared'
  readonly lanes: NativeSessionOptions
  /** The options that ask for TensorRT. */
  readonly wishes: readonly string[]
  readonly signal: AbortSignal | undefined
  readonly declaration: Declaration
} {
  const given = readOptions(options, ['queue', 'signal', 'inputs', 'outputs', ...laneNames], 'Engine.attach')
  const queue = checkedChoice(given.queue === undefined ? 'own' : given.queue, 'queue', ['own', 'shared'])
  if (queue === 'shared') refuseLanes(given)
  return {
    queue,
    lanes: checkedLanes(given),
    wishes: wishesFor(given),
    signal: checkedSignal(given.signal),
    declaration: checkedDeclaration(given),
  }
}

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
function refuseLanes(given: LaneValues): void {
  const name = laneNames.find((lane) => given[lane] !== undefined)
  if (name !== undefined)
    throw expected(`no ${name} beside queue 'shared', where lanes and queue are the owner's,`, name, given[name])
}

function checkedLanes(given: LaneValues): NativeSessionOptions {
  const { profile, priority, cudaGraph, batching, ...native } = checkedRows(given, laneTable)
  return {
    ...native,
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
