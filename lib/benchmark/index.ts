/** How fast a model is, as trtexec measures it, and what becomes of the numbers. */
export type {
  Benchmark,
  Benchmarkable,
  BenchmarkOptions,
  BenchmarkPhase,
  BenchmarkProgress,
  BenchmarkSettings,
  BenchmarkWarning,
  CountedSummary,
  LayerTiming,
  Summary,
  TraceRow,
} from './types.js'
export { benchmarkReport, type ReportOptions } from './report/page.js'
export type { OtherMeasurement, ReportSweep } from './report/sweep.js'
export { randomInputs, type RandomInputsOptions, randomTensor } from './random.js'
export { exportLayerInfo, exportOutput, exportProfile, exportTimes } from './exports.js'
export { type ClosableBenchmarkable, sweep, type SweepOptions, type SweepPoint, type SweepSource } from './sweep.js'
