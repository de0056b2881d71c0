/**
 * INT8 without Python: ranges measured on the CPU, QuantizeLinear and DequantizeLinear put into ONNX models, and models
 * compared.
 * @module node-tensorrt/quantization
 */
export { Calibration, type CalibrationKey, type TensorRange } from './calibration.js'
export {
  type CalibrateOptions,
  Calibrator,
  type CalibratorConstructor,
  type CalibratorOptions,
  type DataCalibrator,
} from './calibrator.js'
export { type Comparable, compare, compareLayers, type CompareOptions, type Comparison } from './compare.js'
export type { InputBatch, CalibrationData } from './data.js'
export type { Difference } from './difference.js'
export type { CalibrationProgress } from './measure.js'
export { plotReport } from './plot.js'
export { type QuantizationProgress, quantize, QuantizedModel, type QuantizeOptions } from './quantize.js'
export type { QuantizationReport, QuantizedLayer, QuantizedTensor } from './report.js'
export type { KeepOptions } from './sensitivity.js'
export type { OnnxModel } from './source.js'
export type { Algorithm, Histogram } from './thresholds.js'
export type { WeightForm } from './insert.js'
