import type { NodeProto } from '../onnx_pb.js'
import { isOnnx } from '../scope.js'
import type { BoxKind } from './graph.js'

const operators: Readonly<Partial<Record<BoxKind, string>>> = {
  compute:
    'Conv ConvTranspose ConvInteger QLinearConv DeformConv Gemm MatMul MatMulInteger QLinearMatMul Einsum Attention LSTM GRU RNN',
  activation:
    'Relu LeakyRelu PRelu Elu Selu Celu Gelu Sigmoid HardSigmoid HardSwish Mish Swish Tanh Softmax LogSoftmax Softplus Softsign ThresholdedRelu Clip Erf',
  normalization:
    'BatchNormalization InstanceNormalization LayerNormalization GroupNormalization RMSNormalization LpNormalization LRN',
  pooling: 'MaxPool AveragePool GlobalAveragePool GlobalMaxPool LpPool GlobalLpPool MaxUnpool',
  quantize: 'QuantizeLinear DequantizeLinear DynamicQuantizeLinear',
  shape:
    'Reshape Transpose Flatten Squeeze Unsqueeze Concat Split Slice Gather GatherND GatherElements Expand Tile Pad Shape Size Cast Identity ' +
    'DepthToSpace SpaceToDepth ConstantOfShape Range Resize Upsample',
}

const kinds = new Map(
  Object.entries(operators).flatMap(([kind, names]) =>
    names.split(' ').map((name) => [name, kind as BoxKind] as const),
  ),
)

export function kindOf(node: NodeProto): BoxKind {
  return (isOnnx(node) ? kinds.get(node.opType) : undefined) ?? 'other'
}
