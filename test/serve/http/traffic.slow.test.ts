// Random traffic over several connections: each answer has the values that it has to have, and afterwards all sums are
// those of what was sent.
import t, { type Test } from 'tap'
import type { Statistics } from '../../../lib/serve/public-types.js'
import { expand } from '../../support/models.js'
import { Random } from '../../support/random.js'
import { size } from '../../support/tiers.js'
import { certain } from '../../support/waiting.js'
import { plus } from '../models/cycles.js'
import { repository } from '../models/folders.js'
import { Client, hasValues, type Planned, planned } from './real/traffic.js'
import { handles, idle, type RealServer, startReal } from './real/server.js'
import { errorOf, get, jsonOf, type Reply } from './rig.js'

const added = 3
const sum = `max_batch_size: 8 instance_group { kind: KIND_CPU count: 1 }
  dynamic_batching { max_queue_delay_microseconds: 1000 preferred_batch_size: 4 default_queue_policy { max_queue_size: 2 allow_timeout_override: true } }`
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

type Model = Planned['model']

class Traffic {
  readonly seen: Readonly<Record<Model, Seen>> = { sum: nothing(), spread: nothing() }
  readonly wrong: string[] = []
  #left: number

  constructor(count: number) {
    this.#left = count
  }

  /** One request after the other, until all have sent so many. */
  async connection(port: number, random: Random): Promise<void> {
    using client = new Client(port)
    while (this.#left > 0 && this.wrong.length < 20) {
      this.#left--
      const plan = planned(random, added)
      if (plan.kind !== 'cancelled') this.#take(plan, await client.ask(plan))
      else {
        this.seen[plan.model].left++
        await client.leave(plan, random.below(3))
      }
    }
  }

  #take({ kind, model, rows, expected }: Planned, reply: Reply): void {
    const of = this.seen[model]
    const text = reply.status === 200 ? '' : errorOf(reply)
    if (reply.status === 200 && (kind === 'good' || kind === 'timeout')) {
      of.good++
      of.rows += rows
      if (!hasValues(reply, expected)) this.wrong.push(`${model}: ${reply.body.toString('latin1').slice(0, 200)}`)
    } else if (reply.status === 400 && kind === 'wrong') of.refused++
    else if (reply.status === 500 && kind === 'failing') of.failed++
    else if (reply.status === 503 && text.endsWith('Exceeds maximum queue size')) of.full++
    else if (reply.status === 503 && text === 'Request timeout expired' && kind === 'timeout') of.late++
    else this.wrong.push(`${model}: ${reply.status} ${text} to a ${kind} request`)
  }
}

/** Until the engine has counted what reached it: what ran for who has left counts when its batch has ended. */
async function allCounted({ models, records }: RealServer, model: Model): Promise<void> {
  const reached = records.filter((record) => record.model === model && record.reachedModel).length
  await certain(() => {
    const { requests, failures } = models.snapshot.find(model).counters()
    return Object.values(failures).reduce((sum: number, count: number) => sum + count, requests) === reached
  })
}

/** What the front-end, the engine, `/stats` and the metrics count is what clients saw. */
async function checkSums(t: Test, server: RealServer, model: Model, of: Seen): Promise<void> {
  const { requests, rows, failures } = server.models.snapshot.find(model).counters()
  t.comment(`${model}: ${JSON.stringify(of)}, ${JSON.stringify(failures)}`)
  const records = server.records.filter((record) => record.model === model)
  const answered = (status: number): number => records.filter((record) => record.status === status).length
  t.equal(
    records.length,
    of.good + of.refused + of.failed + of.full + of.late + of.left,
    `${model}: a record of each request`,
  )
  t.same([answered(400), answered(500)], [of.refused, of.failed])
  // those who left may have been answered before, or found the queue full
  const early = { good: answered(200) - of.good, full: answered(503) - of.full - of.late }
  const left = answered(499)
  t.equal(early.good + early.full + left, of.left)

  const reached = records.filter(({ status, reachedModel }) => status === 499 && reachedModel).length
  // of those who left, and of those whose time passed, the result was there, and went nowhere
  const finished = requests - answered(200)
  t.ok(finished >= 0 && finished <= reached + of.late, `${finished} of ${reached} and ${of.late}`)
  t.equal(rows, of.rows + early.good + finished, 'rows')
  const cancelled = failures.cancelledWaiting + failures.cancelledRunning
  t.same([failures.failed, failures.rejected], [of.failed, of.full + early.full])
  t.equal(failures.queueTimeout + cancelled, of.late + reached - finished)

  const failed = failures.failed + failures.rejected + failures.queueTimeout + cancelled
  const refused = of.refused + left - reached
  t.equal(requests + failed + refused, records.length, 'each request is counted once')
  t.same(await shownBy(server, model), {
    success: requests,
    failed,
    rows,
    metrics: [requests, failures.rejected + failures.queueTimeout, cancelled, failures.failed, refused, rows],
  })
}

async function shownBy(server: RealServer, model: Model): Promise<unknown> {
  const { model_stats } = jsonOf(await get(server.port, `/v2/models/${model}/stats`)) as Statistics
  const [stats] = model_stats
  const lines = (await server.metrics()).split('\n')
  const metric = (name: string, more = ''): number => {
    const start = `nv_inference_${name}{model="${model}",version="1"${more}} `
    return Number(lines.find((line) => line.startsWith(start))?.slice(start.length))
  }
  const reasons = ['REJECTED', 'CANCELED', 'BACKEND', 'OTHER'].map((reason) =>
    metric('request_failure', `,reason="${reason}"`),
  )
  return {
    success: stats?.inference_stats.success.count,
    failed: stats?.inference_stats.fail.count,
    rows: stats?.inference_count,
    metrics: [metric('request_success'), ...reasons, metric('count')],
  }
}

await t.test('random requests over twelve connections', async (t) => {
  const before = handles()
  {
    await using server = await startReal(repository(t, files), {}, { limits: { jsonWorkerBytes: 400 } })
    const count = size(1800, 100_000)
    const traffic = new Traffic(count)
    await Promise.all(Array.from({ length: 12 }, (_, i) => traffic.connection(server.port, new Random(260 + i))))
    t.same(traffic.wrong, [])
    await certain(() => server.records.length === count)
    await idle(server)
    for (const model of ['sum', 'spread'] as const) {
      await allCounted(server, model)
      await checkSums(t, server, model, traffic.seen[model])
      for (const kind of ['good', 'refused', 'late', 'left'] as const)
        t.ok(traffic.seen[model][kind] > 0, `${model}: some are ${kind}`)
    }
    t.ok(traffic.seen.sum.full > 0 && traffic.seen.spread.failed > 0)
  }
  await certain(() => JSON.stringify(handles()) === JSON.stringify(before))
})
