import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { packageRoot } from '../../lib/base/package.js'
import { summarize } from '../../lib/benchmark/statistics.js'
import type { OtherMeasurement } from 'node-tensorrt/benchmark'

interface TorchOptions {
  readonly python?: string
  readonly model?: string
  readonly backend: 'cpu' | 'tensorrt'
  readonly sizes: readonly number[]
  readonly precisions: readonly string[]
  readonly warmUp: number
  readonly duration: number
}

interface TorchResult {
  /** Why nothing was measured. */
  readonly missing?: string
  /** What torch is, and on what. */
  readonly runtime?: string
  readonly times: readonly {
    readonly mode: string
    readonly precision: string
    readonly size: number
    readonly ms: readonly number[]
  }[]
  readonly failures: readonly string[]
}

const percentiles = [90, 95, 99]

/**
 * The same architecture in PyTorch on what the others ran on, the GPU or the CPU, by the script beside this file;
 * `note` says what was measured, or why nothing was.
 */
export async function timeTorch(
  options: TorchOptions,
): Promise<{ readonly measurements: readonly OtherMeasurement[]; readonly note: string }> {
  const left = (why: string) => ({
    measurements: [],
    note: `PyTorch (eager, TorchScript, torch.compile) was left out: ${why}.`,
  })
  const { python, model } = options
  if (python === undefined) return left('--python names a Python that has torch')
  if (model !== undefined) return left('it measures the seeded UNet alone, and another model was given')
  const { missing, runtime, times, failures } = await runScript(python, options)
  if (missing !== undefined) return left(missing)
  const measurements = times.map(({ mode, precision, size, ms }) => {
    const summary = summarize(Float64Array.from(ms), percentiles)
    return {
      series: `${mode}, ${precision.toUpperCase()}`,
      value: size,
      medianMs: summary.median,
      percentiles: summary.percentiles,
    }
  })
  const failed = failures.length === 0 ? '' : ` Left out: ${failures.join('; ')}.`
  return {
    measurements,
    note: `PyTorch is ${runtime ?? '?'}; from a picture on the host to its mask there, one at a time.${failed}`,
  }
}

async function runScript(
  python: string,
  { backend, sizes, precisions, warmUp, duration }: TorchOptions,
): Promise<TorchResult> {
  const script = join(packageRoot(), 'examples', 'segmentation-benchmark', 'torch_times.py')
  const device = backend === 'cpu' ? 'cpu' : 'cuda'
  const job = JSON.stringify({ device, sizes, precisions, warmUpMs: warmUp, durationMs: duration })
  try {
    const { stdout } = await promisify(execFile)(python, [script, job], { maxBuffer: 2 ** 28 })
    return JSON.parse(stdout) as TorchResult
  } catch (error) {
    return {
      missing: `${python} failed: ${(error as Error).message.trim().split('\n').at(-1) ?? ''}`,
      times: [],
      failures: [],
    }
  }
}
