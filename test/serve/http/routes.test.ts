// Every endpoint but the inference: what it answers, to which method, and what is said where something is not there.
import t from 'tap'
import { ask, errorOf, get, inferJson, input, jsonOf, type Message, nothingLeft, startRig } from './rig.js'
import type { RestrictedCategory } from '../../../lib/serve/public-types.js'

t.test('health, in bodies that suit clients of KServe', async (t) => {
  await using rig = await startRig()
  const json = async (path: string): Promise<unknown> => {
    const reply = await get(rig.port, path)
    return [reply.status, reply.headers['content-type'], jsonOf(reply)]
  }
  t.same(await json('/v2/health/live'), [200, 'application/json', { live: true }])
  t.same(await json('/v2/health/ready'), [200, 'application/json', { live: true, ready: true }])
  t.same(await json('/v2/models/fp32/ready'), [200, 'application/json', { name: 'fp32', ready: true }])
  t.same(await json('/v2/models/versions/versions/2/ready'), [
    200,
    'application/json',
    { name: 'versions', ready: true },
  ])
  t.same(await json('/v2/models/versions/versions/02/ready'), [
    200,
    'application/json',
    { name: 'versions', ready: true },
  ])
  for (const path of ['nothing', 'fp32/versions/2', 'fp32/versions/0'])
    t.same(await json(`/v2/models/${path}/ready`), [400, 'application/json', { error: 'Model version not ready' }])
  rig.control.ready = false
  t.same(await json('/v2/health/ready'), [400, 'application/json', { live: true, ready: false }])
  t.same(await json('/v2/health/live'), [200, 'application/json', { live: true }])
})

t.test('metadata, config and statistics', async (t) => {
  await using rig = await startRig()
  const json = async (path: string): Promise<any> => jsonOf(await get(rig.port, path))
  t.same(await json('/v2'), {
    name: 'node-tensorrt',
    version: '1.2.3',
    extensions: [
      'classification',
      'model_repository',
      'model_repository(unload_dependents)',
      'schedule_policy',
      'model_configuration',
      'binary_tensor_data',
      'parameters',
      'statistics',
    ],
  })
  t.same(await json('/v2/models/two'), {
    name: 'two',
    versions: ['1'],
    platform: 'onnxruntime_onnx',
    inputs: [
      { name: 'INPUT0', datatype: 'FP32', shape: [-1, 3] },
      { name: 'INPUT1', datatype: 'INT32', shape: [-1, 3] },
    ],
    outputs: [
      { name: 'OUTPUT0', datatype: 'FP32', shape: [-1, 3] },
      { name: 'OUTPUT1', datatype: 'INT32', shape: [-1, 3] },
    ],
  })
  t.same((await json('/v2/models/versions')).versions, ['1', '2', '10'])
  t.same((await json('/v2/models/versions/versions/2')).versions, ['2'])
  t.same(await json('/v2/models/batched/config'), { name: 'batched', max_batch_size: 4 })
  t.same(await json('/v2/models/batched/versions/1/config'), { name: 'batched', max_batch_size: 4 })
  t.same(await json('/v2/models/versions/stats'), {
    model_stats: ['1', '2', '10'].map((version) => ({ name: 'versions', version })),
  })
  t.same(await json('/v2/models/versions/versions/2/stats'), { model_stats: [{ name: 'versions', version: '2' }] })
  t.equal((await json('/v2/models/stats')).model_stats.length, rig.control.servables.length)
  const refused = async (path: string): Promise<unknown> => {
    const reply = await get(rig.port, path)
    return [reply.status, errorOf(reply)]
  }
  t.same(await refused('/v2/models/nothing'), [404, "Request for unknown model: 'nothing' is not found"])
  t.same(await refused('/v2/models/nothing/config'), [404, "Request for unknown model: 'nothing' is not found"])
  t.same(await refused('/v2/models/fp32/versions/2'), [404, "Request for unknown model: 'fp32' version 2 is not found"])
  t.same(await refused('/v2/models/nothing/stats'), [400, "requested model 'nothing' is not available"])
  t.same(await refused('/v2/models/fp32/versions/2/stats'), [
    400,
    "requested model version is not available for model 'fp32'",
  ])
  t.match(await refused('/v2/models/fp32/versions/99999999999999999999'), [
    400,
    /failed to get model version from specified version string/,
  ])
})

t.test('what is no endpoint, another method, and what is not supported', async (t) => {
  await using rig = await startRig()
  const ofServer = /^Not Found \(readiness: \/v2\/health\/ready; .*metrics are off\)$/
  const ofModel = /^Not Found \(of a model: GET .*\/ready, .*POST .*\/infer; of a version: .*\)$/
  const ofRepository = /^Not Found \(of the repository: POST \/v2\/repository\/index, .*\/load, .*\/unload\)$/
  for (const [hint, paths] of [
    [ofServer, ['/', '/v2/', '/metrics', '/healthz', '/v2/health', '/v2/models', '/V2', '/v2/health/other']],
    [ofServer, ['/v1/models/fp32', '/v2/models/', '/v2/models?x=1']],
    [ofModel, ['/v2/models/fp32/', '/v2/models/fp32/other', '/v2/models/fp32/versions/x']],
    [ofModel, ['/v2/models/fp32/versions/x/infer', '/v2/models/fp32/versions/-1/ready']],
    [ofRepository, ['/v2/repository', '/v2/repository/models/fp32']],
  ] as const)
    for (const path of paths)
      for (const method of ['GET', 'POST']) {
        const reply = await ask(rig.port, { method, path })
        t.equal(reply.status, 404, path)
        t.match(errorOf(reply), hint, path)
      }
  for (const [method, path, expected] of [
    ['POST', '/v2', 'GET'],
    ['POST', '/v2/health/live', 'GET'],
    ['PUT', '/v2/health/ready', 'GET'],
    ['DELETE', '/v2/models/fp32', 'GET'],
    ['OPTIONS', '/v2', 'GET'],
    ['POST', '/v2/models/stats', 'GET'],
    ['GET', '/v2/models/fp32/infer', 'POST'],
    ['PUT', '/v2/models/fp32/infer', 'POST'],
    ['GET', '/v2/repository/index', 'POST'],
    ['GET', '/v2/repository/models/fp32/load', 'POST'],
  ] as const) {
    const reply = await ask(rig.port, { method, path: `${path}?x=1` })
    t.same(
      [reply.status, reply.headers['allow'], jsonOf(reply)],
      [
        405,
        expected === 'GET' ? 'GET, HEAD' : 'POST',
        { error: `Method Not Allowed (expected ${expected} for ${path})` },
      ],
      `${method} ${path}`,
    )
  }
  const absent = [
    '/v2/systemsharedmemory/status',
    '/v2/systemsharedmemory/region/r/register',
    '/v2/cudasharedmemory/unregister',
    '/v2/cudasharedmemory/region/r/status',
    '/v2/trace/setting',
    '/v2/models/fp32/trace/setting',
    '/v2/logging',
    '/v2/models/fp32/generate',
    '/v2/models/fp32/versions/1/generate_stream',
  ]
  for (const path of absent) {
    for (const method of ['GET', 'POST']) {
      const reply = await ask(rig.port, { method, path, body: method === 'POST' ? '{}' : '' })
      t.equal(reply.status, 501, path)
      t.match(errorOf(reply), /not supported by this server$/)
    }
  }
})

t.test('HEAD has the status and the headers of GET, and no body', async (t) => {
  await using rig = await startRig()
  const head = async (path: string): Promise<Response> =>
    fetch(`http://127.0.0.1:${rig.port}${path}`, { method: 'HEAD' })
  for (const [path, status] of [
    ['/v2/health/live', 200],
    ['/v2/health/ready', 200],
    ['/v2/models/fp32/ready', 200],
    ['/v2/models/nothing', 404],
    ['/nothing', 404],
    ['/v2/repository/index', 405],
    ['/v2/models/fp32/infer', 405],
  ] as const) {
    const answer = await head(path)
    t.equal(answer.status, status, path)
    t.equal(await answer.text(), '', path)
    if (status === 405) t.equal(answer.headers.get('allow'), 'POST', path)
    else t.equal(answer.headers.get('content-length'), (await get(rig.port, path)).headers['content-length'], path)
  }
  rig.control.ready = false
  t.equal((await head('/v2/health/ready')).status, 400)
})

t.test('the repository: index, load and unload', async (t) => {
  await using rig = await startRig()
  const post = (path: string, body: unknown = ''): Promise<any> =>
    ask(rig.port, { path: `/v2/repository/${path}`, body: typeof body === 'string' ? body : JSON.stringify(body) })
  const { servables, loads, unloads } = rig.control
  t.equal(jsonOf(await post('index')).length, servables.length + 1)
  t.same(jsonOf(await post('index')).at(-1), { name: 'later' })
  t.same(jsonOf(await post('index', { ready: true })).at(-1), { name: 'held', version: '1', state: 'READY' })
  const loaded = await post('models/later/load')
  t.same(
    [loaded.status, loaded.body.length, loads.at(-1)],
    [200, 0, { name: 'later', parameters: { config: undefined, files: new Map() } }],
  )
  await post('models/later/load', {
    parameters: { config: '{}', 'file:1/model.onnx': Buffer.from('some bytes').toString('base64') },
  })
  t.equal(loads.at(-1)?.parameters?.config, '{}')
  t.same(Buffer.from(loads.at(-1)?.parameters?.files?.get('1/model.onnx') ?? []).toString(), 'some bytes')
  t.equal((await post('models/fp32/unload')).status, 200)
  await post('models/fp32/unload', { parameters: { unload_dependents: true } })
  t.same(unloads, [
    { name: 'fp32', dependents: false },
    { name: 'fp32', dependents: true },
  ])
  const faults: readonly (readonly [path: string, body: unknown, status: number, text: string])[] = [
    ['models/nothing/load', '', 404, "failed to load 'nothing', failed to poll from model repository"],
    ['index', 'x', 400, 'failed to parse the request JSON buffer: Invalid value. at 0'],
    ['index', { ready: 'yes' }, 400, "Invalid value for 'ready': expected a boolean"],
    ['models/later/load', '{', 400, 'failed to parse the request JSON buffer: Missing a name for object member. at 1'],
    ['models/later/load', '[1]', 400, 'the body has to be a JSON object'],
    ['models/later/load', { parameters: [] }, 400, 'attempt to get members for non-object'],
    ['models/later/load', { parameters: { config: 1 } }, 400, 'attempt to access JSON non-string as string'],
    [
      'models/later/load',
      { parameters: { other: 'x' } },
      400,
      "unexpected load parameter 'other': it may be 'config' or 'file:<version>/<name>'",
    ],
    [
      'models/later/load',
      { parameters: { 'file:1/model.onnx': 'no base64!' } },
      400,
      "'file:1/model.onnx' is no base64",
    ],
    [
      'models/later/unload',
      { parameters: { unload_dependents: 1 } },
      400,
      "Unable to parse 'unload_dependents': attempt to access JSON non-boolean as boolean",
    ],
    ['main/models/later/load', '', 501, "'repository_name' specification is not supported"],
  ]
  for (const [path, body, status, text] of faults) {
    const reply = await post(path, body)
    t.same([reply.status, errorOf(reply)], [status, text])
  }
  t.ok(await nothingLeft(rig))
})

t.test('a large file of a load is read on a worker', async (t) => {
  await using rig = await startRig({ limits: { jsonWorkerBytes: 4096 } })
  const file = Buffer.alloc(100_000, 'abcdefg')
  const body = JSON.stringify({ parameters: { config: '{}', 'file:1/model.onnx': file.toString('base64') } })
  t.equal((await ask(rig.port, { path: '/v2/repository/models/later/load', body })).status, 200)
  t.ok(file.equals(rig.control.loads.at(-1)?.parameters?.files?.get('1/model.onnx') ?? Buffer.alloc(0)))
  const faulty = await ask(rig.port, { path: '/v2/repository/models/later/load', body: `${body}x` })
  t.equal(faulty.status, 400)
  t.ok(await nothingLeft(rig))
})

t.test('restricted endpoints want their header', async (t) => {
  const secret = { header: 'X-Key', value: 'secret' }
  const of = (...categories: RestrictedCategory[]): ReadonlyMap<RestrictedCategory, typeof secret> =>
    new Map(categories.map((category) => [category, secret]))
  await using rig = await startRig({ restricted: of('inference', 'model-repository', 'model-config', 'shared-memory') })
  const requests: readonly Message[] = [
    { path: '/v2/repository/index' },
    { method: 'GET', path: '/v2/models/fp32/config' },
    { path: '/v2/models/fp32/infer', body: JSON.stringify({ inputs: [input('FP32', [1])] }) },
  ]
  for (const request of requests) {
    const reply = await ask(rig.port, request)
    t.same([reply.status, errorOf(reply)], [403, "This API is restricted, expecting header 'X-Key'"])
    t.equal((await ask(rig.port, { ...request, headers: { 'x-key': 'wrong' } })).status, 403)
    t.equal((await ask(rig.port, { ...request, headers: { 'x-key': 'secret' } })).status, 200)
  }
  t.equal((await get(rig.port, '/v2/health/live')).status, 200)
})

t.test('a wrong Content-Type is no reason to refuse', async (t) => {
  await using rig = await startRig()
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'no type',
    ';;',
    'application/json; charset=latin1',
  ])
    t.equal(
      (await inferJson(rig.port, 'fp32', { inputs: [input('FP32', [1])] }, { 'content-type': type })).status,
      200,
      type,
    )
})

t.test('a port that is taken', async (t) => {
  await using rig = await startRig()
  await t.rejects(startRig({ port: rig.port }), { code: 'EADDRINUSE' })
})
