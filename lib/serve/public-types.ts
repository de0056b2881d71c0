// What users of node-tensorrt/serve name: types alone, so that their declarations lead to no package that they may not
// have.
import type { EngineOptions, TensorRTEngineOptions } from '../engine/options.js'
import type { ModelStatistics as CountedStatistics } from '../kserve/statistics.js'

export type { BatchStatistics, DurationStatistic, InferenceStatistics } from '../kserve/statistics.js'
export type * from './node/types.js'

/** A group of endpoints that a header may be wanted for, by Triton's name. */
export type RestrictedCategory =
  | 'health'
  | 'metadata'
  | 'inference'
  | 'shared-memory'
  | 'model-config'
  | 'model-repository'
  | 'statistics'
  | 'trace'
  | 'logging'

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

/** TLS of gRPC: files, in PEM. */
export interface GrpcTlsOptions {
  /** The certificate of the server, and those between it and its root. */
  readonly cert: string | URL
  /** Its key. */
  readonly key: string | URL
  /** Certificates that may have signed those of clients. */
  readonly root?: string | URL | undefined
  /** Clients have to have a certificate; default false. */
  readonly mutual?: boolean | undefined
}

/** KServe's protocol over gRPC. It needs the package @grpc/grpc-js. */
export interface GrpcServeOptions extends ListenOptions {
  /** Default 8001; 0: any that is free, which {@link Server.addresses} tells. */
  readonly port?: number | undefined
  /** Default 0.0.0.0: from everywhere, as Triton. */
  readonly address?: string | undefined
  /** The most bytes of a message, after decompression; default 64 MiB. More is RESOURCE_EXHAUSTED. */
  readonly maxInputSize?: number | undefined
  /** Parts of the protocol that need a header: `triton-grpc-protocol-` and the key. */
  readonly restricted?: readonly Restriction[] | undefined
  /**
   * How answers to inferences are compressed for clients that take it: `low` by gzip, `medium` and `high` by deflate;
   * default `none`.
   */
  readonly compressionLevel?: 'none' | 'low' | 'medium' | 'high' | undefined
  /** Default: none. */
  readonly tls?: GrpcTlsOptions | undefined
  /** Milliseconds between two pings of a connection; default 7,200,000. */
  readonly keepaliveTimeMs?: number | undefined
  /** Milliseconds after a ping without an answer in which the connection is given up; default 20,000. */
  readonly keepaliveTimeoutMs?: number | undefined
  /** Milliseconds after which a connection is told to go away; default: never. */
  readonly maxConnectionAgeMs?: number | undefined
  /** Milliseconds that calls of such a connection have to end; default: as long as they take. */
  readonly maxConnectionAgeGraceMs?: number | undefined
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

/** Anything that takes lines, such as process.stderr. */
export interface LogDestination {
  /** `line` is JSON and ends with a line feed. */
  write(line: string): unknown
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
export interface ServeEngineOptions extends Pick<EngineOptions, 'cache'> {
  /** What TensorRT is given; its GPUs are those of the instance groups. */
  readonly tensorrt?: Pick<TensorRTEngineOptions, 'library' | 'plugins' | 'hostCode'> | undefined
  /** `cpu`: ONNX runs on the CPU whatever its config says; default: as the config says. */
  readonly backend?: 'cpu' | undefined
  /** The numbers of the GPUs of an instance group that names none; default: all of the machine, as in Triton. */
  readonly gpus?: readonly number[] | undefined
}

/** Options of {@link serve}: the flags of `trt serve`, by their names. */
export interface ServeOptions {
  /**
   * The folder of the models, or several; a name that is in two of them is not served. Required unless `models` names
   * at least one file.
   */
  readonly modelRepository?: string | URL | readonly (string | URL)[] | undefined
  /**
   * Model files that are served without folders, by the name of the model: `{ classifier: 'model.onnx' }`. An ONNX
   * model (.onnx) or a plan (.plan, .engine, .trt); each is version 1 and has no config. A name that a repository has,
   * too, is not served.
   */
  readonly models?: Readonly<Record<string, string | URL>> | undefined
  /** The name of this server in its metadata; default `triton`. */
  readonly id?: string | undefined
  /** HTTP on port 8000 unless given; `false`: none. */
  readonly http?: HttpServeOptions | false | undefined
  /** Default: none; `true`: on port 8001. It needs the package @grpc/grpc-js. */
  readonly grpc?: GrpcServeOptions | boolean | undefined
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
  /**
   * The most bytes that requests and answers have at one time; default 1 GiB. One more request is answered with 503, or
   * with RESOURCE_EXHAUSTED.
   */
  readonly maxInflightBytes?: number | undefined
  /** What all engines are opened with. */
  readonly engine?: ServeEngineOptions | undefined
  /** Aborts the start, which is then rejected with the signal's reason; nothing is left of it. */
  readonly signal?: AbortSignal | undefined
}

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
  /** The url is such as `grpc://0.0.0.0:8001`, with TLS `grpcs://0.0.0.0:8001`; undefined unless `grpc` is given. */
  readonly grpc?: ServerAddress | undefined
  /** The url ends with `/metrics`. */
  readonly metrics?: ServerAddress | undefined
}

/** Triton's states of a version in the index of a repository. */
export type ModelState = 'READY' | 'LOADING' | 'UNLOADING' | 'UNAVAILABLE'

/** A version of a model as the index has it; a model that was never loaded has a name alone. */
export interface IndexEntry {
  /** Of the model. */
  readonly name: string
  /** The name of the version's folder. */
  readonly version?: string | undefined
  /** Whether it answers requests. */
  readonly state?: ModelState | undefined
  /** Why it is not ready; empty where there is nothing to say. */
  readonly reason?: string | undefined
}

/** Parameters of a load, as KServe's model repository extension has them. */
export interface LoadParameters {
  /** JSON of a config, in place of the file's. */
  readonly config?: string | undefined
  /** By path below the model's folder, such as `1/model.onnx`. */
  readonly files?: ReadonlyMap<string, Uint8Array> | undefined
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

/** Of one version of a model. */
export interface ModelStatistics extends CountedStatistics {
  /** Of decoupled models, which are not served. */
  readonly response_stats: Readonly<Record<string, never>>
  /** Not measured: empty, as Triton's where a backend does not tell it. */
  readonly memory_usage: readonly never[]
}

/** What `/v2/models/NAME/stats` answers. */
export interface Statistics {
  /** By name, then by version. */
  readonly model_stats: readonly ModelStatistics[]
}

/** A server of models that listens. */
export interface Server extends AsyncDisposable {
  /** Where it listens. */
  readonly addresses: ServerAddresses
  /**
   * Loads a model, or loads it again: what is new is warmed up before it takes the place of the old.
   * @throws TensorRTError ERR_TRT_SERVER (as a rejection): the model cannot be loaded, and what was at work goes on; or
   * `modelControlMode` is not `explicit`
   */
  load(name: string, parameters?: LoadParameters): Promise<void>
  /**
   * Fulfilled when no new request is given to the model; what it has under way ends. @throws TensorRTError
   * ERR_TRT_SERVER (as a rejection)
   */
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
