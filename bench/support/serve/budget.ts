/** Part of bench serve: processor time of a request by what it is spent on, so that the next gain is known. */
import { setTimeout as sleep } from 'node:timers/promises'
import { median } from '../measure.js'
import { note, type Row, shown } from '../report.js'
import { about, type Context, withTriton } from './context.js'
import { type Part, parts } from './profile.js'
import { large, small } from './rates.js'
import { binaryPost, jsonPost } from './requests.js'
import type { Running } from './servers.js'
import { spent, threadTimes } from './threads.js'
import { asked, type Post, scriptOf } from './wrk.js'

const loads: readonly (readonly [string, Post])[] = [
  ['64 B', binaryPost(small)],
  ['JSON of 16 numbers', jsonPost(small)],
  ['602 KB', binaryPost(large)],
]
const connections = 8

/** Microseconds of a request. */
interface Cost {
  readonly main: number
  readonly others: number
  readonly all: number
}

async function cost({ url, pid }: Running, post: Post, seconds: number): Promise<Cost> {
  const before = threadTimes(pid)
  const { count } = await asked(`${url}${post.path}`, scriptOf(post), connections, seconds)
  const { main, others } = spent(pid, before, threadTimes(pid))
  const each = (ns: number): number => ns / count / 1000
  return { main: each(main), others: each(others), all: each(main + others) }
}

function medianCost(costs: readonly Cost[]): Cost {
  const of = (part: keyof Cost): number => median(costs.map((each) => each[part]))
  return { main: of('main'), others: of('others'), all: of('all') }
}

/** Costs of ours, and of Triton where there is one, in turns after a round that does not count. */
async function costs(
  context: Context,
  post: Post,
  triton: Running | undefined,
): Promise<{ ours: Cost; triton: Cost | undefined }> {
  const [ours, theirs]: [Cost[], Cost[]] = [[], []]
  for (let round = -1; round < context.rounds; round++) {
    const mine = await cost(context.ours, post, context.seconds)
    const other = triton && (await cost(triton, post, context.seconds))
    if (round < 0) continue
    ours.push(mine)
    if (other) theirs.push(other)
  }
  return { ours: medianCost(ours), triton: triton && medianCost(theirs) }
}

async function profiled({ ours, seconds }: Context, post: Post): Promise<Record<Part, number>> {
  await ours.ask('begin to profile')
  await asked(`${ours.url}${post.path}`, scriptOf(post), connections, 3 * seconds)
  const shares = await ours.ask<Record<Part, number>>('shares of the profile')
  await sleep(100)
  return shares
}

function figure(what: string, ours: number, peer: number | undefined, told: string): Row {
  return shown(what, 'µs', ours, peer ?? null, told)
}

async function ofLoad(context: Context, name: string, post: Post, triton: Running | undefined): Promise<Row[]> {
  note(`budget, ${name} …`)
  const found = await costs(context, post, triton)
  const { main, others, all } = found.ours
  const shares = await profiled(context, post)
  const share = (part: Part): string => `${(100 * shares[part]).toFixed(0)} % of that thread's profile`
  const rows = (Object.keys(parts) as Part[]).map((part) =>
    figure(`${name}: ${parts[part]}`, main * shares[part], undefined, share(part)),
  )
  return [
    figure(
      `${name}: processor time of a request`,
      all,
      found.triton?.all,
      `peer: Triton; ${connections} clients; ${about(context)}`,
    ),
    figure(`${name}: the thread of the event loop`, main, undefined, 'its parts follow'),
    ...rows,
    figure(
      `${name}: other threads`,
      others,
      undefined,
      'the lane, which runs the model and is woken for it; V8 and libuv',
    ),
  ]
}

async function* all(context: Context, triton: Running | undefined): AsyncGenerator<Row, void> {
  for (const [name, post] of loads) yield* await ofLoad(context, name, post, triton)
}

export function budget(context: Context): AsyncGenerator<Row, void> {
  if (context.triton === undefined) {
    note('TRITON names no folder of a real Triton (../shared/triton): its part of the budget is left out')
    return all(context, undefined)
  }
  return withTriton(context, 'the budget', (triton) => all(context, triton))
}
