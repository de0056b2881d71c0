// A server of models: its front-ends, and how it ends.
import { isUint8Array } from 'node:util/types'
import { within } from '../../base/cancellation.js'
import { readOptions } from '../../base/options.js'
import { checkedBoolean, checkedSignal, checkedText, checkedWhole } from '../../base/checks.js'
import { expected, TensorRTError } from '../../errors.js'
import type { HttpFrontEnd } from '../http/server.js'
import type { IndexEntry, LoadParameters, ModelControl } from '../models/control.js'
import type { Servable } from '../models/servable.js'
import type { OpenLog } from './log.js'
import type { MetricsServer } from './metrics-server.js'
import type { Statistics } from './statistics.js'

/** Where a server listens. */
export interface ServerAddress {
  /** As it was given: a name or an address. */
  readonly host: string
  /** The one that the system chose where 0 was given. */
  readonly port: number
  /** Such as `http://0.0.0.0:8000`. */
  readonly url: string
}

/** Where a server listens, by protocol. */
export interface ServerAddresses {
  /** KServe's protocol; undefined with `http: false`. */
  readonly http?: ServerAddress | undefined
  /** The url ends with `/metrics`. */
  readonly metrics?: ServerAddress | undefined
}

/** Options of {@link Server.unload}. */
export interface UnloadOptions {
  /** Also the models that it is made of, as KServe's `unload_dependents`; default false. */
  readonly dependents?: boolean | undefined
}

/** Options of {@link Server.drain}. */
export interface DrainOptions {
  /** How long it waits at most, in milliseconds; default {@link ServeOptions.exitTimeoutSecs}. 0: not at all. */
  readonly timeoutMs?: number | undefined
  /** Rejects the call with the signal's reason; the server takes no requests any more all the same. */
  readonly signal?: AbortSignal | undefined
}

/** What became of {@link Server.drain}. */
export interface DrainResult {
  /** Requests that had not ended. */
  readonly left: number
}

/** A server of models that listens. */
export interface Server extends AsyncDisposable {
  /** Where it listens. */
  readonly addresses: ServerAddresses
  /**
   * Loads a model, or loads it again: what is new is warmed up before it takes the place of the old.
   * @throws TensorRTError ERR_TRT_SERVER (as a rejection): the model cannot be loaded, and what was at work goes on; or `modelControlMode` is not `explicit`
   */
  load(name: string, parameters?: LoadParameters): Promise<void>
  /** Fulfilled when no new request is given to the model; what it has under way ends. @throws TensorRTError ERR_TRT_SERVER (as a rejection) */
  unload(name: string, options?: UnloadOptions): Promise<void>
  /** All models of the repository, each version that is or was loaded with its state. */
  index(): readonly IndexEntry[]
  /**
   * What `/v2/models/NAME/versions/VERSION/stats` answers, of all models unless one is named.
   * @throws TensorRTError ERR_TRT_SERVER for a model or version that is not ready
   */
  statistics(name?: string, version?: string): Statistics
  /** Takes no new connections and no new requests, is not ready, and waits until what is under way has ended. */
  drain(options?: DrainOptions): Promise<DrainResult>
  /** {@link drain}s unless that was done, then ends what is left, and closes all models. Twice without harm. */
  close(): Promise<void>
}

/** What a server is made of. */
export interface ServerParts {
  readonly models: ModelControl & { close(): Promise<void> }
  readonly http: HttpFrontEnd | undefined
  readonly metrics: MetricsServer | undefined
  readonly log: OpenLog
  readonly exitTimeoutMs: number
  readonly statistics: (servables: readonly Servable[]) => Statistics
}

export class ModelServer implements Server {
  readonly addresses: ServerAddresses
  readonly #parts: ServerParts
  #hasDrained = false
  #closing: Promise<void> | undefined

  constructor(parts: ServerParts) {
    this.#parts = parts
    this.addresses = {
      ...(parts.http && { http: addressOf(parts.http.address) }),
      ...(parts.metrics && { metrics: addressOf(parts.metrics.address, '/metrics') }),
    }
  }

  async load(name: string, parameters: LoadParameters = {}): Promise<void> {
    const { config, files } = readOptions(parameters, ['config', 'files'], 'load')
    await this.#parts.models.load(checkedText(name, 'name'), {
      ...(config !== undefined && { config: checkedText(config, 'config') }),
      ...(files !== undefined && { files: checkedFiles(files) }),
    })
  }

  async unload(name: string, options: UnloadOptions = {}): Promise<void> {
    const { dependents = false } = readOptions(options, ['dependents'], 'unload')
    await this.#parts.models.unload(checkedText(name, 'name'), checkedBoolean(dependents, 'dependents'))
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
    const { timeoutMs = this.#parts.exitTimeoutMs, signal } = readOptions(options, ['timeoutMs', 'signal'], 'drain')
    const limits = { timeoutMs: checkedWhole(timeoutMs, 'timeoutMs', 0, 2 ** 31 - 1), signal: checkedSignal(signal) }
    const { http, log } = this.#parts
    if (http === undefined) return { left: 0 }
    void http.stopAccepting()
    log.info({ underWay: http.inFlight }, 'the server takes no requests any more')
    if (limits.timeoutMs > 0) await untilDrained(http, limits)
    this.#hasDrained = true
    return { left: http.inFlight }
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close())
  }

  async #close(): Promise<void> {
    const { http, metrics, models, log } = this.#parts
    if (!this.#hasDrained) await this.drain()
    await http?.close()
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
  http: HttpFrontEnd,
  limits: { readonly timeoutMs: number; readonly signal: AbortSignal | undefined },
): Promise<void> {
  try {
    await within(limits, () => http.drained())
  } catch (error) {
    if (!(error instanceof TensorRTError) || error.code !== 'ERR_TRT_TIMEOUT') throw error
  }
}

function checkedFiles(files: unknown): ReadonlyMap<string, Uint8Array> {
  if (!(files instanceof Map)) throw expected('a Map of bytes by path', 'files', files)
  for (const [path, bytes] of files as Map<unknown, unknown>) {
    checkedText(path, 'a path in files')
    if (!isUint8Array(bytes)) throw expected('a Uint8Array', `files[${JSON.stringify(path)}]`, bytes)
  }
  return new Map(files as Map<string, Uint8Array>)
}

/** Such as http://0.0.0.0:8000. */
function addressOf({ host, port }: { readonly host: string; readonly port: number }, path = ''): ServerAddress {
  return { host, port, url: `http://${host.includes(':') ? `[${host}]` : host}:${port}${path}` }
}
