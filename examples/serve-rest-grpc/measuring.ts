/** Calls of one client, one after the other, in three ways by turns: whatever else the machine does meets all three. */
import { type Tensor, TensorRTError } from 'node-tensorrt'
import { GrpcClient, HttpClient } from 'node-tensorrt/client'
import type { ServerAddresses } from 'node-tensorrt/serve'
import { type Times, timesOf } from '../serve-support/asking.js'
import type { Case, Form } from './models.js'

export const ways = ['JSON over REST', 'binary over REST', 'gRPC'] as const

/** Calls in one way. */
export interface Calls {
  readonly way: (typeof ways)[number]
  readonly times: Times
  /** 1 - average / average of JSON. */
  readonly lessThanJson: number
  /** Of the tensor in a request. */
  readonly requestBytes: number
}

export interface Measured {
  readonly what: string
  readonly form: Form
  readonly shape: readonly number[]
  readonly count: number
  /** What the model itself took, on average of all calls, by the server's statistics. */
  readonly modelMs: number
  readonly calls: readonly Calls[]
}

/** @throws TensorRTError (as a rejection) where two ways give different numbers */
export async function measure(
  { http, grpc }: ServerAddresses,
  { name, what, form, input }: Case,
  count: number,
): Promise<Measured> {
  await using rest = new HttpClient(http?.url ?? '')
  await using rpc = new GrpcClient(grpc?.url ?? '')
  const inputs = { images: input }
  const callBy = [
    () => rest.infer(name, inputs, { encoding: 'json' }),
    () => rest.infer(name, inputs),
    () => rpc.infer(name, inputs),
  ]
  // the first call in each way is not measured
  const answers = new Set<string>()
  for (const call of callBy) answers.add(wordsOf(await call()))
  if (answers.size > 1)
    throw new TensorRTError('ERR_TRT_SERVER', `${name} answered differently over ${ways.join(', ')}`)
  const times = ways.map((): number[] => [])
  for (let i = 0; i < count; i++)
    for (const [way, call] of callBy.entries()) {
      const begun = performance.now()
      await call()
      times[way]!.push(performance.now() - begun)
    }
  const [stats] = await rest.statistics(name)
  const computed = stats?.inference_stats.compute_infer ?? { count: 0, ns: 0 }
  const asJson = JSON.stringify(Array.from<unknown>(input.data)).length
  const all = times.map(timesOf)
  const calls = all.map((own, i): Calls => ({
    way: ways[i]!,
    times: own,
    lessThanJson: 1 - own.average / all[0]!.average,
    requestBytes: i === 0 ? asJson : input.byteLength,
  }))
  return { what, form, shape: input.shape, count, modelMs: computed.ns / computed.count / 1e6, calls }
}

const wordsOf = (answer: Readonly<Record<string, Tensor>>): string =>
  Object.entries(answer)
    .map(([output, { data }]) => `${output}: ${data.join()}`)
    .sort()
    .join('\n')
