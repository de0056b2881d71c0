// Files of more than 2 GiB, for real: weights in another file, and tensors. Takes 5 GB of memory; the files have holes
// where they may.
import { open, stat } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { readTensor, Tensor, writeTensor } from '../../lib/index.js'
import { create, loadExternalData, ModelProtoSchema } from '../../lib/onnx/index.js'
import { temporaryFolder } from '../support/folders.js'

const elements = 2 ** 31 + 64

t.test('weights of 2 GiB and more in another file', async (t) => {
  const folder = temporaryFolder(t)
  const file = await open(join(folder, 'w.bin'), 'w')
  await file.truncate(elements + 128)
  await file.write(Uint8Array.of(1, 2, 3), 0, 3, 128)
  await file.write(Uint8Array.of(7, 8, 9), 0, 3, 128 + elements - 3)
  await file.close()
  const externalData = Object.entries({ location: 'w.bin', offset: '128' }).map(([key, value]) => ({ key, value }))
  const model = create(ModelProtoSchema, {
    irVersion: 8n,
    opsetImport: [{ domain: '', version: 17n }],
    graph: {
      name: 'large',
      initializer: [{ name: 'w', dims: [BigInt(elements)], dataType: 2, dataLocation: 1, externalData }],
    },
  })
  await loadExternalData(model, folder)
  const { rawData } = model.graph!.initializer[0]!
  t.equal(rawData.length, elements)
  t.same([...rawData.subarray(0, 3), ...rawData.subarray(-3)], [1, 2, 3, 7, 8, 9])
})

t.test('a tensor of 2 GiB and more is written and read', async (t) => {
  const folder = temporaryFolder(t)
  const tensor = Tensor.zeros('uint8', [elements])
  tensor.data.set([7, 8, 9], elements - 3)
  for (const name of ['x.npy', 'x.raw']) {
    const path = join(folder, name)
    await writeTensor(path, tensor)
    t.ok((await stat(path)).size >= elements)
    const { data } = await readTensor(path, { dtype: 'uint8' })
    t.same([data.length, ...(data as NodeJS.TypedArray).subarray(-3)], [elements, 7, 8, 9], name)
  }
})
