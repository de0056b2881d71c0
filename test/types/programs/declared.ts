import { Engine, Tensor, TensorRTError } from 'node-tensorrt'
import { GraphBuilder, writeModel } from 'node-tensorrt/onnx'

function model(): Uint8Array {
  const g = new GraphBuilder({ name: 'counts' })
  const images = g.input('images', 'float32', ['N', 3])
  g.output(g.node('Softmax', [images], { axis: 1 }, { output: 'scores' }), 'float32', ['N', 3])
  g.output(g.node('ArgMax', [images], { axis: 1, keepdims: 0 }, { output: 'best' }), 'int64', ['N'])
  return writeModel(g.toModel())
}

/** Takes any engine. */
async function names(engine: Engine): Promise<readonly string[]> {
  await engine.ready
  return engine.outputNames
}

async function main(): Promise<void> {
  const engine = await Engine.load(model(), {
    backend: 'cpu',
    inputs: { images: 'float32' },
    outputs: { scores: 'float32', best: 'int64' },
  })
  const images = engine.allocate('images', [1, 3])
  const pixels: Float32Array = images.data
  pixels.set([1, 3, 2])
  const { scores, best } = await engine.infer({ images })
  const score: Float32Array = scores.data
  const index: bigint | undefined = best.data[0]
  const picked: BigInt64Array = (await engine.infer({ images }, { outputs: ['best'] })).best.data
  const bare: BigInt64Array = (await engine.infer(images, { outputs: ['best'] })).data
  const dtype: 'int64' = engine.outputs.best.dtype
  for await (const { data } of engine.stream([images], { outputs: ['scores'] }))
    console.log(data.length satisfies number)
  console.log(score.length, index, picked, bare, dtype, await names(engine))

  // one input, one output: a bare tensor in, a bare tensor out
  const single = new Engine(model(), { backend: 'cpu', inputs: { images: 'float32' }, outputs: { scores: 'float32' } })
  const result: Float32Array = (await single.infer(Tensor.from(Float32Array.of(1, 1, 1), [1, 3]))).data
  const typed: Engine<{ images: 'float32' }, { scores: 'float32' }> = single
  console.log(result.length, typed.inputNames satisfies readonly 'images'[])

  await Engine.load(model(), { backend: 'cpu', inputs: { images: 'uint8' } }).catch((error: unknown) => {
    if (error instanceof TensorRTError && error.code === 'ERR_TRT_DECLARATION') console.log(error.message)
  })
  await Promise.all([engine.close(), single.close()])
}

void main()

// It prints:
// 3
// 3 1n BigInt64Array(1) [ 1n ] BigInt64Array(1) [ 1n ] int64 [ 'scores', 'best' ]
// 3 [ 'images' ]
// The inputs were declared as { "images": uint8 } but the model has { "images": float32 }
