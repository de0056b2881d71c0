// Against NumPy itself, both ways.
import { execFile } from 'node:child_process'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { type DType, readTensor, readTensors, Tensor, writeTensor, writeTensors } from '../../lib/index.js'
import { bytesOfTensor } from '../../lib/tensor.js'
import { failure } from '../support/errors.js'
import { root } from '../package/support.js'

interface Told {
  readonly dtype: string
  readonly shape: number[]
  readonly hex: string
}

const path = process.env['TRT_TEST_PYTHONPATH']
const skip = path === undefined && 'TRT_TEST_PYTHONPATH names no NumPy'
const folder = t.testdir({})

async function numpy(...args: string[]): Promise<any> {
  const script = join(root, 'test', 'tensor-files', 'make_numpy.py')
  const { stdout } = await promisify(execFile)('python3', [script, ...args], {
    env: { ...process.env, PYTHONPATH: path },
  })
  return JSON.parse(stdout)
}

function told(tensor: Tensor): Told {
  return {
    dtype: tensor.dtype,
    shape: [...tensor.shape],
    hex: Buffer.from(bytesOfTensor(tensor)).toString('hex'),
  }
}

const without = ({ dtype, shape, hex }: Told): Told => ({ dtype, shape, hex })

t.test('what NumPy wrote', { skip }, async (t) => {
  const { npz, ...arrays } = (await numpy('make', folder)) as Record<string, Told> & { npz: any }
  t.ok(Object.keys(arrays).length > 100, 'every type, shape, order and version')
  for (const [name, array] of Object.entries(arrays))
    t.same(told(await readTensor(join(folder, `${name}.npy`))), without(array), name)
  for (const file of ['stored.npz', 'deflated.npz']) {
    const found = await readTensors(join(folder, file))
    t.same(Object.keys(found), Object.keys(npz), file)
    for (const [name, tensor] of Object.entries(found)) t.same(told(tensor), without(npz[name]), `${file} ${name}`)
    const bytes = await readTensors(await readFile(join(folder, file)), { format: 'npz' })
    t.same(told(bytes['a']!), without(npz.a), 'of bytes')
  }

  const kinds = {
    complex: /found NumPy's "<c8"/,
    text: /found NumPy's "<U2"/,
    structured: /structured data type/,
    pickled: /pickled: code, not data/,
  }
  for (const [name, message] of Object.entries(kinds))
    await t.rejects(readTensor(join(folder, `${name}.npy`)), failure('ERR_TRT_DTYPE', message), name)
})

t.test('what NumPy reads', { skip }, async (t) => {
  const written = join(folder, 'ours')
  await mkdir(written)
  const of = (dtype: DType, numbers: number, shape: number[]): Tensor => {
    const bytes = Uint8Array.from({ length: Tensor.zeros(dtype, shape).byteLength }, (_, i) =>
      dtype === 'bool' ? i % 2 : (i * numbers) % 60,
    )
    return Tensor.fromBytes(dtype, bytes.buffer, shape)
  }
  const types = [
    'bool',
    'int8',
    'int16',
    'int32',
    'int64',
    'uint8',
    'uint16',
    'uint32',
    'uint64',
    'float16',
    'float32',
    'float64',
  ] as const
  const shapes = [[], [5], [2, 3], [1, 2, 3, 1, 2, 1, 2, 3], [0, 3]]
  const tensors = Object.fromEntries(
    types.flatMap((dtype) => shapes.map((shape) => [`${dtype}-${shape.join('x')}`, of(dtype, 7, shape)])),
  )
  const files = await writeTensors(written, tensors)
  t.equal(files.length, types.length * shapes.length)
  await writeTensors(join(folder, 'all.npz'), tensors)
  await writeTensors(join(folder, 'small.npz'), tensors, { compressed: true })
  await writeTensor(join(folder, 'one.npz'), tensors['float32-2x3']!)
  const found = (await numpy(
    'read',
    ...files,
    ...['all', 'small', 'one'].map((name) => join(folder, `${name}.npz`)),
  )) as Record<string, any>
  for (const [index, [name, tensor]] of Object.entries(tensors).entries()) {
    t.same(without(found[files[index]!]), told(tensor), name)
    for (const file of ['all.npz', 'small.npz'])
      t.same(without(found[join(folder, file)][name]), told(tensor), `${file} ${name}`)
  }
  t.same(without(found[join(folder, 'one.npz')].one), told(tensors['float32-2x3']!))
})
