import { GraphBuilder, writeModel } from '../../../lib/onnx/index.js'

/** The lines of the mission's sources, letter by letter. */
export const lines = {
  int8: '--onnx=model.onnx --explicitBatch --saveEngine=model.plan --minShapes=input:1x3x512x512 --optShapes=input:1x3x512x512 --maxShapes=input:1x3x512x512 --int8 --verbose',
  fp16: '--onnx=resnet50.onnx --saveEngine=model.plan --explicitBatch --minShapes=input:1x3x224x224 --optShapes=input:1x3x224x224 --maxShapes=input:256x3x224x224 --fp16',
}

/** y = Relu(input) with a dynamic batch, by the name that those lines have. */
export function reluModel(size: number): Uint8Array {
  const graph = new GraphBuilder({ name: 'relu' })
  graph.output(graph.node('Relu', [graph.input('input', 'float32', ['N', 3, size, size])]), 'float32', ['N', 3, size, size])
  return writeModel(graph.toModel())
}
