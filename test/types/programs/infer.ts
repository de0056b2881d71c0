import {
  Engine,
  type EngineOptions,
  type CpuEngineOptions,
  type TensorInfo,
  type TensorRecord,
  Tensor,
} from 'node-tensorrt'
import { GraphBuilder, writeModel } from 'node-tensorrt/onnx'

function model(): Uint8Array {
  const g = new GraphBuilder({ name: 'two' })
  const x = g.input('x', 'float32', ['batch', 2])
  g.output(g.node('Neg', [x], {}, { output: 'minus' }), 'float32', ['batch', 2])
  g.output(g.node('Abs', [x], {}, { output: 'abs' }), 'float32', ['batch', 2])
  return writeModel(g.toModel())
}

async function main(): Promise<void> {
  const cpu: CpuEngineOptions = {
    threads: 2,
    optimization: 'extended',
    deterministic: false,
    config: { 'session.disable_prepacking': '1' },
  }
  const options: EngineOptions = { backend: 'cpu', cpu }
  const engine: Engine = await Engine.load(model(), options)
  const x = Tensor.from(Float32Array.of(1, -2), [1, 2])

  const results: TensorRecord = await engine.infer({ x })
  const { minus } = await engine.infer({ x }, { outputs: ['minus'] })
  const named: Tensor = minus // by the name that was asked for, also under noUncheckedIndexedAccess
  const one: Tensor = await engine.infer(x, { outputs: ['abs'] })
  const info: TensorInfo | undefined = engine.inputs['x']
  const names: readonly string[] = engine.inputNames
  const dimension: string | undefined = info?.dimensionNames[0]
  const target = engine.allocate('abs', [1, 2])
  await engine.infer({ x }, { into: { abs: target }, timeoutMs: 60_000, signal: new AbortController().signal })
  const block: Uint8Array<ArrayBuffer> = engine.allocateBytes(16)
  await engine.infer({ x: Tensor.fromBytes('float32', block.subarray(0, 8), [1, 2]) }, { outputs: ['minus'] })
  const released: Promise<void> = engine.released(block, { signal: new AbortController().signal })
  await released
  await engine.released(target)
  for await (const result of engine.stream([{ x }, { x }], { inFlight: 2 })) console.log(Object.keys(result))
  for await (const result of engine.stream([x, x], { outputs: ['minus'] })) console.log(result.as('float32').data)
  console.log(
    Object.keys(results),
    named.dtype,
    one.shape,
    names,
    dimension,
    target.as('float32').data,
    engine.backend,
    engine.backendReason,
  )

  const either: Tensor | TensorRecord = await engine.infer(names.length > 1 ? { x } : { x })
  console.log(Tensor.is(either))
  await engine.close()
}

void main()

// It prints:
// [ 'minus', 'abs' ]
// [ 'minus', 'abs' ]
// Float32Array(2) [ -1, 2 ]
// Float32Array(2) [ -1, 2 ]
// [ 'minus', 'abs' ] float32 [ 1, 2 ] [ 'x' ] batch Float32Array(2) [ 1, 2 ] cpu undefined
// false
