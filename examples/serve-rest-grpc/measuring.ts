/** Calls of one client, one after the other, in three ways by turns: whatever else the machine does meets all three. */
import { GrpcClient, HttpClient } from '../../lib/client/index.js'
import { TensorRTError } from '../../lib/errors.js'
import type { ServerAddresses } from '../../lib/serve/index.js'
import type { Tensor } from '../../lib/tensor.js'
import { type Times, timesOf } from '../serve-support/asking.js'
import type { Case, Form } from './models.js'

export const ways = ['JSON over REST', 'binary over REST', 'gRPC'] as const
export type Way = (typeof ways)[number]

/** Calls in one way. */
export interface Calls {
  readonly way: Way
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

type Outputs = Readonly<Record<string, Tensor>>

/** @throws TensorRTError (as a rejection) where two ways give different numbers */
export async function measure(
  { http, grpc }: ServerAddresses,
  { name, what, form, input }: Case,
  count: number,
): Promise<Measured> {
  await using rest = new HttpClient(http?.url ?? '')
  await using rpc = new GrpcClient(grpc?.url ?? '')
  const inputs = { images: input }
  const callBy: Readonly<Record<Way, () => Promise<Outputs>>> = {
    'JSON over REST': () => rest.infer(name, inputs, { encoding: 'json' }),
    'binary over REST': () => rest.infer(name, inputs),
    gRPC: () => rpc.infer(name, inputs),
  }
  await checkAlike(name, callBy)
  const times: Record<Way, number[]> = { 'JSON over REST': [], 'binary over REST': [], gRPC: [] }
  for (let i = 0; i < count; i++)
    for (const way of ways) {
      const begun = performance.now()
      await callBy[way]()
      times[way].push(performance.now() - begun)
    }
  const json = timesOf(times['JSON over REST'])
  const calls = ways.map((way) => {
    const own = timesOf(times[way])
    const requestBytes =
      way === 'JSON over REST' ? JSON.stringify(Array.from<unknown>(input.data)).length : input.data.byteLength
    return { way, times: own, lessThanJson: 1 - own.average / json.average, requestBytes }
  })
  return { what, form, shape: input.shape, count, modelMs: await modelMsOf(rest, name), calls }
}

/** The first call in each way, which is not measured. */
async function checkAlike(name: string, callBy: Readonly<Record<Way, () => Promise<Outputs>>>): Promise<void> {
  const answers: Outputs[] = []
  for (const way of ways) answers.push(await callBy[way]())
  const words = (answer: Outputs): string[] =>
    Object.entries(answer)
      .map(([output, { data }]) => `${output}: ${data.join()}`)
      .sort()
  const [first, ...others] = answers.map(words)
  if (others.some((other) => String(other) !== String(first)))
    throw new TensorRTError('ERR_TRT_SERVER', `${name} answered differently over ${ways.join(', ')}`)
}

/** What the computation took, of all calls so far, by the server's statistics. */
async function modelMsOf(client: HttpClient, name: string): Promise<number> {
  const [stats] = await client.statistics(name)
  const { count, ns } = stats?.inference_stats.compute_infer ?? { count: 0, ns: 0 }
  return ns / count / 1e6
}
