// L0_lifecycle, L0_model_update, L0_warmup and L0_infer (versions) over HTTP, on onnxruntime. The models add a number,
// so that an answer says which it is of.
import { connect } from 'node:net'
import t from 'tap'
import { identity } from '../../support/models.js'
import { certain } from '../../support/waiting.js'
import { plus } from '../models/cycles.js'
import { remove } from '../models/folders.js'
import { halfRequest } from '../operations/half.js'
import { leftovers, type Reply, type Serving, serving } from './rig.js'

const engine = { backend: 'cpu' } as const
const path = '/v2/repository/models'
const body = { inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 4], data: [0, 0, 0, 0] }] }

/** The number that a model adds, or the status without an answer. */
async function added(server: Serving, model: string, version?: string): Promise<string> {
  const of = version === undefined ? model : `${model}/versions/${version}`
  const { status, json } = await server.ask('POST', `/v2/models/${of}/infer`, body).reply
  return status === 200 ? `+${json.outputs[0].data[0]}` : String(status)
}

const post = (server: Serving, to: string, parameters?: unknown): Promise<Reply> =>
  server.ask('POST', to, parameters === undefined ? undefined : { parameters }).reply
const status = async (server: Serving, to: string): Promise<number> => (await server.ask('GET', to).reply).status
const index = async (server: Serving): Promise<string[]> =>
  (await post(server, '/v2/repository/index')).json.map((each: Record<string, string>) => Object.values(each).join(' '))
/**
 * The index once nothing in it is on its way: nobody who asks for a load or an unload waits for the end of what was
 * there before.
 */
async function settledIndex(server: Serving): Promise<string[]> {
  await certain(() => server.server.index().every(({ state }) => state !== 'LOADING' && state !== 'UNLOADING'))
  return index(server)
}

await t.test('test_model_control, test_model_repository_index', async (t) => {
  await using server = await serving(t, { engine })
  server.write({ 'a/1/model.onnx': plus(1), 'b/1/model.onnx': 'no model', 'c/config.pbtxt': '' })
  t.same(await index(server), [
    'a',
    'b',
    "c UNAVAILABLE at least one version must be available under the version policy of model 'c': c needs a folder such as 1 with model.plan, model.onnx or model.js",
  ])
  t.same([await status(server, '/v2/models/a/ready'), await added(server, 'a')], [400, '404'])
  t.equal((await post(server, `${path}/a/load`)).status, 200)
  t.same(
    [await status(server, '/v2/models/a/ready'), await added(server, 'a'), await added(server, 'a', '1')],
    [200, '+1', '+1'],
  )
  t.same([await status(server, '/v2/models/a/versions/7/ready'), await added(server, 'a', '7')], [400, '404'])
  const { status: failed, json } = await post(server, `${path}/b/load`)
  t.same([failed, json.error.startsWith("load failed for model 'b': version 1 is at UNAVAILABLE state: ")], [400, true])
  t.notMatch(json.error, server.folder, 'no path of the server')
  t.equal(await status(server, '/v2/health/ready'), 400, 'b should be ready')
  t.equal((await post(server, `${path}/b/unload`)).status, 200)
  t.equal(await status(server, '/v2/health/ready'), 200)
  t.equal((await post(server, `${path}/none/load`)).status, 404)
  t.equal((await post(server, `${path}/a/unload`)).status, 200)
  t.same(
    [await status(server, '/v2/models/a/ready'), await added(server, 'a'), await added(server, 'a', '1')],
    [400, '404', '503'],
  )
  t.equal((await settledIndex(server))[0], 'a 1 UNAVAILABLE unloaded')
})

await t.test(
  'test_model_availability_on_reload, test_model_reload_fail: a request ends on the version that it began with',
  async (t) => {
    await using server = await serving(t, { engine })
    server.write({ 'identity/1/model.onnx': plus(1) })
    await post(server, `${path}/identity/load`)
    const half = halfRequest(server.server.addresses.http?.url ?? '')
    await half.begun
    server.write({ 'identity/1/model.onnx': plus(2) })
    t.equal((await post(server, `${path}/identity/load`)).status, 200)
    t.equal(await added(server, 'identity'), '+2')
    t.match(JSON.parse((await half.finish()).body), { outputs: [{ data: [2, 3, 4, 5] }] }, 'of the first one')
    server.write({ 'identity/1/model.onnx': 'broken' })
    t.equal((await post(server, `${path}/identity/load`)).status, 400)
    t.equal(await added(server, 'identity'), '+2')
    t.match(await index(server), [/^identity 1 READY version 1 is at UNAVAILABLE state: /])
    t.equal(await status(server, '/v2/health/ready'), 200)
  },
)

await t.test('test_dynamic_version_load_unload, version policies of L0_infer', async (t) => {
  await using server = await serving(t, { engine })
  server.write({ 'm/config.pbtxt': 'version_policy { all { } }', 'm/1/model.onnx': plus(1), 'm/3/model.onnx': plus(3) })
  const numbers = async (): Promise<string[]> =>
    Promise.all(['1', '2', '3', undefined].map((version) => added(server, 'm', version)))
  await post(server, `${path}/m/load`)
  t.same(await numbers(), ['+1', '404', '+3', '+3'])
  server.write({ 'm/2/model.onnx': plus(2) })
  remove(server.folder, 'm/1')
  await post(server, `${path}/m/load`)
  t.same(await numbers(), ['503', '+2', '+3', '+3'])
  server.write({ 'm/config.pbtxt': 'version_policy { specific { versions: 2 } }' })
  await post(server, `${path}/m/load`)
  t.same(await numbers(), ['503', '+2', '503', '+2'])
  t.same(await settledIndex(server), ['m 1 UNAVAILABLE unloaded', 'm 2 READY', 'm 3 UNAVAILABLE unloaded'])
})

await t.test('test_config_override, test_file_override, test_file_override_security', async (t) => {
  await using server = await serving(t, { engine, allowFileOverride: true })
  server.write({ 'm/1/model.onnx': plus(1) })
  const config = JSON.stringify({ backend: 'onnxruntime', max_batch_size: 4 })
  const maxBatch = async (): Promise<number> =>
    (await server.ask('GET', '/v2/models/m/config').reply).json.max_batch_size
  t.equal((await post(server, `${path}/m/load`, { config: JSON.stringify({ max_batch_size: 2 }) })).status, 200)
  t.equal(await maxBatch(), 2)
  t.equal((await post(server, `${path}/m/load`)).status, 200)
  t.equal(await maxBatch(), 4)
  const file = Buffer.from(plus(5)).toString('base64')
  t.equal((await post(server, `${path}/m/load`, { config, 'file:7/model.onnx': file })).status, 200)
  t.same([await added(server, 'm'), await added(server, 'm', '7'), await added(server, 'm', '1')], ['+5', '+5', '503'])
  for (const name of ['../x', '/x', '7/../../x', 'x', '7/', '7'])
    t.equal(
      (await post(server, `${path}/m/load`, { config, 'file:7/model.onnx': file, [`file:${name}`]: file })).status,
      400,
      name,
    )
  t.equal((await post(server, `${path}/m/load`, { 'file:7/model.onnx': file })).status, 400, 'without a config')
  t.equal(await added(server, 'm'), '+5')
  t.equal((await post(server, `${path}/m/load`)).status, 200)
  t.same([await added(server, 'm'), await added(server, 'm', '7')], ['+1', '503'])
})

await t.test('L0_model_update: a load in which nothing has changed keeps what is at work', async (t) => {
  await using server = await serving(t, { engine })
  server.write({ 'm/1/model.onnx': plus(1) })
  await post(server, `${path}/m/load`)
  await added(server, 'm')
  t.equal((await post(server, `${path}/m/load`)).status, 200)
  t.equal((await server.stats('m')).inference_count, 1, 'its counters go on')
  server.write({ 'm/config.pbtxt': 'instance_group { kind: KIND_CPU count: 3 }' })
  await post(server, `${path}/m/load`)
  t.same([await added(server, 'm'), (await server.stats('m')).inference_count], ['+1', 1])
})

await t.test('test_dynamic_model_load_unload, test_dynamic_model_modify: poll', async (t) => {
  await using server = await serving(t, { engine, modelControlMode: 'poll', repositoryPollSecs: 1 })
  const until = async (wanted: string): Promise<void> => {
    while ((await added(server, 'm')) !== wanted) await new Promise((resolve) => setTimeout(resolve, 20))
  }
  t.equal((await post(server, `${path}/m/load`)).status, 503)
  server.write({ 'm/1/model.onnx': plus(1) })
  await until('+1')
  server.write({ 'm/1/model.onnx': plus(2) })
  await until('+2')
  remove(server.folder, 'm')
  await until('404')
  t.same(await settledIndex(server), ['m 1 UNAVAILABLE unloaded'])
})

await t.test('L0_warmup: what fails to warm up is not loaded, and a warm-up counts nowhere', async (t) => {
  await using server = await serving(t, { engine })
  const sample = (size: number): string =>
    `model_warmup { name: "w" batch_size: 1 count: 3 inputs { key: "x" value { data_type: TYPE_FP32 dims: ${size} random_data: true } } }`
  server.write({ 'm/1/model.onnx': plus(1), 'm/config.pbtxt': sample(5) })
  t.match((await post(server, `${path}/m/load`)).json.error, "failed to run warmup sample 'w': ")
  t.equal(await added(server, 'm'), '404')
  server.write({ 'm/config.pbtxt': sample(4) })
  t.equal((await post(server, `${path}/m/load`)).status, 200)
  t.match(await server.stats('m'), { inference_count: 0, execution_count: 0, last_inference: 0 })
})

await t.test('L0_request_cancellation: a client that leaves while its answer is written', async (t) => {
  await using server = await serving(t, { engine })
  const count = 2 ** 22
  await server.loadFiles('big', { '1/model.onnx': identity('float32', [count]) })
  const head = JSON.stringify({
    inputs: [{ name: 'x', datatype: 'FP32', shape: [count], parameters: { binary_data_size: count * 4 } }],
    parameters: { binary_data_output: true },
  })
  const { host, port = 0 } = server.server.addresses.http ?? {}
  const socket = connect({ host, port })
  socket.on('error', () => {})
  socket.pause()
  socket.write(
    `POST /v2/models/big/infer HTTP/1.1\r\nhost: x\r\ncontent-length: ${head.length + count * 4}\r\ninference-header-content-length: ${head.length}\r\n\r\n${head}`,
  )
  socket.write(new Uint8Array(count * 4))
  const answered = (): number => server.server.statistics('big').model_stats[0]?.inference_stats.success.count ?? 0
  await certain(() => answered() === 1)
  t.same(await server.server.drain({ timeoutMs: 0 }), { left: 1 }, 'the client reads nothing')
  socket.destroy()
  t.same(await server.server.drain(), { left: 0 })
})
t.same(leftovers(), {})
