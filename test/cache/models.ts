import { Tensor } from '../../lib/index.js'
import { GraphBuilder, writeModel } from '../../lib/onnx/index.js'

/** y = x + w, with a weight w of so many numbers, of which the first is `first`; `external`: in a file of that name. */
export function addModel(first = 1, length = 4, external?: string): Uint8Array {
  const graph = new GraphBuilder({ name: 'add' })
  const x = graph.input('x', 'float32', [1, length])
  const weight = Tensor.from(new Float32Array(length).fill(1).fill(first, 0, 1), [1, length])
  graph.output(graph.node('Add', [x, graph.constant('w', weight)]), 'float32', [1, length])
  const model = graph.toModel()
  const stored = model.graph?.initializer[0]
  if (external === undefined || stored === undefined) return writeModel(model)
  delete (stored as { rawData?: Uint8Array }).rawData
  stored.dataLocation = 1
  stored.externalData = [{ $typeName: 'onnx.StringStringEntryProto', key: 'location', value: external }]
  return writeModel(model)
}
