// KServe's protocol over HTTP.
import { misread, refused } from '../errors.js'
import type { RawAnswer } from '../outputs.js'
import type { IndexEntry, ModelStatistics } from '../public-types.js'
import type { InferRequest } from '../request.js'
import type { ClientSettings } from '../settings.js'
import type { Call, LoadRequest, Transport } from '../transport.js'
import type { Place } from '../url.js'
import { Connections, type ConnectionLimits } from './connections.js'
import { exchange, type Question, type Reply } from './exchange.js'
import { InferBodies, jsonBody } from './infer-body.js'
import { InferReplies } from './infer-reply.js'

export class HttpTransport implements Transport {
  readonly url: string
  readonly #place: Place
  readonly #headers: readonly string[]
  readonly #connections: Connections
  readonly #bodies = new InferBodies()
  readonly #replies = new InferReplies()

  constructor(place: Place, settings: ClientSettings & ConnectionLimits) {
    const { headers, tls } = settings
    this.url = place.text
    this.#place = place
    const isNamed = headers.some(([name]) => name.toLowerCase() === 'host')
    this.#headers = [...(isNamed ? [] : ['Host', place.host]), ...headers.flat()]
    this.#connections = new Connections(place, tls, settings)
  }

  async infer(request: InferRequest, call: Call, isJson: boolean): Promise<RawAnswer> {
    const { headers, body } = isJson ? this.#bodies.json(request) : this.#bodies.binary(request)
    const path = this.#path(modelPath(call, '/infer'))
    const reply = await this.#exchange({ method: 'POST', path, headers, body }, call)
    if (reply.status !== 200) throw this.#refusal(reply, call)
    return this.#replies.read(path, reply, call)
  }

  readonly isLive: Transport['isLive'] = (call) => this.#state('/v2/health/live', call)
  readonly isReady: Transport['isReady'] = (call) => this.#state('/v2/health/ready', call)
  readonly isModelReady: Transport['isModelReady'] = (call) => this.#state(modelPath(call, '/ready'), call)
  readonly serverMetadata: Transport['serverMetadata'] = (call) => this.#json('/v2', call)
  readonly modelMetadata: Transport['modelMetadata'] = (call) => this.#json(modelPath(call), call)
  readonly modelConfig: Transport['modelConfig'] = (call) => this.#json(modelPath(call, '/config'), call)

  async statistics(call: Call): Promise<readonly ModelStatistics[]> {
    type Statistics = { readonly model_stats?: readonly ModelStatistics[] | undefined }
    const path = call.model === undefined ? '/v2/models/stats' : modelPath(call, '/stats')
    return (await this.#json<Statistics>(path, call)).model_stats ?? []
  }

  async repositoryIndex(ready: boolean, call: Call): Promise<readonly IndexEntry[]> {
    const entries = await this.#json<readonly IndexEntry[]>('/v2/repository/index', call, JSON.stringify({ ready }))
    return entries.map(({ name, version = '', state = '', reason = '' }) => indexEntry(name, version, state, reason))
  }

  async load(model: string, { config, files }: LoadRequest, call: Call): Promise<void> {
    const parameters: Record<string, string | undefined> = { config }
    for (const [path, { buffer, byteOffset, byteLength }] of files)
      parameters[`file:${path}`] = Buffer.from(buffer, byteOffset, byteLength).toString('base64')
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
    const question = { path: this.#path(path), headers: [], body: [] }
    if (body === undefined) return this.#exchange({ ...question, method: 'GET' }, call)
    return this.#exchange({ ...question, method: 'POST', ...jsonBody(body) }, call)
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
    return refused(textOf(body) ?? `HTTP ${status} ${statusText}`.trim() + hintFor(status, call.url), status, call)
  }
}

/** Servers of the protocol answer with JSON: this is another one. */
function hintFor(status: number, url: string): string {
  return status === 404
    ? `: ${url} is not a KServe v2 server. To fix: give its HTTP port, by default 8000 (8002 is that of metrics)`
    : ''
}

function modelPath({ model = '', version = '' }: Call, end = ''): string {
  const ofVersion = version === '' ? '' : `/versions/${encodeURIComponent(version)}`
  return `/v2/models/${encodeURIComponent(model)}${ofVersion}${end}`
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
