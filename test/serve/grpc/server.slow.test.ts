// serve({ grpc }): a repository on onnxruntime behind gRPC, beside HTTP.
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { once } from 'node:events'
import { join } from 'node:path'
import t from 'tap'
import * as grpc from '@grpc/grpc-js'
import { serve, type Server, type ServeOptions } from '../../../lib/serve/index.js'
import { healthMethods, inferenceMethods as rpcs, pathOf } from '../../../lib/kserve/methods.js'
import { fromBinary } from '@bufbuild/protobuf'
import { addBroken, addOneNode } from '../operations/repository.js'
import { certain } from '../../support/waiting.js'
import { selfSigned } from './certificate.js'
import { Client, failureOf, floats, request } from './rig.js'

const place = { port: 0, address: '127.0.0.1' }

function repository(t: { testdir(content: Record<string, string>): string }): string {
  const folder = t.testdir({})
  addOneNode(folder, 'identity')
  return folder
}

const rows = (...values: number[]) =>
  request('identity', [{ name: 'x', shape: [values.length / 4, 4] }], [floats(...values)])

function clientOf(t: { teardown(done: () => void): void }, server: Server): Client {
  const client = new Client(server.addresses.grpc!.port)
  t.teardown(() => client.close())
  return client
}

t.test('both protocols answer from one server, and count together', async (t) => {
  await using server = await serve({
    modelRepository: repository(t),
    http: place,
    grpc: place,
    metrics: place,
    id: 'me',
  })
  t.match(server.addresses.grpc?.url, /^grpc:\/\/127\.0\.0\.1:\d+$/)
  const client = clientOf(t, server)
  const answer = await client.infer(rows(1, 2, 3, 4, 5, 6, 7, 8))
  t.match(answer, { modelName: 'identity', modelVersion: '1', outputs: [{ datatype: 'FP32', shape: [2, 4] }] })
  t.strictSame(answer.rawOutputContents, [floats(1, 2, 3, 4, 5, 6, 7, 8)])
  const data = [1, 2, 3, 4]
  const body = JSON.stringify({ inputs: [{ name: 'x', shape: [1, 4], datatype: 'FP32', data }] })
  t.equal((await fetch(`${server.addresses.http?.url}/v2/models/identity/infer`, { method: 'POST', body })).status, 200)
  t.equal((await failureOf(client.infer(request('identity', []))))[0], 'INVALID_ARGUMENT')

  t.match((await client.plain(rpcs.modelStatistics, { name: 'identity' })).modelStats, [
    {
      name: 'identity',
      version: '1',
      inferenceCount: 3n,
      executionCount: 2n,
      inferenceStats: { success: { count: 2n } },
    },
  ])
  t.match((await client.plain(rpcs.modelConfig, { name: 'identity' })).config, {
    name: 'identity',
    backend: 'onnxruntime',
    maxBatchSize: 4,
  })
  t.match(await client.plain(rpcs.serverMetadata), { name: 'me' })
  const metrics = await (await fetch(server.addresses.metrics!.url)).text()
  t.match(metrics, 'nv_inference_request_success{model="identity",version="1"} 2\n')
  t.match(metrics, 'nv_inference_request_failure{model="identity",version="1",reason="OTHER"} 1\n')
})

t.test('without HTTP: models come and go, and who watches is told', async (t) => {
  const folder = repository(t)
  addOneNode(folder, 'relu', { op: 'Relu' })
  await using server = await serve({
    modelRepository: folder,
    http: false,
    grpc: place,
    modelControlMode: 'explicit',
    loadModel: ['identity'],
  })
  t.equal(server.addresses.http, undefined)
  const client = clientOf(t, server)
  const told: number[] = []
  const same = (bytes: Buffer): Buffer => bytes
  const watch = client.raw.makeServerStreamRequest(
    pathOf(healthMethods.watch),
    same,
    same,
    Buffer.from([10, 4, ...Buffer.from('relu')]),
  )
  watch
    .on('data', (bytes: Buffer) => told.push(fromBinary(healthMethods.watch.output, bytes).status))
    .on('error', () => {})
  await certain(() => told.length === 1)
  t.equal((await client.plain(rpcs.modelReady, { name: 'relu' })).ready, false)
  await client.plain(rpcs.repositoryModelLoad, { modelName: 'relu' })
  t.equal((await client.plain(rpcs.modelReady, { name: 'relu' })).ready, true)
  await certain(() => told.length === 2)
  await server.unload('relu')
  await certain(() => told.length === 3)
  t.strictSame(told, [2, 1, 2])
  const bytes = { parameterChoice: { case: 'bytesParam' as const, value: Uint8Array.of(1) } }
  t.strictSame(
    await failureOf(
      client.plain(rpcs.repositoryModelLoad, { modelName: 'relu', parameters: { 'file:1/model.onnx': bytes } }),
    ),
    [
      'UNIMPLEMENTED',
      'file override is not allowed: the files of a model are code; start the server with --allow-file-override',
    ],
  )
  t.strictSame(await server.drain(), { left: 0 })
})

t.test('what is wrong with its place or its options is told before anything is loaded', async (t) => {
  const folder = t.testdir({ none: 'no certificate' })
  addBroken(folder, 'broken')
  const taken = createServer().listen(0, '127.0.0.1')
  t.teardown(() => taken.close())
  await once(taken, 'listening')
  const { port } = taken.address() as { port: number }
  const none = join(folder, 'none')
  const cases: readonly (readonly [ServeOptions['grpc'], { code: string; message: RegExp }])[] = [
    [
      { ...place, port },
      { code: 'ERR_TRT_SERVER', message: new RegExp(`^Cannot listen on 127.0.0.1:${port} for gRPC: .*EADDRINUSE`) },
    ],
    [
      { ...place, tls: { cert: 'no', key: 'no' } },
      { code: 'ERR_TRT_FILE', message: /^Expected a file for --grpc-server-cert \(PEM\) but '\S+no' does not exist/ },
    ],
    [
      { ...place, tls: { cert: none, key: none } },
      { code: 'ERR_TRT_SERVER', message: /^Cannot serve gRPC with TLS: / },
    ],
    [
      { ...place, tls: { cert: none, key: none, mutual: true } },
      { code: 'ERR_TRT_INVALID_ARGUMENT', message: /grpc\.tls\.root/ },
    ],
    [
      { ...place, compressionLevel: 'much' as 'low' },
      { code: 'ERR_TRT_INVALID_ARGUMENT', message: /grpc\.compressionLevel/ },
    ],
    [
      { ...place, keepaliveTimeMs: 0 },
      { code: 'ERR_TRT_INVALID_ARGUMENT', message: /grpc\.keepaliveTimeMs/ },
    ],
    [7 as unknown as true, { code: 'ERR_TRT_INVALID_ARGUMENT', message: /grpc/ }],
  ]
  for (const [options, error] of cases)
    await t.rejects(serve({ modelRepository: folder, http: place, grpc: options }), error)
})

t.test('TLS, with and without certificates of clients', async (t) => {
  const folder = repository(t)
  const certificates = { server: selfSigned('server'), client: selfSigned('client') }
  const files = t.testdir({})
  const file = (name: string, content: string): string => {
    writeFileSync(join(files, name), content)
    return join(files, name)
  }
  const cert = file('cert.pem', certificates.server.cert)
  const key = file('key.pem', certificates.server.key)
  const root = file('root.pem', certificates.client.cert)
  const pem = (text: string): Buffer => Buffer.from(text)
  const trusting = grpc.credentials.createSsl(pem(certificates.server.cert))
  const known = grpc.credentials.createSsl(
    pem(certificates.server.cert),
    pem(certificates.client.key),
    pem(certificates.client.cert),
  )
  const ready = async (server: Server, credentials: grpc.ChannelCredentials): Promise<boolean> => {
    const client = new Client(
      server.addresses.grpc!.port,
      { 'grpc.ssl_target_name_override': 'localhost' },
      credentials,
    )
    t.teardown(() => client.close())
    return (await client.plain(rpcs.serverReady, {}, { deadlineMs: 20_000 })).ready
  }
  {
    await using server = await serve({ modelRepository: folder, http: false, grpc: { ...place, tls: { cert, key } } })
    t.match(server.addresses.grpc?.url, /^grpcs:/)
    t.equal(await ready(server, trusting), true)
    t.equal((await failureOf(ready(server, grpc.credentials.createInsecure())))[0], 'UNAVAILABLE')
  }
  await using server = await serve({
    modelRepository: folder,
    http: false,
    grpc: { ...place, tls: { cert, key, root, mutual: true } },
  })
  t.equal(await ready(server, known), true)
  t.equal((await failureOf(ready(server, trusting)))[0], 'UNAVAILABLE')
})
