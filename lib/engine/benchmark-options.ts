import type { BenchmarkOptions } from '../benchmark/types.js'
import { checkedPercentiles } from '../base/checks.js'
import { type Checked, checkedOptions, is, option, type OptionTable, signalOption } from '../base/option-table.js'
import { expected } from '../errors.js'
import { Tensor } from '../tensor.js'
import { checkedInputs, checkedShapes } from './given-inputs.js'

const day = 86_400_000

const table = {
  inputs: option(
    (inputs) => checkedInputs(inputs, 'Tensor on the host', (value) => Tensor.is(value)),
    new Map<string, Tensor>(),
  ),
  shapes: option(checkedShapes, new Map<string, readonly number[]>()),
  profile: option(is.whole(0, 2 ** 31 - 1, 'the number of an optimization profile'), 0),
  streams: option(is.whole(1, 64), 1),
  threads: option(is.boolean, false),
  depth: option<1 | 2>(checkedDepth, 2),
  warmUpMs: option(is.milliseconds(day), 200),
  durationMs: option(is.milliseconds(day), 3000),
  iterations: option(is.whole(1, 1e7), 10),
  sleepMs: option(is.milliseconds(60_000), 0),
  idleMs: option(is.milliseconds(60_000), 0),
  transfers: option(is.boolean, true),
  cudaGraph: option(is.boolean, false),
  spinWait: option(is.boolean, false),
  percentiles: option(checkedPercentiles, Object.freeze([90, 95, 99])),
  endToEnd: option(is.boolean, true),
  javascript: option(is.boolean),
  layers: option(is.boolean, false),
  outputs: option(is.boolean, false),
  signal: signalOption,
  onProgress: option(is.listener<NonNullable<BenchmarkOptions['onProgress']>>()),
} satisfies OptionTable<BenchmarkOptions>

/** Options that were read once, and checked as far as that goes without the model. */
export type CheckedBenchmarkOptions = Checked<typeof table> & { readonly javascript: boolean }

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT, ERR_TRT_SHAPE; the signal's reason */
export function checkedBenchmarkOptions(options: unknown): CheckedBenchmarkOptions {
  const checked = checkedOptions(options, table, 'benchmark')
  const { endToEnd, javascript = endToEnd } = checked
  if (javascript && !endToEnd) throw expected('false where endToEnd is,', 'javascript', javascript)
  checked.signal?.throwIfAborted()
  return { ...checked, javascript }
}

function checkedDepth(depth: unknown): 1 | 2 {
  if (depth === 1 || depth === 2) return depth
  throw expected('1 or 2', 'depth', depth)
}
