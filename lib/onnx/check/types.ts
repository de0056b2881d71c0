import { isOnnx } from '../editor.js'
import { inferTypes } from '../inference.js'
import type { ModelProto, NodeProto } from '../onnx_pb.js'
import { nodeText, shortened } from '../scope.js'
import { notAGraph } from '../structure.js'

/** Operators whose inputs are all of one type, in each of their versions (from onnx 1.23's schemas). */
const ofOneType = new Set(
  (
    'Add And BitShift BitwiseAnd BitwiseOr BitwiseXor Clip Concat Conv ConvTranspose DeformConv Div Einsum Equal Gemm Greater GreaterOrEqual GroupNormalization ' +
    'InstanceNormalization LayerNormalization Less LessOrEqual MatMul Max Mean Min Mod Mul Or PRelu Range Sub Sum Xor'
  ).split(' '),
)

/** Those of which some are, by position. */
const someOfOneType: ReadonlyMap<string, readonly number[]> = new Map([
  ['GRU', [0, 1, 2, 3, 5]],
  ['LSTM', [0, 1, 2, 3, 5, 6, 7]],
  ['Pad', [0, 2]],
  ['RNN', [0, 1, 2, 3, 5]],
  ['ScatterElements', [0, 2]],
  ['ScatterND', [0, 2]],
  ['Where', [1, 2]],
])

/**
 * That no node of the main graph reads values of several types where ONNX has one, as far as types are known.
 * @throws TensorRTError ERR_TRT_ONNX_PARSE
 */
export function checkInputTypes(model: ModelProto): void {
  const nodes = model.graph?.node.filter((node) => isOnnx(node) && node.input.length > 1) ?? []
  const types = inferTypes(model)
  for (const node of nodes) {
    const known = alike(node).flatMap((value) => {
      const dtype = types.get(value)?.dtype
      return dtype === undefined ? [] : [{ value, dtype }]
    })
    const [first] = known
    const other = known.find(({ dtype }) => dtype !== first?.dtype)
    if (first === undefined || other === undefined) continue
    const both = `${shortened(first.value)} of ${first.dtype} and ${shortened(other.value)} of ${other.dtype}`
    throw notAGraph(`${nodeText(node)} reads ${both}, which have to be of one type`, {
      node: node.name,
      value: other.value,
    })
  }
}

function alike({ opType, input }: NodeProto): readonly string[] {
  if (ofOneType.has(opType)) return input
  return (someOfOneType.get(opType) ?? []).map((i) => input[i] ?? '')
}
