/**
 * Engines, plans and tensors: loads ONNX models and TensorRT plans, runs them, builds plans, and tells what a machine
 * has. The other entry points have pictures ({@link "node-tensorrt/vision" | node-tensorrt/vision}), tasks ({@link
 * "node-tensorrt/tasks" | node-tensorrt/tasks}), ONNX ({@link "node-tensorrt/onnx" | node-tensorrt/onnx}), INT8 ({@link
 * "node-tensorrt/quantization" | node-tensorrt/quantization}) and measuring ({@link "node-tensorrt/benchmark" |
 * node-tensorrt/benchmark}).
 * @module node-tensorrt
 */
export type { Abortable } from './base/options.js'
export type {
  BatchSizeCounters,
  EngineCounters,
  EngineMemory,
  EngineStats,
  FailureCounts,
  NamedShapes,
  Percentiles,
  ProfileShapes,
  SampledCounters,
  TensorInfo,
  UnsupportedTensor,
} from './backend/backend.js'
export type { CalibrationFacts, FoundBy, Gpu, LibraryKind, NetworkTensor } from './backend/facts.js'
export type { InferMessage } from './backend/completions.js'
export { Builder, type BuildOptions } from './builder.js'
export type { NetworkInfo, QuantizingLayers } from './plan/network.js'
export type { CalibrationSource, InputBatch } from './building/calibration.js'
export type { BuildProgress } from './building/in-process.js'
export type { BuilderOptions, Isolation } from './building/options.js'
export type {
  BuildSettings,
  HardwareCompatibility,
  IOFormat,
  Precision,
  PreviewFeature,
  ProfilingVerbosity,
  RuntimePlatform,
  TacticSource,
  TensorFormatName,
} from './plan/settings.js'
export type { InputShapes, Shapes } from './building/shapes.js'
export { type CachedBuildOptions, type CachedPlan, type CacheMessage, EngineCache } from './cache/engine-cache.js'
export type { CacheEntry } from './cache/entries.js'
export type { EngineCacheOptions } from './cache/options.js'
export {
  capabilities,
  type Capabilities,
  type CapabilitiesOptions,
  type Missing,
  type RunCheck,
  type TensorRTLibrary,
} from './capabilities.js'
export { type AnyTensor, DeviceTensor } from './device-tensor.js'
export { Engine, type StreamOptions } from './engine.js'
export type { EngineToken } from './engine/opener.js'
export type { TensorRTPlace } from './base/option-table.js'
export type { CpuEngineOptions } from './engine/cpu-options.js'
export type { EngineLayersOptions } from './engine/layers.js'
export type { WarmupOptions } from './engine/warmup.js'
export type {
  AttachOptions,
  DeclaredOptions,
  EngineBuilderOptions,
  EngineOptions,
  TensorRTEngineOptions,
  Undeclared,
} from './engine/options.js'
export type {
  BatchingOptions,
  LaneOptions,
  Priorities,
  QueuePolicy,
  TensorRTLaneOptions,
} from './engine/lane-options.js'
export { type ErrorCode, errorCodes, TensorRTError, type TensorRTErrorOptions } from './errors.js'
export type {
  BareInput,
  BareInputForOne,
  BareOutput,
  Declaration,
  DeclaredTypes,
  InputRecord,
  LocatedTensor,
  OutputLocation,
  SelectedOutputs,
  TensorInfos,
  TensorName,
  TensorRecord,
  TensorTypes,
} from './engine/declaration.js'
export type { InferOptions, InferSyncOptions } from './engine/infer-options.js'
export {
  inspect,
  type InspectOptions,
  type ModelInspection,
  type OpenedPlan,
  type ParserVerdict,
  type PlanInspection,
} from './inspection.js'
export type { DeploymentCheck, DeploymentFinding } from './building/deployment.js'
export { type LogLevel, type LogLine, onLog } from './log.js'
export type { BlobLike, Bytes } from './base/bytes.js'
export type { ModelSource } from './base/source.js'
export type { EngineSource } from './engine/source.js'
export { type BuildInfo, Plan, type PlanInfo, type PlanReport, type SavePlanOptions } from './plan.js'
export { type RefitOptions, Refitter, type RefitterOptions, type WeightsInfo } from './refitter.js'
export {
  readTensor,
  readTensors,
  type ReadTensorOptions,
  type ReadTensorsOptions,
  type TensorFormat,
  type TensorSource,
  type TensorSpec,
  writeTensor,
  writeTensors,
  type WriteTensorOptions,
} from './tensor-files/index.js'
export {
  type DType,
  type DTypeArrays,
  type DTypeData,
  type DTypeOf,
  dtypes,
  type DTypeValues,
  type FloatDType,
  type HostTensor,
  Tensor,
  type TensorConstructor,
  type TensorJson,
  type TensorLike,
  type TensorRTDType,
  type TypedData,
} from './tensor.js'
