/** Part of bench serve: requests a second over gRPC, on one connection. */
import { interleaved } from '../measure.js'
import { failedRow, note, row, type Row } from '../report.js'
import { about, type Context, withTriton } from './context.js'
import { type Call, callRate, checkCall, hasH2load } from './h2load.js'
import { large, small } from './rates.js'
import { inferCall } from './requests.js'
import type { Running } from './servers.js'

interface Load {
  readonly what: string
  readonly call: Call
  readonly streams: number
  /** What is to be reached of Triton's requests a second. */
  readonly goal: number
}

const loads: readonly Load[] = [
  { what: 'gRPC, 64 B, 1 at a time', call: inferCall(small), streams: 1, goal: 0.55 },
  { what: 'gRPC, 64 B, 8 on one connection', call: inferCall(small), streams: 8, goal: 0.45 },
  { what: 'gRPC, 602 KB, 1 at a time', call: inferCall(large), streams: 1, goal: 0.45 },
  { what: 'gRPC, 602 KB, 8 on one connection', call: inferCall(large), streams: 8, goal: 0.3 },
]

async function measured(context: Context, triton: Running, { what, call, streams, goal }: Load): Promise<Row> {
  note(`${what}, ours and Triton …`)
  const of = async (url: string): Promise<() => Promise<number>> => {
    await checkCall(url, call)
    return callRate(url, call, streams, context.seconds)
  }
  const rates = await interleaved(context.rounds, {
    ours: await of(context.ours.grpcUrl),
    peer: await of(triton.grpcUrl),
  })
  const told = `peer: Triton 2.51, an identity model in C++; h2load asks; ${about(context)}`
  return row(what, '/s', rates.ours, rates.peer, { of: 'ratio', sign: '>=', value: goal }, told)
}

export async function* grpc(context: Context): AsyncGenerator<Row, void> {
  if (!(await hasH2load())) {
    note('h2load is not installed (the package nghttp2-client of Debian has it): gRPC is left out')
    return
  }
  yield* withTriton(context, 'gRPC', async function* (triton) {
    for (const load of loads) {
      const found = measured(context, triton, load)
      yield await found.catch((error: unknown) => failedRow(load.what, error))
    }
  })
}
