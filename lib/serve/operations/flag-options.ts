// What the flags of a command line ask for.
import { restrictedCategories } from '../front/options.js'
import { endingFault, nameFault } from '../repository/single-file.js'
import { checkedFlags, FlagError, type Flags, type GivenFlags, truth } from './flag-values.js'
import type {
  GrpcServeOptions,
  LogServeOptions,
  RestrictedCategory,
  Restriction,
  ServeOptions,
} from '../public-types.js'

export interface FlagOptions {
  readonly options: ServeOptions
  /** Flags that were given and have no effect, each with the reason. */
  readonly ignored: readonly string[]
}

/** @throws FlagError for a value that a flag does not take, a flag that is refused, or flags that do not go together */
export function optionsOfFlags(given: GivenFlags): FlagOptions {
  const { flags, ignored } = checkedFlags(given)
  const backends = backendConfig(given.get('backend-config') ?? [])
  return {
    options: {
      ...serverOptions(flags),
      ...controlOptions(flags),
      ...engineOptions(flags, backends),
      log: logOptions(flags),
    },
    ignored: [...ignored, ...backends.ignored],
  }
}

function serverOptions(
  flags: Flags,
): Pick<ServeOptions, 'id' | 'http' | 'grpc' | 'metrics' | 'exitTimeoutSecs' | 'maxInflightBytes'> {
  const address = addressOf(flags.text('http-address'))
  const http = {
    port: flags.whole('http-port'),
    address,
    maxInputSize: flags.whole('http-max-input-size'),
    restricted: restrictions(flags, 'http-restricted-api'),
  }
  const metrics = {
    port: flags.whole('metrics-port'),
    address: addressOf(flags.text('metrics-address')) ?? address,
    counterLatencies: counterLatencies(flags.texts('metrics-config') ?? []),
    cpu: flags.isTrue('allow-cpu-metrics'),
  }
  const isSilent = ['allow-http', 'allow-grpc', 'allow-metrics'].every((name) => flags.isTrue(name) === false)
  if (isSilent)
    throw new FlagError(
      '--allow-http=false, --allow-grpc=false and --allow-metrics=false leave nothing to listen on: allow one of them',
    )
  return {
    id: flags.text('id'),
    http: flags.isTrue('allow-http') === false ? false : http,
    grpc: flags.isTrue('allow-grpc') === false ? false : grpcOptions(flags),
    metrics: flags.isTrue('allow-metrics') === false ? false : metrics,
    exitTimeoutSecs: flags.whole('exit-timeout-secs'),
    maxInflightBytes: flags.whole('max-inflight-bytes'),
  }
}

function grpcOptions(flags: Flags): GrpcServeOptions {
  return {
    port: flags.whole('grpc-port'),
    address: addressOf(flags.text('grpc-address')),
    maxInputSize: flags.whole('http-max-input-size'),
    restricted: restrictions(flags, 'grpc-restricted-protocol'),
    compressionLevel: flags
      .text('grpc-infer-response-compression-level')
      ?.toLowerCase() as GrpcServeOptions['compressionLevel'],
    tls: tlsOptions(flags),
    keepaliveTimeMs: flags.whole('grpc-keepalive-time'),
    keepaliveTimeoutMs: flags.whole('grpc-keepalive-timeout'),
    maxConnectionAgeMs: flags.whole('grpc-max-connection-age'),
    maxConnectionAgeGraceMs: flags.whole('grpc-max-connection-age-grace'),
  }
}

/** As in Triton --grpc-use-ssl-mutual is TLS whatever --grpc-use-ssl says. */
function tlsOptions(flags: Flags): GrpcServeOptions['tls'] {
  const mutual = flags.isTrue('grpc-use-ssl-mutual') === true
  if (!mutual && flags.isTrue('grpc-use-ssl') !== true) return undefined
  const [cert, key, root] = [
    flags.text('grpc-server-cert'),
    flags.text('grpc-server-key'),
    flags.text('grpc-root-cert'),
  ]
  if (cert === undefined || key === undefined)
    throw new FlagError('--grpc-use-ssl needs --grpc-server-cert and --grpc-server-key')
  if (mutual && root === undefined) throw new FlagError('--grpc-use-ssl-mutual needs --grpc-root-cert')
  return { cert, key, root, mutual }
}

/** As in a URL, where brackets stand around an address of IPv6: taken, too. */
function addressOf(text: string | undefined): string | undefined {
  return text?.replace(/^\[(.*:.*)\]$/, '$1')
}

function controlOptions(flags: Flags): Omit<ServeOptions, 'id' | 'http' | 'grpc' | 'metrics' | 'log' | 'engine'> {
  const repositories = [...(flags.texts('model-repository') ?? []), ...(flags.texts('model-store') ?? [])]
  const models = modelFiles(flags.texts('model') ?? [])
  if (repositories.length === 0 && models === undefined)
    throw new FlagError('--model-repository is missing: the folder of the models; --model NAME=FILE serves one file')
  const mode = (flags.text('model-control-mode')?.toLowerCase() ?? 'none') as 'none' | 'poll' | 'explicit'
  const loadModel = flags.texts('load-model')
  if (loadModel !== undefined && mode !== 'explicit')
    throw new FlagError('--load-model needs --model-control-mode=explicit')
  if (loadModel !== undefined && loadModel.length > 1 && loadModel.includes('*'))
    throw new FlagError('--load-model=* is for all models: give no other')
  return {
    modelRepository: repositories.length === 0 ? undefined : repositories,
    models,
    modelControlMode: mode,
    loadModel,
    repositoryPollSecs: flags.whole('repository-poll-secs'),
    modelLoadThreadCount: flags.whole('model-load-thread-count'),
    modelLoadRetryCount: flags.whole('model-load-retry-count'),
    disableAutoCompleteConfig:
      flags.has('disable-auto-complete-config') || flags.isTrue('strict-model-config') === true,
    strictReadiness: flags.isTrue('strict-readiness'),
    exitOnError: flags.isTrue('exit-on-error'),
    allowFileOverride: flags.isTrue('allow-file-override'),
  }
}

/** NAME=FILE, by name. */
function modelFiles(texts: readonly string[]): Readonly<Record<string, string>> | undefined {
  const files = new Map<string, string>()
  for (const text of texts) {
    const wrong = (what: string): FlagError =>
      new FlagError(`Expected ${what} for --model but received ${JSON.stringify(text)}`)
    const at = text.indexOf('=')
    const [name, file] = [text.slice(0, Math.max(at, 0)), text.slice(at + 1)]
    if (at < 0 || file === '') throw wrong('NAME=FILE, for example classifier=model.onnx,')
    const fault = nameFault(name) ?? endingFault(file)
    if (fault !== undefined) throw wrong(`NAME=FILE with ${fault}`)
    if (files.has(name)) throw new FlagError(`--model has the name '${name}' twice: give each model its own name`)
    files.set(name, file)
  }
  return files.size === 0 ? undefined : Object.fromEntries(files)
}

function logOptions(flags: Flags): LogServeOptions {
  return {
    verbose: flags.level('log-verbose'),
    info: flags.isTrue('log-info'),
    warning: flags.isTrue('log-warning'),
    error: flags.isTrue('log-error'),
    format: flags.text('log-format')?.toLowerCase() === 'iso8601' ? 'ISO8601' : 'default',
    file: flags.text('log-file'),
  }
}

interface BackendConfig {
  readonly plugins: readonly string[]
  readonly hostCode: boolean
  readonly ignored: readonly string[]
}

function engineOptions(flags: Flags, { plugins, hostCode }: BackendConfig): Pick<ServeOptions, 'engine'> {
  const library = flags.text('tensorrt')
  const tensorrt = {
    ...(library !== undefined && { library }),
    ...(plugins.length > 0 && { plugins }),
    ...(hostCode && { hostCode }),
  }
  return { engine: { ...(Object.keys(tensorrt).length > 0 && { tensorrt }) } }
}

/** BACKEND,SETTING=VALUE, or SETTING=VALUE for all backends. */
function backendConfig(texts: readonly string[]): BackendConfig {
  const plugins: string[] = []
  const ignored: string[] = []
  let hostCode = false
  for (const text of texts) {
    const [, backend = '', setting = '', value = ''] = /^(?:([^,=]+),)?([^=]+)=(.+)$/.exec(text) ?? []
    if (setting === '')
      throw new FlagError(`Expected BACKEND,SETTING=VALUE for --backend-config but received ${JSON.stringify(text)}`)
    const key = `${backend},${setting}`
    if (key === 'tensorrt,plugins') plugins.push(...value.split(';').filter((path) => path !== ''))
    else if (key === 'tensorrt,version-compatible') hostCode = truth(value) ?? false
    else ignored.push(`--backend-config=${text} has no effect: there is no such setting`)
  }
  return { plugins, hostCode, ignored }
}

/** SETTING=VALUE; of what is not there only `false` is taken. */
function counterLatencies(texts: readonly string[]): boolean | undefined {
  let counters: boolean | undefined
  for (const text of texts) {
    const [, setting = '', value = ''] = /^([^,=]+)=(.*)$/.exec(text) ?? []
    if (setting === 'counter_latencies') counters = truth(value)
    else if (setting === 'histogram_latencies' || setting === 'summary_latencies') {
      if (truth(value) !== false)
        throw new FlagError(
          `--metrics-config=${text} is refused: durations are counters alone, whose rates give means. Leave it out`,
        )
    } else if (setting !== 'summary_quantiles')
      throw new FlagError(
        `Expected counter_latencies, histogram_latencies, summary_latencies or summary_quantiles for --metrics-config but received ${JSON.stringify(text)}`,
      )
  }
  return counters
}

function restrictions(flags: Flags, flag: string): readonly Restriction[] | undefined {
  return flags.texts(flag)?.map((text) => restriction(text, flag))
}

/** APIS:KEY=VALUE, with commas between APIs. */
function restriction(text: string, flag: string): Restriction {
  const [, apis = '', key = '', value = ''] = /^([^:]+):([^=]+)=(.+)$/.exec(text) ?? []
  if (apis === '') throw new FlagError(`Expected APIS:KEY=VALUE for --${flag} but received ${JSON.stringify(text)}`)
  return { apis: apis.split(',').map((api) => restrictedApi(api, flag)), key, value }
}

function restrictedApi(api: string, flag: string): RestrictedCategory {
  const found = restrictedCategories.find((known) => known === api)
  if (found === undefined)
    throw new FlagError(
      `Expected one of ${restrictedCategories.join(', ')} for --${flag} but received ${JSON.stringify(api)}`,
    )
  return found
}
