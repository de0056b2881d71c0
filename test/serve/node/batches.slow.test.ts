// Which requests leave together, and which wait: the queue by itself, and with threads.
import t from 'tap'
import { Cut } from '../../../lib/base/cancellation.js'
import { Fault } from '../../../lib/serve/faults.js'
import type { NodeModel } from '../../../lib/serve/node/node-model.js'
import { BatchQueue, type Merging, type Next, type Queued } from '../../../lib/serve/node/queue.js'
import type { ServableRequest } from '../../../lib/serve/models/servable.js'
import { certain } from '../../support/waiting.js'
import { floats } from '../models/folders.js'
import { ask, faultOf, load, noThreadLeft, texts } from './rig.js'

const queueOf = (merging: Merging | undefined, rows: readonly number[]): BatchQueue<Queued> => {
  const queue = new BatchQueue(merging)
  for (const [i, count] of rows.entries()) queue.push({ rows: count, arrived: BigInt(i) * 1_000_000n })
  return queue
}

/** Rows of the batches that leave one after the other, so many milliseconds after the first request came. */
const leaving = (merging: Merging | undefined, rows: readonly number[], milliseconds = 0): unknown[] => {
  const queue = queueOf(merging, rows)
  const left: unknown[] = []
  for (;;) {
    const next: Next<Queued> = queue.next(BigInt(milliseconds) * 1_000_000n)
    if (next === undefined) return left
    if ('waitMs' in next) return [...left, `in ${next.waitMs} ms`]
    left.push(next.batch.map((each) => each.rows))
  }
}

t.test('what leaves when', (t) => {
  t.same(leaving(undefined, [1, 1]), [[1], [1]], 'each by itself')
  t.same(leaving({ maxBatch: 4 }, [1, 2, 1, 3, 1]), [
    [1, 2, 1],
    [3, 1],
  ])
  t.same(leaving({ maxBatch: 4 }, [2, 3, 2]), [[2], [3], [2]], 'none overtakes')
  t.same(leaving({ maxBatch: 4, maxDelayMs: 10 }, [1, 2]), ['in 10 ms'])
  t.same(leaving({ maxBatch: 4, maxDelayMs: 10 }, [1, 2], 4), ['in 6 ms'])
  t.same(leaving({ maxBatch: 4, maxDelayMs: 10 }, [1, 2], 10), [[1, 2]])
  t.same(leaving({ maxBatch: 4, maxDelayMs: 10 }, [1, 2, 1]), [[1, 2, 1]], 'it is full')
  t.same(leaving({ maxBatch: 4, maxDelayMs: 10 }, [3, 2]), [[3], 'in 11 ms'], 'the next one does not fit')
  t.same(leaving({ maxBatch: 8, maxDelayMs: 10, preferred: [2, 4] }, [1, 1, 1]), [[1, 1], 'in 12 ms'])
  t.same(leaving({ maxBatch: 8, maxDelayMs: 10, preferred: [2, 4] }, [1, 1, 1, 1, 1]), [[1, 1, 1, 1], 'in 14 ms'])
  t.same(leaving({ maxBatch: 8, maxDelayMs: 10, preferred: [4] }, [1, 1, 1], 30), [[1, 1, 1]])
  t.end()
})

t.test('what is late waits behind all others', (t) => {
  const queue = queueOf({ maxBatch: 3 }, [])
  const [first, second, third] = [1, 2, 1].map((rows) => ({ rows, arrived: 0n }))
  for (const one of [first!, second!]) queue.push(one)
  queue.delay(first!)
  queue.push(third!)
  t.equal(queue.length, 3)
  t.same(queue.next(0n), { batch: [second, third] })
  t.ok(queue.remove(first!))
  t.notOk(queue.remove(first!))
  t.equal(queue.next(0n), undefined)
  t.end()
})

/** `hold` waits until it is cut, and all tell how many requests they were, and in which instance. */
const code = `
  let number
  export default {
    load({ instance }) { number = instance },
    async execute(requests, { signal }) {
      if (requests[0].parameters.hold) await new Promise((resolve) => requests[0].signal.addEventListener('abort', resolve))
      return requests.map((request) => {
        const y = request.output('y', request.inputs.x.shape)
        y.data.set([requests.length, number, request.inputs.x.data[0]])
        return { y }
      })
    },
  }`

/** How many were together, in which instance, and the request's own number. */
const told = async (
  model: NodeModel,
  number: number,
  more: Partial<ServableRequest> = {},
  cut = new Cut(),
): Promise<unknown> => (await ask(model, [number, 0, 0, 0], more, cut)).map((y) => floats(y).slice(0, 3))[0]

/** A request that an instance is at work with until the result is called. */
async function held(model: NodeModel): Promise<() => Promise<void>> {
  const cut = new Cut()
  const before = model.inFlight
  const holding = faultOf(ask(model, [1, 2, 3, 4], { parameters: { hold: true } }, cut))
  await certain(() => model.inFlight === before + 1 && model.pending === 0)
  return async () => {
    const { runs } = model
    cut.happen(new Fault('CANCELLED', 'over'))
    await holding
    await certain(() => model.runs < runs)
  }
}

t.test('what waits for a thread is a batch, without what was cut', async (t) => {
  const { model } = await load(t, { code, config: 'max_batch_size: 3' })
  const release = await held(model)
  const cut = new Cut()
  const gone = faultOf(told(model, 9, {}, cut))
  const waiting = [1, 2, 3, 4].map((number) => told(model, number))
  await certain(() => model.pending === 5)
  cut.happen(new Fault('CANCELLED', 'the client left'))
  t.same(await gone, ['CANCELLED', 'the client left'])
  t.equal(model.pending, 4)
  await release()
  t.same(await Promise.all(waiting), [[3, 0, 1], [3, 0, 2], [3, 0, 3], [1, 0, 4]]) // prettier-ignore
  const { batchSizes, failures, executions, rows } = model.counters()
  t.same([executions, rows, failures.cancelledWaiting, failures.cancelledRunning], [2, 4, 1, 1])
  t.same(
    batchSizes.map((size) => [size.rows, size.executions, size.requests]),
    [
      [1, 1, 1],
      [3, 1, 3],
    ],
  )
})

t.test('without batches each comes alone, to whichever instance has nothing to do', async (t) => {
  const { model } = await load(t, { code, config: 'instance_group [ { count: 2 } ]' })
  const releases = [await held(model), await held(model)]
  const waiting = [1, 2].map((number) => told(model, number))
  await certain(() => model.pending === 2)
  await releases[1]?.()
  t.same(await Promise.all(waiting), [[1, 1, 1], [1, 1, 2]]) // prettier-ignore
  await releases[0]?.()
  t.same(await Promise.all([told(model, 1), told(model, 2)]), [[1, 0, 1], [1, 1, 2]]) // prettier-ignore
})

t.test(
  'concurrency: so many calls of execute are under way in an instance, and the next waits for one of them',
  async (t) => {
    const several = code.replace('export default {', 'export default { concurrency: 2,')
    const { model } = await load(t, { code: several, config: 'max_batch_size: 3' })
    const release = await held(model)
    t.same(await told(model, 1), [1, 0, 1], 'beside one that has not ended')
    const other = await held(model)
    const waiting = [2, 3].map((number) => told(model, number))
    await certain(() => model.pending === 2)
    await release()
    t.same(await Promise.all(waiting), [[2, 0, 2], [2, 0, 3]]) // prettier-ignore
    await other()
    t.match(model.counters(), { executions: 2, rows: 3, failures: { cancelledRunning: 2 } })
  },
)

t.test('concurrency: two instances share the work evenly', async (t) => {
  const several = code.replace('export default {', 'export default { concurrency: 2,')
  const { model } = await load(t, { code: several, config: 'instance_group [ { count: 2 } ]' })
  const releases = [await held(model), await held(model)]
  t.equal(model.busy, 2)
  t.same([await told(model, 1), await told(model, 2)].length, 2)
  for (const release of releases) await release()
})

t.test('a queue has the length and the patience that its policy gives it', async (t) => {
  const policy = 'default_queue_policy { max_queue_size: 2 default_timeout_microseconds: 1000 }'
  const { model } = await load(t, { code, config: `max_batch_size: 2 dynamic_batching { ${policy} }` })
  const release = await held(model)
  const waiting = [1, 2].map((number) => faultOf(told(model, number)))
  t.same(await faultOf(told(model, 3, { id: '3' })), ['UNAVAILABLE', '[request id: 3] Exceeds maximum queue size'])
  t.same(await Promise.all(waiting), [
    ['UNAVAILABLE', 'Request timeout expired'],
    ['UNAVAILABLE', 'Request timeout expired'],
  ])
  await release()
  const { rejected, queueTimeout } = model.counters().failures
  t.same([rejected, queueTimeout, model.pending], [1, 2, 0])
  t.same(await told(model, 5), [1, 0, 5], 'it goes on')
})

t.test('a request may shorten its wait where nothing forbids it, and DELAY lets it wait on', async (t) => {
  const free = (await load(t, { code })).model
  const releaseFree = await held(free)
  t.same(await faultOf(told(free, 1, { timeoutUs: 1000 })), ['UNAVAILABLE', 'Request timeout expired'])
  await releaseFree()
  const policy = 'default_queue_policy { timeout_action: DELAY default_timeout_microseconds: 1000 }'
  const { model } = await load(t, { code, config: `max_batch_size: 1 dynamic_batching { ${policy} }` })
  const release = await held(model)
  const late = told(model, 1)
  await new Promise((resolve) => setTimeout(resolve, 30))
  t.equal(model.pending, 1, 'it waits on')
  await release()
  t.same(await late, [1, 0, 1])
  t.equal(model.counters().failures.queueTimeout, 0)
})

t.test('requests of one turn of the event loop leave together', async (t) => {
  const { model } = await load(t, { code, config: 'max_batch_size: 8' })
  t.same(await Promise.all([1, 2, 3].map((number) => told(model, number))), [
    [3, 0, 1],
    [3, 0, 2],
    [3, 0, 3],
  ])
})

t.test('model_warmup runs in each instance, and does not count', async (t) => {
  const config = `max_batch_size: 2 instance_group [ { count: 2 } ]
    model_warmup [ { name: "w" batch_size: 2 count: 2 inputs { key: "x" value { data_type: TYPE_FP32 dims: [ 4 ] zero_data: true } } } ]`
  const speaking = `export default { execute: (requests) => requests.map(({ inputs: { x } }) => (console.log(x.shape.join()), { y: x })) }`
  const { model, output } = await load(t, { code: speaking, config })
  await certain(() => output.length === 4)
  t.same(output, Array(4).fill('stdout: 2,4'))
  t.same([model.counters().executions, model.lastInference], [0, 0])
  const words = `max_batch_size: 2 input [ { name: "words" data_type: TYPE_STRING dims: [ 2 ] } ] output [ { name: "y" data_type: TYPE_STRING dims: [ 2 ] } ]`
  const warmUp = (how: string): string =>
    `model_warmup [ { name: "w" batch_size: 2 inputs { key: "words" value { data_type: TYPE_STRING dims: [ 2 ] ${how} } } } ]`
  const told = `export default { execute: (requests) => requests.map(({ inputs: { words } }) => (console.log(words.map((word) => Buffer.from(word)).join()), { y: words })) }`
  for (const [how, wanted] of [
    ['zero_data: true', ',,,'],
    ['input_data_file: "words"', 'one,two,one,two'],
  ] as const) {
    const more = { 'm/warmup/words': texts('words', ['one', 'two']).bytes }
    t.same((await load(t, { code: told, config: `${words} ${warmUp(how)}`, more })).output, [`stdout: ${wanted}`])
  }
  const failing = load(t, { code: 'export default { execute() { throw new Error("cold") } }', config })
  t.same((await faultOf(failing))[1], "failed to run warmup sample 'w': execute() of model 'm' failed: cold")
})

t.test('no thread is left', async (t) => {
  t.ok(await noThreadLeft())
})
