// One suite for both clients: against our server, against stand-ins, and, where TRITON names the folder of one, against
// a real Triton.
import t from 'tap'
import { GrpcClient, HttpClient, type StreamItem } from '../../lib/client/index.js'
import { Tensor } from '../../lib/index.js'
import { startGrpc } from './grpc-stand-in.js'
import { behaves } from './suite.js'
import { startOurs, startTriton } from './targets.js'

const whole = { hasTypes: true, hasTexts: false, hasClasses: true, hasJson: true, spare: 'ident_fp64' }

const ours = startOurs(t)

behaves(t, 'HTTP, our server', async () => ({
  ...whole,
  client: new HttpClient((await ours).addresses.http?.url ?? ''),
  unknownModel: 404,
}))

behaves(t, 'gRPC, our server', async () => {
  const client = new GrpcClient((await ours).addresses.grpc?.url ?? '')
  return { ...whole, client, hasJson: false, unknownModel: 'NOT_FOUND' }
})

t.test('a stream of our server', async (t) => {
  await using client = new GrpcClient((await ours).addresses.grpc?.url ?? '')
  await using stream = client.stream()
  const tensor = Tensor.from(new Float32Array([1, 2, 3]), [1, 3])
  const items = new Map<string, StreamItem>()
  const reading = (async () => {
    for await (const item of stream) items.set(item.id, item)
  })()
  for (let i = 0; i < 20; i++) await stream.send(i === 7 ? 'none' : 'ident', { INPUT0: tensor }, { id: `r${i}` })
  stream.end()
  await reading
  t.equal(items.size, 20)
  t.match(items.get('r7')?.error, { code: 'ERR_TRT_SERVER', message: /unknown model: 'none'/ })
  items.delete('r7')
  for (const { id, outputs } of items.values()) t.strictSame(outputs?.['OUTPUT0']?.data, tensor.data, id)
})

behaves(t, 'gRPC, a stand-in', async () => {
  const server = await startGrpc()
  server.behaviour = server.echoOfKnown
  t.teardown(() => server.stop())
  const client = new GrpcClient(`127.0.0.1:${server.port}`)
  return {
    ...whole,
    client,
    hasTypes: true,
    hasTexts: true,
    hasClasses: false,
    hasJson: false,
    spare: 'idle',
    unknownModel: 'NOT_FOUND',
  }
})

const folder = process.env['TRITON']
if (folder !== undefined) {
  const triton = startTriton(t, folder)
  const real = { ...whole, hasTexts: true }
  behaves(t, 'HTTP, Triton', async () => ({ ...real, client: new HttpClient((await triton).http), unknownModel: 404 }))
  behaves(t, 'gRPC, Triton', async () => ({
    ...real,
    client: new GrpcClient((await triton).grpc),
    hasJson: false,
    unknownModel: 'NOT_FOUND',
  }))
}
