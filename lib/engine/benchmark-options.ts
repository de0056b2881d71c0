import type { BenchmarkOptions, BenchmarkSettings } from '../benchmark/types.js'
import {
  checkedBoolean,
  checkedList,
  checkedListener,
  checkedNumber,
  checkedObject,
  checkedWhole,
} from '../base/checks.js'
import { readOptions, unaborted } from '../base/options.js'
import { expected } from '../errors.js'
import { checkedShape, expectedTensor, Tensor } from '../tensor.js'

/** Options that were read once, and checked as far as that goes without the model. */
export interface CheckedBenchmarkOptions extends Omit<BenchmarkSettings, 'shapes' | 'javascript'> {
  readonly inputs: ReadonlyMap<string, Tensor>
  readonly shapes: ReadonlyMap<string, readonly number[]>
  readonly javascript: boolean
  readonly outputs: boolean
  readonly signal: AbortSignal | undefined
  readonly onProgress: BenchmarkOptions['onProgress']
}

const names = [
  'inputs',
  'shapes',
  'profile',
  'streams',
  'threads',
  'depth',
  'warmUpMs',
  'durationMs',
  'iterations',
  'sleepMs',
  'idleMs',
  'transfers',
  'cudaGraph',
  'spinWait',
  'percentiles',
  'endToEnd',
  'javascript',
  'layers',
  'outputs',
  'signal',
  'onProgress',
] as const

const day = 86_400_000

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT, ERR_TRT_SHAPE */
export function checkedBenchmarkOptions(options: unknown): CheckedBenchmarkOptions {
  const given = readOptions(options, names, 'benchmark')
  const flag = (name: (typeof names)[number], otherwise: boolean): boolean =>
    checkedBoolean(given[name] ?? otherwise, name)
  const milliseconds = (name: (typeof names)[number], otherwise: number, most: number): number =>
    checkedNumber(given[name] ?? otherwise, name, 0, most, `milliseconds from 0 to ${most}`)
  const endToEnd = flag('endToEnd', true)
  const javascript = flag('javascript', endToEnd)
  if (javascript && !endToEnd) throw expected('false where endToEnd is,', 'javascript', javascript)
  return {
    inputs: checkedInputs(given.inputs),
    shapes: checkedShapes(given.shapes),
    profile: checkedWhole(given.profile ?? 0, 'profile', 0, 2 ** 31 - 1, 'the number of an optimization profile'),
    streams: checkedWhole(given.streams ?? 1, 'streams', 1, 64),
    threads: flag('threads', false),
    depth: checkedDepth(given.depth),
    warmUpMs: milliseconds('warmUpMs', 200, day),
    durationMs: milliseconds('durationMs', 3000, day),
    iterations: checkedWhole(given.iterations ?? 10, 'iterations', 1, 1e7),
    sleepMs: milliseconds('sleepMs', 0, 60_000),
    idleMs: milliseconds('idleMs', 0, 60_000),
    transfers: flag('transfers', true),
    cudaGraph: flag('cudaGraph', false),
    spinWait: flag('spinWait', false),
    percentiles: checkedPercentiles(given.percentiles),
    endToEnd,
    javascript,
    layers: flag('layers', false),
    outputs: flag('outputs', false),
    signal: unaborted(given.signal),
    onProgress: checkedListener(given.onProgress, 'onProgress'),
  }
}

function checkedDepth(depth: unknown = 2): 1 | 2 {
  if (depth === 1 || depth === 2) return depth
  throw expected('1 or 2', 'depth', depth)
}

function checkedPercentiles(percentiles: unknown = [90, 95, 99]): readonly number[] {
  const isPercentile = (value: unknown): value is number => typeof value === 'number' && value >= 0 && value <= 100
  return Object.freeze(checkedList(percentiles, 'percentiles', 'percentiles from 0 to 100', isPercentile))
}

function checkedInputs(inputs: unknown): ReadonlyMap<string, Tensor> {
  if (inputs === undefined) return new Map()
  const what = 'a record of Tensors on the host'
  return new Map(
    Object.entries(checkedObject(inputs, 'inputs', what)).map(([name, tensor]: [string, unknown]) => {
      if (!Tensor.is(tensor)) throw expectedTensor('a Tensor on the host', `input ${JSON.stringify(name)}`, tensor)
      return [name, tensor]
    }),
  )
}

function checkedShapes(shapes: unknown): ReadonlyMap<string, readonly number[]> {
  if (shapes === undefined) return new Map()
  const entries = Object.entries(checkedObject(shapes, 'shapes', 'a record of shapes'))
  return new Map(entries.map(([name, shape]: [string, unknown]) => [name, checkedShape(shape as readonly number[])]))
}
