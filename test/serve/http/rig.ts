// A front-end over fake models, and a client that sends exactly the bytes that a test has.
import { connect, type Socket } from 'node:net'
import { HttpFrontEnd } from '../../../lib/serve/http/server.js'
import type { InferRecord } from '../../../lib/serve/front/options.js'
import type { HttpOptions } from '../../../lib/serve/http/options.js'
import { certain } from '../../support/waiting.js'
import { type FakeControl, fakeModels, type Held } from './fakes.js'

export interface Rig extends AsyncDisposable {
  readonly front: HttpFrontEnd
  readonly control: FakeControl
  readonly held: Held
  readonly port: number
  readonly records: readonly InferRecord[]
}

export async function startRig(options: Partial<HttpOptions> = {}): Promise<Rig> {
  const { control, held } = fakeModels()
  const records: InferRecord[] = []
  const front = await HttpFrontEnd.listen({
    models: control,
    address: '127.0.0.1',
    port: 0,
    name: 'node-tensorrt',
    version: '1.2.3',
    configJson: ({ name, config }) => ({ name, max_batch_size: config.maxBatchSize }),
    statistics: (servables) => ({ model_stats: servables.map(({ name, version }) => ({ name, version })) }) as never,
    counters: { onInfer: (record) => void records.push(record) },
    ...options,
  })
  return { front, control, held, port: front.address.port, records, [Symbol.asyncDispose]: () => front.close() }
}

/** Nothing is held any more: bytes, slots, models and requests. */
export async function nothingLeft({ front, control }: Rig): Promise<boolean> {
  await certain(
    () =>
      front.inFlight === 0 &&
      front.bytesInFlight === 0 &&
      control.servables.every(({ slots, entered }) => slots === 0 && entered === 0),
  )
  return true
}

export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

/** A connection over which replies come one after the other. */
export class Wire implements Disposable {
  readonly socket: Socket
  #got = Buffer.alloc(0)
  #isOver = false

  constructor(port: number) {
    this.socket = connect({ port, host: '127.0.0.1', noDelay: true })
    this.socket.on('data', (chunk) => (this.#got = Buffer.concat([this.#got, chunk])))
    this.socket.on('error', () => (this.#isOver = true))
    this.socket.on('close', () => (this.#isOver = true))
  }

  get isOver(): boolean {
    return this.#isOver
  }

  write(bytes: Uint8Array | string): void {
    this.socket.write(bytes)
  }

  /** Each by itself, as a packet of its own where the kernel lets it. */
  async writeEach(pieces: readonly Uint8Array[]): Promise<void> {
    for (const piece of pieces) {
      await new Promise((resolve) => this.socket.write(piece, resolve))
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  async reply(): Promise<Reply> {
    let end = -1
    await certain(() => (end = this.#got.indexOf('\r\n\r\n')) >= 0 || this.#isOver)
    if (end < 0) throw new Error('the connection ended without a reply')
    const [first = '', ...lines] = this.#got.subarray(0, end).toString('latin1').split('\r\n')
    const headers = Object.fromEntries(
      lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
    )
    const length = Number(headers['content-length'] ?? 0)
    await certain(() => this.#got.length >= end + 4 + length || this.#isOver)
    const body = this.#got.subarray(end + 4, end + 4 + length)
    this.#got = this.#got.subarray(end + 4 + length)
    return { status: Number(first.split(' ')[1]), headers, body }
  }

  [Symbol.dispose](): void {
    this.socket.destroy()
  }
}

export interface Message {
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string | number>>
  readonly body?: string | Uint8Array
  /** Without Content-Length, in chunks of so many bytes. */
  readonly chunked?: number
}

export function bytesOf({ method = 'POST', path, headers = {}, body = '', chunked }: Message): Buffer {
  const bytes = Buffer.from(body as string)
  const length = chunked === undefined ? { 'content-length': bytes.length } : { 'transfer-encoding': 'chunked' }
  const lines = Object.entries({ host: 'x', ...length, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  const head = Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`)
  return Buffer.concat([head, chunked === undefined ? bytes : inChunks(bytes, chunked)])
}

function inChunks(bytes: Buffer, size: number): Buffer {
  const parts: Buffer[] = []
  for (let at = 0; at < bytes.length; at += size) {
    const part = bytes.subarray(at, at + size)
    parts.push(Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n'))
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')])
}

export async function ask(port: number, message: Message): Promise<Reply> {
  using wire = new Wire(port)
  wire.write(bytesOf(message))
  return await wire.reply()
}

export async function get(port: number, path: string): Promise<Reply> {
  return ask(port, { method: 'GET', path })
}

export const jsonOf = ({ body }: Reply): any => JSON.parse(body.toString())

/** What a fault says. */
export const errorOf = (reply: Reply): string => jsonOf(reply).error

/** Sends JSON, as an object or as text. */
export function inferJson(
  port: number,
  model: string,
  body: unknown,
  headers: Message['headers'] = {},
): Promise<Reply> {
  return ask(port, {
    path: `/v2/models/${model}/infer`,
    headers,
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
}

/** JSON and tensors after it. */
export function binary(
  model: string,
  head: unknown,
  tensors: readonly Uint8Array[],
  more: Partial<Message> = {},
): Message {
  const json = Buffer.from(JSON.stringify(head))
  const headers = { 'Inference-Header-Content-Length': json.length, ...more.headers }
  return { path: `/v2/models/${model}/infer`, body: Buffer.concat([json, ...tensors]), ...more, headers }
}

/** JSON and tensors of a reply. */
export function partsOf(reply: Reply): { readonly json: any; readonly tensors: Buffer } {
  const length = Number(reply.headers['inference-header-content-length'] ?? reply.body.length)
  return { json: JSON.parse(reply.body.subarray(0, length).toString()), tensors: reply.body.subarray(length) }
}

/** An input of one dimension with JSON data. */
export function input(datatype: string, data: readonly unknown[], name = 'INPUT0'): unknown {
  return { name, datatype, shape: [data.length], data }
}
