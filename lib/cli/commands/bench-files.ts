import type { Command } from 'commander'
import { saveText } from '../../base/files.js'
import { packageVersion } from '../../base/package.js'
import type { Benchmark } from '../../benchmark/index.js'

/** The files that a benchmark is written into. */
export interface BenchmarkFiles {
  readonly report?: string | undefined
  readonly exportTimes?: string | undefined
  readonly exportProfile?: string | undefined
  readonly exportOutput?: string | undefined
  readonly exportLayerInfo?: string | undefined
}

/** Gives a command trtexec's four exports. */
export function benchmarkFiles(command: Command): Command {
  return command
    .option('--export-times <FILE>', 'write each query, as trtexec does (JSON)')
    .option('--export-profile <FILE>', 'write the times of layers, as trtexec does')
    .option('--export-output <FILE>', 'write the outputs, as trtexec does')
    .option('--export-layer-info <FILE>', 'write what the inspector says, as trtexec does')
}

/** The options of one benchmark's exports that were given. */
export function exportsOf({ exportTimes, exportProfile, exportOutput, exportLayerInfo }: BenchmarkFiles): string[] {
  const flags = {
    '--export-times': exportTimes,
    '--export-profile': exportProfile,
    '--export-output': exportOutput,
    '--export-layer-info': exportLayerInfo,
  }
  return Object.entries(flags).flatMap(([flag, file]) => (file === undefined ? [] : [flag]))
}

/** Exports are of the first: who asks for several of them was refused. @throws TensorRTError ERR_TRT_FILE */
export async function writeBenchmarkFiles(
  files: BenchmarkFiles,
  benchmarks: readonly Benchmark[],
  signal: AbortSignal,
): Promise<void> {
  const { exportTimes, exportProfile, exportOutput, exportLayerInfo, benchmarkReport } =
    await import('../../benchmark/index.js')
  const exports = [
    [files.exportTimes, exportTimes],
    [files.exportProfile, exportProfile],
    [files.exportOutput, exportOutput],
    [files.exportLayerInfo, exportLayerInfo],
  ] as const
  const [one] = benchmarks
  for (const [path, text] of exports) {
    if (path === undefined || one === undefined) continue
    signal.throwIfAborted()
    await saveText(path, text(one))
  }
  if (files.report === undefined) return
  const versions = { 'node-tensorrt': packageVersion(), Node: process.versions.node }
  await saveText(files.report, benchmarkReport(benchmarks, { versions, date: new Date().toISOString() }))
}
