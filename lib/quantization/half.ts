import { copyModel, GraphEditor, inferTypes, isOnnx, type ModelProto } from '../onnx/index.js'

/**
 * The model so that onnxruntime's CPU rounds each computed float16 value of its outer graph, as a GPU does; the same
 * where there is none. It has next to no float16 kernels: it puts Casts around a node and takes away pairs of them
 * between nodes, so that what lies between is float32 and never overflows. A node that has a kernel (Identity) is
 * computed in float16 only where its neighbour is: hence two of them. `EliminateIdentity` has to be off.
 */
export function withRoundedHalves(model: ModelProto): ModelProto {
  const types = inferTypes(model)
  const editor = new GraphEditor(copyModel(model))
  const halves = editor
    .nodes()
    .filter((node) => !(isOnnx(node) && node.opType === 'Constant'))
    .flatMap((node) => node.output)
    .filter((value) => types.get(value)?.dtype === 'float16')
  if (halves.length === 0) return model
  for (const value of halves) {
    const uses = [...editor.uses(value)]
    if (uses.length === 0) continue
    const rounded = editor.addNode('Identity', [editor.addNode('Identity', [value])])
    for (const { node, input } of uses) editor.replaceInput(node, input, rounded)
  }
  return editor.finish()
}
