// L0_server_status and L0_metrics over HTTP: after random requests, with failures and clients that leave among them,
// the counters are the traffic.
import t from 'tap'
import { expand, identity } from '../../support/models.js'
import { Random } from '../../support/random.js'
import { size } from '../../support/tiers.js'
import { certain } from '../../support/waiting.js'
import { type Asked, type Serving, serving } from './rig.js'

const requests = size(5000, 50_000)
const together = 32
/** Requests whose clients leave while they wait. */
const leaving = 5
const random = new Random(20_261_126)

/** What was sent, by model and status; rows of those that were answered. */
class Traffic {
  readonly statuses: Record<string, Record<number, number>> = {}
  readonly rows: Record<string, number> = {}

  took(model: string, status: number, rows: number): void {
    const of = (this.statuses[model] ??= {})
    of[status] = (of[status] ?? 0) + 1
    if (status === 200) this.rows[model] = (this.rows[model] ?? 0) + rows
  }

  count(model: string, status: number): number {
    return this.statuses[model]?.[status] ?? 0
  }
}

const identities = (name: string, rows: number, columns = 4): { readonly path: string; readonly body: unknown } => ({
  path: `/v2/models/${name}/infer`,
  body: {
    inputs: [{ name: 'x', datatype: 'FP32', shape: [rows, columns], data: new Array<number>(rows * columns).fill(1) }],
  },
})

/** Its sizes do not go together with its other input: it fails while it runs, or is answered. */
const expands = (sizes: number): { readonly path: string; readonly body: unknown } => ({
  path: '/v2/models/fails/infer',
  body: {
    inputs: [
      { name: 'x', datatype: 'FP32', shape: [3], data: [1, 2, 3] },
      { name: 's', datatype: 'INT64', shape: [1], data: [sizes] },
    ],
  },
})

async function one(server: Serving, traffic: Traffic): Promise<void> {
  const model = random.pick(['merged', 'plain', 'small', 'fails', 'leaves'])
  const rows = 1 + random.below(9) // nine are too many
  const columns = random.chance(0.1) ? 3 : 4
  const { path, body } = model === 'fails' ? expands(random.chance(0.5) ? 2 : 3) : identities(model, rows, columns)
  const asked = server.ask('POST', path, body)
  if (model === 'leaves' && random.chance(0.5)) return leaveSometime(asked)
  const { status } = await asked.reply
  traffic.took(model, status, rows)
}

async function leaveSometime(asked: Asked): Promise<void> {
  for (let turns = random.below(6); turns > 0; turns--) await new Promise((resolve) => setImmediate(resolve))
  asked.leave()
}

/** Whether who leaves sometime was still in the queue depends on how busy the machine is; this one is. */
async function leaveWaiting(server: Serving): Promise<void> {
  const { path, body } = identities('waits', 1)
  const asked = server.ask('POST', path, body)
  await server.untilWaiting('waits', 1)
  asked.leave()
  await server.untilWaiting('waits', 0)
}

async function send(server: Serving, traffic: Traffic): Promise<void> {
  let left = requests
  const client = async (): Promise<void> => {
    while (left-- > 0) await one(server, traffic)
  }
  await Promise.all(Array.from({ length: together }, client))
}

await t.test('counters are the traffic', async (t) => {
  await using server = await serving(t, { engine: { backend: 'cpu' } })
  const rows = identity('float32', ['N', 4])
  const tensors = 'input { name: "x" data_type: TYPE_FP32 dims: 4 } output { name: "y" data_type: TYPE_FP32 dims: 4 }'
  const config = (more: string): string =>
    `max_batch_size: 8 instance_group { kind: KIND_CPU count: 1 } ${tensors} ${more}`
  const files = (more: string): { readonly 'config.pbtxt': string; readonly '1/model.onnx': Uint8Array } => ({
    'config.pbtxt': config(more),
    '1/model.onnx': rows,
  })
  await server.loadFiles('merged', files('dynamic_batching { }'))
  await server.loadFiles('plain', files('metric_tags { key: "a" value: "b" }'))
  await server.loadFiles('small', files('dynamic_batching { default_queue_policy { max_queue_size: 1 } }'))
  await server.loadFiles('leaves', files('dynamic_batching { }'))
  await server.loadFiles(
    'waits',
    files('dynamic_batching { preferred_batch_size: 8 max_queue_delay_microseconds: 60000000 }'),
  )
  await server.loadFiles('fails', { '1/model.onnx': expand() })
  const traffic = new Traffic()
  await send(server, traffic)
  for (let i = 0; i < leaving; i++) await leaveWaiting(server)

  for (const model of ['merged', 'plain', 'small', 'fails']) {
    const stats = await server.stats(model)
    const { success, fail, queue, compute_infer: compute } = stats.inference_stats
    const ok = traffic.count(model, 200)
    t.ok(ok > 0)
    t.equal(success.count, ok, `${model}: answered`)
    t.same([queue.count, compute.count], [ok, ok])
    t.equal(
      fail.count,
      traffic.count(model, 503) + traffic.count(model, 500),
      `${model}: failed in the queue, or while it ran`,
    )
    t.equal(stats.inference_count, model === 'fails' ? ok : traffic.rows[model], `${model}: rows`)
    const sizes: readonly { readonly batch_size: number; readonly compute_infer: { readonly count: number } }[] =
      stats.batch_stats
    const sum = (of: (rows: number, count: number) => number): number =>
      sizes.reduce((all, { batch_size: rows, compute_infer: { count } }) => all + of(rows, count), 0)
    t.same(
      [sum((_, count) => count), sum((rows, count) => rows * count)],
      [stats.execution_count, stats.inference_count],
    )

    const failures = (reason: string): Promise<number> =>
      server.metric('nv_inference_request_failure', model, `reason="${reason}"`)
    t.equal(await server.metric('nv_inference_request_success', model), ok)
    t.equal(await server.metric('nv_inference_count', model), stats.inference_count)
    t.equal(await server.metric('nv_inference_exec_count', model), stats.execution_count)
    t.equal(await failures('REJECTED'), traffic.count(model, 503))
    t.equal(await failures('BACKEND'), traffic.count(model, 500))
    t.equal(await failures('OTHER'), traffic.count(model, 400), `${model}: refused before the queue`)
    t.equal(await failures('CANCELED'), 0)
    t.equal(await server.waiting(model), 0)
    const sent = Object.values(traffic.statuses[model] ?? {}).reduce((a, b) => a + b, 0)
    await certain(() => server.asked(model) === sent)
  }
  t.ok(traffic.count('small', 503) > 0 && traffic.count('fails', 500) > 0 && traffic.count('merged', 400) > 0)

  t.same(await server.server.drain(), { left: 0 })
  for (const model of ['leaves', 'waits']) {
    // nobody waits for who has left: the engine counts what ran for him when its batch has ended, and the log has him
    // when he is given up
    let found = await countsOf(server, model)
    for (const end = Date.now() + 60_000; ended(found) !== found.asked && Date.now() < end;)
      found = await countsOf(server, model)
    t.equal(ended(found), found.asked, `${model}: each that came counts once, whoever left`)
    t.equal(found.fail, (await countsOf(server, model)).canceled)
    t.ok(
      found.success >= traffic.count(model, 200) && found.refused >= traffic.count(model, 400),
      JSON.stringify(found),
    )
    if (model === 'waits') t.match(found, { success: 0, refused: 0, canceled: leaving })
  }
})

type Counts = { readonly [what in 'success' | 'fail' | 'refused' | 'canceled' | 'asked']: number }

async function countsOf(server: Serving, model: string): Promise<Counts> {
  const failed = (reason: string): Promise<number> =>
    server.metric('nv_inference_request_failure', model, `reason="${reason}"`)
  const [refused, canceled] = [await failed('OTHER'), await failed('CANCELED')]
  const { success, fail } = server.server.statistics(model).model_stats[0]!.inference_stats
  return { success: success.count, fail: fail.count, refused, canceled, asked: server.asked(model) }
}

function ended({ success, fail, refused }: Counts): number {
  return success + fail + refused
}
