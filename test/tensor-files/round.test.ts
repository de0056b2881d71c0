// What is written is what is read; JSON as trtexec and Python write it; raw bytes.
import { readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { type DType, readTensor, readTensors, Tensor, writeTensor, writeTensors } from '../../lib/index.js'
import { bytesOfTensor, numberDTypes } from '../../lib/tensor.js'
import { failure } from '../support/errors.js'
import { Random } from '../support/random.js'

const folder = t.testdir({})
const told = (tensor: Tensor) => ({
  dtype: tensor.dtype,
  shape: [...tensor.shape],
  hex: Buffer.from(bytesOfTensor(tensor)).toString('hex'),
})

function seeded(dtype: DType, shape: number[]): Tensor {
  const random = new Random(7)
  const bytes = random.bytes(Tensor.zeros(dtype, shape).byteLength)
  return Tensor.fromBytes(
    dtype,
    (dtype === 'bool' ? bytes.map((byte) => byte & 1) : bytes).buffer as ArrayBuffer,
    shape,
  )
}

t.test('every data type, in every format that has it', async (t) => {
  for (const dtype of numberDTypes) {
    const isFloat = ['float32', 'float16', 'bfloat16', 'float8e4m3', 'float64'].includes(dtype)
    // NaN has many codes, and one in JSON
    const any = seeded(dtype, [2, 3, 4])
    const tensor = isFloat
      ? Tensor.fromFloat32(
          dtype as 'float32',
          any.toFloat32().data.map((value) => (Number.isNaN(value) ? -0 : value)),
          [2, 3, 4],
        )
      : any
    for (const format of ['npy', 'npz', 'raw', 'json'] as const) {
      const path = join(folder, `${dtype}.${format}`)
      const refused =
        format === 'raw'
          ? []
          : format === 'json'
            ? ['int4', 'float4e2m1']
            : ['bfloat16', 'float8e4m3', 'int4', 'float4e2m1']
      if (refused.includes(dtype)) {
        await t.rejects(writeTensor(path, tensor), failure('ERR_TRT_DTYPE', new RegExp(dtype)), `${dtype} ${format}`)
        continue
      }
      await writeTensor(pathToFileURL(path), tensor)
      const spec = { dtype, shape: [2, -1, 4] }
      t.same(told(await readTensor(path, spec)), told(tensor), `${dtype} ${format}`)
      t.same(
        told(Object.values(await readTensors(path, { expect: { [dtype]: spec } }))[0]!),
        told(tensor),
        `${dtype} ${format} by name`,
      )
      if (format !== 'raw') t.same(told(await readTensor(path)), told(tensor), `${dtype} ${format} untold`)
    }
  }
})

t.test('JSON: special numbers, and whole numbers beyond 2^53', async (t) => {
  const path = join(folder, 'special.json')
  const numbers = Tensor.from(Float32Array.of(NaN, Infinity, -Infinity, -0, 0.1, 16777216, 1e-45, 3.4028235e38))
  const long = Tensor.from(BigInt64Array.of(-(2n ** 63n), 2n ** 53n, 5n))
  await writeTensors(path, { numbers, long, scalar: Tensor.from(Float32Array.of(2.5), []) })
  t.match(
    await readFile(path, 'utf8'),
    '"values":["NaN","Infinity","-Infinity",-0,0.1,16777216,1.4013e-45,3.4028235e+38]',
  )
  const found = await readTensors(path)
  t.same(told(found['numbers']!), told(numbers))
  t.same(told(found['long']!), told(long))
  t.same(told(found['scalar']!), { dtype: 'float32', shape: [], hex: '00002040' })
})

t.test("JSON as trtexec's C++ and Python's json write it", async (t) => {
  const read = async (text: string) =>
    readTensors(Buffer.from(text), { format: 'json', expect: { ids: { dtype: 'int64', shape: [-1] } } })
  const trtexec =
    '[\n  { "name" : "prob"\n  , "dimensions" : "1x4"\n  , "values" : [ nan, -inf, inf, 0.5 ]\n  }\n, { "name": "ids", "dimensions": "2", "values": [ 3, 4 ] } ]'
  const { prob, ids } = await read(trtexec)
  t.same(prob?.shape, [1, 4])
  t.same([...(prob!.data as Float32Array)], [NaN, -Infinity, Infinity, 0.5])
  t.same([...(ids!.data as BigInt64Array)], [3n, 4n])
  const python = await read('{"a, nan": [[NaN, Infinity], [-Infinity, 1]], "flag": []}')
  t.same([...(python['a, nan']!.data as Float32Array)], [NaN, Infinity, -Infinity, 1])
  t.same(python['flag']!.shape, [0])
  t.same((await readTensor(Buffer.from('[[1, 2], [3, 4]]'), { format: 'json' })).shape, [2, 2])
  t.same(Object.keys(await read('{"__proto__": [1]}')), ['__proto__'])
})

t.test('raw bytes: what they are has to be said', async (t) => {
  const path = join(folder, 'frame.bin')
  await writeFile(path, Uint8Array.of(1, 2, 3, 4, 5, 6))
  t.same((await readTensor(path, { dtype: 'uint8', shape: [-1, 3] })).shape, [2, 3])
  t.same((await readTensor(path, { dtype: 'uint16' })).shape, [3])
  t.same((await readTensors(path, { expect: { frame: { dtype: 'int8', shape: [6] } } }))['frame']!.dtype, 'int8')
  await t.rejects(
    readTensor(path),
    failure('ERR_TRT_INVALID_ARGUMENT', /a data type for .*frame\.bin, whose bytes do not tell it,/),
  )
  await t.rejects(
    readTensor(path, { dtype: 'uint8', shape: [-1, -1] }),
    failure('ERR_TRT_INVALID_ARGUMENT', /at most one dimension/),
  )
  await t.rejects(
    readTensor(path, { dtype: 'uint8', shape: [5] }),
    failure('ERR_TRT_SHAPE', /Expected 5 bytes in .*frame\.bin, for uint8 \[5\], but found 6/),
  )
  await t.rejects(
    readTensor(path, { dtype: 'uint8', shape: [-1, 4] }),
    failure('ERR_TRT_SHAPE', /a multiple of 4 bytes/),
  )
  await t.rejects(
    readTensor(path, { dtype: 'uint8', shape: [-1, 0] }),
    failure('ERR_TRT_SHAPE', /a multiple of 0 bytes/),
  )
})

t.test('a folder: names that no file may have', async (t) => {
  const one = Tensor.from(Float32Array.of(1))
  const written = await writeTensors(join(folder, 'out', 'deep'), {
    '/head/out:0': one,
    _head_out_0: one,
    '..': one,
    '': one,
    A: one,
    a: one,
  })
  t.same(
    written.map((path) => basename(path)),
    ['_head_out_0.npy', '_head_out_0-2.npy', '_.npy', '_-2.npy', 'A.npy', 'a-2.npy'],
  )
  t.same((await readTensor(written[1]!)).shape, [1])
  const raw = await writeTensors(join(folder, 'raw-out'), { out: one }, { format: 'raw' })
  t.same(raw, [join(folder, 'raw-out', 'out.raw')])
})
