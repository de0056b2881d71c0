// Many streams and many calls on one connection, some of which end as they like.
import t from 'tap'
import { Random } from '../../support/random.js'
import { certain } from '../../support/waiting.js'
import { long } from '../../support/tiers.js'
import { failureOf, floats, nothingLeft, oneInput, startRig, type Stream } from './rig.js'

t.test('a thousand streams on one connection', async (t) => {
  await using rig = await startRig()
  const streams = Array.from({ length: 1000 }, () => rig.client.stream())
  for (const [i, stream] of streams.entries()) stream.send(oneInput('fp32', [i], { id: `${i}` }))
  await certain(() => streams.every(({ messages }) => messages.length === 1))
  for (const [i, stream] of streams.entries()) if (i % 2 === 0) stream.send(oneInput('held', [i], { id: `${i}` }))
  await certain(() => rig.held.waiting.length === 500)
  await certain(() => rig.front.inFlight === 500)
  for (const [i, stream] of streams.entries()) if (i % 4 === 0) stream.call.cancel()
  await certain(() => rig.front.inFlight === 250)
  rig.held.goOn()
  for (const [i, stream] of streams.entries()) if (i % 4 !== 0) stream.call.end()
  await certain(() => streams.every(({ status }) => status !== undefined))
  const wrong = streams.filter(({ messages, status }, i) => {
    const code: number = i % 4 === 0 ? 1 : 0
    const count = i % 4 === 2 ? 2 : 1
    return (
      Number(status?.code) !== code ||
      messages.length !== count ||
      messages.some(({ inferResponse }) => inferResponse?.id !== `${i}`)
    )
  })
  t.equal(wrong.length, 0)
  t.ok(await nothingLeft(rig))
})

t.test('calls and streams that are answered, cancelled, late or wrong: each has what is its own', async (t) => {
  await using rig = await startRig({ compressionLevel: 'low' })
  const random = new Random(2027)
  const { client } = rig
  const streams: Stream[] = [client.stream()]
  const goOn = setInterval(() => rig.held.goOn(), 5)
  t.teardown(() => clearInterval(goOn))
  const one = async (i: number): Promise<string> => {
    const values = Array.from({ length: random.below(3000) }, () => i)
    const kind = random.below(6)
    if (kind === 0)
      return (await failureOf(client.infer(oneInput('nobody', values)))).join() ===
        `NOT_FOUND,Request for unknown model: 'nobody' is not found`
        ? ''
        : 'no fault'
    if (kind === 1) {
      const stream = random.chance(0.2) ? client.stream() : streams.at(-1)!
      if (stream !== streams.at(-1)) streams.push(stream)
      stream.send(oneInput('fp32', values, { id: `${i}` }))
      const mine = () => stream.messages.find(({ inferResponse }) => inferResponse?.id === `${i}`)
      await certain(() => mine() !== undefined || stream.status !== undefined)
      if (mine() === undefined) return '' // somebody else has cancelled the stream
      return floats(...values).equals(mine()?.inferResponse?.rawOutputContents[0] ?? Buffer.from('none'))
        ? ''
        : 'another answer in the stream'
    }
    if (kind === 2) {
      const { call, answer } = client.start(
        '/inference.GRPCInferenceService/ModelInfer',
        new Uint8Array(random.below(100)),
      )
      if (random.chance(0.5)) setImmediate(() => call.cancel())
      const [code] = await failureOf(answer)
      return ['CANCELLED', 'INVALID_ARGUMENT', 'NOT_FOUND'].includes(code) ? '' : code
    }
    if (kind === 3 && random.chance(0.1)) {
      streams.at(-1)!.call.cancel()
      streams.push(client.stream())
    }
    const model = random.chance(0.3) ? 'held' : 'fp32'
    const deadline = random.chance(0.2) ? { deadlineMs: 1 + random.below(20) } : {}
    try {
      const answer = await client.infer(oneInput(model, values, { id: `${i}` }), deadline)
      return answer.id === `${i}` && Buffer.from(answer.rawOutputContents[0] ?? []).equals(floats(...values))
        ? ''
        : 'another answer'
    } catch (error) {
      return 'deadlineMs' in deadline && (error as { code: number }).code === 4 ? '' : String(error)
    }
  }
  const count = long ? 20_000 : 1500
  const wrong: string[] = []
  let next = 0
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      while (next < count && wrong.length < 10) {
        const found = await one(next++)
        if (found !== '') wrong.push(found)
      }
    }),
  )
  t.strictSame(wrong, [])
  for (const stream of streams) stream.call.cancel()
  t.ok(await nothingLeft(rig))
})
