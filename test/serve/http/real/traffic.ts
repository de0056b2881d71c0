// Random requests of which the client knows what has to come back.
import { Agent, request as httpRequest } from 'node:http'
import { deflateSync, gzipSync } from 'node:zlib'
import type { Random } from '../../../support/random.js'
import type { Reply } from '../rig.js'
import { unpacked } from './expected.js'

/** What the client wants, and what it will look for. */
export type Kind = 'good' | 'wrong' | 'failing' | 'cancelled' | 'timeout'

export interface Planned {
  readonly kind: Kind
  readonly model: 'sum' | 'spread'
  readonly headers: Readonly<Record<string, string | number>>
  readonly body: Buffer
  /** One where nobody is told whether they were computed. */
  readonly rows: number
  /** The values of the one output. */
  readonly expected: Float32Array
}

interface Input {
  readonly name: string
  readonly datatype: 'FP32' | 'INT64'
  readonly shape: readonly number[]
  readonly values: readonly number[]
}

const floats = (random: Random, length: number): number[] =>
  Array.from({ length }, () => Math.fround(random.around() * 1000))
const bytesOf = ({ datatype, values }: Input): Buffer =>
  Buffer.from(datatype === 'FP32' ? Float32Array.from(values).buffer : BigInt64Array.from(values, BigInt).buffer)

/**
 * The model `sum` gives its rows of four plus `plus`; `spread` gives x as often as s says, and fails where the two do
 * not go together.
 */
export function planned(random: Random, plus: number): Planned {
  const kind = random.weighted(kinds).kind
  const model = kind === 'failing' || random.chance(0.3) ? 'spread' : 'sum'
  const rows = model === 'spread' || kind === 'cancelled' || kind === 'timeout' ? 1 : 1 + random.below(4)
  const values = floats(random, kind === 'failing' ? 3 : model === 'sum' ? 4 * rows : 1)
  const times = 4 + random.below(40)
  const inputs: Input[] =
    model === 'sum'
      ? [{ name: 'x', datatype: 'FP32', shape: [rows, 4], values }]
      : [
          { name: 'x', datatype: 'FP32', shape: [values.length], values },
          { name: 's', datatype: 'INT64', shape: [1], values: [times] },
        ]
  const timeout = kind === 'timeout' ? { timeout: 1 + random.below(4000) } : {}
  const expected =
    model === 'sum' ? Float32Array.from(values, (value) => value + plus) : new Float32Array(times).fill(values[0]!)
  return {
    kind,
    model,
    rows,
    expected,
    ...written(kind === 'wrong' ? wronged(inputs, random) : inputs, timeout, random),
  }
}

const kinds: readonly { readonly kind: Kind; readonly weight: number }[] = [
  { kind: 'good', weight: 60 },
  { kind: 'wrong', weight: 12 },
  { kind: 'failing', weight: 8 },
  { kind: 'cancelled', weight: 12 },
  { kind: 'timeout', weight: 8 },
]

/** What the server refuses before, or when, it comes to the model. */
function wronged([first, ...others]: readonly Input[], random: Random): readonly Input[] {
  const input = first as Input
  return random.pick<readonly Input[]>([
    [{ ...input, name: 'q' }, ...others],
    [{ ...input, shape: [...input.shape, 1] }, ...others],
    [{ ...input, datatype: 'INT64', values: input.values.map(Math.trunc) }, ...others],
    [{ ...input, shape: [input.values.length + 1] }, ...others],
    [{ ...input, shape: [9, 4], values: Array<number>(36).fill(1) }, ...others],
    [{ ...input, shape: [0, 4] }, ...others],
    [input, input, ...others],
    [],
  ])
}

/** As JSON or as bytes, both ways, compressed or not. */
function written(
  inputs: readonly Input[],
  more: Readonly<Record<string, unknown>>,
  random: Random,
): Pick<Planned, 'headers' | 'body'> {
  const [isBinary, isBinaryOutput] = [random.chance(0.5), random.chance(0.5)]
  const json = Buffer.from(
    JSON.stringify({
      inputs: inputs.map(({ name, datatype, shape, values }) => ({
        ...{ name, datatype, shape },
        ...(isBinary
          ? { parameters: { binary_data_size: values.length * (datatype === 'FP32' ? 4 : 8) } }
          : { data: values }),
      })),
      parameters: { ...more, binary_data_output: isBinaryOutput },
    }),
  )
  const plain = isBinary ? Buffer.concat([json, ...inputs.map(bytesOf)]) : json
  const encoding = random.weighted([
    { pack: (bytes: Buffer) => bytes, name: 'identity', weight: 6 },
    { pack: (bytes: Buffer) => gzipSync(bytes), name: 'gzip', weight: 1 },
    { pack: (bytes: Buffer) => deflateSync(bytes), name: 'deflate', weight: 1 },
  ])
  const body = encoding.pack(plain)
  const headers = {
    ...(isBinary && { 'inference-header-content-length': json.length }),
    ...(encoding.name !== 'identity' && { 'content-encoding': encoding.name }),
    ...(random.chance(0.2) && { 'accept-encoding': 'gzip' }),
    ...(random.chance(0.8) && { 'content-length': body.length }), // else in chunks
  }
  return { headers, body }
}

/** A connection that is used again, and others for those that leave. */
export class Client implements Disposable {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })
  readonly #port: number

  constructor(port: number) {
    this.#port = port
  }

  ask({ model, headers, body }: Planned): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const sent = httpRequest(
        { port: this.#port, host: '127.0.0.1', agent: this.#agent, ...post(model, headers) },
        (reply) => {
          const chunks: Buffer[] = []
          reply.on('data', (chunk: Buffer) => chunks.push(chunk))
          reply.on('end', () =>
            resolve({
              status: reply.statusCode ?? 0,
              headers: reply.headers as Reply['headers'],
              body: Buffer.concat(chunks),
            }),
          )
          reply.on('error', reject)
        },
      )
      sent.on('error', reject)
      sent.end(body)
    })
  }

  /** Sends all of it, and ends the connection after so many milliseconds, whatever has come until then. */
  leave({ model, headers, body }: Planned, after: number): Promise<void> {
    return new Promise((resolve) => {
      const sent = httpRequest(
        { port: this.#port, host: '127.0.0.1', agent: false, ...post(model, headers) },
        (reply) => reply.resume(),
      )
      sent.on('error', () => {})
      sent.on('close', () => resolve())
      sent.end(body, () => void setTimeout(() => sent.destroy(), after))
    })
  }

  [Symbol.dispose](): void {
    this.#agent.destroy()
  }
}

function post(model: string, headers: Planned['headers']) {
  return { method: 'POST', path: `/v2/models/${model}/infer`, headers: { 'x-any': 'x', ...headers } }
}

/** Whether the answer has these values in its one output. */
export function hasValues(reply: Reply, expected: Float32Array): boolean {
  const body = unpacked(reply)
  const length = Number(reply.headers['inference-header-content-length'] ?? body.length)
  const { outputs } = JSON.parse(body.subarray(0, length).toString()) as {
    readonly outputs: readonly { readonly data?: readonly number[] }[]
  }
  const data = outputs[0]?.data
  const values =
    data === undefined ? new Float32Array(new Uint8Array(body.subarray(length)).buffer) : Float32Array.from(data)
  return (
    outputs.length === 1 &&
    values.length === expected.length &&
    values.every((value, i) => Object.is(value, expected[i]))
  )
}
