// What a model says of itself beside its inputs and outputs, sizes for its free dimensions, and what is no tensor.
import { create } from '@bufbuild/protobuf'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Engine, Tensor } from '../../lib/index.js'
import { GraphBuilder, type ModelProto, readModel, writeModel } from '../../lib/onnx/index.js'
import { StringStringEntryProtoSchema, type TypeProto, TypeProtoSchema } from '../../lib/onnx/onnx_pb.js'
import { failureOf } from '../support/errors.js'
import { identity } from '../support/models.js'
import { onEachWay } from './ways.js'

const cpu = { backend: 'cpu' } as const

function withMetadata(entries: Readonly<Record<string, string>>): Uint8Array {
  const g = new GraphBuilder({ name: 'described' })
  g.output(g.node('Neg', [g.input('x', 'float32', ['batch', 'c'])], {}, { output: 'y' }), 'float32', ['batch', 'c'])
  const model = g.toModel()
  model.metadataProps = Object.entries(entries).map(([key, value]) =>
    create(StringStringEntryProtoSchema, { key, value }),
  )
  dimensionOf(model, 1).denotation = 'DATA_CHANNEL'
  return writeModel(model)
}

function dimensionOf({ graph }: ModelProto, axis: number): { denotation: string } {
  const type = graph?.input[0]?.type?.value
  if (type?.case !== 'tensorType') throw new Error('no tensor')
  return type.value.shape!.dim[axis]!
}

onEachWay('customMetadata', async (t) => {
  const entries = { names: "{0: 'cat', 1: 'Hund 🐕'}", stride: '32', empty: '' }
  await using engine = await Engine.load(withMetadata(entries), cpu)
  t.same({ ...engine.customMetadata }, entries)
  t.ok(Object.isFrozen(engine.customMetadata))
  t.equal(Object.getPrototypeOf(engine.customMetadata), null)
  const path = join(t.testdir(), 'model.onnx')
  writeFileSync(path, withMetadata({ a: 'b' }))
  await using ofFile = await Engine.load(path, cpu)
  t.same({ ...ofFile.customMetadata }, { a: 'b' })
  await using none = await Engine.load(identity(), cpu)
  t.same({ ...none.customMetadata }, {})
})

t.test('customMetadata of an engine that is attached', async (t) => {
  await using owner = await Engine.load(withMetadata({ a: 'b' }), cpu)
  await using engine = await Engine.attach(owner.share())
  t.same({ ...engine.customMetadata }, { a: 'b' })
})

onEachWay('freeDimensions by name, by denotation, and both', async (t) => {
  const model = withMetadata({})
  const rows: [Record<string, number>, number[]][] = [
    [{}, [-1, -1]],
    [{ batch: 2 }, [2, -1]],
    [{ DATA_CHANNEL: 3 }, [-1, 3]],
    [{ batch: 2, DATA_CHANNEL: 3 }, [2, 3]],
    [{ batch: 2, c: 4 }, [2, 4]],
  ]
  for (const [freeDimensions, shape] of rows) {
    await using engine = await Engine.load(model, { ...cpu, freeDimensions })
    t.same(engine.inputs['x']?.shape, shape)
    const y = await engine.infer(
      Tensor.zeros(
        'float32',
        shape.map((size) => Math.max(size, 1)),
      ),
    )
    t.equal(y.shape[0], Math.max(shape[0] ?? 0, 1))
  }
  await using engine = await Engine.load(model, { ...cpu, freeDimensions: { batch: 2 } })
  t.equal((await failureOf(() => engine.infer(Tensor.zeros('float32', [1, 1])))).code, 'ERR_TRT_SHAPE')
  const unknown = await failureOf(() => Engine.load(model, { ...cpu, freeDimensions: { bach: 2 } }))
  t.match(unknown, {
    code: 'ERR_TRT_INVALID_ARGUMENT',
    message: /no free dimension "bach" .*did you mean "batch"\? It has "batch", "c", "DATA_CHANNEL"/,
    details: { name: 'bach', known: ['batch', 'c', 'DATA_CHANNEL'] },
  })
})

t.test('freeDimensions of a model whose weights are in another file, on both ways', async (t) => {
  const folder = t.testdir()
  const g = new GraphBuilder({ name: 'external' })
  const w = g.constant('w', Tensor.from(Float32Array.from({ length: 4096 }, (_, i) => i)))
  g.output(g.node('Add', [g.input('x', 'float32', ['N', 4096]), w], {}, { output: 'y' }), 'float32', ['N', 4096])
  const { saveModel } = await import('../../lib/onnx/index.js')
  const path = join(folder, 'model.onnx')
  await saveModel(g.toModel(), path, { externalData: true })
  for (const way of ['', '1']) {
    process.env['NODE_TENSORRT_PORTABLE'] = way
    await using engine = await Engine.load(path, { ...cpu, freeDimensions: { N: 1 } })
    t.equal((await engine.infer(Tensor.zeros('float32', [1, 4096]))).data[4095], 4095)
  }
  delete process.env['NODE_TENSORRT_PORTABLE']
})

/** A tensor of float32 as a type; and sequence, map and optional of it. */
const tensor = create(TypeProtoSchema, { value: { case: 'tensorType', value: { elemType: 1 } } })
const types: Readonly<Record<string, TypeProto>> = {
  sequence: create(TypeProtoSchema, { value: { case: 'sequenceType', value: { elemType: tensor } } }),
  optional: create(TypeProtoSchema, { value: { case: 'optionalType', value: { elemType: tensor } } }),
}
const mapType = create(TypeProtoSchema, { value: { case: 'mapType', value: { keyType: 7, valueType: tensor } } })
const maps = create(TypeProtoSchema, { value: { case: 'sequenceType', value: { elemType: mapType } } })

/** x → y = -x, and `s`, which is no tensor. */
async function withOutput(op: string, type: TypeProto, alone = false): Promise<Uint8Array> {
  const zip = op === 'ZipMap'
  const g = new GraphBuilder({ name: op, opset: 18, domains: { 'ai.onnx.ml': 3 } })
  const x = g.input('x', 'float32', ['N', 2])
  const options = zip ? { output: 's', domain: 'ai.onnx.ml' } : { output: 's' }
  g.output(g.node(op, [x], zip ? { classlabels_int64s: [0n, 1n] } : {}, options), 'float32', ['N'])
  if (!alone) g.output(g.node('Neg', [x], {}, { output: 'y' }), 'float32', ['N', 2])
  const model = await readModel(writeModel(g.toModel()))
  model.graph!.output[0]!.type = type
  return writeModel(model)
}

onEachWay('outputs that are no tensors are named, and the others can be had', async (t) => {
  const rows: [string, TypeProto, string][] = [
    ['SequenceConstruct', types['sequence']!, 'sequence'],
    ['Optional', types['optional']!, 'optional'],
    ['ZipMap', maps, 'sequence'],
  ]
  for (const [op, type, kind] of rows) {
    await using engine = await Engine.load(await withOutput(op, type), cpu)
    t.same(engine.unsupported, [{ name: 's', use: 'output', type: kind }], op)
    const x = new Tensor('float32', [1, 2], [1, 2])
    t.match(await failureOf(() => engine.infer({ x })), {
      code: 'ERR_TRT_DTYPE',
      message:
        /The output "s" of the model is no tensor but .*Name the outputs that you want: outputs: \["y"\], or let .*GraphEditor/,
    })
    t.same((await engine.infer({ x }, { outputs: ['y'] }))['y']?.data, Float32Array.of(-1, -2))
    t.match(await failureOf(async () => Engine.load(await withOutput(op, type, true), cpu)), {
      code: 'ERR_TRT_DTYPE',
      message:
        /The output "s" of the model is no tensor but .*, and it has no other output.*What to do: let .*addOutput/,
    })
  }
})

onEachWay('an input that is no tensor refuses the model', async (t) => {
  const g = new GraphBuilder({ name: 'lists', opset: 18 })
  const s = g.input('s', 'float32', ['N'])
  g.output(g.node('SequenceLength', [s], {}, { output: 'y' }), 'int64', [])
  const model = g.toModel()
  model.graph!.input[0]!.type = types['sequence']!
  t.match(await failureOf(() => Engine.load(writeModel(model), cpu)), {
    code: 'ERR_TRT_DTYPE',
    message: /The input "s" of the model is no tensor but a sequence, and no inference goes without it/,
  })
})
