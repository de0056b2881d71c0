import { attributeTypes } from '../attributes.js'
import { type GraphEditor, isOnnx } from '../editor.js'
import { elementTypeName } from '../element-type.js'
import type { ValueType } from '../inference.js'
import type { AttributeProto, NodeProto, TensorProto } from '../onnx_pb.js'
import { isExternal, tensorFromProto } from '../tensors.js'
import { type Box, shortText } from './graph.js'
import { kindOf } from './kinds.js'

export const isConstant = (node: NodeProto): boolean => node.opType === 'Constant' && isOnnx(node)

/** A stored value in a line: what it is, or the number itself where it is one. */
function constantOf(editor: GraphEditor, value: string): string | undefined {
  const stored = editor.initializer(value)
  if (stored !== undefined) return tensorText(stored)
  const producer = editor.producer(value)
  return producer !== undefined && isConstant(producer) ? producer.attribute.map(attributeValue).join(' ') : undefined
}

function tensorText(tensor: TensorProto): string {
  const dtype = elementTypeName(tensor.dataType)
  const shape = tensor.dims.map(Number)
  const count = shape.reduce((all, dim) => all * dim, 1)
  const isReadable =
    count === 1 && !isExternal(tensor) && ['float32', 'int64', 'int32', 'int8', 'uint8', 'float64'].includes(dtype)
  return isReadable ? numberText(Number(tensorFromProto(tensor).data[0])) : `${dtype} ${dimsText(shape)}`
}

export function nodeBox(node: NodeProto, id: string, editor: GraphEditor): Box {
  const title = isOnnx(node) ? node.opType : `${node.domain}.${node.opType}`
  const attributes = node.attribute.map(attributeText)
  const constants = node.input.flatMap((value) => {
    const words = value === '' ? undefined : constantOf(editor, value)
    return words === undefined ? [] : [{ value, words }]
  })
  const name = node.name === '' ? [] : [shortText(node.name)]
  return {
    id,
    kind: kindOf(node),
    title: shortText(title),
    lines: [
      ...name,
      ...inLines(attributes),
      ...constants.map(({ value, words }) => `${shortText(value, 24)}: ${shortText(words, 32)}`),
    ],
    hint: [
      `${title} ${node.name}`.trim(),
      ...attributes,
      ...constants.map(({ value, words }) => `${value}: ${words}`),
      `gives ${node.output.join(', ')}`,
    ].join('\n'),
  }
}

/** So many lines of attributes are in a box; all are in its hint. */
const attributeLines = 3

function inLines(words: readonly string[]): string[] {
  const lines: string[] = []
  for (const word of words.map((each) => shortText(each, 40))) {
    const longer = lines.length === 0 ? word : `${lines.at(-1)!}, ${word}`
    if (lines.length > 0 && longer.length <= 42) lines[lines.length - 1] = longer
    else lines.push(word)
  }
  return lines.length > attributeLines ? [...lines.slice(0, attributeLines), '…'] : lines
}

const utf8 = new TextDecoder()

function attributeText(attribute: AttributeProto): string {
  return `${attribute.name}=${attributeValue(attribute)}`
}

function attributeValue({ type, f, i, s, t, g, floats, ints, strings, graphs, tensors }: AttributeProto): string {
  switch (type) {
    case attributeTypes.FLOAT:
      return numberText(f)
    case attributeTypes.INT:
      return String(i)
    case attributeTypes.STRING:
      return utf8.decode(s)
    case attributeTypes.TENSOR:
      return t === undefined ? '?' : tensorText(t)
    case attributeTypes.GRAPH:
      return `graph of ${g?.node.length ?? 0} nodes`
    case attributeTypes.FLOATS:
      return `[${floats.map(numberText).join(' ')}]`
    case attributeTypes.INTS:
      return `[${ints.join(' ')}]`
    case attributeTypes.STRINGS:
      return `[${strings.map((each) => utf8.decode(each)).join(' ')}]`
    default:
      return `${graphs.length + tensors.length} values`
  }
}

/** A float32 has seven digits. */
const numberText = (value: number): string => String(Number(value.toPrecision(7)))

export const dimsText = (shape: readonly (number | string | undefined)[]): string =>
  shape.length === 0 ? 'scalar' : shape.map((dim) => dim ?? '?').join('×')

/** float32 is what most are, and goes without saying. */
export function typeText({ dtype, shape }: ValueType = { dtype: undefined, shape: undefined }): string {
  const type = dtype === undefined || dtype === 'float32' ? '' : `${dtype} `
  return shortText(`${type}${shape === undefined ? '' : dimsText(shape)}`.trim(), 40)
}
