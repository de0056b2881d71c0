// KServe's protocol over HTTP.
import type { IndexEntry, ModelConfig, ModelMetadata, ModelStatistics, ServerMetadata } from '../public-types.js'
import type { InferRequest } from '../request.js'
import type { RawAnswer } from '../outputs.js'
import type { Headers, Tls } from '../settings.js'
import type { Call, LoadRequest, Transport } from '../transport.js'
import type { Place } from '../url.js'
import { misread, refused } from '../errors.js'
import { Connections, type ConnectionLimits } from './connections.js'
import { exchange, type Question, type Reply } from './exchange.js'
import { InferBodies } from './infer-body.js'
import { InferReplies } from './infer-reply.js'

export class HttpTransport implements Transport {
  readonly url: string
  readonly #place: Place
  readonly #headers: readonly string[]
  readonly #connections: Connections
  readonly #bodies = new InferBodies()
  readonly #replies = new InferReplies()

  constructor(place: Place, headers: Headers, tls: Tls, limits: ConnectionLimits) {
    this.url = place.text
    this.#place = place
    const isNamed = headers.some(([name]) => name.toLowerCase() === 'host')
    this.#headers = [...(isNamed ? [] : ['Host', place.host]), ...headers.flat()]
    this.#connections = new Connections(place, tls, limits)
  }

  async infer(request: InferRequest, call: Call, isJson: boolean): Promise<RawAnswer> {
    const { headers, body } = isJson ? this.#bodies.json(request) : this.#bodies.binary(request)
    const path = this.#path(modelPath(request.model, request.version, '/infer'))
    const reply = await this.#exchange({ method: 'POST', path, headers, body }, call)
    if (reply.status !== 200) throw this.#refusal(reply, call)
    return this.#replies.read(path, reply, call)
  }

  isLive(call: Call): Promise<boolean> {
    return this.#state('/v2/health/live', call)
  }

  isReady(call: Call): Promise<boolean> {
    return this.#state('/v2/health/ready', call)
  }

  isModelReady(model: string, version: string, call: Call): Promise<boolean> {
    return this.#state(modelPath(model, version, '/ready'), call)
  }

  serverMetadata(call: Call): Promise<ServerMetadata> {
    return this.#json('/v2', call)
  }

  modelMetadata(model: string, version: string, call: Call): Promise<ModelMetadata> {
    return this.#json(modelPath(model, version), call)
  }

  modelConfig(model: string, version: string, call: Call): Promise<ModelConfig> {
    return this.#json(modelPath(model, version, '/config'), call)
  }

  async statistics(model: string, version: string, call: Call): Promise<readonly ModelStatistics[]> {
    const path = model === '' ? '/v2/models/stats' : modelPath(model, version, '/stats')
    const { model_stats: statistics } = await this.#json<{
      readonly model_stats?: readonly ModelStatistics[] | undefined
    }>(path, call)
    return statistics ?? []
  }

  async repositoryIndex(ready: boolean, call: Call): Promise<readonly IndexEntry[]> {
    const entries = await this.#json<readonly IndexEntry[]>('/v2/repository/index', call, JSON.stringify({ ready }))
    return entries.map(({ name, version = '', state = '', reason = '' }) => indexEntry(name, version, state, reason))
  }

  async load(model: string, { config, files }: LoadRequest, call: Call): Promise<void> {
    const base64 = (bytes: Uint8Array): string =>
      Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
    const parameters = Object.fromEntries([
      ...(config === undefined ? [] : [['config', config]]),
      ...files.map(([path, bytes]) => [`file:${path}`, base64(bytes)]),
    ]) as Record<string, string>
    await this.#told(`/v2/repository/models/${encodeURIComponent(model)}/load`, call, JSON.stringify({ parameters }))
  }

  async unload(model: string, dependents: boolean, call: Call): Promise<void> {
    const body = JSON.stringify({ parameters: { unload_dependents: dependents } })
    await this.#told(`/v2/repository/models/${encodeURIComponent(model)}/unload`, call, body)
  }

  close(): Promise<void> {
    return this.#connections.close()
  }

  #path(path: string): string {
    return `${this.#place.prefix}${path}`
  }

  #exchange(question: Question, call: Call): Promise<Reply> {
    const headers = [...this.#headers, ...(call.headers.length === 0 ? [] : call.headers.flat()), ...question.headers]
    return exchange(this.#connections, { ...question, headers }, call)
  }

  /** A body makes it a POST. */
  #asked(path: string, call: Call, body?: string): Promise<Reply> {
    if (body === undefined)
      return this.#exchange({ method: 'GET', path: this.#path(path), headers: [], body: [] }, call)
    const bytes = Buffer.from(body)
    const headers = ['Content-Type', 'application/json', 'Content-Length', String(bytes.length)]
    return this.#exchange({ method: 'POST', path: this.#path(path), headers, body: [bytes] }, call)
  }

  async #told(path: string, call: Call, body?: string): Promise<Reply> {
    const reply = await this.#asked(path, call, body)
    if (reply.status !== 200) throw this.#refusal(reply, call)
    return reply
  }

  async #json<T>(path: string, call: Call, body?: string): Promise<T> {
    const reply = await this.#told(path, call, body)
    try {
      const value: unknown = JSON.parse(reply.body.toString())
      if (typeof value === 'object' && value !== null) return value as T
    } catch (error) {
      throw misread(call, (error as Error).message, error)
    }
    throw misread(call, 'it is no object')
  }

  /** 400 and 503 are no, 404 is nobody. */
  async #state(path: string, call: Call): Promise<boolean> {
    const reply = await this.#asked(path, call)
    if (reply.status === 200) return true
    if ([400, 404, 503].includes(reply.status)) return false
    throw this.#refusal(reply, call)
  }

  #refusal({ status, statusText, body }: Reply, call: Call): Error {
    return refused(textOf(body) ?? `HTTP ${status} ${statusText}`.trim(), status, call)
  }
}

function modelPath(model: string, version: string, end = ''): string {
  const name = encodeURIComponent(model)
  return version === ''
    ? `/v2/models/${name}${end}`
    : `/v2/models/${name}/versions/${encodeURIComponent(version)}${end}`
}

/** What the server says; of what is not of the protocol, such as a page of a proxy, nothing. */
function textOf(body: Buffer): string | undefined {
  try {
    const { error } = JSON.parse(body.toString()) as { readonly error?: unknown }
    return typeof error === 'string' && error !== '' ? error : undefined
  } catch {
    return undefined
  }
}

/** Without what is empty. */
export function indexEntry(name: string, version: string, state: string, reason: string): IndexEntry {
  return { name, ...(version !== '' && { version }), ...(state !== '' && { state }), ...(reason !== '' && { reason }) }
}
