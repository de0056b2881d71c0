import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { create } from '@bufbuild/protobuf'
import t from 'tap'
import { ModelProtoSchema, TensorProtoSchema } from '../../lib/onnx/onnx_pb.js'
import type { ModelProto } from '../../lib/onnx/index.js'
import {
  externalFiles,
  loadExternalData,
  inspectModel,
  tensorFromProto,
  tensorsOf,
  tensorToProto,
  writeModel,
} from '../../lib/onnx/index.js'
import { parseModel } from '../../lib/onnx/model.js'
import { byteSize, numberDTypes, Tensor } from '../../lib/tensor.js'
import { failure } from '../support/errors.js'

t.test('tensors of every data type come back', async (t) => {
  for (const dtype of numberDTypes) {
    const bytes = Uint8Array.from({ length: byteSize(dtype, [3, 2]) }, (_, i) => (i * 37 + 1) % 256)
    const tensor = Tensor.fromBytes(dtype, bytes.buffer, [3, 2])
    const proto = tensorToProto(tensor, 'weights')
    t.same(proto.rawData, bytes, `${dtype}: the bytes`)
    t.same(tensorFromProto(proto), tensor, `${dtype}: the tensor`)
    bytes.fill(0)
    t.not(proto.rawData[0], 0, `${dtype}: a copy`)
  }
})

t.test('a tensor on a part of a buffer', async (t) => {
  const tensor = new Tensor('float32', new Float32Array([9, 1, 2, 9]).subarray(1, 3), [2])
  t.same(tensorFromProto(tensorToProto(tensor)).data, Float32Array.of(1, 2))
})

t.test('elements in lists instead of raw bytes', async (t) => {
  const read = (init: object) => tensorFromProto(create(TensorProtoSchema, init)).data
  t.same(read({ dataType: 1, dims: [2n], floatData: [0.5, -1] }), Float32Array.of(0.5, -1))
  t.same(read({ dataType: 6, dims: [2n], int32Data: [5, -1] }), Int32Array.of(5, -1))
  t.same(read({ dataType: 7, dims: [1n], int64Data: [2n ** 62n] }), BigInt64Array.of(2n ** 62n))
  t.same(read({ dataType: 3, dims: [2n], int32Data: [5, -1] }), Int8Array.of(5, -1))
  t.same(read({ dataType: 9, dims: [2n], int32Data: [0, 1] }), Uint8Array.of(0, 1))
  t.same(read({ dataType: 10, dims: [1n], int32Data: [0x3c00] }), Uint16Array.of(0x3c00), 'the bits of float16')
  t.same(read({ dataType: 22, dims: [3n], int32Data: [0x21, 0x03] }), Uint8Array.of(0x21, 0x03), 'int4: two an entry')
  t.same(read({ dataType: 11, dims: [2n], doubleData: [0.1, -Infinity] }), Float64Array.of(0.1, -Infinity))
  t.same(read({ dataType: 5, dims: [2n], int32Data: [5, -32768] }), Int16Array.of(5, -32768))
  t.same(read({ dataType: 4, dims: [2n], int32Data: [5, 65535] }), Uint16Array.of(5, 65535))
  t.same(read({ dataType: 12, dims: [2n], uint64Data: [5n, 2n ** 32n - 1n] }), Uint32Array.of(5, 2 ** 32 - 1))
  t.same(
    read({ dataType: 13, dims: [2n], uint64Data: [2n ** 53n + 1n, 2n ** 64n - 1n] }),
    BigUint64Array.of(2n ** 53n + 1n, 2n ** 64n - 1n),
  )
  t.same(read({ dataType: 1, dims: [0n] }), new Float32Array())
  t.same(read({ dataType: 1, floatData: [3] }), Float32Array.of(3), 'a scalar')
})

t.test('tensors that cannot be read', async (t) => {
  const read = (init: object) => tensorFromProto(create(TensorProtoSchema, { name: 'w', ...init }))
  t.throws(
    () => read({ dataType: 8, dims: [1n], stringData: [Uint8Array.of(65)] }),
    failure('ERR_TRT_DTYPE', /"w" has elements of type string/),
  )
  t.throws(
    () => read({ dataType: 14, dims: [1n], floatData: [1, 2] }),
    failure('ERR_TRT_DTYPE', /complex64 \(14\), which Tensor has not/),
  )
  t.throws(
    () => read({ dataType: 11, dims: [2n ** 40n], doubleData: [1] }),
    failure('ERR_TRT_ONNX_PARSE', /more elements than are stored/),
  )
  t.throws(
    () => read({ dataType: 13, dims: [1n], uint64Data: [1n, 2n] }),
    failure('ERR_TRT_ONNX_PARSE', /needs 1 .* has 2/),
  )
  t.throws(() => read({ dataType: 99 }), failure('ERR_TRT_DTYPE', /undefined \(99\)/))
  t.throws(
    () => read({ dataType: 1, dims: [2n], floatData: [1, 2, 3] }),
    failure('ERR_TRT_ONNX_PARSE', /needs 2 .* has 3/),
  )
  t.throws(
    () => read({ dataType: 1, dims: [2n], rawData: new Uint8Array(7) }),
    failure('ERR_TRT_ONNX_PARSE', /needs 8 .* has 7/),
  )
  t.throws(
    () => read({ dataType: 1, dims: [2n ** 40n], floatData: [1] }),
    failure('ERR_TRT_ONNX_PARSE', /more elements than are stored/),
  )
  t.throws(() => read({ dataType: 1, dims: [-1n], floatData: [1] }), failure('ERR_TRT_ONNX_PARSE', /\[-1\]/))
  t.throws(
    () => read({ dataType: 1, dims: Array(9).fill(1n), floatData: [1] }),
    failure('ERR_TRT_SHAPE', /at most 8 dimensions/),
  )
  t.throws(
    () => read({ dataType: 1, dims: [1n], dataLocation: 1 }),
    failure('ERR_TRT_INVALID_ARGUMENT', /loadExternalData/),
  )
})

/** A model with one float tensor of two elements, in another file. */
function externalModel(entries: Record<string, string>): ModelProto {
  const externalData = Object.entries(entries).map(([key, value]) => ({ key, value }))
  return create(ModelProtoSchema, {
    irVersion: 8n,
    opsetImport: [{ domain: '', version: 17n }],
    graph: { name: 'external', initializer: [{ name: 'w', dims: [2n], dataType: 1, dataLocation: 1, externalData }] },
  })
}

t.test('tensors in other files', async (t) => {
  const folder = t.testdir({ model: {} })
  const root = join(folder, 'model')
  await mkdir(join(root, 'data'))
  await writeFile(join(root, 'data', 'weights.bin'), Buffer.from(Float32Array.of(1, 2, 3, 4).buffer))
  await writeFile(join(folder, 'secret.bin'), Buffer.alloc(8))
  await symlink(join(folder, 'secret.bin'), join(root, 'link.bin'))
  await writeFile(join(root, 'pointer.bin'), 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 8\n')
  const load = async (entries: Record<string, string>) => {
    const model = externalModel(entries)
    await loadExternalData(model, root)
    return model
  }
  const reason = (entries: Record<string, string>) => load(entries).catch((error: unknown) => error)

  const location = 'data/weights.bin'
  t.same(externalFiles(externalModel({ location })), [location])
  const model = await load({ location, offset: '4', length: '8' })
  const [tensor] = tensorsOf(parseModel(writeModel(model)))
  t.same(tensor && tensorFromProto(tensor).data, Float32Array.of(2, 3))
  t.same(tensor?.externalData, [])
  t.same(inspectModel(model).externalFiles, [], 'nothing is outside any more')
  t.same((await load({ location, offset: '8' })).graph?.initializer[0]?.rawData.length, 8, 'up to the end of the file')

  for (const outside of ['../secret.bin', 'data/../../secret.bin', join(folder, 'secret.bin'), 'link.bin', '.']) {
    t.match(await reason({ location: outside }), failure('ERR_TRT_ONNX_PARSE', /outside/), outside)
  }
  t.match(await reason({}), failure('ERR_TRT_ONNX_PARSE', /no name/))
  t.match(await reason({ location: 'none.bin' }), failure('ERR_TRT_FILE', /none\.bin.*"w": there is no such file/))
  t.match(await reason({ location, offset: '12', length: '8' }), failure('ERR_TRT_FILE', /16 bytes, too few/))
  t.match(
    await reason({ location: 'pointer.bin', length: '8' }),
    failure('ERR_TRT_FILE', /pointer\.bin .*"w".* Git LFS pointer/),
  )
  t.match(await reason({ location, offset: '17' }), failure('ERR_TRT_FILE', /too few/))
  for (const offset of ['-4', '1e3', 'x', '99999999999999999999'])
    t.match(await reason({ location, offset }), failure('ERR_TRT_ONNX_PARSE', /offset/))
  t.match(
    await loadExternalData(externalModel({ location }), '/nowhere').catch((e: unknown) => e),
    failure('ERR_TRT_FILE', /nowhere/),
  )
})
