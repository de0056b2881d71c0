import { type GraphEditor, inferTypes, type ModelProto } from '../onnx/index.js'

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
