// How clients end: what is under way is waited for, and no socket and no timer is left.
import { isDeepStrictEqual } from 'node:util'
import t, { type Test } from 'tap'
import { GrpcClient, HttpClient, type InferenceClient } from '../../lib/client/index.js'
import { Tensor } from '../../lib/index.js'
import { certain, until } from '../support/waiting.js'
import { handles } from '../serve/http/real/server.js'
import { echo as grpcEcho, startGrpc } from './grpc-stand-in.js'
import { echo, startHttp } from './http-stand-in.js'

/** What is there beside a client: the server. */
const serverAlone = { TCPServerWrap: 1 }
const inputs = { INPUT0: Tensor.from(new Float32Array([1, 2, 3]), [1, 3]) }

async function ends(t: Test, client: InferenceClient, held: readonly (() => void)[]): Promise<void> {
  t.ok(await client.isLive())
  const running = client.infer('m', inputs, { timeoutMs: 600_000, signal: new AbortController().signal })
  await certain(() => held.length === 1)
  let isClosed = false
  const closing = client.close().then(() => (isClosed = true))
  await t.rejects(client.infer('m', inputs), { code: 'ERR_TRT_CLOSED', message: 'The client is closed' })
  await t.rejects(client.isLive(), { code: 'ERR_TRT_CLOSED' })
  t.equal(isClosed, false)
  held[0]?.()
  t.ok(await running)
  await closing
  await client.close()
  await client[Symbol.asyncDispose]()
  await onlyServer(t, 'nothing is left')
}

/** Once what is on its way to its end has ended. */
async function onlyServer(t: Test, what: string): Promise<void> {
  await until(() => isDeepStrictEqual(handles(), serverAlone))
  t.strictSame(handles(), serverAlone, what)
}

t.test('over HTTP', async (t) => {
  const held: (() => void)[] = []
  await using server = await startHttp((asked, response, request) => {
    if (asked.method === 'GET') response.end('{}')
    else held.push(() => echo(asked, response, request))
  })
  await ends(t, new HttpClient(server.url), held)
  const unused = new HttpClient(server.url)
  await unused.close()
  await onlyServer(t, 'one that was never used')
})

t.test('over gRPC', async (t) => {
  const held: (() => void)[] = []
  await using server = await startGrpc()
  server.behaviour = (request) => new Promise((resolve) => held.push(() => resolve(grpcEcho(request))))
  const client = new GrpcClient(`127.0.0.1:${server.port}`)
  const stream = client.stream({ timeoutMs: 600_000, signal: new AbortController().signal })
  await stream.send('m', inputs)
  const items = stream[Symbol.asyncIterator]()
  t.match(await items.next(), { value: { id: '1' } })
  const next = items.next()
  const reading = t.rejects(next, { code: 'ERR_TRT_CLOSED' }, 'streams are ended')
  await ends(t, client, held)
  await reading
  await t.rejects(stream.send('m', inputs), { code: 'ERR_TRT_CLOSED', message: 'The stream is closed' })
  t.throws(() => client.stream(), { code: 'ERR_TRT_CLOSED' })
  await new GrpcClient(`127.0.0.1:${server.port}`).close()
  await onlyServer(t, 'one that was never used')
})
