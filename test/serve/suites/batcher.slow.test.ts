// L0_batcher over HTTP: exact sizes of batches, by `batch_stats`. Requests come one after the other while the device
// stands still, and leave when it goes on; a delay of a minute says that a batch leaves for its size alone.
import t from 'tap'
import { range } from '../../support/values.js'
import { certain } from '../../support/waiting.js'
import { type Asked, batched, driver, leftovers, type Reply, serving, type Spec, wantedRows } from './rig.js'

/** Of the device, in milliseconds: longer than what a test lets go by. */
const long = 1_000_000
const minute = 'max_queue_delay_microseconds: 60000000'
const moment = 'max_queue_delay_microseconds: 1000'
const preferred = 'preferred_batch_size: [ 2, 6 ]'
const statuses = (replies: readonly Reply[]): number[] => replies.map(({ status }) => status)
const ones = (count: number): number[] => new Array<number>(count).fill(1)

await t.test('L0_batcher', async (t) => {
  await using server = await serving(t)

  await t.test('test_static_batch_preferred: each leaves at once', async (t) => {
    await server.load('preferred', batched(8, `${preferred} ${minute}`))
    t.same(statuses(await server.inferAll('preferred', [2, 6])), [200, 200])
    t.same(await server.sizes('preferred'), { 2: 1, 6: 1 })
  })

  await t.test('test_static_batch_lt_any_preferred, test_static_batch_not_preferred: after the delay', async (t) => {
    await server.load('other', batched(8, `${preferred} ${moment}`))
    t.same(statuses(await server.inferAll('other', [1, 3])), [200, 200])
    t.same(await server.sizes('other'), { 1: 1, 3: 1 })
  })

  // beyond the largest preferred size Triton's batches leave at once, ours after the delay, since more may come up to
  // max_batch_size
  await t.test('test_static_batch_gt_max_preferred: after the delay', async (t) => {
    await server.load('more', batched(8, `${preferred} ${moment}`))
    t.same(statuses(await server.inferAll('more', [7])), [200])
    t.same(await server.sizes('more'), { 7: 1 })
  })

  await t.test('test_multi_batch_not_preferred: waits for what makes it a preferred one', async (t) => {
    await server.load('waits', batched(8, `${preferred} ${minute}`))
    const first = await server.queueAll('waits', [1, 3])
    const replies = await Promise.all([...first, server.infer('waits', 2)].map(({ reply }) => reply))
    t.same(statuses(replies), [200, 200, 200])
    t.same(await server.sizes('waits'), { 6: 1 })
  })

  await t.test('test_multi_batch_gt_max_preferred: what does not fit with the first leaves it alone', async (t) => {
    await server.load('beyond', batched(8, `${preferred} ${moment}`))
    const [sizes, replies] = await server.held('beyond', 8, () => server.queueAll('beyond', [3, 7]))
    t.same([statuses(replies), sizes], [[200, 200], { 3: 1, 7: 1 }])
  })

  await t.test('test_multi_batch_sum_gt_max_preferred', async (t) => {
    await server.load('sum', batched(8, `${preferred} ${moment}`))
    const [sizes, replies] = await server.held('sum', 8, () => server.queueAll('sum', [3, 4]))
    t.same([statuses(replies), sizes], [[200, 200], { 7: 1 }])
  })

  await t.test('test_multi_batch_use_biggest_preferred', async (t) => {
    await server.load('biggest', batched(8, `${preferred} ${minute}`))
    const [sizes, replies] = await server.held('biggest', 8, () => server.queueAll('biggest', ones(6)))
    t.same([statuses(replies), sizes], [new Array(6).fill(200), { 6: 1 }])
  })

  await t.test('test_multi_batch_use_best_preferred: the rest waits for more', async (t) => {
    await server.load('best', batched(8, `${preferred} ${minute}`))
    let rest: readonly Asked[] = []
    const [sizes] = await server.held('best', 8, async () => {
      const all = await server.queueAll('best', ones(3))
      rest = all.slice(2)
      return all.slice(0, 2)
    })
    t.same([sizes, await server.waiting('best')], [{ 2: 1 }, 1])
    const replies = await Promise.all([...rest, server.infer('best', 1)].map(({ reply }) => reply))
    t.same(statuses(replies), [200, 200])
    t.same(await server.sizes('best'), { 2: 2, 8: 2 })
  })

  await t.test('test_preferred_batch_only: aligned, unaligned, biggest, none', async (t) => {
    const cases: readonly (readonly [sent: number[], sizes: object])[] = [
      [ones(4), { 4: 1 }],
      [ones(5), { 4: 1, 1: 1 }],
      [ones(7), { 6: 1, 1: 1 }],
      [ones(3), { 3: 1 }],
      [[1, 2, 1, 2, 2], { 6: 1, 2: 1 }],
    ]
    for (const [i, [sent, wanted]] of cases.entries()) {
      await server.load(`only${i}`, batched(8, 'preferred_batch_size: [ 4, 6 ]'))
      const [sizes, replies] = await server.held(`only${i}`, 8, () => server.queueAll(`only${i}`, sent))
      t.same([statuses(replies), sizes], [sent.map(() => 200), wanted], JSON.stringify(sent))
    }
  })

  await t.test('test_max_queue_delay_only, test_multi_batch_delayed_use_max_batch: up to max_batch_size', async (t) => {
    await server.load('delay', batched(8, moment))
    const [sizes, replies] = await server.held('delay', 8, () => server.queueAll('delay', ones(12)))
    t.same([statuses(replies), sizes], [new Array(12).fill(200), { 8: 1, 4: 1 }])
  })

  await t.test('server#8141: no batch of the largest preferred size and one', async (t) => {
    await server.load('exact', batched(8, `preferred_batch_size: [ 4 ] ${minute}`))
    const [sizes] = await server.held('exact', 8, () => server.queueAll('exact', ones(8)))
    t.same(sizes, { 4: 2 })
  })

  await t.test('test_multi_batch_different_shape: other sizes do not merge', async (t) => {
    const spec: Spec = {
      inputs: [{ name: 'x', shape: [-1, -1] }],
      outputs: [{ name: 'y', shape: [-1, -1] }],
      ops: [{ type: 'relu', inputs: ['x'], output: 'y' }],
      profiles: [{ dims: { x: range([1, 1], [4, 4], [8, 8]) } }],
    }
    const config = `input { name: "x" data_type: TYPE_FP32 dims: [ -1 ] } output { name: "y" data_type: TYPE_FP32 dims: [ -1 ] }`
    await server.load('shapes', batched(8, moment, config), spec)
    const send = (shape: readonly [number, number]): Asked => {
      const data = new Array<number>(shape[0] * shape[1]).fill(1)
      return server.ask('POST', '/v2/models/shapes/infer', { inputs: [{ name: 'x', datatype: 'FP32', shape, data }] })
    }
    const [sizes, replies] = await server.held('shapes', 8, async () => {
      const all = [send([1, 4]), send([2, 5]), send([1, 4]), send([1, 5])]
      await server.untilWaiting('shapes', 4)
      return all
    })
    t.same([statuses(replies), sizes], [[200, 200, 200, 200], { 2: 1, 3: 1 }])
    t.same(
      replies.map(({ json }) => json.outputs[0].shape),
      [
        [1, 4],
        [2, 5],
        [1, 4],
        [1, 5],
      ],
    )
  })

  await t.test(
    'test_multi_same_output0, test_multi_different_outputs, test_multi_different_output_order',
    async (t) => {
      const spec: Spec = {
        inputs: [{ name: 'x', shape: [-1, 3] }],
        outputs: ['a', 'b'].map((name) => ({ name, shape: [-1, 3] })),
        ops: ['a', 'b'].map((output, i) => ({
          type: 'scale',
          inputs: ['x'],
          output,
          attributes: { scale: i + 2, offset: 0 },
        })),
        profiles: [{ dims: { x: range([1, 3], [4, 3], [8, 3]) } }],
      }
      await server.load('outputs', batched(8, moment), spec)
      const wanted = [['a'], ['b'], ['a', 'b'], ['b', 'a'], undefined]
      const [sizes, replies] = await server.held('outputs', 8, async () => {
        const all = wanted.map((names, i) =>
          server.ask('POST', '/v2/models/outputs/infer', {
            inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 3], data: [i, i, i] }],
            ...(names && { outputs: names.map((name) => ({ name })) }),
          }),
        )
        await server.untilWaiting('outputs', wanted.length)
        return all
      })
      t.same(sizes, { 5: 1 }, 'what is asked for does not keep them apart')
      for (const [i, { json }] of replies.entries())
        for (const { name, data } of json.outputs)
          t.same(
            data,
            [i, i, i].map((value) => value * (name === 'a' ? 2 : 3)),
          )
      t.same(
        replies.map(({ json }) => json.outputs.map(({ name }: { name: string }) => name)),
        [['a'], ['b'], ['a', 'b'], ['a', 'b'], ['a', 'b']],
        'in the order of the configuration',
      )
    },
  )

  await t.test('test_multi_batch_preserve_ordering', async (t) => {
    for (const isKept of [true, false]) {
      const name = isKept ? 'ordered' : 'free'
      const config = `max_batch_size: 8 instance_group { count: 2 } dynamic_batching { preserve_ordering: ${isKept} }`
      await server.load(name, config)
      driver.set({ computeMs: long, clock: 'manual' })
      const send = async (mark: string): Promise<Asked> => {
        const { enqueues } = driver.stats()
        const asked = server.infer(name, 8, { mark })
        await certain(() => driver.stats().enqueues > enqueues)
        return asked
      }
      const all = [await send(`${name}0`)]
      driver.set({ computeMs: 1 })
      for (const i of [1, 2, 3]) all.push(await send(`${name}${i}`)) // one of them may stand behind the first, on its lane
      const answered = (): string[] => server.answered().filter((mark) => mark.startsWith(name))
      // on the other lane a batch begins when the one before it ends: each look lets a millisecond go by on the device
      const looks = (holds: () => boolean): Promise<void> =>
        certain(() => {
          driver.set({ advance: 1 })
          return holds()
        })
      const ended = (): number => server.server.statistics(name).model_stats[0]?.inference_stats.success.count ?? 0
      await looks(() => ended() > 0)
      if (isKept) t.same(answered(), [], 'it is told of behind the first')
      else await looks(() => answered().length > 0)
      driver.set({ advance: 2 * long })
      driver.set({ clock: 'real', computeMs: 0 })
      for (const { json } of await Promise.all(all.map(({ reply }) => reply)))
        t.same(json.outputs[0].data, wantedRows(8))
      t.equal(answered().indexOf(`${name}0`) === 0, isKept, answered().join(' '))
    }
  })

  await t.test('without dynamic_batching each request runs by itself, and its rows are counted', async (t) => {
    await server.load('plain', 'max_batch_size: 8 instance_group { count: 1 }')
    t.same(statuses(await server.inferAll('plain', [4, 1, 4])), [200, 200, 200])
    t.same((await server.stats('plain')).inference_count, 9)
  })
})
t.same(leftovers(), {})
