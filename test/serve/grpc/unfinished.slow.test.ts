// Clients that send half of what they should, and stay.
import t from 'tap'
import { FrameProgress, Unfinished } from '../../../lib/serve/grpc/unfinished.js'
import { encodeInferRequest } from '../../../lib/kserve/infer-request.js'
import { healthMethods, inferenceMethods, pathOf } from '../../../lib/kserve/methods.js'
import { certain } from '../../support/waiting.js'
import {
  failureOf,
  frame,
  inferPath,
  nothingLeft,
  oneInput,
  rawHeaders,
  rawSession,
  startRig,
  statusOf,
  streamPath,
} from './rig.js'

const bytes = frame(encodeInferRequest(oneInput('fp32', [1, 2])).toBytes())

t.test('a request that is not whole in time, wherever its client stopped', async (t) => {
  await using rig = await startRig({ messageTimeoutMs: 50 })
  const session = await rawSession(rig.port)
  t.teardown(() => session.destroy())
  const check = bytes.subarray(0, 3)
  const cases = [0, 1, 5, bytes.length - 1, bytes.length].map((end) => [inferPath, bytes.subarray(0, end)] as const)
  for (const [path, part] of [
    ...cases,
    [pathOf(healthMethods.watch), check],
    [pathOf(inferenceMethods.serverLive), check],
  ] as const) {
    const stream = session.request(rawHeaders(path)).on('error', () => {})
    const closed = new Promise((resolve) => stream.once('close', resolve))
    if (part.length > 0) stream.write(part)
    t.strictSame(
      await statusOf(stream),
      ['4', 'The request was not complete within 50 ms'],
      `${part.length} bytes to ${path}`,
    )
    await closed
    t.equal(stream.rstCode, 0, 'the stream is closed, so that nothing keeps its bytes')
  }
  t.ok(await nothingLeft(rig))
  t.equal(rig.records.length, 0, 'none of them was begun')
})

t.test(
  'a message of a stream that is not whole in time ends the stream; silence between messages does not',
  async (t) => {
    await using rig = await startRig({ messageTimeoutMs: 50 })
    const session = await rawSession(rig.port)
    t.teardown(() => session.destroy())
    const silent = rig.client.stream()
    silent.send(oneInput('fp32', [1], { id: 'first' }))
    await silent.count(1)
    for (const part of [bytes.subarray(0, 4), bytes.subarray(0, 20), Buffer.concat([bytes, bytes.subarray(0, 9)])]) {
      const stream = session.request(rawHeaders(streamPath)).on('error', () => {})
      const closed = new Promise((resolve) => stream.once('close', resolve))
      stream.write(part)
      t.strictSame(
        await statusOf(stream),
        ['4', 'A message of the stream was not complete within 50 ms'],
        `${part.length} bytes`,
      )
      await closed
    }
    silent.send(oneInput('fp32', [2], { id: 'second' }))
    t.match(
      (await silent.count(2))[1],
      { errorMessage: '', inferResponse: { id: 'second' } },
      'the one that was silent meanwhile goes on',
    )
    silent.call.end()
    t.equal((await silent.ended()).code, 0)
    t.ok(await nothingLeft(rig))
  },
)

t.test('a deadline that is over before all has come: nothing keeps the half that did', async (t) => {
  await using rig = await startRig()
  const session = await rawSession(rig.port)
  t.teardown(() => session.destroy())
  const stream = session.request(rawHeaders(inferPath, { 'grpc-timeout': '50m' })).on('error', () => {})
  const closed = new Promise((resolve) => stream.once('close', resolve))
  stream.write(bytes.subarray(0, 20))
  t.strictSame(await statusOf(stream), ['4', 'Deadline exceeded'])
  await closed
  t.ok(await nothingLeft(rig))
})

t.test('a model that takes longer than a client may: its request has come', async (t) => {
  await using rig = await startRig({ messageTimeoutMs: 50 })
  let answer: ReturnType<typeof failureOf> | undefined
  while (rig.held.waiting.length === 0) {
    // on a busy machine a request may come in pieces that are so far apart
    let isOver = false
    answer = failureOf(rig.client.infer(oneInput('held', [1])))
    void answer.then(() => (isOver = true))
    await certain(() => isOver || rig.held.waiting.length === 1)
  }
  const session = await rawSession(rig.port)
  await statusOf(session.request(rawHeaders(inferPath)).on('error', () => {})) // of one that began later time is up
  session.destroy()
  rig.held.goOn()
  t.strictSame(await answer, ['OK', ''])
})

t.test('who is given up: neither what has ended nor what is not read for now', async (t) => {
  const unfinished = new Unfinished(1)
  t.teardown(() => unfinished.close())
  const given: string[] = []
  const sender = (name: string) => ({
    isPaused: false,
    giveUp() {
      if (unfinished.end(this)) given.push(name)
    },
  })
  const [done, paused, slow] = [sender('done'), sender('paused'), sender('slow')]
  paused.isPaused = true
  for (const each of [done, paused, slow]) unfinished.begin(each)
  t.equal(unfinished.end(done), true)
  t.equal(unfinished.end(done), false)
  await certain(() => given.length > 0)
  t.strictSame(given, ['slow'])
  t.equal(unfinished.has(paused), true)
  paused.isPaused = false
  await certain(() => given.length > 1)
  t.strictSame(given, ['slow', 'paused'])
})

t.test('where messages end, however their bytes are cut', (t) => {
  const stream = Buffer.concat([bytes, frame(Buffer.alloc(0)), frame(Buffer.alloc(300)), frame(Buffer.from([7]))])
  const ends = [bytes.length, bytes.length + 5, bytes.length + 310, stream.length]
  for (let size = 1; size <= stream.length; size++) {
    const progress = new FrameProgress()
    for (let at = 0; at < stream.length; at += size) {
      const next = Math.min(at + size, stream.length)
      const hasEnded = progress.take(stream.subarray(at, next))
      if (hasEnded !== ends.some((end) => end > at && end <= next))
        t.fail(`${size} bytes at once, at ${at}: ${hasEnded}`)
      if (progress.isWithin === ends.includes(next))
        t.fail(`${size} bytes at once, until ${next}: ${progress.isWithin}`)
    }
  }
  t.pass('all sizes')
  t.end()
})
