import { resolve } from 'node:path'
import {
  checkedArray,
  checkedChoice,
  checkedList,
  checkedObject,
  checkedText,
  isText,
  isWhole,
} from '../base/checks.js'
import {
  type Check,
  type Checked,
  checkedOptions,
  elsewhereOf,
  is,
  namesOf,
  option,
  type OptionRow,
  type OptionTable,
  readGroup,
  signalOption,
} from '../base/option-table.js'
import { checkedPath } from '../base/source.js'
import { plainCopy, readOptions } from '../base/options.js'
import { checkedEngineOptions } from '../engine/options.js'
import { expected, TensorRTError } from '../errors.js'
import { restrictedCategories } from './front/options.js'
import type { ModelFile } from './repository/folder.js'
import { endingFault, nameFault } from './repository/single-file.js'
import type { ControlSettings } from './models/settings.js'
import type {
  GrpcServeOptions,
  GrpcTlsOptions,
  HttpServeOptions,
  LogDestination,
  LogServeOptions,
  MetricsServeOptions,
  Restriction,
  ServeEngineOptions,
  ServeOptions,
} from './public-types.js'

const port = is.whole(0, 65_535)
const milliseconds = is.whole(1, 2 ** 31 - 1)

const httpTable = {
  port: option(port, 8000),
  address: option(checkedText, '0.0.0.0'),
  maxInputSize: option(is.whole(1), 2 ** 26),
  restricted: option(checkedRestrictions, []),
} satisfies OptionTable<HttpServeOptions>

const tlsTable = {
  cert: option((value) => value),
  key: option((value) => value),
  root: option(checkedPath),
  mutual: option(is.boolean, false),
} satisfies OptionTable<GrpcTlsOptions>

const grpcTable = {
  ...httpTable,
  port: option(port, 8001),
  compressionLevel: option(is.choice('none', 'low', 'medium', 'high'), 'none'),
  tls: option(checkedTls),
  keepaliveTimeMs: option(milliseconds, 7_200_000),
  keepaliveTimeoutMs: option(milliseconds, 20_000),
  maxConnectionAgeMs: option(milliseconds),
  maxConnectionAgeGraceMs: option(milliseconds),
} satisfies OptionTable<GrpcServeOptions>

const metricsTable = {
  port: option(port, 8002),
  address: option(checkedText),
  counterLatencies: option(is.boolean, true),
  cpu: option(is.boolean, true),
} satisfies OptionTable<MetricsServeOptions>

const logTable = {
  verbose: option(is.whole(0), 0),
  info: option(is.boolean, true),
  warning: option(is.boolean, true),
  error: option(is.boolean, true),
  format: option(is.choice('default', 'ISO8601'), 'default'),
  file: option(checkedPath),
  destination: option(checkedDestination),
} satisfies OptionTable<LogServeOptions>

const serveTable = {
  modelRepository: option((value) => value),
  models: option(checkedModels, []),
  id: option(checkedText, 'triton'),
  http: { ...option(part(httpTable, 'http'), checkedOptions({}, httpTable, 'http')), members: namesOf(httpTable) },
  grpc: option(optionalPart(grpcTable, 'grpc')),
  metrics: option(optionalPart(metricsTable, 'metrics')),
  log: option(optionalPart(logTable, 'log')),
  modelControlMode: option(is.choice('none', 'poll', 'explicit'), 'none'),
  loadModel: option(checkedLoadModel, []),
  repositoryPollSecs: option(is.whole(1, 86_400), 15),
  modelLoadThreadCount: option(is.whole(1, 64), 4),
  modelLoadRetryCount: option(is.whole(0, 1000), 0),
  disableAutoCompleteConfig: option(is.boolean, false),
  strictReadiness: option(is.boolean, true),
  exitOnError: option(is.boolean, true),
  allowFileOverride: option(is.boolean, false),
  exitTimeoutSecs: option(is.whole(0, 86_400), 30),
  maxInflightBytes: option(is.whole(1), 2 ** 30),
  engine: option(checkedEngine, {}),
  signal: signalOption,
} satisfies OptionTable<ServeOptions>

export type HttpSettings = Checked<typeof httpTable>
export type GrpcSettings = Checked<typeof grpcTable>
export type LogSettings = Checked<typeof logTable>
export type MetricsSettings = Checked<typeof metricsTable> & Place

interface Place {
  readonly port: number
  readonly address: string
}

/** Options that were checked, and are complete. */
export interface ServeSettings extends Pick<
  Checked<typeof serveTable>,
  'id' | 'http' | 'grpc' | 'log' | 'maxInflightBytes' | 'engine' | 'signal'
> {
  readonly repositories: readonly string[]
  readonly files: readonly ModelFile[]
  readonly metrics: MetricsSettings | undefined
  readonly control: ControlSettings
  readonly exitTimeoutMs: number
}

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedServeOptions(options: unknown): ServeSettings {
  const given = checkedOptions(checkedObject(options, 'the options of serve'), serveTable, 'serve')
  const { http, grpc, modelControlMode: mode, loadModel: loadModels } = given
  const metrics = given.metrics && {
    ...given.metrics,
    address: given.metrics.address ?? http?.address ?? '0.0.0.0',
  }
  refuseSamePlace({ HTTP: http, gRPC: grpc, metrics })
  if (loadModels.length > 0 && mode !== 'explicit')
    throw expected("'explicit', which loadModel needs,", 'modelControlMode', mode)
  return {
    ...given,
    repositories:
      given.modelRepository === undefined && given.models.length > 0 ? [] : checkedRepositories(given.modelRepository),
    files: given.models,
    metrics,
    control: {
      mode,
      loadModels,
      pollSecs: given.repositoryPollSecs,
      loadThreads: given.modelLoadThreadCount,
      retries: given.modelLoadRetryCount,
      autoComplete: !given.disableAutoCompleteConfig,
      strictReadiness: given.strictReadiness,
      exitOnError: given.exitOnError,
      allowFileOverride: given.allowFileOverride,
    },
    exitTimeoutMs: 1000 * given.exitTimeoutSecs,
  }
}

type Rows = Readonly<Record<string, OptionRow<unknown>>>

/** What a part of the server is given; `false`: there is none. */
function part<Table extends Rows>(table: Table, name: string): Check<Checked<Table> | undefined> {
  return (given) => (given === false ? undefined : checkedOptions(given, table, name, `${name}.`))
}

/** The same of a part that `true` asks for. */
function optionalPart<Table extends Rows>(table: Table, name: string): Check<Checked<Table> | undefined> {
  const check = part(table, name)
  return (given) => check(given === true ? {} : given, name)
}

function checkedRepositories(given: unknown): readonly string[] {
  const name = 'modelRepository'
  if (!Array.isArray(given)) return [checkedPath(given, name)]
  const paths = checkedArray(given, name).map((path, i) => checkedPath(path, `${name}[${i}]`))
  if (paths.length === 0) throw expected('at least one folder', name, given)
  return [...new Set(paths)]
}

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
function checkedModels(given: unknown, name: string): readonly ModelFile[] {
  const what = 'an object with the path of an ONNX model or a plan by model name (modelRepository takes folders)'
  return Object.entries(checkedObject(given, name, what)).map(([model, value]) => {
    const fault = nameFault(model)
    if (fault !== undefined) throw expected(fault, `a name in ${name}`, model)
    const path = checkedPath(value, `${name}[${JSON.stringify(model)}]`)
    const ending = endingFault(path)
    if (ending !== undefined) throw expected(ending, `${name}[${JSON.stringify(model)}]`, path)
    return { name: model, path: resolve(path) }
  })
}

interface TlsFiles {
  readonly cert: string
  readonly key: string
  readonly root: string | undefined
  readonly mutual: boolean
}

function checkedTls(given: unknown, name: string): TlsFiles {
  const { cert, key, root, mutual } = checkedOptions(checkedObject(given, name), tlsTable, name, `${name}.`)
  if (mutual && root === undefined) throw expected('a file, which mutual needs,', `${name}.root`, root)
  return { cert: checkedPath(cert, `${name}.cert`), key: checkedPath(key, `${name}.key`), root, mutual }
}

function checkedRestrictions(given: unknown, name: string): readonly Restriction[] {
  const restrictions = checkedArray(given, name).map((one, i) => checkedRestriction(one, `${name}[${i}]`))
  const all = restrictions.flatMap(({ apis }) => apis)
  const twice = all.find((api, i) => all.indexOf(api) !== i)
  if (twice !== undefined) throw expected('each API in one restriction', name, twice)
  return restrictions
}

function checkedRestriction(given: unknown, name: string): Restriction {
  const { apis, key, value } = readOptions(checkedObject(given, name), ['apis', 'key', 'value'], name)
  return {
    apis: checkedArray(apis, `${name}.apis`).map((api) => checkedChoice(api, `${name}.apis`, restrictedCategories)),
    key: checkedText(key, `${name}.key`),
    value: checkedText(value, `${name}.value`),
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

function checkedDestination(given: unknown, name: string): LogDestination {
  const what = 'an object with the method write'
  const found = checkedObject(given, name, what) as { readonly write?: unknown }
  if (typeof found.write !== 'function') throw expected(what, name, given)
  return found as LogDestination
}

function checkedLoadModel(given: unknown, name: string): readonly string[] {
  const models = [...new Set(checkedArray(given, name, 'an array of names'))]
  const wrong = models.findIndex((model) => !isText(model))
  if (wrong >= 0) throw expected('a name', name, models[wrong])
  if (models.length > 1 && models.includes('*')) throw expected("'*' alone, or names", name, models)
  return models as string[]
}

const engineNames = ['tensorrt', 'cache', 'backend', 'gpus'] as const
const tensorrtNames = ['library', 'plugins', 'hostCode'] as const

const elsewhere = elsewhereOf({ tensorrt: { members: tensorrtNames } })

/** A copy that Engine.load would take. */
function checkedEngine(given: unknown): ServeEngineOptions {
  const { backend, gpus, ...others } = plainCopy(readOptions(given, engineNames, 'engine', elsewhere)) as Partial<
    Record<(typeof engineNames)[number], unknown>
  >
  readGroup(others.tensorrt, tensorrtNames, 'engine.tensorrt')
  checkedEngineOptions(others)
  return {
    ...(others as ServeEngineOptions),
    backend: backend === undefined ? undefined : checkedChoice(backend, 'engine.backend', ['cpu']),
    gpus:
      gpus === undefined
        ? undefined
        : checkedList(gpus, 'engine.gpus', 'numbers of GPUs', (gpu): gpu is number => isWhole(gpu, 0, 1023)),
  }
}
