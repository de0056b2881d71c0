// Files that are not what they say.
import { readdir, readFile, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { readTensor, readTensors, Tensor, TensorRTError, writeTensor, writeTensors } from '../../lib/index.js'
import { failure } from '../support/errors.js'
import { Random } from '../support/random.js'

const folder = t.testdir({})
const matrix = Tensor.from(Float32Array.of(1, 2, 3, 4, 5, 6), [2, 3])

/** A `.npy` with this header, and so many bytes of data. */
function npy(header: string, bytes: number, { version = 1, length = header.length } = {}): Uint8Array {
  const head = Buffer.alloc(version === 1 ? 10 : 12)
  head.write('\x93NUMPY', 'latin1')
  head[6] = version
  if (version === 1) head.writeUInt16LE(length, 8)
  else head.writeUInt32LE(length, 8)
  return Buffer.concat([head, Buffer.from(header), Buffer.alloc(bytes)])
}

const of = (descr: string, order: string, shape: string): string =>
  `{'descr': ${descr}, 'fortran_order': ${order}, 'shape': ${shape}}`

t.test('a header in other words that Python would read as well', async (t) => {
  const good = [
    "{'shape': (2, 3), 'descr': '<f4', 'fortran_order': False, }",
    '{"descr":"<f4","fortran_order":False,"shape":(2,3)}',
    " { 'descr' : '<f4' , 'fortran_order' : False , 'shape' : ( 2L , 3L , ) , } \n",
  ]
  for (const header of good) t.same((await readTensor(npy(header, 24), { format: 'npy' })).shape, [2, 3], header)
})

t.test('headers that are no such literal', async (t) => {
  const wrong = [
    '',
    '{}',
    "{'descr': '<f4', 'fortran_order': False}",
    of("'<f4'", 'False', '(2, 3') + '}',
    of("'<f4'", 'False', '(6)'),
    of("'<f4'", 'False', '(-2, -3)'),
    of("'<f4'", 'False', '(2, 3.0)'),
    of("'<f4'", 'False', '(,)'),
    of("'<f4'", 'False', '[2, 3]'),
    of("'<f4'", 'False', '(2 * 3,)'),
    of("'<f4'", 'False', '(99999999999999999999,)'),
    of("'<f4'", '0', '(2, 3)'),
    of('"<f4\'', 'False', '(2, 3)'),
    of("'<f4'", 'False', '(2, 3)').replace('}', ", 'shape': (6,)}"),
    of("'<f4'", 'False', '(2, 3)').replace('}', ", 'more': (6,)}"),
    of("'<f4'", 'False', '(2, 3)') + '\n{}',
    "__import__('os').system('false')",
    of("__import__('os')", 'False', '(2, 3)'),
  ]
  for (const header of wrong)
    await t.rejects(
      readTensor(npy(header, 24), { format: 'npy' }),
      failure('ERR_TRT_FILE', /expected a header like \{'descr': '<f4'/),
      header,
    )
})

t.test('sizes that lie', async (t) => {
  const read = (bytes: Uint8Array): Promise<Tensor> => readTensor(bytes, { format: 'npy' })
  const good = of("'<f4'", 'False', '(2, 3)')
  t.same((await read(npy(good, 24))).shape, [2, 3])
  await t.rejects(
    read(npy(good, 23)),
    failure('ERR_TRT_FILE', /expected 24 bytes after its header, float32 \[2, 3\], but found 23/),
  )
  await t.rejects(read(npy(good, 25)), failure('ERR_TRT_FILE', /but found 25/), 'an array more behind it')
  await t.rejects(
    read(npy(of("'<f4'", 'False', '(999999999, 999999)'), 24)),
    failure('ERR_TRT_FILE', /expected 3999\d+ bytes/),
  )
  await t.rejects(
    read(npy(of("'<f4'", 'False', '(999999999999999, 999999999999999)'), 24)),
    failure('ERR_TRT_SHAPE', /more elements/),
  )
  await t.rejects(
    read(npy(of("'<f4'", 'False', '(1, 1, 1, 1, 1, 1, 1, 1, 6)'), 24)),
    failure('ERR_TRT_SHAPE', /at most 8 dimensions/),
  )
  await t.rejects(
    read(npy(good, 0, { length: 60000 })),
    failure('ERR_TRT_FILE', /a header of 60000 bytes but the file ends after/),
  )
  await t.rejects(read(npy(good, 24, { version: 2, length: 2 ** 31 })), failure('ERR_TRT_FILE', /at most 65536 bytes/))
  await t.rejects(
    read(npy(good, 24, { version: 4 })),
    failure('ERR_TRT_FILE', /expected version 1\.0, 2\.0 or 3\.0 of \.npy but found 4\.0/),
  )
  await t.rejects(read(new Uint8Array()), failure('ERR_TRT_FILE', /an empty file/))
  await t.rejects(read(Buffer.from('PK\x03\x04 something else')), failure('ERR_TRT_FILE', /begins with \\x93NUMPY/))
  const wrong = npy(of("'|b1'", 'False', '(3,)'), 3)
  wrong[wrong.length - 1] = 7
  await t.rejects(read(wrong), failure('ERR_TRT_FILE', /expected 0 and 1 for bool/))
})

t.test('each byte of a file that is cut off or changed: read as it is, or a typed error', async (t) => {
  const random = new Random(15)
  for (const name of ['a.npy', 'a.npz', 'deflated.npz', 'a.json']) {
    const path = join(folder, name)
    await writeTensors(path, { a: matrix }, { compressed: name === 'deflated.npz' })
    const whole = await readFile(path)
    const format = name.slice(-3) === 'son' ? 'json' : (name.slice(-3) as 'npy' | 'npz')
    const [errors, read] = [new Set<string>(), new Set<string>()]
    const attempt = async (bytes: Uint8Array): Promise<void> => {
      try {
        const tensors = await readTensors(bytes, { format })
        read.add(JSON.stringify(Object.values(tensors).map(({ dtype, shape }) => [dtype, shape])))
      } catch (error) {
        if (!(error instanceof TensorRTError)) throw error
        errors.add(error.code)
      }
    }
    for (let length = 0; length < whole.length; length++) await attempt(whole.subarray(0, length))
    for (let i = 0; i < 300; i++) {
      const changed = Uint8Array.from(whole)
      changed[random.below(whole.length)] = random.below(256)
      await attempt(changed)
    }
    t.ok(errors.has('ERR_TRT_FILE'), `${name}: ${[...errors].join()}`)
    t.ok(
      [...errors].every((code) => ['ERR_TRT_FILE', 'ERR_TRT_DTYPE', 'ERR_TRT_SHAPE'].includes(code)),
      `${name}: ${[...errors].join()}`,
    )
    t.ok(read.has('[["float32",[2,3]]]'), `${name}: ${[...read].join(' ')}`)
  }
})

t.test('archives', async (t) => {
  const path = join(folder, 'bomb.npz')
  await writeTensors(path, { zeros: Tensor.zeros('uint8', [2 ** 22]) }, { compressed: true })
  const bytes = await readFile(path)
  t.ok(bytes.length < 8192, 'a thousandth')
  t.equal((await readTensors(path))['zeros']!.size, 2 ** 22)
  const central = bytes.lastIndexOf('PK\x01\x02', undefined, 'latin1')
  const changed = (at: number, value: number): Uint8Array => {
    const copy = Buffer.from(bytes)
    copy.writeUInt32LE(value, central + at)
    return copy
  }
  const read = (given: Uint8Array): Promise<unknown> => readTensors(given, { format: 'npz' })
  await t.rejects(
    read(changed(24, 0xfffffff0)),
    failure('ERR_TRT_FILE', /bytes cannot become the 4294967280 that it is said to have/),
  )
  await t.rejects(
    read(changed(24, 1000)),
    failure('ERR_TRT_FILE', /expected a \.npz.*too many bytes/),
    'more comes than is said',
  )
  await t.rejects(read(changed(24, 2 ** 22 + 1000)), failure('ERR_TRT_FILE', /not enough bytes/))
  await t.rejects(read(changed(20, 0x7fffffff)), failure('ERR_TRT_FILE', /more than the file/))
  await t.rejects(read(changed(16, 12345)), failure('ERR_TRT_FILE', /not those of its checksum/))
  await t.rejects(read(changed(8, 0x00080001)), failure('ERR_TRT_FILE', /encrypted/))
  await t.rejects(read(changed(8, 0x00630000)), failure('ERR_TRT_FILE', /neither stored nor deflated/))
  await t.rejects(
    read(Buffer.from('no archive at all, but long enough')),
    failure('ERR_TRT_FILE', /expected a \.npz, which is a zip archive/),
  )
  await t.rejects(
    readTensor(path, { dtype: 'float32' }),
    failure('ERR_TRT_DTYPE', /Expected float32 for "zeros" of .*bomb.npz but found uint8/),
  )
})

t.test('JSON that is no tensor', async (t) => {
  const read = (value: unknown, dtype: Tensor['dtype'] = 'float32'): Promise<Tensor> =>
    readTensor(Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)), { format: 'json', dtype })
  const listed = { name: 'a', dimensions: '2x2', values: [1, 2, 3, 4] }
  t.same((await read([listed])).shape, [2, 2])
  await t.rejects(read('{'), failure('ERR_TRT_FILE', /expected JSON: /))
  await t.rejects(
    read(Buffer.from([0x22, 0xff, 0x22]).toString('latin1') + 'x'),
    failure('ERR_TRT_FILE', /expected JSON: /),
  )
  await t.rejects(
    read([{ ...listed, dimensions: '3x2' }]),
    failure('ERR_TRT_FILE', /expected 6 values for \[3, 2\] but found 4/),
  )
  for (const dimensions of ['2x-2', '2x', 'x', 4, '99999999999999999999'])
    await t.rejects(
      read([{ ...listed, dimensions }]),
      failure('ERR_TRT_FILE', /expected \{ "name": "output", "dimensions": "1x1000"/),
    )
  await t.rejects(read([listed, listed]), failure('ERR_TRT_FILE', /two tensors called "a"/))
  await t.rejects(
    read([listed, { ...listed, name: 'b' }]),
    failure('ERR_TRT_FILE', /expected one tensor but found 2 \(a, b\)/),
  )
  await t.rejects(read([listed, 5]), failure('ERR_TRT_FILE', /\[1\] of the bytes/))
  await t.rejects(
    readTensor(Buffer.from(JSON.stringify([{ ...listed, dtype: 'f4' }])), { format: 'json' }),
    failure('ERR_TRT_FILE', /for its dtype/),
  )
  await t.rejects(
    read({ a: [[1, 2], [3]] }),
    failure('ERR_TRT_FILE', /nested arrays of one length, \[2, 2\], but found array \[3\] at \[1\]/),
  )
  await t.rejects(read({ a: [[1, 2], 3] }), failure('ERR_TRT_FILE', /but found number 3 at \[1\]/))
  await t.rejects(read({ a: [1, [2]] }), failure('ERR_TRT_DTYPE', /expected float32 but found array \[2\] at 1/))
  await t.rejects(read('['.repeat(100_000) + ']'.repeat(100_000)), failure('ERR_TRT_SHAPE', /at most 8 dimensions/))
  for (const [value, dtype] of [
    ['1', 'float32'],
    [true, 'float32'],
    [null, 'float32'],
    [1.5, 'int32'],
    [-1, 'uint8'],
    [256, 'uint8'],
    [2, 'bool'],
    [2 ** 53, 'int64'],
    ['9223372036854775808', 'int64'],
    [true, 'int8'],
  ] as const)
    // prettier-ignore
    await t.rejects(read([value], dtype), failure('ERR_TRT_DTYPE', new RegExp(`expected ${dtype} but found .* at 0`)), `${String(value)} ${dtype}`)
})

t.test('misuse', async (t) => {
  const path = join(folder, 'matrix.npy')
  await writeTensor(path, matrix)
  const wrong = (message: RegExp) => failure('ERR_TRT_INVALID_ARGUMENT', message)
  await t.rejects(readTensor(join(folder, 'matrix.txt')), wrong(/a path that ends in \.npy, \.npz, \.raw/))
  await t.rejects(readTensor(await readFile(path)), wrong(/format, one of npy/))
  await t.rejects(readTensor(5 as never), wrong(/a path, a file: URL/))
  await t.rejects(readTensor(path, { format: 'numpy' as never }), wrong(/one of 'npy', 'npz'/))
  await t.rejects(readTensor(path, { shape: [2, -2] }), failure('ERR_TRT_SHAPE', /non-negative integers/))
  await t.rejects(readTensor(path, { dtypes: 'int8' } as never), wrong(/did you mean dtype/))
  await t.rejects(
    readTensor(join(folder, 'none.npy')),
    failure('ERR_TRT_FILE', /Cannot read .*none\.npy: there is no such file/),
  )
  await t.rejects(
    readTensor(path, { shape: [3, -1] }),
    failure('ERR_TRT_SHAPE', /Expected shape \[3, -1\] for "matrix" of .* but found \[2, 3\]/),
  )
  await t.rejects(
    readTensors(path, { expect: { matrix: { dtype: 'float16', shape: [2, 3] } } }),
    failure('ERR_TRT_DTYPE', /float16/),
  )
  await t.rejects(writeTensor(path, { dtype: 'int8' } as never), wrong(/a Tensor for tensor/))
  await t.rejects(
    writeTensors(path, { a: matrix, b: matrix }),
    wrong(/a folder, or a file of \.npz or \.json, for 2 tensors/),
  )
  await t.rejects(writeTensors(path, {}), wrong(/at least one tensor/))
  await t.rejects(writeTensors(join(folder, 'up.npz'), { '../up': matrix }), wrong(/names that a zip archive takes/))
  await t.rejects(
    writeTensor(join(folder, 'no', 'a.npy'), matrix),
    failure('ERR_TRT_FILE', /Cannot write .*: there is no folder .*no$/),
  )
  await t.rejects(
    writeTensor(path, Tensor.fromFloat32('bfloat16', [1])),
    failure('ERR_TRT_DTYPE', /NumPy has no bfloat16/),
  )
  await writeFile(join(folder, 'lfs.npy'), 'version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n')
  await t.rejects(readTensor(join(folder, 'lfs.npy')), failure('ERR_TRT_FILE', /Git LFS/))
  await truncate(join(folder, 'a.npz'), 30)
  await t.rejects(readTensor(join(folder, 'a.npz')), failure('ERR_TRT_FILE', /expected a \.npz/))
})

t.test('a signal', async (t) => {
  const path = join(folder, 'kept.npz')
  await writeTensor(path, matrix)
  const before = await readFile(path)
  const aborted = AbortSignal.abort(new Error('enough'))
  await t.rejects(readTensor(path, { signal: aborted }), { message: 'enough' })
  await t.rejects(writeTensor(path, matrix, { signal: aborted }), { message: 'enough' })
  const controller = new AbortController()
  const writing = writeTensor(path, Tensor.zeros('float32', [2 ** 22]), { signal: controller.signal, compressed: true })
  setImmediate(() => controller.abort(new Error('enough')))
  await t.rejects(writing, { message: 'enough' })
  t.ok(before.equals(await readFile(path)), 'what was there')
  t.same(
    (await readdir(folder)).filter((name) => name.endsWith('.tmp')),
    [],
    'nothing beside it',
  )
})
