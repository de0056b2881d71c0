import * as ort from 'onnxruntime-node'
import { Tensor, type TensorLike } from 'node-tensorrt'

const theirs = new ort.Tensor('float32', Float32Array.of(1, 2), [1, 2])
const ours: Tensor = Tensor.from(theirs)
const numbers: Float32Array = ours.as('float32').data
const lost: unknown = structuredClone({ ...ours })
const found: Tensor = Tensor.from(lost as TensorLike)
const back = new ort.Tensor('float32', found.as('float32').data, found.shape)
console.log(numbers.length, found.dtype, back.dims)

// It prints:
// 2 float32 [ 1, 2 ]
