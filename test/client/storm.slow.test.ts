// 2,000 requests, 16 at a time, while they are aborted, run out of time, and lose their connections and their server:
// each has its own answer or an error that is true, and none that may have run is sent again.
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import t, { type Test } from 'tap'
import { GrpcClient, HttpClient, type InferenceClient } from '../../lib/client/index.js'
import { Tensor, TensorRTError } from '../../lib/index.js'
import { handles } from '../serve/http/real/server.js'
import { Random } from '../support/random.js'
import { size } from '../support/tiers.js'
import { until } from '../support/waiting.js'
import { onceFree } from './free-port.js'
import { echo as grpcEcho, failing, startGrpc } from './grpc-stand-in.js'
import { type Behaviour, echo, reply, startHttp } from './http-stand-in.js'

const requests = size(1000, 2000)
const inFlight = 16
const serverAlone = { TCPServerWrap: 1 }

interface Fragile {
  readonly port: number
  /** All connections are lost at once. */
  stop(): Promise<void>
  /** Some are, of those that have no request. */
  loseIdle(): void
}

interface Storm {
  readonly seed: number
  readonly start: (port: number, ids: Map<string, number>) => Promise<Fragile>
  readonly client: (port: number) => InferenceClient
}

class Aborted extends Error {}

type Outcome = 'answered' | 'aborted' | 'late' | 'unsent' | 'lost' | 'refused'

/** @throws whatever is none of what may become of a request */
async function outcomeOf(client: InferenceClient, id: string, random: Random): Promise<Outcome> {
  const data = new Float32Array(1 + random.below(random.chance(0.1) ? 100_000 : 500)).fill(Number(id))
  const controller = new AbortController()
  const timer = random.chance(0.15) ? setTimeout(() => controller.abort(new Aborted(id)), random.below(12)) : undefined
  const timeoutMs = random.chance(0.1) ? 1 + random.below(12) : 60_000
  try {
    const { OUTPUT0: output } = await client.infer(
      'm',
      { INPUT0: Tensor.from(data) },
      { id, signal: controller.signal, timeoutMs },
    )
    if (!isDeepStrictEqual(output?.data, data)) throw new Error(`request ${id} has the answer to another one`)
    return 'answered'
  } catch (error) {
    if (error instanceof Aborted && error.message === id && controller.signal.aborted) return 'aborted'
    if (!(error instanceof TensorRTError)) throw error
    if (error.code === 'ERR_TRT_TIMEOUT' && timeoutMs < 60_000) return 'late'
    if (error.code !== 'ERR_TRT_SERVER') throw error
    if (error.details['sent'] === false) return 'unsent'
    return error.message === `busy ${id}` ? 'refused' : 'lost'
  } finally {
    clearTimeout(timer)
  }
}

async function rages(t: Test, { seed, start, client: open }: Storm): Promise<void> {
  const random = new Random(seed)
  const ids = new Map<string, number>()
  let server = await start(0, ids)
  const { port } = server
  const client = open(port)
  const outcomes = new Map<string, Outcome>()
  let next = 0
  const ask = async (): Promise<void> => {
    while (next < requests) {
      const id = String(next++)
      const outcome = await outcomeOf(client, id, random)
      if (outcomes.has(id)) throw new Error(`request ${id} settled twice`)
      outcomes.set(id, outcome)
      if (random.chance(0.05)) await sleep(random.below(30))
    }
  }
  let isOver = false
  const weather = (async () => {
    for (let seen = 0; !isOver; await sleep(2)) {
      if (outcomes.size < seen + 60) continue
      seen = outcomes.size
      if (random.chance(0.5)) server.loseIdle()
      else {
        await server.stop()
        await sleep(random.below(20))
        server = await onceFree(() => start(port, ids))
      }
    }
  })()
  await Promise.all(Array.from({ length: inFlight }, ask))
  isOver = true
  await weather
  await client.close()
  await until(() => isDeepStrictEqual(handles(), serverAlone))
  t.strictSame(handles(), serverAlone, 'no socket and no timer is left')
  await server.stop()

  t.equal(outcomes.size, requests, 'each settled')
  t.strictSame(
    [...ids].filter(([, count]) => count > 1),
    [],
    'none came twice',
  )
  const came = (wanted: Outcome): number[] =>
    [...outcomes].filter(([, one]) => one === wanted).map(([id]) => ids.get(id) ?? 0)
  t.ok(
    came('answered').every((count) => count === 1),
    'what was answered came',
  )
  t.ok(
    came('refused').every((count) => count === 1),
    'what was refused came',
  )
  t.ok(
    came('unsent').every((count) => count === 0),
    'what was not sent did not come',
  )
  for (const wanted of ['answered', 'aborted', 'late', 'lost', 'refused'] as const)
    t.ok(came(wanted).length > 0, `${wanted}: ${came(wanted).length}`)
  t.comment(`unsent: ${came('unsent').length}`)
}

t.test('over HTTP', async (t) => {
  const random = new Random(5)
  const behaviour: Behaviour = (asked, response, request) => {
    const chance = random.next()
    if (chance < 0.02) return void response.destroy()
    if (chance < 0.04) return reply(response, 503, JSON.stringify({ error: `busy ${asked.head.id}` }))
    if (chance < 0.06) {
      response.writeHead(200, { 'Content-Length': 100 }).write('half')
      return void setImmediate(() => response.destroy())
    }
    if (chance < 0.08) response.setHeader('Connection', 'close')
    if (chance < 0.6) return echo(asked, response, request)
    setTimeout(() => echo(asked, response, request), random.below(8))
  }
  await rages(t, {
    seed: 1,
    client: (port) =>
      new HttpClient(`http://127.0.0.1:${port}`, { maxConnections: 12, retries: { times: 3, delayMs: 5 } }),
    start: async (port, ids) => {
      const server = await startHttp(behaviour, { port, ids })
      return { port: server.port, stop: () => server.stop(), loseIdle: () => server.server.closeIdleConnections() }
    },
  })
})

t.test('over gRPC', async (t) => {
  const random = new Random(6)
  await rages(t, {
    seed: 2,
    client: (port) => new GrpcClient(`127.0.0.1:${port}`, { retries: { times: 3, delayMs: 5 } }),
    start: async (port, ids) => {
      const server = await startGrpc({ port, ids })
      server.behaviour = async (request) => {
        if (random.chance(0.03)) throw failing('UNAVAILABLE', `busy ${request.id}`)
        if (random.chance(0.4)) await sleep(random.below(8), undefined, { ref: false })
        return grpcEcho(request)
      }
      return { port: server.port, stop: () => server.stop(), loseIdle: () => {} }
    },
  })
})
