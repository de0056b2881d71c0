// How a server starts: whatever is wrong with its place is told before a model is loaded.
import { readFile } from 'node:fs/promises'
import { within } from '../../base/cancellation.js'
import { packageVersion } from '../../base/package.js'
import { isSystemError } from '../../base/kinds.js'
import { TensorRTError } from '../../errors.js'
import { configJson } from '../config/json.js'
import { Budget } from '../front/budget.js'
import type { FrontEndParts, HeaderRule, ServeLog } from '../front/options.js'
import type { GrpcTls } from '../grpc/call.js'
import { GrpcFrontEnd } from '../grpc/server.js'
import { HttpFrontEnd } from '../http/server.js'
import { Models } from '../models/manager.js'
import type { Servable } from '../models/servable.js'
import type { GrpcSettings, HttpSettings, MetricsSettings, ServeSettings } from '../options.js'
import { loadPeer, requirePeers, type ServePeer } from '../peers.js'
import { FrontEndCounts } from './front-end-counts.js'
import { noLog, type OpenLog, openLog } from './log.js'
import { Metrics } from './metrics.js'
import { MetricsServer } from './metrics-server.js'
import { ModelServer, type ServerParts } from './server.js'
import { statisticsOf } from './statistics.js'
import type { RestrictedCategory, Restriction } from '../public-types.js'
import type { ModelEvent } from '../models/settings.js'
import { checkPlaces, onPlace } from '../repository/places.js'

/** `notes`: warnings that the log begins with. */
export async function start(settings: ServeSettings, notes: readonly string[] = []): Promise<ModelServer> {
  settings.signal?.throwIfAborted()
  requirePeers(peersFor(settings))
  await checkPlaces(settings.repositories, settings.files)
  const log = settings.log === undefined ? noLog : await openLog(await loadPeer('pino'), settings.log)
  for (const note of notes) log.warn({}, note)
  return await listen(settings, log)
}

function peersFor({ http, grpc, metrics, log }: ServeSettings): ServePeer[] {
  return [
    ...(http ? ['fastify' as const] : []),
    ...(grpc ? ['@grpc/grpc-js' as const] : []),
    ...(log ? ['pino' as const] : []),
    ...(metrics ? ['prom-client' as const] : []),
  ]
}

/** Listens first: a port that is taken costs no load. Until its models are loaded it says that it is not ready. */
async function listen(settings: ServeSettings, log: OpenLog): Promise<ModelServer> {
  const counts = new FrontEndCounts()
  const opened: { -readonly [Name in 'http' | 'grpc' | 'metrics']?: ServerParts[Name] } = {}
  const events = new ModelEvents(log, (model, version) => {
    // another has its place, and its own counts
    if (version !== undefined && models.snapshot.versions(model).includes(version)) return
    counts.forget(model, version)
  })
  const models = new Models({
    ...settings.control,
    repositories: settings.repositories,
    files: settings.files,
    engine: settings.engine,
    exitTimeoutMs: settings.exitTimeoutMs,
    onEvent: (event) => {
      if (event.what === 'loaded' && event.durationMs !== undefined) counts.forget(event.model)
      events.take(event)
      if (event.what !== 'output') opened.grpc?.changed()
    },
  })
  const statistics: ServerParts['statistics'] = (servables) =>
    statisticsOf(servables, (servable) => counts.failedNs(servable))
  try {
    const budget = new Budget(settings.maxInflightBytes)
    const named = { name: settings.id, version: packageVersion(), metricsPort: () => opened.metrics?.address.port }
    const parts = { models, log, counters: counts, statistics, budget, ...named }
    if (settings.http) opened.http = await listenHttp(settings.http, parts)
    if (settings.grpc) opened.grpc = await listenGrpc(settings.grpc, parts)
    if (settings.metrics)
      opened.metrics = await listenMetrics(
        { ...settings.metrics, httpPort: opened.http?.address.port },
        models,
        events,
        counts,
      )
    const server = new ModelServer({ ...opened, models, log, statistics, exitTimeoutMs: settings.exitTimeoutMs })
    const { addresses } = server
    log.info(
      { http: addresses.http?.url, grpc: addresses.grpc?.url, metrics: addresses.metrics?.url },
      'the server listens',
    )
    await within({ signal: settings.signal }, () => models.start())
    opened.grpc?.changed()
    server.logStart()
    return server
  } catch (error) {
    for (const each of [opened.http, opened.grpc, opened.metrics]) await each?.close()
    await models.close()
    log[Symbol.dispose]()
    throw error
  }
}

function listenHttp(settings: HttpSettings, parts: FrontEndParts): Promise<HttpFrontEnd> {
  const { maxInputSize, restricted, ...place } = settings
  const options = {
    ...parts,
    ...place,
    limits: { maxInputBytes: maxInputSize },
    configJson: (servable: Servable) => configJson(servable.config),
    restricted: headerRules(restricted),
  }
  return onPort('HTTP', place, () => HttpFrontEnd.listen(options))
}

async function listenGrpc(settings: GrpcSettings, parts: FrontEndParts): Promise<GrpcFrontEnd> {
  const { address, port } = settings
  const restricted = headerRules(settings.restricted, 'triton-grpc-protocol-')
  const options = { ...parts, ...settings, restricted, tls: await tlsOf(settings) }
  return await onPort('gRPC', { address, port }, () => GrpcFrontEnd.listen(options))
}

/** @throws TensorRTError ERR_TRT_FILE */
async function tlsOf({ tls }: GrpcSettings): Promise<GrpcTls | undefined> {
  if (tls === undefined) return undefined
  const read = (flag: string, path: string): Promise<Buffer> =>
    onPlace({ wanted: 'a file', purpose: `--${flag} (PEM)`, path }, () => readFile(path))
  // one after the other: of several missing files the first is named, each time the same one
  const cert = await read('grpc-server-cert', tls.cert)
  const key = await read('grpc-server-key', tls.key)
  const root = tls.root === undefined ? undefined : await read('grpc-root-cert', tls.root)
  return { cert, key, root, mutual: tls.mutual }
}

function headerRules(restrictions: readonly Restriction[], prefix = ''): ReadonlyMap<RestrictedCategory, HeaderRule> {
  return new Map(
    restrictions.flatMap(({ apis, key, value }) =>
      apis.map((api) => [api, { header: `${prefix}${key.toLowerCase()}`, value }] as const),
    ),
  )
}

async function listenMetrics(
  settings: MetricsSettings & { readonly httpPort: number | undefined },
  models: Models,
  events: ModelEvents,
  counts: FrontEndCounts,
): Promise<MetricsServer> {
  const source = {
    get servables() {
      return models.snapshot.all
    },
    loadSeconds: events.loadSeconds.bind(events),
    refused: (version: { readonly name: string; readonly version: string }) => counts.refused(version),
  }
  const metrics = new Metrics(await loadPeer('prom-client'), source, settings)
  const { address, port } = settings
  return await onPort('metrics', { address, port }, () => MetricsServer.listen(metrics, settings))
}

/** @throws TensorRTError ERR_TRT_SERVER, such as for a port that is taken */
async function onPort<T>(
  what: string,
  place: { readonly address: string; readonly port: number },
  body: () => Promise<T>,
): Promise<T> {
  try {
    return await body()
  } catch (cause) {
    if (cause instanceof TensorRTError || !isSystemError(cause)) throw cause
    const message = `Cannot listen on ${place.address}:${place.port} for ${what}: ${cause.message}`
    throw new TensorRTError('ERR_TRT_SERVER', message, { cause, details: { ...place } })
  }
}

/** What happened to models, as lines of the log; loads that ended are remembered by their time. */
export class ModelEvents {
  readonly #log: ServeLog
  readonly #seconds = new Map<string, number>()
  readonly #onGone: (model: string, version: string | undefined) => void

  /** `onGone` is called when a version was unloaded; without a version all are. */
  constructor(log: ServeLog, onGone: (model: string, version: string | undefined) => void) {
    this.#log = log
    this.#onGone = onGone
  }

  /** How long the version took to load; nothing where that is not known. */
  loadSeconds({ name, version }: { readonly name: string; readonly version: string }): number | undefined {
    return this.#seconds.get(`${name}/${version}`) ?? this.#seconds.get(name)
  }

  take(event: ModelEvent): void {
    this.#remember(event)
    this.#tell(event)
  }

  #remember({ what, model, version, durationMs }: ModelEvent): void {
    const key = version === undefined ? model : `${model}/${version}`
    if (what === 'loaded' && durationMs !== undefined) this.#seconds.set(key, durationMs / 1000)
    if (what !== 'unloaded') return
    this.#seconds.delete(key)
    this.#onGone(model, version)
  }

  #tell({ what, model, version, text, at, durationMs, instance, stream }: ModelEvent): void {
    const fields = { model, version, at, ms: durationMs === undefined ? undefined : Math.round(durationMs) }
    if (what === 'failed') this.#log.error({ ...fields, error: text }, 'a model cannot be loaded')
    else if (what === 'broken') this.#log.error({ ...fields, error: text }, 'a model answers no more requests')
    else if (what === 'output') this.#log.info({ ...fields, instance, stream }, text ?? '')
    else if (what === 'warning') this.#log.warn(fields, text ?? '')
    else if (what === 'loaded') this.#log.info(fields, 'a model is loaded')
    else if (what === 'unloaded') this.#log.info(fields, 'a model is unloaded')
    else this.#log.verbose(1, fields, what === 'loading' ? 'a model is being loaded' : 'a model is being unloaded')
  }
}
