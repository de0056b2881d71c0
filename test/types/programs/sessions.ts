import * as ort from 'node-tensorrt/onnxruntime'
import type { InferenceSession } from 'onnxruntime-node'

// which provider runs a model, known to TypeScript
function told(session: ort.InferenceSession): 'tensorrt' | 'cpu' | 'of another package' {
  return session.provider ?? 'of another package'
}

// a session of either package is the other's type
const other = (session: ort.InferenceSession): InferenceSession => session
const texts: ort.TypedTensor<'string'> = new ort.Tensor('string', ['a', 'b'], [2])
const options: ort.TensorRTProviderOptions = { name: 'tensorrt', trt_fp16_enable: true }

console.log(texts.data, texts.dims, options.name, typeof told, typeof other)
console.log(ort.listSupportedBackends().map(({ name }) => name))

// It prints:
// [ 'a', 'b' ] [ 2 ] tensorrt function function
// [ 'cpu', 'tensorrt' ]
