import { isOnnx } from '../editor.js'
import type { NodeProto } from '../onnx_pb.js'
import { tensorFromProto } from '../tensors.js'
import type { FloatGraph } from './float-graph.js'
import { onlyMoves } from './operators.js'
import { hasGraph } from './shape-math.js'
import { finiteMost } from './weights.js'

/** What makes large numbers of a large constant. */
const scaling = new Set(['Add', 'Mul', 'Sub', 'Sum', 'Where'])

/** What gives large numbers where it reads some. */
const elementwise = new Set([...scaling, 'Div', 'Max', 'Min', 'Neg'])

export function isElementwise({ opType }: NodeProto): boolean {
  return elementwise.has(opType)
}

/**
 * The float32 values that are made of finite constants beyond the type by arithmetic on single elements, as the masks
 * of attention are: -1e9, or the lowest number of float32. In 16 bits they would be infinite, and the softmax of a row
 * that is masked whole NaN.
 */
export function masksOf(graph: FloatGraph): ReadonlySet<string> {
  const masks = new Set<string>()
  const most = finiteMost[graph.precision]
  const isLarge = (value: string): boolean =>
    graph.isFloat(value) && graph.isStored(value) && graph.numbers(value).largestFinite > most
  const isMask = (node: NodeProto): boolean => {
    const moves = onlyMoves(node.opType)
    if (node.opType === 'ConstantOfShape') return Math.abs(filledWith(node)) > most
    if (moves || elementwise.has(node.opType)) if (node.input.some((value) => masks.has(value))) return true
    return (moves || scaling.has(node.opType)) && node.input.some(isLarge)
  }
  for (const node of graph.editor.nodes()) {
    if (!isOnnx(node) || hasGraph(node) || !isMask(node)) continue
    for (const value of node.output) if (graph.isFloat(value)) masks.add(value)
  }
  return masks
}

/** Of a ConstantOfShape the float32 that it gives, where that is finite. */
function filledWith({ attribute }: NodeProto): number {
  const tensor = attribute.find(({ name }) => name === 'value')?.t
  if (tensor?.dataType !== 1) return 0
  const [value = 0] = tensorFromProto(tensor).toFloat32().data
  return Number.isFinite(value) ? value : 0
}
