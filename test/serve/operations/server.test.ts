// serve(): a repository behind HTTP in this process, its parts, and how it ends.
import { once } from 'node:events'
import { copyFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { serve, type Server, type ServeOptions } from '../../../lib/serve/index.js'
import { temporaryFolder } from '../../support/folders.js'
import { halfRequest } from './half.js'
import { addBroken, addOneNode } from './repository.js'

const place = { port: 0, address: '127.0.0.1' }

function repository(t: { testdir(content: Record<string, string>): string }): string {
  const folder = t.testdir({})
  addOneNode(folder, 'identity', { config: 'metric_tags { key: "team" value: "x" }' })
  return folder
}

async function ask(
  server: Server,
  path: string,
  body?: unknown,
): Promise<{ readonly status: number; readonly json: unknown }> {
  const answer = await fetch(`${server.addresses.http?.url}${path}`, {
    ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  return { status: answer.status, json: text === '' ? undefined : JSON.parse(text) }
}

const request = (data: readonly number[]): object => ({
  inputs: [{ name: 'x', shape: [data.length / 4, 4], datatype: 'FP32', data }],
})

t.test('a repository is served, and its statistics and metrics are the traffic', async (t) => {
  await using server = await serve({ modelRepository: repository(t), http: place, metrics: place, id: 'me' })
  t.match(server.addresses.http?.url, /^http:\/\/127\.0\.0\.1:\d+$/)
  t.match(server.addresses.metrics?.url, /^http:\/\/127\.0\.0\.1:\d+\/metrics$/)
  t.match(await ask(server, '/v2'), { status: 200, json: { name: 'me' } })
  t.equal((await ask(server, '/v2/health/ready')).status, 200)
  const answer = await ask(server, '/v2/models/identity/infer', request([1, 2, 3, 4, 5, 6, 7, 8]))
  t.match(answer, { status: 200, json: { outputs: [{ shape: [2, 4], data: [1, 2, 3, 4, 5, 6, 7, 8] }] } })
  t.equal((await ask(server, '/v2/models/identity/infer', { inputs: [] })).status, 400)

  t.strictSame(server.index(), [{ name: 'identity', version: '1', state: 'READY', reason: '' }])
  const statistics = server.statistics()
  t.match(statistics.model_stats, [{ name: 'identity', version: '1', inference_count: 2, execution_count: 1 }])
  t.match(
    statistics.model_stats[0]?.inference_stats,
    { success: { count: 1 }, fail: { count: 0, ns: 0 } },
    'what never came to the queue is no failure, as in Triton',
  )
  t.strictSame((await ask(server, '/v2/models/identity/stats')).json, statistics)
  t.strictSame(server.statistics('identity'), statistics)
  t.strictSame(server.statistics('identity', '1'), statistics)
  t.throws(() => server.statistics('other'), { code: 'ERR_TRT_SERVER' })
  t.throws(() => server.statistics('identity', '2'), { code: 'ERR_TRT_SERVER' })

  const metrics = await (await fetch(server.addresses.metrics!.url)).text()
  t.match(metrics, 'nv_inference_request_success{model="identity",version="1",_team="x"} 1\n')
  t.match(metrics, 'nv_inference_request_failure{model="identity",version="1",_team="x",reason="OTHER"} 1\n')
  t.match(metrics, 'nv_inference_count{model="identity",version="1",_team="x"} 2\n')
  t.match(metrics, /nv_model_load_duration_secs\{[^}]+\} \d/)
})

t.test('models of one file each, alone and beside a repository', async (t) => {
  const folder = repository(t)
  const file = join(folder, 'identity/1/model.onnx')
  const elsewhere = temporaryFolder(t)
  const single = join(elsewhere, 'one.onnx')
  copyFileSync(file, single)
  {
    await using server = await serve({ models: { one: single }, http: place })
    t.match(await ask(server, '/v2/models/one/infer', request([1, 2, 3, 4])), {
      status: 200,
      json: { model_version: '1', outputs: [{ data: [1, 2, 3, 4] }] },
    })
  }
  await using server = await serve({
    modelRepository: folder,
    models: { one: pathToFileURL(single), identity: file },
    http: place,
    exitOnError: false,
    modelControlMode: 'explicit',
  })
  t.same(server.index(), [
    { name: 'identity', state: 'UNAVAILABLE', reason: "model 'identity' is in several repositories" },
    { name: 'one' },
  ])
  for (const config of [
    '{"default_model_filename":"other.onnx"}',
    '{"output":[{"name":"y","label_filename":"labels.txt"}]}',
    '{"model_warmup":[{"name":"w","batch_size":1}]}',
  ])
    await t.rejects(server.load('one', { config }), {
      code: 'ERR_TRT_SERVER',
      message: /of model 'one' is not served: the model is the file one\.onnx, without a folder/,
    })
  await server.load('one', { config: '{"max_batch_size":2}' })
  t.match((await ask(server, '/v2/models/one/config')).json, {
    max_batch_size: 2,
    backend: 'onnxruntime',
    default_model_filename: 'one.onnx',
  })
  writeFileSync(single, 'no model')
  const { message } = await server.load('one').then(
    () => new Error('it is loaded'),
    (error: unknown) => error as Error,
  )
  t.match(message, /one\/one\.onnx/)
  t.notMatch(message, single, 'clients see no paths')
})

t.test('a repository that serves nothing is a warning of the log, with the place of each file', async (t) => {
  const lines: Record<string, unknown>[] = []
  const log = { destination: { write: (line: string) => lines.push(JSON.parse(line) as Record<string, unknown>) } }
  const folder = t.testdir({ 'add.onnx': 'x' })
  await using server = await serve({ modelRepository: folder, http: place, log })
  t.same(server.index(), [])
  const text = `${folder} has no models: expected a folder for each model and version, such as resnet50/1/model.onnx, but it has only add.onnx. To fix: move add.onnx to add/1/model.onnx`
  t.match(lines, [
    { msg: 'the server listens' },
    { level: 'warn', msg: text },
    { level: 'info', msg: 'the server is started', models: 0, notServed: text },
  ])
})

t.test('beside /metrics there is nothing on the port of metrics', async (t) => {
  await using server = await serve({ modelRepository: repository(t), http: false, metrics: place })
  t.equal(server.addresses.http, undefined)
  const { url } = server.addresses.metrics!
  t.equal((await fetch(url.replace('/metrics', '/'))).status, 404)
  t.equal((await fetch(url, { method: 'POST', body: 'x' })).status, 405)
  t.equal((await fetch(url)).headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8')
  t.strictSame(await server.drain(), { left: 0 })
})

t.test('explicit: models come and go by name', async (t) => {
  const folder = repository(t)
  addOneNode(folder, 'relu', { op: 'Relu' })
  addBroken(folder, 'broken')
  await using server = await serve({
    modelRepository: folder,
    http: place,
    modelControlMode: 'explicit',
    loadModel: ['identity'],
  })
  t.strictSame(
    server.index().map(({ name, state }) => [name, state]),
    [
      ['broken', undefined],
      ['identity', 'READY'],
      ['relu', undefined],
    ],
  )
  await server.load('relu')
  t.match(await ask(server, '/v2/models/relu/infer', request([-1, 2, -3, 4])), {
    json: { outputs: [{ data: [0, 2, 0, 4] }] },
  })
  await t.rejects(server.load('broken'), { code: 'ERR_TRT_SERVER' })
  await t.rejects(server.load('none'), { code: 'ERR_TRT_SERVER' })
  await server.unload('relu', { dependents: true })
  t.not((await ask(server, '/v2/models/relu/infer', request([1, 2, 3, 4]))).status, 200)
  for (const wrong of [{ files: {} }, { files: new Map([['1/model.onnx', 'x']]) }, { config: 7 }, { other: 1 }])
    await t.rejects(server.load('relu', wrong as object), { code: 'ERR_TRT_INVALID_ARGUMENT' })
  await t.rejects(server.unload('', {}), { code: 'ERR_TRT_INVALID_ARGUMENT' })
})

t.test('what is wrong with its place is told before anything is loaded, and leaves nothing open', async (t) => {
  const folder = t.testdir({ file: 'x' })
  addBroken(folder, 'broken') // whoever looked at it would fail for it
  const taken = createServer().listen(0, '127.0.0.1')
  t.teardown(() => taken.close())
  await once(taken, 'listening')
  const { port } = taken.address() as { port: number }
  const cases: readonly (readonly [Partial<ServeOptions>, { code: string; message: RegExp }])[] = [
    [
      { modelRepository: join(folder, 'none') },
      { code: 'ERR_TRT_FILE', message: /^Cannot read the model repository .*: there is no such file or folder/ },
    ],
    [{ modelRepository: [folder, join(folder, 'file')] }, { code: 'ERR_TRT_FILE', message: /is no folder$/ }],
    [
      { http: { ...place, port } },
      { code: 'ERR_TRT_SERVER', message: new RegExp(`^Cannot listen on 127.0.0.1:${port} for HTTP: .*EADDRINUSE`) },
    ],
    [{ metrics: { ...place, port } }, { code: 'ERR_TRT_SERVER', message: /for metrics: .*EADDRINUSE/ }],
    [{ http: { ...place, address: '203.0.113.1' } }, { code: 'ERR_TRT_SERVER', message: /for HTTP: .*EADDRNOTAVAIL/ }],
  ]
  for (const [options, error] of cases)
    await t.rejects(serve({ modelRepository: folder, http: place, ...options }), error)
})

t.test('a model that cannot be loaded ends the start, or is in the index', async (t) => {
  const folder = repository(t)
  addBroken(folder, 'broken')
  await t.rejects(serve({ modelRepository: folder, http: place }), { code: 'ERR_TRT_SERVER', message: /broken/ })
  await using server = await serve({ modelRepository: folder, http: place, exitOnError: false })
  t.match(server.index(), [
    { name: 'broken', state: 'UNAVAILABLE', reason: /\S/ },
    { name: 'identity', state: 'READY' },
  ])
  t.equal((await ask(server, '/v2/health/ready')).status, 400, 'every model that should be ready is not')
  await using lenient = await serve({
    modelRepository: folder,
    http: place,
    exitOnError: false,
    strictReadiness: false,
  })
  t.equal((await ask(lenient, '/v2/health/ready')).status, 200)
})

t.test('a start that is aborted leaves nothing open', async (t) => {
  const reason = new Error('not wanted any more')
  await t.rejects(serve({ modelRepository: repository(t), http: place, signal: AbortSignal.abort(reason) }), reason)
  const controller = new AbortController()
  const starting = serve({ modelRepository: repository(t), http: place, signal: controller.signal })
  controller.abort(reason)
  await t.rejects(starting, reason)
})

t.test('drain: what is under way ends, and nothing new begins', async (t) => {
  const lines: string[] = []
  const log = { destination: { write: (line: string) => lines.push(line) } }
  await using server = await serve({ modelRepository: repository(t), http: place, log })
  const url = server.addresses.http!.url
  const half = halfRequest(url)
  await half.begun
  t.strictSame(await server.drain({ timeoutMs: 50 }), { left: 1 })
  await t.rejects(fetch(`${url}/v2/health/live`), 'there are no new connections')
  const draining = server.drain({ timeoutMs: 60_000 })
  const { status, body } = await half.finish()
  t.equal(status, 200)
  t.match(JSON.parse(body), { outputs: [{ data: [1, 2, 3, 4] }] })
  t.strictSame(await draining, { left: 0 })
  await server.close()
  await server.close()
  const told = lines.map((line) => (JSON.parse(line) as { msg: string }).msg)
  t.match(told, [
    'the server listens',
    'a model is loaded',
    'the server is started',
    'the server takes no requests any more',
  ])
  t.equal(told.at(-1), 'the server is closed')
})

t.test('drain: a signal gives up the wait, and close ends what is left', async (t) => {
  const server = await serve({ modelRepository: repository(t), http: place, exitTimeoutSecs: 0 })
  const half = halfRequest(server.addresses.http!.url)
  await half.begun
  const controller = new AbortController()
  const draining = server.drain({ timeoutMs: 60_000, signal: controller.signal })
  const reason = new Error('enough')
  controller.abort(reason)
  await t.rejects(draining, reason)
  await server.close()
  await t.rejects(half.finish(), { code: 'ECONNRESET' })
})

t.test('options are checked', async (t) => {
  const cases: readonly (readonly [object, RegExp])[] = [
    [{}, /for modelRepository but received undefined/],
    [{ modelRepository: [] }, /at least one folder for modelRepository/],
    [{ modelRepository: '/x', httpPort: 1 }, /Unknown option "httpPort" for serve/],
    [{ modelRepository: '/x', http: { port: -1 } }, /for http.port but received number -1/],
    [{ modelRepository: '/x', http: { prot: 1 } }, /Unknown option "prot" for http: did you mean port/],
    [{ modelRepository: '/x', metrics: 1 }, /for the options of metrics/],
    [{ modelRepository: '/x', log: { destination: {} } }, /method write for log.destination/],
    [{ modelRepository: '/x', log: { format: 'x' } }, /for log.format/],
    [{ modelRepository: '/x', modelControlMode: 'auto' }, /for modelControlMode/],
    [{ modelRepository: '/x', loadModel: ['m'] }, /for modelControlMode/],
    [{ modelRepository: '/x', modelControlMode: 'explicit', loadModel: ['*', 'm'] }, /for loadModel/],
    [{ modelRepository: '/x', modelControlMode: 'explicit', loadModel: [''] }, /for loadModel/],
    [{ modelRepository: '/x', engine: { lanes: 2 } }, /Unknown option "lanes" for engine/],
    [{ modelRepository: '/x', engine: { backend: 'tensorrt' } }, /for engine.backend/],
    [{ modelRepository: '/x', engine: { gpus: [-1] } }, /for engine.gpus\[0\]/],
    [{ modelRepository: '/x', engine: { tensorrt: { hostCode: 1 } } }, /for tensorrt\.hostCode/],
    [{ modelRepository: '/x', signal: {} }, /for signal/],
    [
      { modelRepository: '/x', http: { restricted: [{ apis: ['x'], key: 'a', value: 'b' }] } },
      /for http.restricted\[0\].apis/,
    ],
  ]
  for (const [options, message] of cases)
    await t.rejects(
      serve(options as ServeOptions),
      { code: 'ERR_TRT_INVALID_ARGUMENT', message },
      JSON.stringify(options),
    )
})
