/**
 * How fast a model is, measured as trtexec does it, and reports, files and charts of the figures. {@link
 * Engine.benchmark} measures.
 * @module node-tensorrt/benchmark
 */
export type {
  Benchmark,
  Benchmarkable,
  BenchmarkOptions,
  BenchmarkPhase,
  BenchmarkProgress,
  BenchmarkSettings,
  BenchmarkWarning,
  CountedSummary,
  EngineLayer,
  EngineLayers,
  LayerPrecision,
  LayerTiming,
  PrecisionShare,
  Summary,
  TraceRow,
} from './types.js'
export type { ExpectedPrecision } from './inspector.js'
export { drawLayers } from './layer-drawing.js'
export { benchmarkReport, type ReportOptions } from './report/page.js'
export type { OtherMeasurement, ReportSweep } from './report/sweep.js'
export { randomInputs, type RandomInputsOptions, randomTensor } from './random.js'
export { exportLayerInfo, exportOutput, exportProfile, exportTimes } from './exports.js'
export { loadTest } from './load/load-test.js'
export type {
  LoadPoint,
  LoadPriority,
  LoadTest,
  LoadTestable,
  LoadTestOptions,
  LoadTestProgress,
  LoadTestRequest,
} from './load/types.js'
export { type LoadCurve, loadTestChart, type LoadTestChartOptions } from './report/load-chart.js'
export { type ClosableBenchmarkable, sweep, type SweepOptions, type SweepPoint, type SweepSource } from './sweep.js'
