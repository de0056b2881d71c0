import { GraphBuilder, writeModel } from 'node-tensorrt/onnx'
import * as ort from 'node-tensorrt/onnxruntime'
import * as standIn from 'onnxruntime-stand-in'

function model(): Uint8Array {
  const g = new GraphBuilder({ name: 'one' })
  g.output(g.node('Neg', [g.input('x', 'float32', ['N'])], {}, { output: 'y' }), 'float32', ['N'])
  return writeModel(g.toModel())
}

async function main(): Promise<void> {
  const tensorrt: ort.TensorRTProviderOptions = { name: 'tensorrt', deviceId: 0, trt_fp16_enable: true }
  const options: ort.InferenceSession.SessionOptions = { executionProviders: ['cpu'], intraOpNumThreads: 1 }
  const session: ort.InferenceSession = await ort.InferenceSession.create(model(), options)
  const x: ort.TypedTensor<'float32'> = new ort.Tensor('float32', [1, -2], [2])
  const { y } = await session.run({ x }, ['y'], { logSeverityLevel: 2 })
  const metadata: readonly ort.InferenceSession.ValueMetadata[] = session.inputMetadata
  const names: string[] = ort.listSupportedBackends().map(({ name }) => name)
  console.log(tensorrt.name, y?.data, y?.dims, metadata[0]?.name, names.join())
  await session.release()

  const other: standIn.InferenceSession = await standIn.InferenceSession.create(model())
  const again: standIn.InferenceSession.OnnxValueMapType = await other.run({ x: new standIn.Tensor('float32', [3]) })
  console.log(again['y'] instanceof ort.Tensor, standIn.env === ort.env)
  // @ts-expect-error it is no such type
  await ort.InferenceSession.create(model(), { executionMode: 'both' }).catch((error: Error) => console.log(error.name))
  await other.release()
}

void main()

// It prints:
// tensorrt Float32Array(2) [ -1, 2 ] [ 2 ] x cpu,tensorrt
// true true
// TypeError
