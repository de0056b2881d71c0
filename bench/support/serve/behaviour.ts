/** Parts of bench serve: what batching gains, how free the event loop is, memory. */
import { setTimeout as sleep } from 'node:timers/promises'
import { interleaved } from '../measure.js'
import { note, row, type Row } from '../report.js'
import { about, type Context, withChild } from './context.js'
import { large, rate, small } from './rates.js'
import { binaryPost, jsonPostOf } from './requests.js'
import type { RunningChild } from './servers.js'
import { asked, type Post, scriptOf } from './wrk.js'

const width = 16
const batching64 = (model: string): Post =>
  binaryPost(width, { model: { name: model, input: 'x', output: 'y' }, shape: [1, width] })

/** What a batch of several requests gains, over HTTP and in process, on a model that takes 5 ms whatever the batch. */
export function batching(context: Context): AsyncGenerator<Row, void> {
  note('batches of 5 ms, 64 clients …')
  return withChild('batching', [], async function* (child) {
    const rates = await interleaved(context.rounds, {
      merged: rate(child, batching64('merged'), 64, context.seconds),
      mergedInProcess: () => child.ask<number>('merged in process'),
      single: rate(child, batching64('single'), 64, context.seconds),
      singleInProcess: () => child.ask<number>('single in process'),
    })
    const mean = await child.ask<number>('mean batch')
    const told = `${Math.round(rates.merged)} against ${Math.round(rates.single)} requests a second, in process ${Math.round(rates.mergedInProcess)} against ${Math.round(rates.singleInProcess)}; mean batch ${mean.toFixed(2)} of 16; ${about(context)}`
    const [ours, peer] = [rates.merged / rates.single, rates.mergedInProcess / rates.singleInProcess]
    const goal = { of: 'ratio', sign: '>=', value: 0.9 } as const
    const how = `peer: the same plan, 64 callers of infer in process; ${told}`
    yield row('what batches gain, 5 ms each, 64 clients', 'x', ours, peer, goal, how)
  })
}

interface Delay {
  readonly p99: number
  readonly longest: number
}

/** How late the event loop of a server is while something is done. */
async function delay(server: RunningChild, work: () => Promise<unknown>): Promise<Delay> {
  await server.ask('begin to watch the event loop')
  await work()
  return server.ask<Delay>('delay of the event loop')
}

/** While eight clients send large bodies, above what it is when nobody asks. */
export async function eventLoop(context: Context): Promise<Row[]> {
  note('delay of the event loop, 602 KB, 8 clients …')
  const { ours, rounds, seconds } = context
  const load = rate(ours, binaryPost(large), 8, seconds)
  const p99 = async (work: () => Promise<unknown>): Promise<number> => (await delay(ours, work)).p99
  const time = await interleaved(rounds, { busy: () => p99(load), idle: () => p99(() => sleep(1000 * seconds)) })
  const goal = { of: 'difference', sign: '<=', value: 5, isRemainder: true } as const
  return [
    row(
      'delay of the event loop, p99, 602 KB, 8 clients',
      'ms',
      time.busy,
      time.idle,
      goal,
      `peer: with no requests; ${about(context)}`,
    ),
  ]
}

/** Bytes of JSON: the longest that the event loop reads itself, and some that a worker does. */
const jsonSizes = [
  ['500 KiB', 500 * 2 ** 10],
  ['4 MiB', 2 ** 22],
  ['32 MiB', 2 ** 25],
] as const

/** The longest time that one request with much JSON, and an answer of as much, holds the event loop. */
export async function* json(context: Context): AsyncGenerator<Row, void> {
  const { ours, rounds } = context
  for (const [name, bytes] of jsonSizes) {
    note(`the event loop, JSON of ${name} …`)
    const post = jsonPostOf(bytes)
    const longest = async (work: () => Promise<unknown>): Promise<number> => (await delay(ours, work)).longest
    const time = await interleaved(rounds, {
      busy: () => longest(() => ask(ours, post)),
      idle: () => longest(() => sleep(200)),
    })
    const goal = { of: 'ours', sign: '<=', value: 20, isRemainder: true } as const
    const told = `peer: with no requests; one request at a time, medians of ${rounds} rounds`
    yield row(`longest delay of the event loop, JSON of ${name}`, 'ms', time.busy, time.idle, goal, told)
  }
}

/** Asks for an answer that is not compressed, which fetch would like. */
async function ask({ url }: RunningChild, { path, headers, body }: Post): Promise<void> {
  const plain = { ...headers, 'Accept-Encoding': 'identity' }
  const answer = await fetch(`${url}${path}`, { method: 'POST', headers: plain, body: new Uint8Array(body) })
  const { byteLength } = await answer.arrayBuffer()
  if (!answer.ok || byteLength < body.length / 2)
    throw new Error(`${path} was answered with ${answer.status}, ${byteLength} bytes`)
}

/** Resident memory of a server of its own after many requests, above that after some. */
export function memory(context: Context): AsyncGenerator<Row, void> {
  note('resident memory …')
  const [some, many] = context.quick ? [2_000, 20_000] : [10_000, 100_000]
  const post = binaryPost(small)
  const script = scriptOf(post)
  return withChild('ours', [context.repository], async function* (server) {
    let done = 0
    const after = async (count: number): Promise<number> => {
      while (done < count) done += (await asked(`${server.url}${post.path}`, script, 8, 1)).count
      return (await server.ask<number>('resident bytes')) / 2 ** 20
    }
    const first = await after(some)
    const between = done
    const last = await after(many)
    const goal = { of: 'difference', sign: '<=', value: 32 } as const
    const told = `peer: after ${between}; ${done} requests of 64 B in all, 8 clients`
    yield row(`resident memory after ${many} requests`, 'MiB', last, first, goal, told)
  })
}
