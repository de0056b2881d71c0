// A server of models: its front-ends, and how it ends.
import { isMap, isUint8Array } from 'node:util/types'
import { within } from '../../base/cancellation.js'
import { checkedOptions, is, option, type OptionTable, signalOption } from '../../base/option-table.js'
import { checkedText } from '../../base/checks.js'
import { expected, TensorRTError } from '../../errors.js'
import type { GrpcFrontEnd } from '../grpc/server.js'
import type { HttpFrontEnd } from '../http/server.js'
import type { ModelControl, Servable } from '../models/servable.js'
import type { OpenLog } from './log.js'
import type { MetricsServer } from './metrics-server.js'
import type {
  DrainOptions,
  DrainResult,
  IndexEntry,
  LoadParameters,
  Server,
  ServerAddress,
  ServerAddresses,
  Statistics,
  UnloadOptions,
} from '../public-types.js'

const loadTable = {
  config: option(checkedText),
  files: option(checkedFiles),
} satisfies OptionTable<LoadParameters>

const unloadTable = { dependents: option(is.boolean, false) } satisfies OptionTable<UnloadOptions>

const drainTable = {
  timeoutMs: option(is.whole(0, 2 ** 31 - 1)),
  signal: signalOption,
} satisfies OptionTable<DrainOptions>

/** What a server is made of. */
export interface ServerParts {
  readonly models: ModelControl & { readonly notes: readonly string[]; close(): Promise<void> }
  readonly http?: HttpFrontEnd | undefined
  readonly grpc?: GrpcFrontEnd | undefined
  readonly metrics?: MetricsServer | undefined
  readonly log: OpenLog
  readonly exitTimeoutMs: number
  readonly statistics: (servables: readonly Servable[]) => Statistics
}

export interface ServedModels {
  /** Names of models with a version in service. */
  readonly models: readonly string[]
  /** Models that should be ready and are not. */
  readonly failed: readonly { readonly name: string; readonly reason: string }[]
  /** Texts about misplaced files and repositories without models. */
  readonly notServed: readonly string[]
}

export class ModelServer implements Server {
  readonly addresses: ServerAddresses
  /** Why the server ends, for the log. */
  endReason: string | undefined
  readonly #parts: ServerParts
  #hasDrained = false
  #closing: Promise<void> | undefined

  constructor(parts: ServerParts) {
    this.#parts = parts
    this.addresses = {
      ...(parts.http && { http: addressOf(parts.http.address) }),
      ...(parts.grpc && { grpc: addressOf(parts.grpc.address, '', parts.grpc.isSecure ? 'grpcs' : 'grpc') }),
      ...(parts.metrics && { metrics: addressOf(parts.metrics.address, '/metrics') }),
    }
  }

  async load(name: string, parameters: LoadParameters = {}): Promise<void> {
    const checked = checkedOptions(parameters, loadTable, 'load')
    await this.#parts.models.load(checkedText(name, 'name'), checked)
  }

  async unload(name: string, options: UnloadOptions = {}): Promise<void> {
    const { dependents } = checkedOptions(options, unloadTable, 'unload')
    await this.#parts.models.unload(checkedText(name, 'name'), dependents)
  }

  /** Which models are served, which should be and are not, and files of the repositories that are not served. */
  get summary(): ServedModels {
    const { notReady = [], snapshot, notes } = this.#parts.models
    const failed = notReady.map((name) => ({ name, reason: this.#reasonOf(name) }))
    return { models: [...new Set(snapshot.all.map(({ name }) => name))], failed, notServed: notes }
  }

  logStart(): void {
    const { failed, notServed } = this.summary
    const { models, log } = this.#parts
    const fields = {
      models: models.snapshot.all.length,
      failed: failed.map(({ name }) => name).join(', ') || undefined,
      notServed: notServed.join('; ') || undefined,
    }
    log.info(fields, 'the server is started')
  }

  #reasonOf(model: string): string {
    return this.index().find(({ name, reason }) => name === model && reason)?.reason ?? ''
  }

  index(): readonly IndexEntry[] {
    return this.#parts.models.index(false)
  }

  statistics(name?: string, version?: string): Statistics {
    const { models, statistics } = this.#parts
    const { snapshot } = models
    if (name === undefined) return statistics(snapshot.all)
    if (version !== undefined) return statistics([snapshot.find(name, version)])
    const latest = snapshot.find(name)
    const others = snapshot.versions(name).filter((each) => each !== latest.version)
    return statistics([latest, ...others.map((each) => snapshot.find(name, each))])
  }

  async drain(options: DrainOptions = {}): Promise<DrainResult> {
    const { timeoutMs = this.#parts.exitTimeoutMs, signal } = checkedOptions(options, drainTable, 'drain')
    const { http, grpc, log } = this.#parts
    const fronts = [http, grpc].filter((front) => front !== undefined)
    if (fronts.length === 0) return { left: 0 }
    const underWay = (): number => fronts.reduce((sum, { inFlight }) => sum + inFlight, 0)
    for (const front of fronts) void front.stopAccepting()
    log.info({ underWay: underWay(), reason: this.endReason }, 'the server takes no requests any more')
    if (timeoutMs > 0) await untilDrained(fronts, { timeoutMs, signal })
    this.#hasDrained = true
    return { left: underWay() }
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close())
  }

  async #close(): Promise<void> {
    const { http, grpc, metrics, models, log } = this.#parts
    if (!this.#hasDrained) await this.drain()
    await Promise.all([http?.close(), grpc?.close()])
    await models.close()
    await metrics?.close()
    log.info({}, 'the server is closed')
    log[Symbol.dispose]()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

async function untilDrained(
  fronts: readonly (HttpFrontEnd | GrpcFrontEnd)[],
  limits: { readonly timeoutMs: number; readonly signal: AbortSignal | undefined },
): Promise<void> {
  try {
    await within(limits, () => Promise.all(fronts.map((front) => front.drained())))
  } catch (error) {
    if (!(error instanceof TensorRTError) || error.code !== 'ERR_TRT_TIMEOUT') throw error
  }
}

function checkedFiles(files: unknown): ReadonlyMap<string, Uint8Array> {
  if (!isMap(files)) throw expected('a Map of bytes by path', 'files', files)
  for (const [path, bytes] of files) {
    checkedText(path, 'a path in files')
    if (!isUint8Array(bytes)) throw expected('a Uint8Array', `files[${JSON.stringify(path)}]`, bytes)
  }
  return new Map(files as Map<string, Uint8Array>)
}

/** Such as http://0.0.0.0:8000. */
function addressOf(
  { host, port }: { readonly host: string; readonly port: number },
  path = '',
  protocol = 'http',
): ServerAddress {
  return { host, port, url: `${protocol}://${host.includes(':') ? `[${host}]` : host}:${port}${path}` }
}
