// What happens to memory and sessions while a run is under way.
import t, { type Test } from 'tap'
import * as ours from '../../lib/onnxruntime/entry.js'
import { identity, slow } from '../support/models.js'

const size = 128

/** A run of the model takes some milliseconds, in which the event loop goes on. */
async function opened(t: Test): Promise<any> {
  const session = await ours.InferenceSession.create(slow(size, 20), { executionProviders: ['cpu'] })
  t.teardown(() => session.release().catch(() => {}))
  return session
}

/** The identity matrix, whose powers are itself. */
function matrix(buffer: ArrayBufferLike = new ArrayBuffer(size * size * 4), at = 0): Float32Array<ArrayBuffer> {
  const data = new Float32Array(buffer as ArrayBuffer, at, size * size).fill(0)
  for (let i = 0; i < size; i++) data[i * (size + 1)] = 1
  return data
}

const tensor = (data: Float32Array): any => new ours.Tensor('float32', data, [size, size])

const resizable = (): any => new (ArrayBuffer as any)(size * size * 4, { maxByteLength: size * size * 16 })

/** Whether it is the identity: a Tensor of so many numbers is slow to compare by tap. */
const isOne = ({ data }: any): boolean => Buffer.from(data.buffer, data.byteOffset, data.byteLength).equals(one)
const one = Buffer.from(matrix().buffer)

const gone = { name: 'Error', code: 'ERR_TRT_DETACHED' }

/** What takes memory away from under a view. */
const ways: Record<string, { made: () => any; taken: (buffer: any) => void }> = {
  transferred: {
    made: () => new ArrayBuffer(size * size * 4),
    taken: (buffer) => structuredClone(buffer, { transfer: [buffer] }),
  },
  shrunk: { made: resizable, taken: (buffer) => buffer.resize(4) },
}

for (const [way, { made, taken }] of Object.entries(ways))
  t.test(`memory that is ${way}`, async (t) => {
    const session = await opened(t)
    const good = tensor(matrix())
    const feed = made()
    const read = session.run({ x: tensor(matrix(feed)) })
    taken(feed)
    t.ok(isOne((await read).y), 'a feed was copied before')
    const place = made()
    const written = session.run({ x: good }, { y: tensor(new Float32Array(place, 0, size * size)) })
    taken(place)
    await t.rejects(written, gone, 'a place that is its own')
    const both = made()
    const x = tensor(matrix(both))
    const over = session.run({ x }, { y: x })
    taken(both)
    await t.rejects(over, gone, 'a place that is the feed, too')
    t.ok(isOne((await session.run({ x: good })).y), 'the session goes on')
  })

t.test('memory that is written meanwhile, or belongs to other threads', async (t) => {
  const session = await opened(t)
  const feed = matrix()
  const running = session.run({ x: tensor(feed) })
  feed.fill(NaN)
  t.ok(isOne((await running).y), 'a feed is as it was when run() was called')
  const shared = tensor(matrix(new SharedArrayBuffer(size * size * 4)))
  t.ok(isOne((await session.run({ x: shared }, { y: shared })).y), 'shared memory is memory')
  const grown = resizable()
  const y = tensor(new Float32Array(grown, 0, size * size))
  const written = session.run({ x: tensor(matrix()) }, { y })
  grown.resize(size * size * 16)
  t.equal((await written).y, y, 'a buffer that grew')
  t.ok(isOne(y))
})

t.test('a release while runs are under way and while others wait', async (t) => {
  const session = await opened(t)
  const x = tensor(matrix())
  const runs = Array.from({ length: 8 }, () => session.run({ x }))
  const released = session.release()
  const late = session.run({ x })
  await Promise.all([
    t.rejects(late, { name: 'Error', code: 'ERR_TRT_CLOSED', message: 'Session already disposed.' }),
    t.rejects(session.release(), { name: 'Error', code: 'ERR_TRT_CLOSED' }),
  ])
  for (const { y } of await Promise.all(runs)) t.ok(isOne(y))
  await released
  t.same([session.inputNames, session.outputNames], [['x'], ['y']])
})

t.test('the bytes of a model that go away while a session is made of them', async (t) => {
  const model = identity()
  const opened = async (bytes: Uint8Array | ArrayBufferLike): Promise<string> => {
    const session = await ours.InferenceSession.create(bytes as Uint8Array, { executionProviders: ['cpu'] })
    await session.release()
    return 'opened'
  }
  for (const taken of [ways['transferred']?.taken, ways['shrunk']?.taken])
    for (let turns = 0; turns < 12; turns++) {
      const buffer = new (ArrayBuffer as any)(model.length, { maxByteLength: 2 * model.length })
      new Uint8Array(buffer).set(model)
      const opening = opened(turns % 2 === 0 ? buffer : new Uint8Array(buffer)).catch((error: unknown) => error)
      for (let i = 0; i < turns; i++) await (i % 4 === 3 ? new Promise(setImmediate) : undefined)
      taken?.(buffer)
      const outcome: any = await opening
      if (outcome !== 'opened') t.match(outcome, { name: 'Error', code: /^ERR_TRT_/ })
    }
  const shared = new SharedArrayBuffer(model.length)
  new Uint8Array(shared).set(model)
  t.equal(await opened(shared), 'opened', 'shared memory')
})
