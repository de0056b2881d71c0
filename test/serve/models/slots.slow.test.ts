// Slots: memory for the inputs of requests, used again by size.
import t from 'tap'
import { Engine } from '../../../lib/index.js'
import { blockSize, memoryOf, type SlotMemory, SlotPool } from '../../../lib/serve/models/slots.js'
import { identity } from '../../support/models.js'

/** Memory that counts what is taken of it, and whose lanes let go when the test says so. */
class Spied implements SlotMemory {
  readonly allocated: number[] = []
  readonly held = new Map<ArrayBuffer, () => void>()
  readonly used = new Set<ArrayBuffer>()

  allocate(bytes: number): Uint8Array<ArrayBuffer> {
    this.allocated.push(bytes)
    return new Uint8Array(bytes)
  }

  onReleased(block: Uint8Array, callback: () => void): boolean {
    const buffer = block.buffer as ArrayBuffer
    if (!this.used.has(buffer)) return false
    this.held.set(buffer, callback)
    return true
  }
}

await t.test('blocks have at least the bytes of a slot, and at most a quarter more beyond the smallest', (t) => {
  for (const bytes of [
    0,
    1,
    4095,
    4096,
    4097,
    5120,
    5121,
    8192,
    8193,
    602_112,
    2 ** 20,
    2 ** 20 + 1,
    2 ** 26,
    2 ** 32 + 1,
  ]) {
    const size = blockSize(bytes)
    t.ok(size >= bytes && size % 64 === 0, `${bytes}`)
    if (bytes >= 4096) t.ok(size <= bytes * 1.25, `${bytes} → ${size}`)
    t.equal(blockSize(size), size)
  }
  t.end()
})

await t.test('a slot is used again by size, and released once', (t) => {
  const memory = new Spied()
  const pool = new SlotPool(memory, 2 ** 20)
  const first = pool.reserve(100)
  t.same([first.bytes.length, pool.inUse, pool.bytesInUse, pool.kept], [100, 1, 4096, 0])
  first.release()
  first.release()
  t.same([pool.inUse, pool.bytesInUse, pool.kept], [0, 0, 4096])
  const second = pool.reserve(4000)
  t.equal(second.bytes.buffer, first.bytes.buffer)
  const third = pool.reserve(4000)
  t.not(third.bytes.buffer, second.bytes.buffer)
  first.release()
  t.equal(pool.inUse, 2, 'who released a slot has no say in it any more')
  t.same(memory.allocated, [4096, 4096])
  t.end()
})

await t.test('memory that a lane still reads comes back when it has let go', (t) => {
  const memory = new Spied()
  const pool = new SlotPool(memory, 2 ** 20)
  const slot = pool.reserve(64)
  memory.used.add(slot.bytes.buffer)
  slot.release()
  t.same([pool.inUse, pool.kept], [1, 0])
  t.not(pool.reserve(64).bytes.buffer, slot.bytes.buffer)
  memory.held.get(slot.bytes.buffer)?.()
  t.same([pool.inUse, pool.kept], [1, 4096])
  t.equal(pool.reserve(64).bytes.buffer, slot.bytes.buffer)
  t.end()
})

await t.test('no more is kept than the pool may keep, and nothing once it is closed', (t) => {
  const pool = new SlotPool(new Spied(), 10_000)
  const slots = [4096, 4096, 4096].map((bytes) => pool.reserve(bytes))
  for (const slot of slots.slice(1)) slot.release()
  t.equal(pool.kept, 8192)
  slots[0]?.release()
  t.equal(pool.kept, 8192)
  const last = pool.reserve(4096)
  pool.close()
  t.equal(pool.kept, 0)
  last.release()
  t.same([pool.inUse, pool.kept], [0, 0])
  t.end()
})

await t.test('a thousand requests of 602 KB take one block', (t) => {
  const memory = new Spied()
  const pool = new SlotPool(memory, 2 ** 24)
  for (let i = 0; i < 1000; i++) pool.reserve(602_112).release()
  t.equal(memory.allocated.length, 1)
  t.end()
})

await t.test('slots of an engine', async (t) => {
  const engine = await Engine.load(identity(), { backend: 'cpu' })
  const pool = new SlotPool(memoryOf(engine), 2 ** 20)
  const slot = pool.reserve(16)
  t.equal(slot.bytes.byteOffset % 8, 0)
  slot.release()
  await engine.close()
  t.same([pool.inUse, pool.kept], [0, 4096])
  await t.rejects(async () => pool.reserve(2 ** 16), { code: 'ERR_TRT_CLOSED' })
  t.equal(pool.inUse, 0)
})
