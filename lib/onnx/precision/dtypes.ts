import { attributeTypes } from '../attributes.js'
import { type ElementType, elementTypeName } from '../element-type.js'
import { type GraphEditor, isOnnx } from '../editor.js'
import { intAttribute } from '../node-attributes.js'
import type { NodeProto, ValueInfoProto } from '../onnx_pb.js'
import { takesSince } from './operators.js'

/** The element types of the values of the main graph, as far as they are known. */
export type ValueDTypes = ReadonlyMap<string, ElementType>

/** From what the graph declares and stores, and what its nodes make of it. */
export function dtypesOf(editor: GraphEditor): ValueDTypes {
  const types = new Map<string, ElementType>()
  const { graph } = editor
  const declare = ({ name, type }: ValueInfoProto): void => {
    const value = type?.value
    if (value?.case !== 'tensorType') return
    const dtype = elementTypeName(value.value.elemType)
    if (dtype !== 'undefined') types.set(name, dtype)
  }
  for (const info of [...graph.valueInfo, ...graph.output, ...graph.input]) declare(info)
  for (const { name, dataType } of graph.initializer) types.set(name, elementTypeName(dataType))
  for (const node of editor.nodes()) {
    for (const [i, output] of node.output.entries()) {
      const dtype = output === '' || !isOnnx(node) ? undefined : outputType(node, i, types)
      if (dtype !== undefined && dtype !== 'undefined') types.set(output, dtype)
    }
  }
  return types
}

/** Outputs of one type, whatever goes in. */
const fixed: Readonly<Record<string, readonly ElementType[]>> = {
  ...ofOneType('int64', 'Shape Size NonZero ArgMax ArgMin NonMaxSuppression'),
  ...ofOneType('bool', 'And Equal Greater GreaterOrEqual IsInf IsNaN Less LessOrEqual Not Or Xor'),
  DynamicQuantizeLinear: ['uint8', 'float32', 'uint8'],
}

function ofOneType(dtype: ElementType, operators: string): Record<string, readonly ElementType[]> {
  return Object.fromEntries(operators.split(' ').map((name) => [name, [dtype]]))
}

/** Outputs after the first that have a type of their own. */
const second: Readonly<Record<string, ElementType>> = {
  ...{ TopK: 'int64', MaxPool: 'int64', Dropout: 'bool', LayerNormalization: 'float32' },
}

/** The input that an operator's outputs have their type of, where that is not the first. */
const source: Readonly<Record<string, number>> = { Where: 1, OneHot: 2, CastLike: 1, DequantizeLinear: 1 }

function outputType(node: NodeProto, index: number, types: ValueDTypes): ElementType | undefined {
  const { opType, input } = node
  if (fixed[opType]) return fixed[opType][index]
  switch (opType) {
    case 'Cast':
      return elementTypeName(intAttribute(node, 'to') ?? 0)
    case 'Constant':
      return constantType(node)
    case 'ConstantOfShape':
      return elementTypeName(node.attribute.find(({ name }) => name === 'value')?.t?.dataType ?? 1)
    case 'QuantizeLinear': {
      const named = intAttribute(node, 'output_dtype')
      return input[2] ? types.get(input[2]) : named ? elementTypeName(named) : 'uint8'
    }
  }
  if (index > 0 && second[opType]) return second[opType]
  if (takesSince(opType, 'fp16') === undefined && opType !== 'Range') return undefined
  return types.get(input[source[opType] ?? 0] ?? '')
}

function constantType({ attribute }: NodeProto): ElementType | undefined {
  const [value] = attribute
  switch (value?.type) {
    case attributeTypes.TENSOR:
      return elementTypeName(value.t?.dataType ?? 0)
    case attributeTypes.FLOAT:
    case attributeTypes.FLOATS:
      return 'float32'
    case attributeTypes.INT:
    case attributeTypes.INTS:
      return 'int64'
    default:
      return undefined
  }
}
