// Refitting with the real TensorRT-RTX, as far as a machine without a GPU goes: a plan is stripped, and cannot be deserialized. The rest is test/gpu/refit.test.ts.
import t from 'tap'
import { Builder, Refitter, Tensor } from '../../lib/index.js'
import { GraphBuilder, writeModel } from '../../lib/onnx/index.js'
import { failureOf } from '../support/errors.js'
import { skipWithoutRtx } from '../support/tensorrt.js'

t.test('TensorRT-RTX strips a plan; refitting it needs a GPU', { skip: skipWithoutRtx }, async (t) => {
  const size = 512
  const graph = new GraphBuilder({ name: 'large' })
  const kernel = Tensor.from(
    Float32Array.from({ length: size * size }, (_, i) => Math.sin(i)),
    [size, size],
  )
  const x = graph.input('x', 'float32', [1, size])
  graph.output(graph.node('MatMul', [x, graph.constant('kernel', kernel)]), 'float32', [1, size])
  const model = writeModel(graph.toModel())
  const whole = await new Builder({ refit: true }).build(model)
  const stripped = await new Builder({ refit: true, stripWeights: true }).build(model)
  t.comment(`${whole.bytes.length} bytes with its weights, ${stripped.bytes.length} without`)
  t.ok(whole.bytes.length - stripped.bytes.length >= kernel.byteLength, 'smaller by its weights at least')
  process.env['NODE_TENSORRT_LIBCUDA'] = '/no/such/libcuda.so.1'
  await using refitter = new Refitter(stripped)
  t.match(await failureOf(() => refitter.weights()), { code: /ERR_TRT_NO_(DRIVER|GPU)/ }, 'said before TensorRT is asked')
})
