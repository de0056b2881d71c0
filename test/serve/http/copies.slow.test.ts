// A body is copied once: into memory of the engine, which the core takes as it is, and which the next request of its
// size gets again.
import t from 'tap'
import type { EngineStats } from '../../../lib/backend/backend.js'
import { Engine } from '../../../lib/engine.js'
import { Random } from '../../support/random.js'
import { size } from '../../support/tiers.js'
import { identities, identity } from '../../support/models.js'
import { repository } from '../models/folders.js'
import { idle, startReal } from './real/server.js'
import { binary, bytesOf, partsOf, Wire } from './rig.js'

interface Asked {
  readonly engine: Engine
  readonly bytes: number
  /** What it had done until then: the runs that warmed it up. */
  readonly stats: EngineStats
}

/** Engines that were asked for memory. */
const asked: Asked[] = []
const { prototype } = Engine
const allocate = Reflect.get<typeof prototype, 'allocateBytes'>(prototype, 'allocateBytes')
prototype.allocateBytes = function (bytes) {
  asked.push({ engine: this, bytes, stats: this.stats() })
  return allocate.call(this, bytes)
}

/** What the engine has done since it was first asked for memory. */
function since([first]: readonly Asked[]): { readonly completed: number; readonly bytesCopied: number } | undefined {
  if (first === undefined) return undefined
  const { completed, bytesCopied } = first.engine.stats()
  return { completed: completed - first.stats.completed, bytesCopied: bytesCopied - first.stats.bytesCopied }
}
t.teardown(() => (prototype.allocateBytes = allocate))

const asBytes = { parameters: { binary_data_output: true } }
const sizes = { UINT8: 1, FP32: 4, FP64: 8 } as const
const inputOf = (name: string, datatype: keyof typeof sizes, shape: readonly number[]) => ({
  name,
  datatype,
  shape,
  parameters: { binary_data_size: shape.reduce((product, dim) => product * dim, sizes[datatype]) },
})

await t.test(
  'requests of 602 KB over eight connections: no slot after the first few, and no copy in the core',
  async (t) => {
    asked.length = 0
    const picture = [1, 3, 224, 224]
    await using server = await startReal(repository(t, { 'm/1/model.onnx': identity('float32', [1, 3, 224, 224]) }))
    const random = new Random(26)
    const tensors = Array.from({ length: 8 }, () => Float32Array.from({ length: 3 * 224 * 224 }, () => random.around()))
    const messages = tensors.map((tensor) =>
      bytesOf(binary('m', { inputs: [inputOf('x', 'FP32', picture)], ...asBytes }, [new Uint8Array(tensor.buffer)])),
    )
    let [wrong, left] = [0, size(1000, 10_000)]
    const count = left
    const connection = async (which: number): Promise<void> => {
      using wire = new Wire(server.port)
      while (left-- > 0) {
        wire.write(messages[which] as Buffer)
        const reply = await wire.reply()
        if (reply.status !== 200 || !partsOf(reply).tensors.equals(new Uint8Array(tensors[which]!.buffer))) wrong++
      }
    }
    await Promise.all(tensors.map((_, which) => connection(which)))
    t.equal(wrong, 0)
    t.ok(
      asked.length >= 1 && asked.length <= 8,
      `${asked.length} slots of ${asked[0]?.bytes} bytes: no more than connections`,
    )
    t.same(since(asked), { completed: count, bytesCopied: 0 })
    await idle(server)
  },
)

await t.test('bodies whose tensors begin at any byte, in any pieces, and of any size', async (t) => {
  asked.length = 0
  await using server = await startReal(repository(t, { 'm/1/model.onnx': identity('float32', [1, 'N']) }))
  const random = new Random(27)
  using wire = new Wire(server.port)
  for (let i = 0; i < 60; i++) {
    const tensor = Float32Array.from({ length: 1 + random.below(2000) }, () => random.around())
    const head = {
      padding: 'x'.repeat(random.below(9)),
      inputs: [inputOf('x', 'FP32', [1, tensor.length])],
      ...asBytes,
    }
    const chunked = random.chance(0.5) ? { chunked: 1 + random.below(3000) } : {}
    wire.write(bytesOf(binary('m', head, [new Uint8Array(tensor.buffer)], chunked)))
    if (!partsOf(await wire.reply()).tensors.equals(new Uint8Array(tensor.buffer))) t.fail('a wrong answer')
  }
  t.same(since(asked), { completed: 60, bytesCopied: 0 })
  t.ok(asked.length < 8, `${asked.length} slots`)
  await idle(server)
})

await t.test('each tensor of several begins where an engine reads it', async (t) => {
  asked.length = 0
  const model = identities([
    { name: 'a', dtype: 'uint8', shape: [3] },
    { name: 'b', dtype: 'float64', shape: [2] },
  ])
  await using server = await startReal(repository(t, { 'm/1/model.onnx': model }))
  const random = new Random(28)
  using wire = new Wire(server.port)
  const head = { inputs: [inputOf('a', 'UINT8', [3]), inputOf('b', 'FP64', [2])], ...asBytes }
  for (let i = 0; i < 40; i++) {
    const tensors = [random.bytes(3), new Uint8Array(Float64Array.of(random.around(), random.around()).buffer)]
    wire.write(bytesOf(binary('m', head, tensors)))
    if (!partsOf(await wire.reply()).tensors.equals(Buffer.concat(tensors))) t.fail('a wrong answer')
  }
  t.same(since(asked), { completed: 40, bytesCopied: 0 })
  await idle(server)
})
