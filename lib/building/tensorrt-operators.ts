/**
 * The opsets of ONNX that TensorRT documents: 9 is the oldest of all versions, 25 the newest of TensorRT 11.
 * @see https://docs.nvidia.com/deeplearning/tensorrt/latest/reference/onnx-opset-guide.html
 */
export const tensorrtOpsets = { least: 9, most: 25 } as const

/**
 * ONNX's own operators that the parser of TensorRT 10.15 does not have. The test compares the list with the parser of
 * TensorRT-RTX 1.7.
 * @see https://github.com/onnx/onnx-tensorrt/blob/release/10.15-GA/docs/operators.md
 */
export const unsupportedOperators: ReadonlySet<string> = new Set([
  'AffineGrid',
  'Bernoulli',
  'BitCast',
  'BitShift',
  'BitwiseAnd',
  'BitwiseNot',
  'BitwiseOr',
  'BitwiseXor',
  'CenterCropPad',
  'Col2Im',
  'Compress',
  'ConcatFromSequence',
  'ConvInteger',
  'CumProd',
  'DFT',
  'Det',
  'DynamicQuantizeLinear',
  'ImageDecoder',
  'MatMulInteger',
  'MaxRoiPool',
  'MaxUnpool',
  'MelWeightMatrix',
  'Multinomial',
  'NegativeLogLikelihoodLoss',
  'Optional',
  'OptionalGetElement',
  'OptionalHasElement',
  'QLinearConv',
  'QLinearMatMul',
  'RegexFullMatch',
  'SequenceAt',
  'SequenceConstruct',
  'SequenceEmpty',
  'SequenceErase',
  'SequenceInsert',
  'SequenceLength',
  'SequenceMap',
  'SoftmaxCrossEntropyLoss',
  'SplitToSequence',
  'StringConcat',
  'StringNormalizer',
  'StringSplit',
  'SwiGLU',
  'TfIdfVectorizer',
  'Unique',
])
