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
import { checkedPath } from '../base/source.js'
import { plainCopy, readOptions } from '../base/options.js'
import { checkedEngineOptions } from '../engine/checked-options.js'
import { expected, TensorRTError } from '../errors.js'
import { restrictedCategories } from './front/options.js'
import type { GrpcConnections } from './grpc/call.js'
import type { LogSettings } from './operations/log.js'
import type { MetricsSettings } from './operations/metrics.js'
import type { LogDestination, Restriction, ServeEngineOptions } from './public-types.js'

/** Options that were checked, and are complete. */
export interface ServeSettings {
  readonly repositories: readonly string[]
  readonly id: string
  readonly http: HttpSettings | undefined
  readonly grpc: GrpcSettings | undefined
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

export interface GrpcSettings extends Place {
  readonly maxInputSize: number
  readonly restricted: readonly Restriction[]
  readonly compressionLevel: 'none' | 'low' | 'medium' | 'high'
  /** Paths. */
  readonly tls:
    | { readonly cert: string; readonly key: string; readonly root: string | undefined; readonly mutual: boolean }
    | undefined
  readonly connections: GrpcConnections
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
  'grpc',
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
  const grpc = checkedGrpc(given.grpc)
  refuseSamePlace({ HTTP: http, gRPC: grpc, metrics })
  const { id = 'triton', exitTimeoutSecs = 30, maxInflightBytes = 2 ** 30 } = given
  return {
    repositories: checkedRepositories(given.modelRepository),
    id: checkedText(id, 'id'),
    http,
    grpc,
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
  const {
    port,
    address,
    maxInputSize = 2 ** 26,
    restricted = [],
  } = readOptions(given, ['port', 'address', 'maxInputSize', 'restricted'], 'http')
  return {
    ...checkedListen({ port, address }, 'http', 8000, '0.0.0.0'),
    maxInputSize: checkedWhole(maxInputSize, 'http.maxInputSize', 1),
    restricted: checkedRestrictions(restricted, 'http.restricted'),
  }
}

const grpcNames = [
  'port',
  'address',
  'maxInputSize',
  'restricted',
  'compressionLevel',
  'tls',
  'keepaliveTimeMs',
  'keepaliveTimeoutMs',
  'maxConnectionAgeMs',
  'maxConnectionAgeGraceMs',
] as const

function checkedGrpc(given: unknown): GrpcSettings | undefined {
  if (given === undefined || given === false) return undefined
  const options = readOptions(given === true ? {} : given, grpcNames, 'grpc')
  const { port, address, maxInputSize = 2 ** 26, restricted = [], compressionLevel = 'none', tls } = options
  return {
    ...checkedListen({ port, address }, 'grpc', 8001, '0.0.0.0'),
    maxInputSize: checkedWhole(maxInputSize, 'grpc.maxInputSize', 1),
    restricted: checkedRestrictions(restricted, 'grpc.restricted'),
    compressionLevel: checkedChoice(compressionLevel, 'grpc.compressionLevel', ['none', 'low', 'medium', 'high']),
    tls: tls === undefined ? undefined : checkedTls(tls),
    connections: checkedConnections(options),
  }
}

function checkedTls(given: unknown): GrpcSettings['tls'] {
  const {
    cert,
    key,
    root,
    mutual = false,
  } = readOptions(checkedObject(given, 'grpc.tls'), ['cert', 'key', 'root', 'mutual'], 'grpc.tls')
  const isMutual = checkedBoolean(mutual, 'grpc.tls.mutual')
  if (isMutual && root === undefined) throw expected('a file, which mutual needs,', 'grpc.tls.root', root)
  return {
    cert: checkedPath(cert, 'grpc.tls.cert'),
    key: checkedPath(key, 'grpc.tls.key'),
    root: root === undefined ? undefined : checkedPath(root, 'grpc.tls.root'),
    mutual: isMutual,
  }
}

function checkedConnections(given: Given<(typeof grpcNames)[number]>): GrpcConnections {
  const {
    keepaliveTimeMs = 7_200_000,
    keepaliveTimeoutMs = 20_000,
    maxConnectionAgeMs: age,
    maxConnectionAgeGraceMs: grace,
  } = given
  const milliseconds = (value: unknown, name: string): number => checkedWhole(value, `grpc.${name}`, 1, 2 ** 31 - 1)
  return {
    keepaliveTimeMs: milliseconds(keepaliveTimeMs, 'keepaliveTimeMs'),
    keepaliveTimeoutMs: milliseconds(keepaliveTimeoutMs, 'keepaliveTimeoutMs'),
    maxAgeMs: age === undefined ? undefined : milliseconds(age, 'maxConnectionAgeMs'),
    maxAgeGraceMs: grace === undefined ? undefined : milliseconds(grace, 'maxConnectionAgeGraceMs'),
  }
}

function checkedRestrictions(given: unknown, name: string): readonly Restriction[] {
  const restrictions = checkedArray(given, name).map((one, i) => checkedRestriction(one, `${name}[${i}]`))
  const all = restrictions.flatMap(({ apis }) => apis)
  const twice = all.find((api, i) => all.indexOf(api) !== i)
  if (twice !== undefined) throw expected('each API in one restriction', name, twice)
  return restrictions
}

function checkedListen(
  { port, address }: Given<'port' | 'address'>,
  name: string,
  usualPort: number,
  usualAddress: string,
): Place {
  return {
    port: checkedWhole(port ?? usualPort, `${name}.port`, 0, 65_535),
    address: checkedText(address ?? usualAddress, `${name}.address`),
  }
}

function checkedRestriction(given: unknown, name: string): Restriction {
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
  const {
    port,
    address,
    counterLatencies = true,
    cpu = true,
  } = readOptions(options, ['port', 'address', 'counterLatencies', 'cpu'], 'metrics')
  return {
    ...checkedListen({ port, address }, 'metrics', 8002, httpAddress),
    counterLatencies: checkedBoolean(counterLatencies, 'metrics.counterLatencies'),
    cpu: checkedBoolean(cpu, 'metrics.cpu'),
  }
}

function refuseSamePlace(places: Readonly<Record<string, Place | undefined>>): void {
  const taken = new Map<string, string>()
  for (const [what, place] of Object.entries(places)) {
    if (place === undefined || place.port === 0) continue
    const text = `${place.address}:${place.port}`
    const other = taken.get(text)
    const message = `The server cannot listen to ${other} requests and ${what} requests at the same address and port ${text}`
    if (other !== undefined) throw new TensorRTError('ERR_TRT_INVALID_ARGUMENT', message)
    taken.set(text, what)
  }
}

const logNames = ['verbose', 'info', 'warning', 'error', 'format', 'file', 'destination'] as const

function checkedLog(given: unknown): LogSettings | undefined {
  if (given === undefined || given === false) return undefined
  const options = readOptions(given === true ? {} : given, logNames, 'log')
  const {
    verbose = 0,
    info = true,
    warning = true,
    error = true,
    format = 'default',
    file,
    destination = process.stderr,
  } = options
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
  const found = checkedObject(given, 'log.destination', 'an object with the method write') as {
    readonly write?: unknown
  }
  if (typeof found.write !== 'function') throw expected('an object with the method write', 'log.destination', given)
  return found as LogDestination
}

function checkedControl(given: Given<(typeof names)[number]>): ControlSettings {
  const {
    modelControlMode = 'none',
    repositoryPollSecs = 15,
    modelLoadThreadCount = 4,
    modelLoadRetryCount = 0,
  } = given
  const {
    disableAutoCompleteConfig = false,
    strictReadiness = true,
    exitOnError = true,
    allowFileOverride = false,
  } = given
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
  if (models.length > 0 && mode !== 'explicit')
    throw expected("'explicit', which loadModel needs,", 'modelControlMode', mode)
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
