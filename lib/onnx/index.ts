/**
 * ONNX models read, described, built, edited, converted to half precision, drawn and written, with JavaScript alone.
 * @module node-tensorrt/onnx
 */
export { attributeTypes, float, FloatAttribute } from './attributes.js'
export type { Attributes, AttributeValue } from './attributes.js'
export { GraphBuilder } from './builder.js'
export type { Dim, GraphBuilderOptions, NodeOptions, Value } from './builder.js'
export { checkModel } from './check.js'
export { GraphEditor, isOnnx } from './editor.js'
export type { NewNodeOptions, Use } from './editor.js'
export { copyModel } from './copy.js'
export { drawModel, type DrawingFormat, type DrawingOptions } from './drawing/index.js'
export { elementTypeName, elementTypeNumber } from './element-type.js'
export type { ElementType } from './element-type.js'
export { externalFiles, loadExternalData } from './external.js'
export { inferTypes } from './inference.js'
export type { InferenceOptions, ValueType } from './inference.js'
export { inspectModel } from './info.js'
export type { ModelInfo, ValueInfo } from './info.js'
export { readModel, writeModel } from './model.js'
export { floatAttribute, floatsAttribute, intAttribute, intsAttribute, stringAttribute } from './node-attributes.js'
export { saveModel } from './save.js'
export type { SaveOptions } from './save.js'
export { type ActivationSize, modelSize, type ModelSize, type StoredSize } from './size.js'
export { tensorFromProto, tensorToProto } from './tensors.js'
export { nodesOf, tensorsOf } from './walk.js'
/**
 * Makes a message of ONNX from its fields, for what {@link GraphBuilder} and {@link GraphEditor} have no words for:
 * `create(NodeProtoSchema, { opType: 'Relu', … })`.
 */
export { create } from '@bufbuild/protobuf'
export {
  AttributeProtoSchema,
  FunctionProtoSchema,
  GraphProtoSchema,
  ModelProtoSchema,
  NodeProtoSchema,
  OperatorSetIdProtoSchema,
  SparseTensorProtoSchema,
  StringStringEntryProtoSchema,
  TensorProtoSchema,
  TensorShapeProtoSchema,
  TypeProtoSchema,
  ValueInfoProtoSchema,
} from './onnx_pb.js'
export type {
  AttributeProto,
  FunctionProto,
  GraphProto,
  ModelProto,
  NodeProto,
  OperatorSetIdProto,
  SparseTensorProto,
  StringStringEntryProto,
  TensorProto,
  TensorShapeProto,
  TypeProto,
  ValueInfoProto,
} from './onnx_pb.js'
export { openSizes, type OpenSizesOptions } from './open-sizes.js'
export type { ModelMetadata } from './metadata.js'
export { withOpset } from './opset.js'
export { convertPrecision } from './precision/convert.js'
export type { HalfPrecision, MeasuredRange, PrecisionOptions, ValueRange } from './precision/options.js'
export type { KeptNode, KeptReason, PrecisionReport } from './precision/report.js'
export type { PreprocessingSteps, Resizing } from '../steps/input.js'
export type { Decoder } from '../steps/decoders.js'
export type { DetectionSteps } from '../steps/detections.js'
export type { SuppressionSteps } from '../steps/suppression.js'
export {
  withPostprocessing,
  type ArgMaxSteps,
  type PostprocessingSteps,
  type SoftmaxSteps,
  type ThresholdSteps,
  type TopKSteps,
} from '../steps/postprocess.js'
export { withPreprocessing, type PreprocessingOptions } from '../steps/preprocess.js'
