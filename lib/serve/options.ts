import {
  checkedArray,
  checkedBoolean,
  checkedChoice,
  checkedList,
  checkedObject,
  checkedSignal,
  checkedText,
  checkedWhole,
  isText,
  isWhole,
} from '../base/checks.js'
import { checkedPath } from '../base/files.js'
import { plainCopy, readOptions } from '../base/options.js'
import type { EngineOptions } from '../engine/options.js'
import { checkedEngineOptions } from '../engine/options.js'
import { expected, TensorRTError } from '../errors.js'
import { type RestrictedCategory, restrictedCategories } from './http/options.js'
import type { LogDestination, LogSettings } from './operations/log.js'
import type { MetricsSettings } from './operations/metrics.js'

/** Requests for `apis` are answered only if they have the header `key` with this value. */
export interface Restriction {
  /** What is restricted; each API stands in one restriction at most. */
  readonly apis: readonly RestrictedCategory[]
  /** The name of the header. */
  readonly key: string
  /** What the header has to be. */
  readonly value: string
}

/** Where a server listens. */
export interface ListenOptions {
  /** 0: any that is free. */
  readonly port?: number | undefined
  /** A name or an address of this machine. */
  readonly address?: string | undefined
}

/** HTTP, with KServe's protocol. */
export interface HttpServeOptions extends ListenOptions {
  /** Default 8000; 0: any that is free, which {@link Server.addresses} tells. */
  readonly port?: number | undefined
  /** Default 0.0.0.0: from everywhere, as Triton. */
  readonly address?: string | undefined
  /** The most bytes of a request, after decompression; default 64 MiB. More is answered with 413. */
  readonly maxInputSize?: number | undefined
  /** Parts of the protocol that need a header. */
  readonly restricted?: readonly Restriction[] | undefined
}

/** Metrics for Prometheus, by HTTP on a port of their own, below `/metrics`. */
export interface MetricsServeOptions extends ListenOptions {
  /** Default 8002; 0: any that is free. */
  readonly port?: number | undefined
  /** Default: that of HTTP. */
  readonly address?: string | undefined
  /** Durations of requests, in microseconds; default true. */
  readonly counterLatencies?: boolean | undefined
  /** The machine's processors and memory; default true. */
  readonly cpu?: boolean | undefined
}

/** A log of lines that are JSON, as pino writes them. */
export interface LogServeOptions {
  /** From 1 on there is a line for each request; default 0. */
  readonly verbose?: number | undefined
  /** Lines of the level info; default true. */
  readonly info?: boolean | undefined
  /** Lines of the level warn; default true. */
  readonly warning?: boolean | undefined
  /** Lines of the level error; default true. */
  readonly error?: boolean | undefined
  /** The time in lines: milliseconds since 1970 (`default`), or `ISO8601`. */
  readonly format?: 'default' | 'ISO8601' | undefined
  /** A file that lines are appended to. */
  readonly file?: string | URL | undefined
  /** What takes lines where no file is named; default process.stderr. */
  readonly destination?: LogDestination | undefined
}

/** What all engines of a server are opened with. */
export interface ServeEngineOptions extends Pick<EngineOptions, 'tensorrt' | 'cache' | 'plugins' | 'hostCode'> {
  /** `cpu`: ONNX runs on the CPU whatever its config says; default: as the config says. */
  readonly backend?: 'cpu' | undefined
  /** The numbers of the GPUs of an instance group that names none; default: all of the machine, as in Triton. */
  readonly gpus?: readonly number[] | undefined
}

/** Options of {@link serve}: the flags of `trt serve`, by their names. */
export interface ServeOptions {
  /** The folder of the models, or several; a name that is in two of them is not served. */
  readonly modelRepository: string | URL | readonly (string | URL)[]
  /** The name of this server in its metadata; default `triton`. */
  readonly id?: string | undefined
  /** HTTP on port 8000 unless given; `false`: none. */
  readonly http?: HttpServeOptions | false | undefined
  /** Default: none; `true`: on port 8002. It needs the package prom-client. */
  readonly metrics?: MetricsServeOptions | boolean | undefined
  /** Default: none; `true`: on stderr. It needs the package pino. */
  readonly log?: LogServeOptions | boolean | undefined
  /**
   * Who loads models; default `none`.
   *
   * - `none`: all are loaded at the start, and stay as they are.
   * - `poll`: whatever changes in the repository is loaded.
   * - `explicit`: `loadModel` at the start, then clients and {@link Server.load}.
   */
  readonly modelControlMode?: 'none' | 'poll' | 'explicit' | undefined
  /** With `explicit`: the models to load at the start; `['*']`: all. */
  readonly loadModel?: readonly string[] | undefined
  /** With `poll`: seconds between two looks; default 15. */
  readonly repositoryPollSecs?: number | undefined
  /** Models that load at the same time; default 4. */
  readonly modelLoadThreadCount?: number | undefined
  /** How often a load that failed is tried again; default 0. */
  readonly modelLoadRetryCount?: number | undefined
  /** What a config leaves out is not taken from the model; default false. */
  readonly disableAutoCompleteConfig?: boolean | undefined
  /** Whether the server is ready only as long as all its models are; default true. */
  readonly strictReadiness?: boolean | undefined
  /** Whether a model that cannot be loaded at the start ends the server; default true. */
  readonly exitOnError?: boolean | undefined
  /** Whether clients may send the files of a model that they load: a plan runs native code; default false. */
  readonly allowFileOverride?: boolean | undefined
  /** Seconds that requests under way have to end when the server is closed; default 30. */
  readonly exitTimeoutSecs?: number | undefined
  /** The most bytes that requests and answers have at one time; default 1 GiB. One more request is answered with 503. */
  readonly maxInflightBytes?: number | undefined
  /** What all engines are opened with. */
  readonly engine?: ServeEngineOptions | undefined
  /** Aborts the start, which is then rejected with the signal's reason; nothing is left of it. */
  readonly signal?: AbortSignal | undefined
}

/** Options that were checked, and are complete. */
export interface ServeSettings {
  readonly repositories: readonly string[]
  readonly id: string
  readonly http: HttpSettings | undefined
  readonly metrics: (Place & MetricsSettings) | undefined
  readonly log: LogSettings | undefined
  readonly control: ControlSettings
  readonly exitTimeoutMs: number
  readonly maxInflightBytes: number
  readonly engine: ServeEngineOptions
  readonly signal: AbortSignal | undefined
}

interface Place {
  readonly port: number
  readonly address: string
}

export interface HttpSettings extends Place {
  readonly maxInputSize: number
  readonly restricted: readonly Restriction[]
}

export interface ControlSettings {
  readonly mode: 'none' | 'poll' | 'explicit'
  readonly loadModels: readonly string[]
  readonly pollSecs: number
  readonly loadThreads: number
  readonly retries: number
  readonly autoComplete: boolean
  readonly strictReadiness: boolean
  readonly exitOnError: boolean
  readonly allowFileOverride: boolean
}

const names = [
  'modelRepository',
  'id',
  'http',
  'metrics',
  'log',
  'modelControlMode',
  'loadModel',
  'repositoryPollSecs',
  'modelLoadThreadCount',
  'modelLoadRetryCount',
  'disableAutoCompleteConfig',
  'strictReadiness',
  'exitOnError',
  'allowFileOverride',
  'exitTimeoutSecs',
  'maxInflightBytes',
  'engine',
  'signal',
] as const

type Given<K extends string> = Partial<Record<K, unknown>>

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedServeOptions(options: unknown): ServeSettings {
  const given = readOptions(checkedObject(options, 'the options of serve'), names, 'serve')
  const http = checkedHttp(given.http)
  const metrics = checkedMetrics(given.metrics, http?.address ?? '0.0.0.0')
  refuseSamePlace(http, metrics)
  const { id = 'triton', exitTimeoutSecs = 30, maxInflightBytes = 2 ** 30 } = given
  return {
    repositories: checkedRepositories(given.modelRepository),
    id: checkedText(id, 'id'),
    http,
    metrics,
    log: checkedLog(given.log),
    control: checkedControl(given),
    exitTimeoutMs: 1000 * checkedWhole(exitTimeoutSecs, 'exitTimeoutSecs', 0, 86_400),
    maxInflightBytes: checkedWhole(maxInflightBytes, 'maxInflightBytes', 1),
    engine: checkedEngine(given.engine),
    signal: checkedSignal(given.signal),
  }
}

function checkedRepositories(given: unknown): readonly string[] {
  const name = 'modelRepository'
  if (!Array.isArray(given)) return [checkedPath(given, name)]
  const paths = checkedArray(given, name).map((path, i) => checkedPath(path, `${name}[${i}]`))
  if (paths.length === 0) throw expected('at least one folder', name, given)
  return [...new Set(paths)]
}

function checkedHttp(given: unknown): HttpSettings | undefined {
  if (given === false) return undefined
  const { port, address, maxInputSize = 2 ** 26, restricted = [] } = readOptions(given, ['port', 'address', 'maxInputSize', 'restricted'], 'http') // prettier-ignore
  return {
    ...checkedListen({ port, address }, 'http', 8000, '0.0.0.0'),
    maxInputSize: checkedWhole(maxInputSize, 'http.maxInputSize', 1),
    restricted: checkedRestrictions(restricted),
  }
}

function checkedRestrictions(given: unknown): readonly Restriction[] {
  const restrictions = checkedArray(given, 'http.restricted').map(checkedRestriction)
  const all = restrictions.flatMap(({ apis }) => apis)
  const twice = all.find((api, i) => all.indexOf(api) !== i)
  if (twice !== undefined) throw expected('each API in one restriction', 'http.restricted', twice)
  return restrictions
}

function checkedListen({ port, address }: Given<'port' | 'address'>, name: string, usualPort: number, usualAddress: string): Place {
  return {
    port: checkedWhole(port ?? usualPort, `${name}.port`, 0, 65_535),
    address: checkedText(address ?? usualAddress, `${name}.address`),
  }
}

function checkedRestriction(given: unknown, i: number): Restriction {
  const name = `http.restricted[${i}]`
  const { apis, key, value } = readOptions(checkedObject(given, name), ['apis', 'key', 'value'], name)
  return {
    apis: checkedArray(apis, `${name}.apis`).map((api) => checkedChoice(api, `${name}.apis`, restrictedCategories)),
    key: checkedText(key, `${name}.key`),
    value: checkedText(value, `${name}.value`),
  }
}

function checkedMetrics(given: unknown, httpAddress: string): (Place & MetricsSettings) | undefined {
  if (given === undefined || given === false) return undefined
  const options = given === true ? {} : given
  const { port, address, counterLatencies = true, cpu = true } = readOptions(options, ['port', 'address', 'counterLatencies', 'cpu'], 'metrics') // prettier-ignore
  return {
    ...checkedListen({ port, address }, 'metrics', 8002, httpAddress),
    counterLatencies: checkedBoolean(counterLatencies, 'metrics.counterLatencies'),
    cpu: checkedBoolean(cpu, 'metrics.cpu'),
  }
}

function refuseSamePlace(http: Place | undefined, metrics: Place | undefined): void {
  if (http === undefined || metrics === undefined || http.port === 0) return
  if (http.port !== metrics.port || http.address !== metrics.address) return
  const place = `${http.address}:${http.port}`
  const message = `The server cannot listen to HTTP requests and metrics requests at the same address and port ${place}`
  throw new TensorRTError('ERR_TRT_INVALID_ARGUMENT', message)
}

const logNames = ['verbose', 'info', 'warning', 'error', 'format', 'file', 'destination'] as const

function checkedLog(given: unknown): LogSettings | undefined {
  if (given === undefined || given === false) return undefined
  const options = readOptions(given === true ? {} : given, logNames, 'log')
  const { verbose = 0, info = true, warning = true, error = true, format = 'default', file, destination = process.stderr } = options
  return {
    verbose: checkedWhole(verbose, 'log.verbose', 0),
    info: checkedBoolean(info, 'log.info'),
    warning: checkedBoolean(warning, 'log.warning'),
    error: checkedBoolean(error, 'log.error'),
    format: checkedChoice(format, 'log.format', ['default', 'ISO8601']),
    file: file === undefined ? undefined : checkedPath(file, 'log.file'),
    destination: checkedDestination(destination),
  }
}

function checkedDestination(given: unknown): LogDestination {
  const found = checkedObject(given, 'log.destination', 'an object with the method write') as { readonly write?: unknown }
  if (typeof found.write !== 'function') throw expected('an object with the method write', 'log.destination', given)
  return found as LogDestination
}

function checkedControl(given: Given<(typeof names)[number]>): ControlSettings {
  const { modelControlMode = 'none', repositoryPollSecs = 15, modelLoadThreadCount = 4, modelLoadRetryCount = 0 } = given
  const { disableAutoCompleteConfig = false, strictReadiness = true, exitOnError = true, allowFileOverride = false } = given
  const mode = checkedChoice(modelControlMode, 'modelControlMode', ['none', 'poll', 'explicit'])
  return {
    mode,
    loadModels: checkedLoadModel(given.loadModel, mode),
    pollSecs: checkedWhole(repositoryPollSecs, 'repositoryPollSecs', 1, 86_400),
    loadThreads: checkedWhole(modelLoadThreadCount, 'modelLoadThreadCount', 1, 64),
    retries: checkedWhole(modelLoadRetryCount, 'modelLoadRetryCount', 0, 1000),
    autoComplete: !checkedBoolean(disableAutoCompleteConfig, 'disableAutoCompleteConfig'),
    strictReadiness: checkedBoolean(strictReadiness, 'strictReadiness'),
    exitOnError: checkedBoolean(exitOnError, 'exitOnError'),
    allowFileOverride: checkedBoolean(allowFileOverride, 'allowFileOverride'),
  }
}

function checkedLoadModel(given: unknown, mode: string): readonly string[] {
  if (given === undefined) return []
  const models = [...new Set(checkedArray(given, 'loadModel', 'an array of names'))]
  const wrong = models.findIndex((model) => !isText(model))
  if (wrong >= 0) throw expected('a name', 'loadModel', models[wrong])
  if (models.length > 0 && mode !== 'explicit') throw expected("'explicit', which loadModel needs,", 'modelControlMode', mode)
  if (models.length > 1 && models.includes('*')) throw expected("'*' alone, or names", 'loadModel', models)
  return models as string[]
}

const engineNames = ['tensorrt', 'cache', 'plugins', 'hostCode', 'backend', 'gpus'] as const

/** A copy that Engine.load would take. */
function checkedEngine(given: unknown): ServeEngineOptions {
  const options = plainCopy(readOptions(given, engineNames, 'engine')) as Given<(typeof engineNames)[number]>
  const { backend, gpus, ...others } = Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== undefined),
  ) as typeof options
  checkedEngineOptions(others)
  return {
    ...(others as ServeEngineOptions),
    ...(backend !== undefined && { backend: checkedChoice(backend, 'engine.backend', ['cpu']) }),
    ...(gpus !== undefined && {
      gpus: checkedList(gpus, 'engine.gpus', 'numbers of GPUs', (gpu): gpu is number => isWhole(gpu, 0, 1023)),
    }),
  }
}
