/**
 * Which of ONNX's operators compute in 16 bits: all float32 inputs and outputs of such a node take the new type
 * together, but for those of {@link staysFloat}. An operator that is not listed stays in float32: those without 16 bits
 * in ONNX, those that AutoCast never converts (Upsample, NonMaxSuppression, Celu, Scan, If, Loop), those whose type is
 * an attribute (ConstantOfShape, Random…), and those whose inputs are coordinates in pixels (RoiAlign).
 */
import type { NodeProto } from '../onnx_pb.js'
import type { HalfPrecision } from './options.js'

/**
 * `[first opset with float16, first with bfloat16, operators]`, held against onnx's schemas by test/facts/schemas.json.
 */
const table: readonly (readonly [number, number, string])[] = [
  [
    1,
    13,
    'Abs Add ArgMax ArgMin Ceil Clip Concat DepthToSpace Div Dropout Exp Flatten Floor Gather Gemm Greater Hardmax Identity LRN Less Log LogSoftmax MatMul Max Mean ' +
      'Min Mul Neg Pad Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare Relu Reshape ' +
      'Shape Sigmoid Size Slice Softmax SpaceToDepth Split Sqrt Squeeze Sub Sum Tanh Tile Transpose Unsqueeze',
  ],
  [1, 14, 'BatchNormalization'],
  // its exponent: the base takes bfloat16 from 13 on
  [1, 15, 'Pow'],
  [1, 16, 'LeakyRelu PRelu'],
  [
    1,
    22,
    'AveragePool Conv ConvTranspose Elu GRU GlobalAveragePool GlobalLpPool GlobalMaxPool HardSigmoid InstanceNormalization LSTM LpNormalization LpPool MaxPool RNN Selu ' +
      'Softplus Softsign',
  ],
  [1, 24, 'TopK'],
  [7, 22, 'Acos Asin Atan Cos Sin Tan'],
  [8, 13, 'Expand'],
  [9, 13, 'Erf IsNaN MeanVarianceNormalization NonZero Sign'],
  [9, 16, 'Where'],
  [9, 22, 'Acosh Asinh Atanh Cosh Sinh'],
  [9, 28, 'Compress OneHot'],
  [10, 13, 'Mod Resize'],
  [10, 22, 'ThresholdedRelu'],
  [10, 28, 'ReverseSequence'],
  [11, 13, 'Equal GatherElements GatherND ScatterElements ScatterND'],
  [11, 22, 'Round'],
  [12, 16, 'GreaterOrEqual LessOrEqual'],
  [12, 28, 'Einsum'],
  [14, 14, 'CumSum Trilu'],
  [14, 22, 'HardSwish'],
  [15, 15, 'CastLike'],
  [16, 22, 'GridSample'],
  [17, 17, 'LayerNormalization'],
  [18, 18, 'CenterCropPad Col2Im GroupNormalization'],
  [18, 22, 'Mish'],
  [19, 19, 'DequantizeLinear QuantizeLinear'],
  [19, 22, 'DeformConv'],
  [20, 20, 'AffineGrid Gelu IsInf'],
  [23, 23, 'Attention RMSNormalization RotaryEmbedding'],
  [24, 24, 'Swish'],
]

const since = new Map(
  table.flatMap(([fp16, bf16, names]) => names.split(' ').map((name) => [name, { fp16, bf16 }] as const)),
)

/** The opset from which on an operator takes the type; nothing for one that never does, or that is not to. */
export function takesSince(operator: string, precision: HalfPrecision): number | undefined {
  return since.get(operator)?.[precision]
}

/**
 * What TensorRT-RTX 1.7 builds in float32 and refuses in 16 bits; with `ConvTranspose` it says "Could not infer output
 * types for operation".
 */
const refused: Readonly<Record<HalfPrecision, ReadonlySet<string>>> = {
  fp16: new Set(['MeanVarianceNormalization']),
  bf16: new Set('ConvTranspose GRU HardSwish LpNormalization LpPool MeanVarianceNormalization Mish'.split(' ')),
}

const recurrent: readonly string[] = ['GRU', 'LSTM', 'RNN']
const sequenceLens = 4

/** Whether TensorRT runs it as a loop over its first input. */
export function isRecurrent(operator: string): boolean {
  return recurrent.includes(operator)
}

/**
 * What of a node TensorRT-RTX 1.7 builds in float32 alone, though ONNX has it in 16 bits; nothing where there is no
 * such thing.
 */
export function refusedPart({ opType, input }: NodeProto, precision: HalfPrecision): string | undefined {
  if (refused[precision].has(opType)) return opType
  return isRecurrent(opType) && input[sequenceLens] ? `${opType} with sequence_lens` : undefined
}

const floatInputs: Readonly<Record<string, readonly number[]>> = { Dropout: [1], OneHot: [0, 1], Resize: [1, 2] }
const floatOutputs: Readonly<Record<string, readonly number[]>> = { LayerNormalization: [1, 2] }

/**
 * Whether an input (output) of a converted node stays float32: a Resize's scales, and its roi beside them; a Dropout's
 * ratio, which takes bfloat16 nine opsets after the rest; indices and depth of a OneHot; what a LayerNormalization
 * tells besides its result.
 */
export function staysFloat(operator: string, side: 'input' | 'output', index: number): boolean {
  return (side === 'input' ? floatInputs : floatOutputs)[operator]?.includes(index) ?? false
}

const moving = new Set(
  (
    'CenterCropPad Compress Concat DepthToSpace Dropout Expand Flatten Gather GatherElements GatherND Identity Pad Reshape ReverseSequence Slice SpaceToDepth Split ' +
    'Squeeze Tile Transpose Trilu Unsqueeze'
  ).split(' '),
)

/** Whether an operator only moves elements: between nodes that stay in float32 it stays there, too. */
export function onlyMoves(operator: string): boolean {
  return moving.has(operator)
}

/** Whether an operator takes any type and gives none of it: it reads whichever there is, and needs no cast. */
export function readsAny(operator: string): boolean {
  return operator === 'Shape' || operator === 'Size' || operator === 'Cast'
}
