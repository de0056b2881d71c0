// Random traffic over several connections: each answer has the values that it has to have, and afterwards all sums are those of what was sent.
import t from 'tap'
import type { EngineCounters } from '../../../lib/backend/backend.js'
import type { Statistics } from '../../../lib/serve/public-types.js'
import { expand } from '../../support/models.js'
import { Random } from '../../support/random.js'
import { size } from '../../support/tiers.js'
import { certain } from '../../support/waiting.js'
import { plus } from '../models/cycles.js'
import { repository } from '../models/folders.js'
import { Client, hasValues, planned } from './real/traffic.js'
import { handles, idle, startReal } from './real/server.js'
import { errorOf, get, jsonOf } from './rig.js'

const added = 3
const sum = `max_batch_size: 8 instance_group { kind: KIND_CPU count: 1 }
  dynamic_batching { max_queue_delay_microseconds: 300 preferred_batch_size: 4 default_queue_policy { max_queue_size: 4 allow_timeout_override: true } }`
const files = { 'sum/1/model.onnx': plus(added), 'sum/config.pbtxt': sum, 'spread/1/model.onnx': expand() }

/** By model, what clients saw. */
interface Seen {
  good: number
  /** Rows of those. */
  rows: number
  refused: number
  failed: number
  full: number
  late: number
  left: number
}

const nothing = (): Seen => ({ good: 0, rows: 0, refused: 0, failed: 0, full: 0, late: 0, left: 0 })

await t.test('random requests over twelve connections', async (t) => {
  const before = handles()
  const seen = { sum: nothing(), spread: nothing() }
  const wrong: string[] = []
  {
    await using server = await startReal(repository(t, files), {}, { limits: { jsonWorkerBytes: 400 } })
    const count = size(10_000, 100_000)
    let next = 0
    const connection = async (seed: number): Promise<void> => {
      const random = new Random(seed)
      using client = new Client(server.port)
      while (next < count && wrong.length < 20) {
        next++
        const plan = planned(random, added)
        const of = seen[plan.model]
        if (plan.kind === 'cancelled') {
          of.left++
          await client.leave(plan, random.below(3))
          continue
        }
        const reply = await client.ask(plan)
        const text = reply.status === 200 ? '' : errorOf(reply)
        if (reply.status === 200 && plan.kind !== 'wrong' && plan.kind !== 'failing') {
          of.good++
          of.rows += plan.rows
          if (!hasValues(reply, plan.expected)) wrong.push(`${plan.model}: ${reply.body.toString('latin1').slice(0, 200)}`)
        } else if (reply.status === 400 && plan.kind === 'wrong') of.refused++
        else if (reply.status === 500 && plan.kind === 'failing') of.failed++
        else if (reply.status === 503 && /Exceeds maximum queue size$/.test(text)) of.full++
        else if (reply.status === 503 && text === 'Request timeout expired' && plan.kind === 'timeout') of.late++
        else wrong.push(`${plan.model}: ${reply.status} ${text} to a ${plan.kind} request`)
      }
    }
    await Promise.all(Array.from({ length: 12 }, (_, i) => connection(260 + i)))
    t.same(wrong, [])
    await certain(() => server.records.length === count)
    await idle(server)
    const stats = jsonOf(await get(server.port, '/v2/models/stats')) as Statistics
    const metrics = await server.metrics()
    for (const model of ['sum', 'spread'] as const) {
      const { counters } = server.models.snapshot.find(model)
      const of = seen[model]
      t.comment(`${model}: ${JSON.stringify(of)}, ${JSON.stringify(server.models.snapshot.find(model).counters().failures)}`)
      const records = server.records.filter((record) => record.model === model)
      const left = records.filter(({ status }) => status === 499)
      const answered = (status: number): number => records.filter((record) => record.status === status).length
      t.equal(records.length, of.good + of.refused + of.failed + of.full + of.late + of.left, `${model}: a record of each request`)
      t.same([answered(400), answered(500)], [of.refused, of.failed])
      // those who left may have been answered before, or found the queue full
      const early = { good: answered(200) - of.good, full: answered(503) - of.full - of.late }
      t.equal(early.good + early.full + left.length, of.left)

      const { requests, rows, failures }: EngineCounters = counters.call(server.models.snapshot.find(model))
      const reached = left.filter(({ reachedModel }) => reachedModel).length
      // of those who left, and of those whose time passed, the result was there, and went nowhere
      const finished = requests - answered(200)
      t.ok(finished >= 0 && finished <= reached + of.late, `${finished} of ${reached} and ${of.late}`)
      t.equal(rows, of.rows + early.good + finished, 'rows')
      t.equal(failures.failed, of.failed)
      t.equal(failures.rejected, of.full + early.full)
      t.equal(failures.queueTimeout + failures.cancelledWaiting + failures.cancelledRunning, of.late + reached - finished)

      const shown = stats.model_stats.find(({ name }) => name === model)
      const failed = failures.failed + failures.rejected + failures.queueTimeout + failures.cancelledWaiting + failures.cancelledRunning
      t.same([shown?.inference_stats.success.count, shown?.inference_stats.fail.count, shown?.inference_count], [requests, failed, rows])
      t.equal(requests + failed + of.refused + left.length - reached, records.length, 'each request is counted once')
      const metric = (name: string): number => Number(new RegExp(`^${name.replaceAll(/[{}]/g, '\\$&')} (\\d+)$`, 'm').exec(metrics)?.[1])
      const labels = `model="${model}",version="1"`
      t.equal(metric(`nv_inference_request_success{${labels}}`), requests)
      t.same(
        ['REJECTED', 'CANCELED', 'BACKEND', 'OTHER'].map((reason) => metric(`nv_inference_request_failure{${labels},reason="${reason}"}`)),
        [
          failures.rejected + failures.queueTimeout,
          failures.cancelledWaiting + failures.cancelledRunning,
          failures.failed,
          of.refused + left.length - reached,
        ],
      )
      t.equal(metric(`nv_inference_count{${labels}}`), rows)
      for (const kind of ['good', 'refused', 'late', 'left'] as const) t.ok(of[kind] > 0, `${model}: some are ${kind}`)
    }
    t.ok(seen.sum.full > 0 && seen.spread.failed > 0)
    t.equal(server.opened.length, 2)
  }
  await certain(() => JSON.stringify(handles()) === JSON.stringify(before))
})
