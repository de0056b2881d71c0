// One suite for both clients: against our server, against stand-ins, and, where TRITON names the folder of one, against a real Triton.
import t from 'tap'
import { GrpcClient, HttpClient } from '../../lib/client/index.js'
import { startGrpc } from './grpc-stand-in.js'
import { behaves } from './suite.js'
import { startOurs, startTriton } from './targets.js'

const whole = { hasTypes: true, hasTexts: false, hasClasses: true, hasJson: true, spare: 'ident_fp64' }

behaves(t, 'HTTP, our server', async () => {
  const server = await startOurs(t)
  return { ...whole, client: new HttpClient(server.addresses.http?.url ?? ''), unknownModel: 404 }
})

behaves(t, 'gRPC, a stand-in', async () => {
  const server = await startGrpc()
  server.behaviour = server.echoOfKnown
  t.teardown(() => server.stop())
  const client = new GrpcClient(`127.0.0.1:${server.port}`)
  return { ...whole, client, hasTypes: true, hasTexts: true, hasClasses: false, hasJson: false, spare: 'idle', unknownModel: 'NOT_FOUND' }
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
