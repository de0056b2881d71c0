import { type GraphEditor, inferTypes, isOnnx, type ModelProto, type NodeProto, type ValueType } from '../onnx/index.js'

/** A graph that is looked at: its nodes, and what is known of its values. */
export interface Graph {
  readonly editor: GraphEditor
  readonly types: ReadonlyMap<string, ValueType>
}

/**
 * Operators that a value passes unchanged, or with its elements in another order: what is quantized before them is so
 * after them.
 */
const passing =
  'Reshape Transpose Flatten Squeeze Unsqueeze Identity Dropout MaxPool Slice Expand DepthToSpace SpaceToDepth'.split(
    ' ',
  )

export function isPassing(node: NodeProto): boolean {
  return isOperator(node, ...passing)
}

export function isOperator(node: NodeProto | undefined, ...operators: string[]): boolean {
  return node !== undefined && isOnnx(node) && operators.includes(node.opType)
}

/** Whether a value is stored in the model. */
export function isConstant({ editor }: Graph, value: string): boolean {
  return editor.initializer(value) !== undefined || isOperator(editor.producer(value), 'Constant')
}

/** The node that alone reads a value, once; nothing where there are others, or where it leaves the graph. */
export function onlyReader({ editor }: Graph, value: string): NodeProto | undefined {
  const uses = editor.uses(value)
  return uses.length === 1 && !editor.isOutput(value) ? uses[0]?.node : undefined
}

/** The inputs of a node that are computed, by position. */
export function computedInputs(graph: Graph, node: NodeProto): number[] {
  return node.input.flatMap((value, input) => (value !== '' && !isConstant(graph, value) ? [input] : []))
}

/** A dimension's size, counted from the end where negative; nothing where it is not known. */
export function sizeAt({ types }: Graph, value: string, axis: number): number | undefined {
  const size = types.get(value)?.shape?.at(axis)
  return typeof size === 'number' && size >= 0 ? size : undefined
}

export function nameOf(node: NodeProto): string {
  return node.name === '' ? (node.output.find((output) => output !== '') ?? node.opType) : node.name
}

/**
 * What of these values, and of what a model computes, in the order in which it does, is float32; constants are known.
 */
export function computedFloats(editor: GraphEditor, before: readonly string[] = []): string[] {
  const types = inferTypes(editor.model)
  const computed = editor.nodes().flatMap((node) => (node.opType === 'Constant' ? [] : node.output))
  return [...before, ...computed].filter((value) => value !== '' && types.get(value)?.dtype === 'float32')
}

/** The model with these float32 values as its outputs. */
export function withOutputs(editor: GraphEditor, values: readonly string[]): ModelProto {
  editor.dropOutputs()
  for (const value of values) editor.addOutput(value, 'float32')
  return editor.finish()
}
