import { Tensor } from '../tensor.js'
import type { AttributeProto, NodeProto, TensorProto } from './onnx_pb.js'
import { isOnnx, nodeText } from './scope.js'
import { notAGraph } from './structure.js'
import { tensorFromProto } from './tensors.js'

/**
 * The elements of an initializer or of what a Constant node gives, copied; undefined for any other node, and for text
 * and sparse values.
 * @throws TensorRTError as {@link tensorFromProto}
 */
export function constantTensor(
  initializer: TensorProto | undefined,
  producer: NodeProto | undefined,
): Tensor | undefined {
  if (initializer !== undefined) return tensorFromProto(initializer)
  if (producer?.opType !== 'Constant' || !isOnnx(producer)) return undefined
  for (const attribute of producer.attribute) {
    const tensor = attributeTensor(producer, attribute)
    if (tensor !== undefined) return tensor
  }
  return undefined
}

function attributeTensor(node: NodeProto, attribute: AttributeProto): Tensor | undefined {
  const { name, t, f, floats, i, ints } = attribute
  switch (name) {
    case 'value':
      if (t === undefined)
        throw notAGraph(`${nodeText(node)} has no tensor in its attribute value`, { node: node.name })
      return tensorFromProto(t)
    case 'value_float':
      return new Tensor('float32', Float32Array.of(f), [])
    case 'value_floats':
      return new Tensor('float32', Float32Array.from(floats), [floats.length])
    case 'value_int':
      return new Tensor('int64', BigInt64Array.of(i), [])
    case 'value_ints':
      return new Tensor('int64', BigInt64Array.from(ints), [ints.length])
    default:
      return undefined
  }
}
