// How a server starts: whatever is wrong with its place is told before a model is loaded.
import { stat } from 'node:fs/promises'
import { within } from '../../base/cancellation.js'
import { onFile } from '../../base/files.js'
import { packageVersion } from '../../base/package.js'
import { TensorRTError } from '../../errors.js'
import { configJson } from '../config/json.js'
import type { HeaderRule } from '../front/options.js'
import { HttpFrontEnd } from '../http/server.js'
import { Models } from '../models/manager.js'
import type { ServeSettings } from '../options.js'
import { loadPino, loadPromClient, requirePeers, type ServePeer } from '../peers.js'
import { ModelEvents } from './events.js'
import { FrontEndCounts } from './front-end-counts.js'
import { noLog, type OpenLog, openLog } from './log.js'
import { Metrics } from './metrics.js'
import { MetricsServer } from './metrics-server.js'
import { ModelServer, type ServerParts } from './server.js'
import { statisticsOf } from './statistics.js'
import type { RestrictedCategory, Restriction, Server } from '../public-types.js'

/** `notes`: warnings that the log begins with. */
export async function start(settings: ServeSettings, notes: readonly string[] = []): Promise<Server> {
  settings.signal?.throwIfAborted()
  requirePeers(peersFor(settings))
  await checkRepositories(settings.repositories)
  const log = settings.log === undefined ? noLog : openLog(await loadPino(), settings.log)
  for (const note of notes) log.warn({}, note)
  return await listen(settings, log)
}

function peersFor({ http, metrics, log }: ServeSettings): ServePeer[] {
  return [...(http ? ['fastify' as const] : []), ...(log ? ['pino' as const] : []), ...(metrics ? ['prom-client' as const] : [])]
}

/** @throws TensorRTError ERR_TRT_FILE */
async function checkRepositories(folders: readonly string[]): Promise<void> {
  for (const folder of folders) {
    const found = await onFile('read the model repository', folder, () => stat(folder))
    if (!found.isDirectory())
      throw new TensorRTError('ERR_TRT_FILE', `The model repository ${folder} is no folder`, { details: { path: folder } })
  }
}

/** Listens first: a port that is taken costs no load. Until its models are loaded it says that it is not ready. */
async function listen(settings: ServeSettings, log: OpenLog): Promise<Server> {
  const counts = new FrontEndCounts()
  const events = new ModelEvents(log, (model, version) => {
    if (version !== undefined && models.snapshot.versions(model).includes(version)) return // another has its place, and its own counts
    counts.forget(model, version)
  })
  const models = new Models({
    ...settings.control,
    repositories: settings.repositories,
    engine: settings.engine,
    onEvent: (event) => {
      if (event.what === 'loaded' && event.durationMs !== undefined) counts.forget(event.model)
      events.take(event)
    },
  })
  const opened: { http?: HttpFrontEnd; metrics?: MetricsServer } = {}
  const statistics: ServerParts['statistics'] = (servables) => statisticsOf(servables, (servable) => counts.failedNs(servable))
  try {
    if (settings.http) opened.http = await listenHttp(settings, { models, log, counters: counts, statistics })
    if (settings.metrics) opened.metrics = await listenMetrics(settings.metrics, models, events, counts)
    const { http, metrics } = opened
    const server = new ModelServer({ models, http, metrics, log, statistics, exitTimeoutMs: settings.exitTimeoutMs })
    log.info({ http: server.addresses.http?.url, metrics: server.addresses.metrics?.url }, 'the server listens')
    await within({ signal: settings.signal }, () => models.start())
    log.info({ models: models.snapshot.all.length }, 'the server is started')
    return server
  } catch (error) {
    await opened.http?.close()
    await opened.metrics?.close()
    await models.close()
    log[Symbol.dispose]()
    throw error
  }
}

type HttpParts = Pick<Parameters<typeof HttpFrontEnd.listen>[0], 'models' | 'log' | 'counters' | 'statistics'>

function listenHttp(settings: ServeSettings, parts: HttpParts): Promise<HttpFrontEnd> {
  const { address, port, maxInputSize, restricted } = settings.http!
  const options = {
    ...parts,
    address,
    port,
    name: settings.id,
    version: packageVersion(),
    limits: { maxInputBytes: maxInputSize, maxInFlightBytes: settings.maxInflightBytes },
    configJson: (servable: { readonly config: Parameters<typeof configJson>[0] }) => configJson(servable.config),
    restricted: headerRules(restricted),
  }
  return onPort('HTTP', { address, port }, () => HttpFrontEnd.listen(options))
}

function headerRules(restrictions: readonly Restriction[]): ReadonlyMap<RestrictedCategory, HeaderRule> {
  return new Map(restrictions.flatMap(({ apis, key, value }) => apis.map((api) => [api, { header: key.toLowerCase(), value }] as const)))
}

async function listenMetrics(
  settings: NonNullable<ServeSettings['metrics']>,
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
  const metrics = new Metrics(await loadPromClient(), source, settings)
  return await onPort('metrics', settings, () => MetricsServer.listen(metrics, settings))
}

/** @throws TensorRTError ERR_TRT_SERVER, such as for a port that is taken */
async function onPort<T>(what: string, place: { readonly address: string; readonly port: number }, body: () => Promise<T>): Promise<T> {
  try {
    return await body()
  } catch (cause) {
    if (cause instanceof TensorRTError || !(cause instanceof Error) || !('syscall' in cause)) throw cause
    const message = `Cannot listen on ${place.address}:${place.port} for ${what}: ${cause.message}`
    throw new TensorRTError('ERR_TRT_SERVER', message, { cause, details: { ...place } })
  }
}
