/** The server beside a real Triton (TRITON=DIR of ../shared/triton; left out without) and a bare fastify, asked by wrk: requests a second, the event loop, memory. Names of parts: those alone; `--rounds N`. */
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { interleaved } from './support/measure.js'
import { machine, note, print, row, type Row } from './support/report.js'
import { binaryPost, jsonPost } from './support/serve/requests.js'
import { identityRepository, type Running, startOurs, startTriton } from './support/serve/servers.js'
import { type Post, requestsPerSecond, scriptOf } from './support/serve/wrk.js'

const { values, positionals } = parseArgs({
  options: { json: { type: 'boolean', default: false }, rounds: { type: 'string', default: '6' } },
  allowPositionals: true,
})
const rounds = Number(values.rounds)
if (!Number.isInteger(rounds) || rounds < 1) throw new Error(`--rounds is a whole number from 1, not ${values.rounds}`)

/** `trt serve` sets it for itself; `serve()` never does. */
const flags = ['--no-incremental-marking']
const seconds = 1
const small = 16
const large = 150_528 // 1x3x224x224
const triton = process.env['TRITON']

interface Load {
  readonly what: string
  readonly post: Post
  readonly connections: number
  readonly triton?: number
  readonly fastify?: number
}

const loads: readonly Load[] = [
  { what: '64 B, 1 client', post: binaryPost(small), connections: 1, triton: 0.85 },
  { what: '64 B, 8 clients', post: binaryPost(small), connections: 8, triton: 0.65, fastify: 0.55 },
  { what: '64 B, 64 clients', post: binaryPost(small), connections: 64, triton: 0.6 },
  { what: 'JSON of 16 numbers, 8 clients', post: jsonPost(small), connections: 8, triton: 0.6 },
  { what: '602 KB, 1 client', post: binaryPost(large), connections: 1, triton: 1 },
  { what: '602 KB, 8 clients', post: binaryPost(large), connections: 8, triton: 0.8, fastify: 0.65 },
]

const median = `medians of ${rounds} rounds of ${seconds} s in turns`

/** Ours beside another server, with each of the loads that have a goal for it. */
async function beside(ours: Running, peer: Running, goal: (load: Load) => number | undefined, about: string): Promise<Row[]> {
  const rows: Row[] = []
  for (const [i, load] of loads.entries()) {
    const value = goal(load)
    if (value === undefined) continue
    note(`${load.what}, ours and ${about} …`)
    const script = scriptOf(`load-${i}`, load.post)
    const rate = (server: Running) => () => requestsPerSecond(`${server.url}${load.post.path}`, script, load.connections, seconds)
    const rates = await interleaved(rounds, { ours: rate(ours), peer: rate(peer) })
    rows.push(
      row(`${load.what}, beside ${about}`, '/s', rates.ours, rates.peer, { of: 'ratio', sign: '>=', value }, `peer: ${about}; ${median}`),
    )
  }
  return rows
}

async function besideTriton(ours: Running): Promise<Row[]> {
  if (triton === undefined) {
    note('TRITON names no folder of a real Triton: the rows beside it are left out')
    return []
  }
  const peer = await startTriton(triton)
  try {
    return await beside(ours, peer, (load) => load.triton, 'Triton 2.51 with an identity model in C++')
  } finally {
    await peer.stop()
  }
}

async function besideFastify(ours: Running): Promise<Row[]> {
  const peer = await startOurs('fastify', [], flags)
  try {
    return await beside(ours, peer, (load) => load.fastify, 'a bare fastify that copies the body')
  } finally {
    await peer.stop()
  }
}

/** How late the event loop of the server is, while eight clients send large bodies, above what it is when nobody asks. */
async function eventLoop(ours: Running): Promise<Row[]> {
  note('event-loop delay, 602 KB, 8 clients …')
  const script = scriptOf('loop', binaryPost(large))
  const delay = async (work: () => Promise<unknown>): Promise<number> => {
    await ours.ask('begin to watch the event loop')
    await work()
    return ours.ask('event-loop delay')
  }
  const idle = (): Promise<number> => delay(() => sleep(1000 * seconds))
  const busy = (): Promise<number> => delay(() => requestsPerSecond(`${ours.url}${binaryPost(large).path}`, script, 8, seconds))
  const time = await interleaved(rounds, { busy, idle })
  const goal = { of: 'difference', sign: '<=', value: 5 } as const
  return [row('event-loop delay, p99, 602 KB, 8 clients', 'ms', time.busy, time.idle, goal, `peer: the same with no requests; ${median}`)]
}

/** Resident memory after many requests, above that after some. */
async function memory(ours: Running): Promise<Row[]> {
  note('resident memory …')
  const script = scriptOf('memory', binaryPost(small))
  const url = `${ours.url}${binaryPost(small).path}`
  let done = 0
  const until = async (count: number): Promise<number> => {
    while (done < count) done += (await requestsPerSecond(url, script, 8, seconds)) * seconds
    return (await ours.ask<number>('resident bytes')) / 2 ** 20
  }
  const first = await until(10_000)
  const last = await until(100_000)
  const about = `peer: after 10,000; ${Math.round(done)} requests of 64 B in all`
  return [row('resident memory after 100,000 requests', 'MiB', last, first, { of: 'difference', sign: '<=', value: 32 }, about)]
}

const parts = { triton: besideTriton, fastify: besideFastify, eventLoop, memory }
const unknown = positionals.find((name) => !Object.hasOwn(parts, name))
if (unknown !== undefined) throw new Error(`serve has no part ${unknown}; its parts: ${Object.keys(parts).join(', ')}`)

const rows: Row[] = []
const ours = await startOurs('ours', [identityRepository()], flags)
try {
  for (const [name, part] of Object.entries(parts)) {
    if (positionals.length === 0 || positionals.includes(name)) rows.push(...(await part(ours)))
  }
} finally {
  await ours.stop()
}
print({ bench: 'serve', date: new Date().toISOString(), machine: machine({ peers: 'wrk asks' }), rows }, values.json)
