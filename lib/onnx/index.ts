/**
 * ONNX models read, described, built, edited, converted to half precision, drawn and written, with JavaScript alone.
 * @module node-tensorrt/onnx
 */
export { type Attributes, attributeTypes, type AttributeValue, float, FloatAttribute } from './attributes.js'
export { type Dim, GraphBuilder, type GraphBuilderOptions, type NodeOptions, type Value } from './builder.js'
export { checkModel } from './check.js'
export { GraphEditor, isOnnx, type NewNodeOptions, type Use } from './editor.js'
export { copyModel } from './copy.js'
export { drawModel, type DrawingFormat, type DrawingOptions } from './drawing/model.js'
export { type ElementType, elementTypeName, elementTypeNumber } from './element-type.js'
export { externalFiles, loadExternalData } from './external.js'
export { type InferenceOptions, inferTypes, type ValueType } from './inference.js'
export { inspectModel, type ModelInfo, type ValueInfo } from './info.js'
export { readModel, writeModel } from './model.js'
export { floatAttribute, floatsAttribute, intAttribute, intsAttribute, stringAttribute } from './node-attributes.js'
export { saveModel, type SaveOptions } from './save.js'
export { type ActivationSize, modelSize, type ModelSize, type StoredSize } from './size.js'
export { tensorFromProto, tensorToProto } from './tensors.js'
export { nodesOf, tensorsOf } from './walk.js'
/**
 * Makes a message of ONNX from its fields, for what {@link GraphBuilder} and {@link GraphEditor} have no words for:
 * `create(NodeProtoSchema, { opType: 'Relu', … })`.
 */
export { create } from '@bufbuild/protobuf'
export {
  type AttributeProto,
  AttributeProtoSchema,
  type FunctionProto,
  FunctionProtoSchema,
  type GraphProto,
  GraphProtoSchema,
  type ModelProto,
  ModelProtoSchema,
  type NodeProto,
  NodeProtoSchema,
  type OperatorSetIdProto,
  OperatorSetIdProtoSchema,
  type SparseTensorProto,
  SparseTensorProtoSchema,
  type StringStringEntryProto,
  StringStringEntryProtoSchema,
  type TensorProto,
  TensorProtoSchema,
  type TensorShapeProto,
  TensorShapeProtoSchema,
  type TypeProto,
  TypeProtoSchema,
  type ValueInfoProto,
  ValueInfoProtoSchema,
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
