// L0_model_queue, L0_priority, L0_client_timeout and L0_request_cancellation over HTTP, in each state of a request.
import t from 'tap'
import { holdTimers } from '../../support/timers.js'
import { certain } from '../../support/waiting.js'
import { batched, driver, leftovers, type Asked, type Reply, serving, wantedRows } from './rig.js'

const outcomes = (replies: readonly Reply[]): string[] =>
  replies.map(({ status, json }) => `${status} ${json.error ?? 'answered'}`)
const answered = '200 answered'
const expired = '503 Request timeout expired'
const full = '503 [request id: <id_unknown>] Exceeds maximum queue size'
/** Microseconds of a timeout that a test ends. */
const minutes = 777_000_000
/**
 * Limits of the level that requests have unless they say so; those that keep the lanes busy have the other, without
 * limits.
 */
const ofLevel2 = (most: number, policy: string): string =>
  batched(most, `priority_levels: 2 default_priority_level: 2 priority_queue_policy { key: 2 value { ${policy} } }`)
const settled = (asked: readonly Asked[]): Promise<Reply[]> => Promise.all(asked.map(({ reply }) => reply))

await t.test('L0_model_queue', async (t) => {
  await using server = await serving(t)

  await t.test('test_max_queue_size', async (t) => {
    await server.load('size', batched(4, 'default_queue_policy { max_queue_size: 3 }'))
    const [sizes, replies] = await server.held('size', 4, async () => {
      const waiting = await server.queueAll('size', [1, 1, 1])
      const refused = [server.infer('size', 1), server.infer('size', 4)]
      t.same(outcomes(await settled(refused)), [full, full], 'at once')
      return waiting
    })
    t.same([outcomes(replies), sizes], [[answered, answered, answered], { 3: 1 }])
    t.match((await server.stats('size')).inference_stats, { success: { count: 5 }, fail: { count: 2 } })
    t.equal(await server.metric('nv_inference_request_failure', 'size', 'REJECTED'), 2)
  })

  await t.test('test_policy_reject', async (t) => {
    await server.load('reject', ofLevel2(4, 'default_timeout_microseconds: 1000 timeout_action: REJECT'))
    const [, replies] = await server.held('reject', 4, async () => {
      t.same(outcomes(await settled([server.infer('reject', 1), server.infer('reject', 2)])), [expired, expired])
      return []
    })
    t.same(replies, [])
    t.match(await server.stats('reject'), {
      inference_count: 8,
      inference_stats: { success: { count: 2 }, fail: { count: 2 } },
    })
    t.equal(await server.metric('nv_inference_request_failure', 'reject', 'REJECTED'), 2)
  })

  await t.test('test_policy_delay: late ones are answered all the same', async (t) => {
    await server.load('delay', ofLevel2(1, 'default_timeout_microseconds: 1000 timeout_action: DELAY'))
    const [, replies] = await server.held('delay', 1, async () => {
      const all = await server.queueAll('delay', [1, 1, 1])
      await new Promise((resolve) => setTimeout(resolve, 20))
      t.equal(await server.waiting('delay'), 3)
      return all
    })
    t.same(outcomes(replies), [answered, answered, answered])
    t.match((await server.stats('delay')).inference_stats, { success: { count: 5 }, fail: { count: 0 } })
  })

  await t.test('test_timeout_override: a request shortens its wait where it may, and lengthens it never', async (t) => {
    const policy = (timeoutUs: number, mayOverride: boolean): string =>
      ofLevel2(1, `default_timeout_microseconds: ${timeoutUs} allow_timeout_override: ${mayOverride}`)
    const cases: readonly (readonly [policy: string, timeout: number, wanted: string])[] = [
      [policy(60_000_000, true), 1000, expired],
      [policy(60_000_000, false), 1000, answered],
      [policy(1000, true), 60_000_000, expired],
    ]
    for (const [i, [config, timeout, wanted]] of cases.entries()) {
      const model = `override${i}`
      await server.load(model, config)
      const [, replies] = await server.held(model, 1, async () => {
        if (wanted === answered) return [await server.queue(model, 1, { timeout })]
        t.same(outcomes([await server.infer(model, 1, { timeout }).reply]), [expired], 'while the device stands still')
        return []
      })
      t.same(outcomes(replies), wanted === answered ? [answered] : [])
    }
  })

  await t.test('test_priority_levels, test_max_priority_levels: by level, and in their order within one', async (t) => {
    for (const [levels, usual] of [
      [3, 2],
      [100, 50],
    ] as const) {
      const name = `levels${levels}`
      await server.load(name, batched(1, `priority_levels: ${levels} default_priority_level: ${usual}`))
      const order = [levels, 0, 1, usual, 1, levels, levels + 7]
      const [, replies] = await server.held(name, 1, async () => {
        const all: Asked[] = []
        for (const [i, priority] of order.entries())
          all.push(await server.queue(name, 1, { priority, mark: `${name}x${i}`, first: i }))
        return all
      })
      for (const [i, { json }] of replies.entries()) t.same(json.outputs[0].data, wantedRows(1, i))
      const answers = server.answered().filter((mark) => mark.startsWith(`${name}x`))
      const wanted = [2, 4, 1, 3, 6, 0, 5] // a level that is not there is the default one
      const places = wanted.map((i) => answers.indexOf(`${name}x${i}`))
      t.equal(answers.length, order.length)
      t.ok(
        places.every((place, i) => Math.abs(place - i) <= 1),
        `the two slots of a lane may end in either order: ${answers.join(' ')}`,
      )
    }
  })

  await t.test('test_priority_with_policy: each level by its own', async (t) => {
    const policies = `priority_queue_policy { key: 1 value { max_queue_size: 1 } }
      priority_queue_policy { key: 2 value { default_timeout_microseconds: 1000 timeout_action: REJECT } }`
    await server.load('policies', batched(4, `priority_levels: 3 default_priority_level: 3 ${policies}`))
    const [sizes, replies] = await server.held('policies', 4, async () => {
      const waiting = [
        await server.queue('policies', 1, { priority: 1 }),
        await server.queue('policies', 1, { priority: 3 }),
      ]
      const others = [server.infer('policies', 1, { priority: 1 }), server.infer('policies', 1, { priority: 2 })]
      t.same(outcomes(await settled(others)), [full, expired])
      return [...waiting, await server.queue('policies', 1, { priority: 3 })]
    })
    t.same([outcomes(replies), sizes], [[answered, answered, answered], { 3: 1 }], 'levels merge')
    t.match((await server.stats('policies')).inference_stats, { success: { count: 5 }, fail: { count: 2 } })
  })
})

await t.test('L0_client_timeout: the parameter timeout, without a policy', async (t) => {
  await using server = await serving(t)
  await server.load('m', batched(4, ''))

  await t.test('while it waits', async (t) => {
    await server.held('m', 4, async () => {
      t.same(outcomes([await server.infer('m', 1, { timeout: 1000 }).reply]), [expired])
      t.equal(await server.waiting('m'), 0)
      return []
    })
  })

  await t.test('while it runs alone', async (t) => {
    driver.set({ computeMs: 1, clock: 'manual' })
    using timers = holdTimers(minutes / 1000)
    const asked = await server.taken('m', 4, { timeout: minutes })
    timers.end()
    t.same(outcomes([await asked.reply]), [expired], 'though the device stands still')
    driver.set({ computeMs: 0, clock: 'real' })
    t.same(outcomes([await server.infer('m', 1).reply]), [answered])
  })

  await t.test('while it runs with others, who are answered', async (t) => {
    await server.load('both', batched(2, 'max_queue_delay_microseconds: 60000000'))
    driver.set({ computeMs: 1, clock: 'manual' })
    const other = await server.queue('both', 1, { first: 5 })
    const { enqueues } = driver.stats()
    using timers = holdTimers(minutes / 1000)
    const asked = server.infer('both', 1, { timeout: minutes })
    await certain(() => driver.stats().enqueues > enqueues)
    timers.end()
    t.same(outcomes([await asked.reply]), [expired])
    driver.set({ computeMs: 0, clock: 'real' })
    t.same((await other.reply).json.outputs[0].data, wantedRows(1, 5))
    t.same(await server.sizes('both'), { 2: 1 })
  })
})

await t.test('L0_request_cancellation: a client that leaves', async (t) => {
  await using server = await serving(t)
  await server.load('m', batched(4, ''))
  let gone = 0
  /** So many more have left, and the server knows. */
  const left = (count: number): Promise<void> => server.untilLog('request', 499, (gone += count))
  const canceled = async (model: string, count: number): Promise<void> => {
    for (let tries = 0; (await server.metric('nv_inference_request_failure', model, 'CANCELED')) !== count; tries++)
      if (tries > 20_000) throw new Error(`it did not come to be that ${count} were cancelled`)
  }

  await t.test('test_dynamic_batch_scheduler_request_cancellation: while it waits', async (t) => {
    const [sizes, replies] = await server.held('m', 4, async () => {
      const [first, leaves, last] = await server.queueAll('m', [1, 1, 1])
      leaves?.leave()
      await left(1)
      await server.untilWaiting('m', 2)
      await canceled('m', 1)
      return [first, last].filter((each) => each !== undefined)
    })
    t.same([outcomes(replies), sizes], [[answered, answered], { 2: 1 }])
  })

  await t.test('while it runs alone', async (t) => {
    driver.set({ computeMs: 1, clock: 'manual' })
    const asked = await server.taken('m', 4)
    asked.leave()
    await left(1)
    driver.set({ computeMs: 0, clock: 'real' })
    await canceled('m', 2)
    t.same(outcomes([await server.infer('m', 1).reply]), [answered])
  })

  await t.test('while it runs with others, who are answered', async (t) => {
    await server.load('both', batched(2, 'max_queue_delay_microseconds: 60000000'))
    driver.set({ computeMs: 1, clock: 'manual' })
    const leaves = await server.queue('both', 1)
    const { enqueues } = driver.stats()
    const other = server.infer('both', 1, { first: 9 })
    await certain(() => driver.stats().enqueues > enqueues)
    leaves.leave()
    await left(1)
    driver.set({ computeMs: 0, clock: 'real' })
    t.same((await other.reply).json.outputs[0].data, wantedRows(1, 9))
    await canceled('both', 1)
    t.match(await server.stats('both'), {
      execution_count: 1,
      inference_stats: { success: { count: 1 }, fail: { count: 1 } },
    })
  })

  await t.test('all of a batch', async (t) => {
    driver.set({ computeMs: 1, clock: 'manual' })
    const [first, second] = [await server.queue('both', 1), server.infer('both', 1)]
    await certain(() => driver.stats().pending > 0)
    first.leave()
    second.leave()
    await left(2)
    driver.set({ computeMs: 0, clock: 'real' })
    await canceled('both', 3)
    t.equal((await server.stats('both')).inference_stats.success.count, 1)
  })

  t.same(await server.server.drain(), { left: 0 }, 'nobody is left')
})
t.same(leftovers(), {})
