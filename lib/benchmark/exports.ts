import { isBigInt64Array, isBigUint64Array } from 'node:util/types'
import { checkedArray, checkedObject } from '../base/checks.js'
import { saveText } from '../base/files.js'
import type { Tensor } from '../tensor.js'
import type { Benchmark } from './types.js'
import { TensorRTError } from '../errors.js'

/**
 * What a file of trtexec's `--exportTimes` has: an array with an object for each query, those of the warm-up left out.
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT for what is no benchmark
 */
export function exportTimes(benchmark: Pick<Benchmark, 'trace'>): string {
  const { trace } = checkedBenchmark(benchmark)
  return listed(checkedArray(trace, 'the trace of the benchmark') as typeof trace)
}

/**
 * What a file of trtexec's `--exportProfile` has: how many executions were timed, then each layer.
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT unless it was measured with `layers: true`
 */
export function exportProfile(benchmark: Pick<Benchmark, 'layers'>): string {
  const { iterations, layers } = measuredOf(benchmark, 'layers')
  const rows = layers.map(({ name, averageMs, medianMs, timeShare }) => ({
    name,
    timeMs: averageMs * iterations,
    averageMs,
    medianMs,
    percentage: timeShare * 100,
  }))
  return listed([{ count: iterations }, ...rows])
}

/**
 * What a file of trtexec's `--exportOutput` has: name, dimensions (`"1x1000"`) and values of each output. What JSON has
 * no number for (not a number, infinity) is null.
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT unless it was measured with `outputs: true`
 */
export function exportOutput(benchmark: Pick<Benchmark, 'outputs'>): string {
  const texts = Object.entries(measuredOf(benchmark, 'outputs')).map(([name, tensor]) => {
    const head = `"name": ${JSON.stringify(name)}, "dimensions": ${JSON.stringify(tensor.shape.join('x'))}`
    return `{ ${head}, "values": [${valuesText(tensor)}] }`
  })
  return `[\n${texts.join(',\n')}\n]\n`
}

/**
 * What a file of trtexec's `--exportLayerInfo` has: what TensorRT's inspector says, word for word.
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT unless it was measured with `layers: true`
 */
export function exportLayerInfo(benchmark: Pick<Benchmark, 'layers'>): string {
  return measuredOf(benchmark, 'layers').document
}

const exported = { times: exportTimes, profile: exportProfile, layerInfo: exportLayerInfo, output: exportOutput }

/** trtexec's JSON files, by what is in them. @throws TensorRTError ERR_TRT_FILE, the signal's reason */
export async function writeExports(
  benchmark: Benchmark,
  paths: { readonly [What in keyof typeof exported]?: string | undefined },
  signal: AbortSignal,
): Promise<void> {
  for (const [what, path] of Object.entries(paths) as [keyof typeof exported, string | undefined][]) {
    if (path === undefined) continue
    signal.throwIfAborted()
    await saveText(path, exported[what](benchmark))
  }
}

/** One, not the several that `sweep` resolves with. */
const checkedBenchmark = <B extends object>(benchmark: B): B =>
  checkedObject(benchmark, 'benchmark', 'a benchmark') as B

/** Whole numbers of 64 bits as they are, all others as float32 has them. */
function valuesText(tensor: Tensor): string {
  const { data } = tensor
  if (isBigInt64Array(data) || isBigUint64Array(data)) return data.join(', ')
  const numbers = tensor.dtype === 'float64' ? data : tensor.toFloat32().data
  return Array.from(numbers as Float64Array | Float32Array, (value) => JSON.stringify(value)).join(', ')
}

function listed(rows: readonly object[]): string {
  return `[\n${rows.map((row) => JSON.stringify(row)).join(',\n')}\n]\n`
}

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT where the benchmark has none */
function measuredOf<What extends 'layers' | 'outputs'>(
  benchmark: Pick<Benchmark, What>,
  what: What,
): NonNullable<Benchmark[What]> {
  const found = checkedBenchmark(benchmark)[what]
  if (found !== undefined) return found
  throw new TensorRTError('ERR_TRT_INVALID_ARGUMENT', `Expected a benchmark that was measured with ${what}: true`)
}
