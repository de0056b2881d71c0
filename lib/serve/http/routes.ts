// All endpoints but the inference.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { faultOf, invalid, unsupported } from '../faults.js'
import { extensions, metadataOf, notServed, versionsOf } from '../front/describe.js'
import type { Servable } from '../models/servable.js'
import { headersOf, statusOf } from './answer.js'
import { onceClosed } from './closing.js'
import type { FrontEnd } from './options.js'
import { Inference } from './infer.js'
import { index, load, unload } from './repository.js'
import type { RestrictedCategory } from '../public-types.js'

export { extensions }

interface Params {
  readonly model?: string | undefined
  readonly version?: string | undefined
}

/** What an endpoint answers: JSON; nothing: an empty body. */
type Answer = unknown
type Handler = (params: Params, request: FastifyRequest) => Answer

interface Route {
  readonly method: 'GET' | 'POST' | undefined
  readonly category: RestrictedCategory
  readonly paths: readonly string[]
  readonly handle: Handler
}

/** An answer with another status than 200. */
class WithStatus {
  readonly status: number
  readonly body: unknown
  readonly headers: Readonly<Record<string, string>>

  constructor(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}) {
    this.status = status
    this.body = body
    this.headers = headers
  }
}

export function addRoutes(app: FastifyInstance, front: FrontEnd): void {
  for (const route of routesOf(front))
    for (const path of route.paths) app.all(path, (request, reply) => answer(front, route, request, reply))
  // before fastify looks for a parser of the body, which would cost each request as much as its checks
  const onRequest = (request: FastifyRequest, reply: FastifyReply): void => infer(front, request, reply)
  for (const path of modelPaths('/infer')) app.all(path, { onRequest }, () => {})
  app.setNotFoundHandler((request, reply) => {
    tellRequest(front, request, 404)
    return sendError(reply, 404, notFoundText(front.options, request.url))
  })
}

const ofModels =
  'of a model: GET /v2/models/NAME, /v2/models/NAME/ready, /config, /stats; POST /v2/models/NAME/infer; of a version: /v2/models/NAME/versions/NUMBER/...'
const ofRepository =
  'of the repository: POST /v2/repository/index, /v2/repository/models/NAME/load, /v2/repository/models/NAME/unload'

/** Triton's text, with paths that exist. */
function notFoundText({ metricsPort }: FrontEnd['options'], url: string): string {
  if (/^\/v2\/models\/[^/?]/.test(url)) return `Not Found (${ofModels})`
  if (url.startsWith('/v2/repository')) return `Not Found (${ofRepository})`
  const port = metricsPort?.()
  const metrics = port === undefined ? 'metrics are off' : `metrics: port ${port}, /metrics`
  return `Not Found (readiness: /v2/health/ready; models: POST /v2/repository/index; ${metrics})`
}

function modelPaths(end: string): readonly string[] {
  return [`/v2/models/:model${end}`, `/v2/models/:model/versions/:version${end}`]
}

function routesOf(front: FrontEnd): readonly Route[] {
  return [...healthRoutes(front), ...modelRoutes(front), ...repositoryRoutes(front), ...absentRoutes()]
}

function get(category: RestrictedCategory, paths: readonly string[], handle: Handler): Route {
  return { method: 'GET', category, paths, handle }
}

function healthRoutes(front: FrontEnd): readonly Route[] {
  return [
    get('health', ['/v2/health/live'], () => ({ live: true })),
    get('health', ['/v2/health/ready'], () => serverReady(front)),
    get('health', modelPaths('/ready'), ({ model = '', version }) => modelReady(front, model, version)),
  ]
}

/** As in Triton a server without models is ready: the body has their number then, and names those that failed. */
function serverReady({ options, isStopping }: FrontEnd): WithStatus {
  const { models, restricted } = options
  const ready = models.isReady() && !isStopping
  const { notReady = [], snapshot } = models
  const isNamed = notReady.length > 0 && restricted?.has('model-repository') !== true
  const details = { ...(snapshot.all.length === 0 && { models: 0 }), ...(isNamed && { notReady }) }
  return new WithStatus(ready ? 200 : 400, { live: true, ready, ...details })
}

function modelReady(front: FrontEnd, name: string, version: string | undefined): Answer {
  try {
    find(front, name, version)
  } catch {
    throw invalid('Model version not ready')
  }
  return { name, ready: true }
}

function modelRoutes(front: FrontEnd): readonly Route[] {
  const { configJson, name, version, statistics, models } = front.options
  return [
    get('metadata', ['/v2'], () => ({ name, version, extensions })),
    get('metadata', modelPaths(''), ({ model = '', version }) => metadataOf(models.snapshot, model, version)),
    get('model-config', modelPaths('/config'), ({ model = '', version }) => configJson(find(front, model, version))),
    get('statistics', ['/v2/models/stats'], () => statistics(models.snapshot.all)),
    get('statistics', modelPaths('/stats'), ({ model = '', version }) =>
      statistics(versionsOf(models.snapshot, model, version)),
    ),
  ]
}

function find(front: FrontEnd, name: string, version: string | undefined): Servable {
  return front.options.models.snapshot.find(name, version)
}

function repositoryRoutes(front: FrontEnd): readonly Route[] {
  const post = (paths: readonly string[], handle: Handler): Route => ({
    method: 'POST',
    category: 'model-repository',
    paths,
    handle,
  })
  const [models, named] = ['/v2/repository/models/:model', '/v2/repository/:repository/models/:model']
  return [
    post(['/v2/repository/index', '/v2/repository/:repository/index'], (_params, { raw }) => index(front, raw)),
    post([`${models}/load`], ({ model = '' }, { raw }) => load(front, raw, model)),
    post([`${models}/unload`], ({ model = '' }, { raw }) => unload(front, raw, model)),
    post([`${named}/load`, `${named}/unload`], () => {
      throw unsupported("'repository_name' specification is not supported")
    }),
  ]
}

/** What Triton has and this server has not. */
function absentRoutes(): readonly Route[] {
  const absent = (category: RestrictedCategory, what: string, paths: readonly string[]): Route => ({
    method: undefined,
    category,
    paths,
    handle: () => {
      throw notServed(what)
    },
  })
  const regions = (kind: string): readonly string[] =>
    ['status', 'register', 'unregister'].flatMap((action) => [
      `/v2/${kind}/${action}`,
      `/v2/${kind}/region/:region/${action}`,
    ])
  return [
    absent('shared-memory', 'system shared memory is', regions('systemsharedmemory')),
    absent('shared-memory', 'CUDA shared memory is', regions('cudasharedmemory')),
    absent('trace', 'trace settings are', ['/v2/trace/setting', '/v2/models/:model/trace/setting']),
    absent('logging', 'log settings are', ['/v2/logging']),
    absent('inference', 'the generate extension is', [...modelPaths('/generate'), ...modelPaths('/generate_stream')]),
  ]
}

/** Without a promise for fastify: its reply is one itself, which an async function would wait for. */
function answer(front: FrontEnd, route: Route, request: FastifyRequest, reply: FastifyReply): void {
  if (route.method === 'POST') onceClosed(request.raw, reply.raw, front.begin())
  void outcomeOf(front, route, request).then(({ status, body, headers = {} }) => {
    if (front.isStopping) reply.header('connection', 'close')
    tellRequest(front, request, status)
    sendText(reply.headers(headers), status, body === undefined ? '' : JSON.stringify(body))
  })
}

function tellRequest({ options }: FrontEnd, { method, url }: FastifyRequest, status: number): void {
  options.log?.verbose(1, { method, url, status }, 'request')
}

interface Outcome {
  readonly status: number
  readonly body: unknown
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** Never rejected. */
async function outcomeOf(front: FrontEnd, route: Route, request: FastifyRequest): Promise<Outcome> {
  try {
    const allowed = allowedOrRefusal(front, route, request)
    if (allowed instanceof WithStatus) return allowed
    const given = await route.handle(allowed, request)
    return given instanceof WithStatus ? given : { status: 200, body: given }
  } catch (error) {
    const fault = faultOf(error)
    if (fault.kind === 'INTERNAL')
      front.options.log?.error({ url: request.url, error: fault.message }, 'request failed')
    return { status: statusOf[fault.kind], body: { error: fault.message }, headers: headersOf(fault) }
  }
}

/** @throws Fault INVALID_ARG */
function allowedOrRefusal(
  front: FrontEnd,
  { category, method }: Pick<Route, 'category' | 'method'>,
  request: FastifyRequest,
): Params | WithStatus {
  const params = checkedParams(request)
  if (params === undefined) return refusal(404, notFoundText(front.options, request.url))
  const restriction = front.options.restricted?.get(category)
  if (restriction !== undefined && request.headers[restriction.header.toLowerCase()] !== restriction.value)
    return refusal(403, `This API is restricted, expecting header '${restriction.header}'`)
  return method === undefined || allows(method, request.method) ? params : otherMethod(method, request.url)
}

/** HEAD is GET without the body, as probes of balancers ask. */
function allows(method: 'GET' | 'POST', given: string): boolean {
  return given === method || (given === 'HEAD' && method === 'GET')
}

function otherMethod(method: 'GET' | 'POST', url: string): WithStatus {
  const text = `Method Not Allowed (expected ${method} for ${url.split('?', 1)[0]})`
  return refusal(405, text, { allow: method === 'GET' ? 'GET, HEAD' : method })
}

function refusal(status: number, error: string, headers?: Readonly<Record<string, string>>): WithStatus {
  return new WithStatus(status, { error }, headers)
}

const inference = { category: 'inference', method: 'POST' } as const

function infer(front: FrontEnd, request: FastifyRequest, reply: FastifyReply): void {
  const allowed = allowedInference(front, request)
  if (allowed instanceof WithStatus) {
    tellRequest(front, request, allowed.status)
    sendText(reply.headers(allowed.headers), allowed.status, JSON.stringify(allowed.body))
    return
  }
  reply.hijack()
  void new Inference(front, request.raw, reply.raw, allowed.model ?? '').run(allowed.version)
}

function allowedInference(front: FrontEnd, request: FastifyRequest): Params | WithStatus {
  try {
    return allowedOrRefusal(front, inference, request)
  } catch (error) {
    const { kind, message } = faultOf(error)
    return refusal(statusOf[kind], message)
  }
}

/** Nothing where the version is no number: no such path. @throws Fault INVALID_ARG for a number that no version has */
function checkedParams({ params }: FastifyRequest): Params | undefined {
  const { model, version } = params as Params
  if (model === '') return undefined
  if (version === undefined) return params as Params
  if (!/^\d+$/.test(version)) return undefined
  if (BigInt(version) < 2n ** 63n) return { model, version: String(BigInt(version)) }
  throw invalid(
    `failed to get model version from specified version string '${version}' (details: stol), version should be an integral value > 0`,
  )
}

export function sendError(reply: FastifyReply, status: number, message: string): FastifyReply {
  return sendText(reply, status, JSON.stringify({ error: message }))
}

/** As bytes: fastify would add a charset to the type of a text, which Triton has not. */
function sendText(reply: FastifyReply, status: number, text: string): FastifyReply {
  return reply.code(status).header('content-type', 'application/json').send(Buffer.from(text))
}
