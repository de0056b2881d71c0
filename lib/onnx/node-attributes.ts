import { isMessage } from '@bufbuild/protobuf'
import { expected, TensorRTError } from '../errors.js'
import { type AttributeKind, attributeTypes } from './attributes.js'
import { type ElementType, elementTypeName } from './element-type.js'
import { type AttributeProto, type NodeProto, NodeProtoSchema, type TensorProto } from './onnx_pb.js'

const utf8 = new TextDecoder()

/** Reads the attributes of a node: nothing where it has none of that name. */
export class AttributeReader {
  readonly proto: NodeProto

  constructor(proto: NodeProto) {
    this.proto = proto
  }

  int(name: string): number | undefined
  int(name: string, otherwise: number): number
  int(name: string, otherwise?: number): number | undefined {
    const found = this.attribute(name, 'INT')
    return found === undefined ? otherwise : Number(found.i)
  }

  ints(name: string): number[] | undefined {
    return this.attribute(name, 'INTS')?.ints.map(Number)
  }

  float(name: string): number | undefined {
    return this.attribute(name, 'FLOAT')?.f
  }

  floats(name: string): number[] | undefined {
    return this.attribute(name, 'FLOATS')?.floats
  }

  text(name: string): string | undefined
  text(name: string, otherwise: string): string
  text(name: string, otherwise?: string): string | undefined {
    const found = this.attribute(name, 'STRING')
    return found === undefined ? otherwise : utf8.decode(found.s)
  }

  tensor(name: string): TensorProto | undefined {
    return this.attribute(name, 'TENSOR')?.t
  }

  /** An attribute that is the number of an element type. */
  elementType(name: string): ElementType | undefined {
    const dtype = elementTypeName(this.int(name, 0))
    return dtype === 'undefined' ? undefined : dtype
  }

  /** @throws TensorRTError ERR_TRT_ONNX_PARSE where it is of another kind */
  protected attribute(name: string, kind: AttributeKind): AttributeProto | undefined {
    const found = this.proto.attribute.find((attribute) => attribute.name === name)
    // models of before IR version 4 may leave the type out
    if (found === undefined || found.type === attributeTypes[kind] || found.type === 0) return found
    const { opType, name: node } = this.proto
    throw new TensorRTError(
      'ERR_TRT_ONNX_PARSE',
      `Attribute ${name} of ${opType} node ${JSON.stringify(node)} is of kind ${found.type}, not ${attributeTypes[kind]}`,
    )
  }
}

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT for what is no node, such as what find() did not find */
function readerOf(node: NodeProto): AttributeReader {
  if (isMessage(node, NodeProtoSchema)) return new AttributeReader(node)
  throw expected('a node of a model', 'node', node)
}

/** An attribute that is a whole number. @throws TensorRTError ERR_TRT_ONNX_PARSE where it is something else */
export function intAttribute(node: NodeProto, name: string): number | undefined {
  return readerOf(node).int(name)
}

/** An attribute that is a list of whole numbers. @throws TensorRTError ERR_TRT_ONNX_PARSE where it is something else */
export function intsAttribute(node: NodeProto, name: string): number[] | undefined {
  return readerOf(node).ints(name)
}

/** An attribute that is a number. @throws TensorRTError ERR_TRT_ONNX_PARSE where it is something else */
export function floatAttribute(node: NodeProto, name: string): number | undefined {
  return readerOf(node).float(name)
}

/** An attribute that is a list of numbers. @throws TensorRTError ERR_TRT_ONNX_PARSE where it is something else */
export function floatsAttribute(node: NodeProto, name: string): number[] | undefined {
  return readerOf(node).floats(name)
}

/** An attribute that is text. @throws TensorRTError ERR_TRT_ONNX_PARSE where it is something else */
export function stringAttribute(node: NodeProto, name: string): string | undefined {
  return readerOf(node).text(name)
}

/** Takes attributes of a node away. */
export function dropAttributes(node: NodeProto, ...names: string[]): void {
  node.attribute = node.attribute.filter(({ name }) => !names.includes(name))
}
