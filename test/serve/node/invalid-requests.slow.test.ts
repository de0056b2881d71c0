// A module that says that the request is at fault: what clients get, and how it is counted; of models alone, and as
// steps of ensembles.
import t from 'tap'
import { GrpcClient } from '../../../lib/client/index.js'
import { Tensor } from '../../../lib/index.js'
import { InvalidRequestError, serve, type Server } from '../../../lib/serve/index.js'
import { isInvalidRequest } from '../../../lib/serve/node/invalid-request.js'
import { failureOf } from '../../support/errors.js'
import { ensemble } from '../ensembles/rig.js'
import { repository } from '../models/folders.js'
import { ask, configOf, faultOf, load, noThreadLeft } from './rig.js'

const code = `
  import { TensorRTError } from 'node-tensorrt'
  import { InvalidRequestError } from 'node-tensorrt/serve'
  class FromAnotherCopy extends Error {}
  Object.defineProperty(FromAnotherCopy.prototype, Symbol.for('node-tensorrt.InvalidRequestError'), { value: true })
  const ways = {
    good: (x) => ({ y: x }),
    invalid: () => new InvalidRequestError('x is below 0', { cause: new Error('what lies behind it') }),
    copy: () => new FromAnotherCopy('x is below 0'),
    path: () => new InvalidRequestError('as ' + import.meta.url + ' has it'),
    empty: () => new InvalidRequestError(''),
    error: () => new Error('x is no good'),
    picture: () => new TensorRTError('ERR_TRT_IMAGE', 'pictures need sharp'),
    proxy: () => new Proxy(new Error('a proxy'), { get(target, key) { if (typeof key === 'symbol') throw key; return Reflect.get(target, key) } }),
    throw() { throw new InvalidRequestError('x is below 0') },
  }
  export default { execute: (requests) => requests.map(({ inputs: { x }, parameters: { what = x.data[0] < 0 ? 'invalid' : 'good' } }) => ways[what](x)) }`

await t.test('given in place of outputs, or thrown of one request', async (t) => {
  const { model } = await load(t, {
    code,
    config: 'max_batch_size: 16 dynamic_batching { max_queue_delay_microseconds: 1000 }',
  })
  const told = (what: string): Promise<readonly [string, string]> =>
    faultOf(ask(model, [1, 2, 3, 4], { parameters: { what } }))
  const asked = ['invalid', 'copy', 'path', 'empty', 'error', 'picture', 'proxy'].map(told)
  const good = ask(model, [1, 2, 3, 4])
  t.same(await Promise.all(asked), [
    ['INVALID_ARG', 'x is below 0'],
    ['INVALID_ARG', 'x is below 0'],
    ['INVALID_ARG', 'as m/1/model.js has it'],
    ['INVALID_ARG', "execute() of model 'm' gave an Error without a text"],
    ['INTERNAL', 'x is no good'],
    ['INTERNAL', 'pictures need sharp'],
    ['INTERNAL', 'a proxy'],
  ])
  t.equal((await good).length, 1)
  const { failures, executions } = model.counters()
  t.same([executions, failures.failed, model.invalid], [1, 3, 4], 'they were one batch')
  t.same(await told('throw'), ['INVALID_ARG', 'x is below 0'])
  t.same([model.counters().failures.failed, model.invalid], [3, 5])
})

await t.test('thrown of several requests it is not said of which', async (t) => {
  const { model } = await load(t, {
    code,
    config: 'max_batch_size: 16 dynamic_batching { max_queue_delay_microseconds: 1000 }',
  })
  const both = ['throw', 'good'].map((what) => faultOf(ask(model, [1, 2, 3, 4], { parameters: { what } })))
  const text =
    "execute() of model 'm' failed: it threw an InvalidRequestError for 2 requests at once, and is to give it in place of the outputs of the one that is at fault: x is below 0"
  t.same(await Promise.all(both), [['INTERNAL', text], ['INTERNAL', text]]) // prettier-ignore
  t.same([model.counters().failures.failed, model.invalid], [2, 0])
})

t.test('what is one', (t) => {
  const error = new InvalidRequestError('no', { cause: 1 })
  t.same([error.name, error.message, error.cause, error instanceof Error], ['InvalidRequestError', 'no', 1, true])
  for (const other of [undefined, null, 'no', new Error('no'), { name: 'InvalidRequestError' }])
    t.notOk(isInvalidRequest(other))
  t.ok(isInvalidRequest(error))
  t.same(Object.keys(error), ['name'])
  t.end()
})

interface Reply {
  readonly status: number
  readonly text: string
}

async function overHttp(server: Server, model: string, first: number): Promise<Reply> {
  const inputs = [{ name: 'x', datatype: 'FP32', shape: [4], data: [first, 2, 3, 4] }]
  const url = `${server.addresses.http?.url ?? ''}/v2/models/${model}/infer`
  const reply = await fetch(url, { method: 'POST', body: JSON.stringify({ inputs }) })
  return { status: reply.status, text: ((await reply.json()) as { error?: string }).error ?? '' }
}

await t.test(
  '400 over HTTP, INVALID_ARGUMENT over gRPC, of a model and of an ensemble; the reason is OTHER, and nothing is logged',
  async (t) => {
    const folder = repository(t, {
      'm/config.pbtxt': configOf(),
      'm/1/model.js': code,
      ...ensemble('e', { inputs: ['x FP32 [4]'], outputs: ['z FP32 [4]'], steps: ['m(x=x -> y=z)'], maxBatch: 0 }),
    })
    const lines: Record<string, unknown>[] = []
    const log = { destination: { write: (line: string) => lines.push(JSON.parse(line) as Record<string, unknown>) } }
    const here = { port: 0, address: '127.0.0.1' }
    await using server = await serve({ modelRepository: folder, http: here, grpc: here, metrics: here, log })
    await using client = new GrpcClient(server.addresses.grpc?.url ?? '')
    const x = Tensor.from(new Float32Array([-1, 2, 3, 4]), [4])
    for (const [model, text] of [
      ['m', 'x is below 0'],
      ['e', "in ensemble 'e', x is below 0"],
    ] as const) {
      t.same(await overHttp(server, model, -1), { status: 400, text })
      const { message, details } = await failureOf(() => client.infer(model, { x }))
      t.match([message, details?.['status'] ?? details?.['grpcStatus']], [new RegExp(text), 'INVALID_ARGUMENT'])
      t.same(await overHttp(server, model, 1), { status: 200, text: '' })
    }
    const { model_stats: statistics } = server.statistics()
    t.same(
      statistics.map(({ name, inference_stats: { success, fail } }) => [name, success.count, fail.count]),
      [
        ['e', 1, 2],
        ['m', 2, 4],
      ],
    )
    const metrics = await (await fetch(server.addresses.metrics?.url ?? '')).text()
    const failures = metrics
      .split('\n')
      .filter((line) => line.startsWith('nv_inference_request_failure') && !line.endsWith(' 0'))
    t.same(
      failures.map((line) => line.replace(/.*model="(.)".*reason="(\w+)".* (\d+)$/, '$1 $2 $3')),
      ['e OTHER 2', 'm OTHER 4'],
    )
    t.same(lines.filter(({ level }) => level !== 'info'), []) // prettier-ignore
  },
)

await t.test('no thread is left', async (t) => {
  t.ok(await noThreadLeft())
})
