import { TensorRTError } from '../errors.js'
import { attributeTypes } from './attributes.js'
import type { AttributeProto, NodeProto } from './onnx_pb.js'

const utf8 = new TextDecoder()

/**
 * A node's attribute; nothing where it has none of that name. @throws TensorRTError ERR_TRT_ONNX_PARSE where it is of
 * another kind than `type`
 */
function attributeOf(node: NodeProto, name: string, type: number): AttributeProto | undefined {
  const found = node.attribute.find((attribute) => attribute.name === name)
  // models of before IR version 4 may leave the type out
  if (found === undefined || found.type === type || found.type === 0) return found
  throw new TensorRTError(
    'ERR_TRT_ONNX_PARSE',
    `Attribute ${name} of ${node.opType} node ${JSON.stringify(node.name)} is of kind ${found.type}, not ${type}`,
  )
}

/** An attribute that is a whole number. @throws TensorRTError ERR_TRT_ONNX_PARSE where it is something else */
export function intAttribute(node: NodeProto, name: string): number | undefined {
  const found = attributeOf(node, name, attributeTypes.INT)
  return found && Number(found.i)
}

/** An attribute that is a list of whole numbers. @throws TensorRTError ERR_TRT_ONNX_PARSE where it is something else */
export function intsAttribute(node: NodeProto, name: string): number[] | undefined {
  return attributeOf(node, name, attributeTypes.INTS)?.ints.map(Number)
}

/** An attribute that is a number. @throws TensorRTError ERR_TRT_ONNX_PARSE where it is something else */
export function floatAttribute(node: NodeProto, name: string): number | undefined {
  return attributeOf(node, name, attributeTypes.FLOAT)?.f
}

/** An attribute that is a list of numbers. @throws TensorRTError ERR_TRT_ONNX_PARSE where it is something else */
export function floatsAttribute(node: NodeProto, name: string): number[] | undefined {
  return attributeOf(node, name, attributeTypes.FLOATS)?.floats
}

/** An attribute that is text. @throws TensorRTError ERR_TRT_ONNX_PARSE where it is something else */
export function stringAttribute(node: NodeProto, name: string): string | undefined {
  const found = attributeOf(node, name, attributeTypes.STRING)
  return found && utf8.decode(found.s)
}

/** Takes attributes of a node away. */
export function dropAttributes(node: NodeProto, ...names: string[]): void {
  node.attribute = node.attribute.filter(({ name }) => !names.includes(name))
}
