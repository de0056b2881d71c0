import { type AnyTensor, DeviceTensor, Engine, type InferOptions, type OutputLocation, Tensor } from 'node-tensorrt'
import { GraphBuilder, writeModel } from 'node-tensorrt/onnx'

function model(): Uint8Array {
  const g = new GraphBuilder({ name: 'two' })
  const x = g.input('x', 'float32', ['batch', 2])
  g.output(g.node('Neg', [x], {}, { output: 'minus' }), 'float32', ['batch', 2])
  g.output(g.node('Abs', [x], {}, { output: 'abs' }), 'float32', ['batch', 2])
  return writeModel(g.toModel())
}

// what is said here is said by the types alone: the tarball of a test has no addon, where nothing stays on a device
export async function chain(): Promise<void> {
  const types = { inputs: { x: 'float32' }, outputs: { minus: 'float32', abs: 'float32' } } as const
  const engine = await Engine.load('m.onnx', types)
  const one = await Engine.load('m.onnx', { inputs: { x: 'float32' }, outputs: { abs: 'float32' } })
  const bare: Engine = await Engine.load('m.onnx')
  const x = Tensor.from(Float32Array.of(1, -2), [1, 2])

  const { minus, abs } = await engine.infer({ x }, { location: 'device' })
  const there: DeviceTensor<'float32'> = minus
  const again: DeviceTensor<'float32'> = await one.infer(there, { location: 'device' })
  const host: Tensor<'float32'> = await again.toHost({ signal: new AbortController().signal })
  const numbers: Float32Array = host.data
  const mixed = await engine.infer({ x: abs }, { location: { minus: 'device' } })
  const stays: DeviceTensor<'float32'> = mixed.minus
  const comes: Tensor<'float32'> = mixed.abs
  const selected: DeviceTensor<'float32'> = await engine.infer(x, { outputs: ['abs'], location: 'device' })
  const sync: DeviceTensor<'float32'> = one.inferSync(selected, { location: 'device', into: { abs: selected } })
  const same: Tensor<'float32'> = await one.infer(sync, { location: 'host' })
  const options = { timeoutMs: 5 } satisfies InferOptions
  const result: Tensor = await bare.infer(x, options)
  const device: DeviceTensor = await bare.infer(x, { location: 'device' })
  const records: Record<string, DeviceTensor> = await bare.infer({ x }, { location: 'device' })
  const named: DeviceTensor = (await bare.infer({ x }, { outputs: ['abs'], location: { abs: 'device' } })).abs
  const perhaps: AnyTensor | undefined = (await bare.infer({ x }, { location: { abs: 'device' } }))['abs']
  const where: OutputLocation = Math.random() > 2 ? 'device' : 'host'
  const either: AnyTensor = await bare.infer(x, { location: where })
  if (either.location === 'host') console.log(either.data)
  else console.log(either.device, either.disposed, (await either.toHost()).data)
  for await (const y of one.stream([x, stays], { location: 'device' })) y.dispose()
  const uploaded: DeviceTensor<'float32'> = await engine.upload(x)
  const as: DeviceTensor<'float32'> = (device.dtype === 'float32' ? device : uploaded).as('float32')
  for (const tensor of [named, as, ...Object.values(records)]) tensor[Symbol.dispose]()
  console.log(numbers, comes.data, same.data, result.shape, perhaps?.dtype)
}

async function main(): Promise<void> {
  const engine = await Engine.load(model(), { backend: 'cpu' })
  const x = Tensor.from(Float32Array.of(1, -2), [1, 2])
  const code = await engine.infer({ x }, { location: 'device' }).then(
    () => 'none',
    (error: { code: string }) => error.code,
  )
  console.log(DeviceTensor.is(x), code)
  await engine.close()
}

void main()

// It prints:
// false ERR_TRT_UNSUPPORTED
