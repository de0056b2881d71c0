/** Parts of bench serve: requests a second beside other servers, and with what can be left out. */
import { interleaved } from '../measure.js'
import { note, row, type Row } from '../report.js'
import { about, type Context, withChild, withTriton } from './context.js'
import { binaryPost, jsonPost } from './requests.js'
import type { Running } from './servers.js'
import { type Post, requestsPerSecond, scriptOf } from './wrk.js'

export const small = 16 // floats: 64 bytes
export const large = 150_528 // 1x3x224x224: 602 KB

interface Load {
  readonly what: string
  readonly post: Post
  readonly connections: number
  /** What is to be reached of others' requests a second. */
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

/** A round's figure: what a server answers of such requests in a second. */
export function rate({ url }: Running, post: Post, connections: number, seconds: number): () => Promise<number> {
  const script = scriptOf(post)
  return () => requestsPerSecond(`${url}${post.path}`, script, connections, seconds)
}

async function* beside(
  context: Context,
  peer: Running,
  goal: (load: Load) => number | undefined,
  name: string,
): AsyncGenerator<Row, void> {
  for (const load of loads) {
    const value = goal(load)
    if (value === undefined) continue
    note(`${load.what}, ours and ${name} …`)
    const of = (server: Running): (() => Promise<number>) => rate(server, load.post, load.connections, context.seconds)
    const rates = await interleaved(context.rounds, { ours: of(context.ours), peer: of(peer) })
    const told = `peer: ${name}; ${about(context)}`
    yield row(load.what, '/s', rates.ours, rates.peer, { of: 'ratio', sign: '>=', value }, told)
  }
}

export function triton(context: Context): AsyncGenerator<Row, void> {
  return withTriton(context, 'what is beside it', (peer) =>
    beside(context, peer, (load) => load.triton, 'Triton 2.51, an identity model in C++'),
  )
}

export function fastify(context: Context): AsyncGenerator<Row, void> {
  return withChild('fastify', [], (peer) =>
    beside(context, peer, (load) => load.fastify, 'a bare fastify that copies the body'),
  )
}

/**
 * What it costs that requests can be cancelled: beside the same server that hears of no client that leaves, and
 * requests with a timeout, which no request reaches, beside those without.
 */
export function cancelling(context: Context): AsyncGenerator<Row, void> {
  note('cancelling …')
  const { ours, repository, rounds, seconds } = context
  const plain = binaryPost(small)
  const timed = binaryPost(small, { parameters: { timeout: 10_000_000 } })
  return withChild('ours', [repository, '--unwatched'], async function* (unwatched) {
    const rates = await interleaved(rounds, {
      ours: rate(ours, plain, 8, seconds),
      unwatched: rate(unwatched, plain, 8, seconds),
      timed: rate(ours, timed, 8, seconds),
    })
    const goal = { of: 'ratio', sign: '>=', value: 0.9 } as const
    yield row(
      '64 B, 8 clients, requests that end with their client',
      '/s',
      rates.ours,
      rates.unwatched,
      goal,
      `peer: the same server, which tells nobody that a client left; ${about(context)}`,
    )
    yield row(
      '64 B, 8 clients, each with a timeout',
      '/s',
      rates.timed,
      rates.ours,
      goal,
      `peer: without; none is reached; a timer each; ${about(context)}`,
    )
  })
}
