// L0_lifecycle: loads, replacements, failed loads and unloads over HTTP, under eight connections: no request is lost,
// none is answered by a model that was never ready, and engines, lanes and descriptors are back at their start.
import { readdirSync } from 'node:fs'
import { Agent, type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { loadAddon } from '../../../lib/backend/native.js'
import { Fault } from '../../../lib/serve/faults.js'
import { serve } from '../../../lib/serve/index.js'
import { Random } from '../../support/random.js'
import { size } from '../../support/tiers.js'
import { certain } from '../../support/waiting.js'
import { check, cycle, type Seen, type Truth } from '../models/cycles.js'
import { repository } from '../models/folders.js'

const descriptors = (): number => readdirSync('/proc/self/fd').length
const live = (): unknown => loadAddon().cpuLive()
const connections = 8

interface Answer {
  readonly status: number
  readonly json: { readonly error?: string; readonly outputs?: readonly { readonly data: readonly number[] }[] }
}

/** A client with a connection of its own. */
class Client implements Disposable {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })
  readonly #port: number

  constructor(port: number) {
    this.#port = port
  }

  async post(path: string, body?: unknown): Promise<Answer> {
    const sent = request({ host: '127.0.0.1', port: this.#port, method: 'POST', path, agent: this.#agent })
    const response = new Promise<IncomingMessage>((resolve, reject) =>
      sent.once('response', resolve).once('error', reject),
    )
    sent.end(body === undefined ? '' : JSON.stringify(body))
    const found = await text(await response)
    return { status: (await response).statusCode ?? 0, json: found === '' ? {} : (JSON.parse(found) as Answer['json']) }
  }

  [Symbol.dispose](): void {
    this.#agent.destroy()
  }
}

/** Asks one request after the other, until it is told to end. */
async function askAll(
  client: Client,
  truth: Truth,
  seen: Seen,
  isOver: () => boolean,
  onAnswer: () => void,
): Promise<void> {
  const body = { inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 4], data: [1, 2, 3, 4] }] }
  while (!isOver()) {
    const { steady } = truth
    const { status, json } = await client.post('/v2/models/m/infer', body)
    onAnswer()
    if (status === 200) check(json.outputs?.[0]?.data ?? [], truth, seen)
    else if (status === 404 && !(steady && truth.steady)) seen.absent++
    else seen.wrong.push(`${status} ${json.error}`)
    await turn()
  }
}

/** What a client asks of the repository. */
function control(client: Client): Parameters<typeof cycle>[0] {
  const post = async (name: string, what: string): Promise<void> => {
    const { status, json } = await client.post(`/v2/repository/models/${name}/${what}`)
    if (status !== 200) throw new Fault('INVALID_ARG', json.error ?? '')
  }
  return { load: (name) => post(name, 'load'), unload: (name) => post(name, 'unload') }
}

await t.test(
  'test_model_availability_on_reload, test_model_reload_fail, test_concurrent_same_model_load_unload_stress',
  async (t) => {
    const folder = repository(t)
    const options = { modelRepository: folder, modelControlMode: 'explicit', engine: { backend: 'cpu' } } as const
    const cycles = size(25, 5000)
    const truth: Truth = { ready: new Set(), steady: false }
    const seen: Seen = { answered: 0, absent: 0, wrong: [] }
    const random = new Random(2611)
    const before = live()
    let open = 0
    {
      await using server = await serve({ ...options, http: { port: 0, address: '127.0.0.1' } })
      const port = server.addresses.http?.port ?? 0
      using operator = new Client(port)
      const clients = Array.from({ length: connections }, () => new Client(port))
      let over = false
      const connected = new Set<Client>()
      const asking = clients.map((client) =>
        askAll(
          client,
          truth,
          seen,
          () => over,
          () => connected.add(client),
        ),
      )
      const models = control(operator)
      for (let i = 1; i <= cycles && seen.wrong.length === 0; i++) {
        await cycle(models, folder, truth, i, random, seen)
        if (i > 1) continue
        await certain(() => connected.size === connections)
        open = descriptors()
      }
      // no more than after the first cycle, once those of the loads are closed
      await certain(() => descriptors() <= open)
      over = true
      await Promise.all(asking)
      for (const client of clients) client[Symbol.dispose]()
      await server.unload('m')
      await certain(() => JSON.stringify(live()) === JSON.stringify(before))
      await certain(() => server.index()[0]?.state === 'UNAVAILABLE')
      t.same(server.index(), [{ name: 'm', version: '1', state: 'UNAVAILABLE', reason: 'unloaded' }])
      t.same(await server.drain(), { left: 0 })
    }
    t.same(seen.wrong, [])
    t.equal(truth.ready.size, cycles)
    t.ok(seen.answered >= cycles)
    t.same(live(), before)
  },
)
