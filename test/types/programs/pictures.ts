import { Engine, Tensor } from 'node-tensorrt'
import { GraphBuilder, inspectModel, readModel, writeModel } from 'node-tensorrt/onnx'
import { type Box, letterbox, nonMaxSuppression, toTensor } from 'node-tensorrt/vision'

async function main(): Promise<void> {
  const image = { width: 4, height: 2, channels: 3 as const, data: new Uint8Array(24).fill(255) }
  const frame = letterbox(image, 4)
  const tensor = await toTensor(image, frame)
  const numbers: Float32Array = tensor.as('float32').data
  const g = new GraphBuilder({ name: 'mean' })
  const x = g.input('x', 'float32', [1, 3, 4, 4])
  g.output(g.node('GlobalAveragePool', [x], {}, { output: 'y' }), 'float32', [1, 3, 1, 1])
  const bytes: Uint8Array = writeModel(g.toModel())
  const { inputs, opset } = inspectModel(await readModel(bytes))
  const engine = await Engine.load(bytes, { backend: 'cpu', inputs: { x: 'float32' }, outputs: { y: 'float32' } })
  const means = (await engine.infer(Tensor.from(numbers, [1, 3, 4, 4]))).data
  const box: Box = frame.toImage([0, 0, 4, 4])
  const kept = nonMaxSuppression([{ box, score: 1 }], { iouThreshold: 0.5 })
  console.log(means.length, inputs[0]?.name, opset > 0, kept.length)
  await engine.close()
}

void main()

// It prints:
// 3 x true 1
