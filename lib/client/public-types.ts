// What users of node-tensorrt/client name: types alone.
import type { TensorRTError } from '../errors.js'
import type { ModelMetadata } from '../kserve/metadata.js'
import type { ModelStatistics } from '../kserve/statistics.js'
import type { Tensor } from '../tensor.js'

export type { ErrorCode, TensorRTError } from '../errors.js'
export type * from '../kserve/metadata.js'
export type * from '../kserve/statistics.js'
export type { Datatype } from '../kserve/tensor.js'
export type { Tensor } from '../tensor.js'

/** A list with the shape that its elements have as a tensor, row-major. */
export type Shaped<T> = readonly T[] & {
  /** The dimensions, the outermost first; their product is the length. */
  readonly shape: readonly number[]
}

/** One of the best classes of an output. */
export interface Classification {
  /** What the model gave for the class; beyond 2^53 the nearest number that there is. */
  readonly value: number
  /** Of the class, from 0. */
  readonly index: number
  /** The name of the class, where the model has names. */
  readonly label?: string | undefined
}

/**
 * An input: a {@link Tensor}, or texts and bytes for KServe's type BYTES, whose shape is that of a list of so many
 * elements (`[length]`) unless it is given. What an output gave can be given as it is.
 */
export type InferInput =
  | Tensor
  | readonly (string | Uint8Array)[]
  | {
      /** The dimensions, the outermost first. */
      readonly shape: readonly number[]
      /** As many elements as the shape has, row-major; texts are sent as UTF-8. */
      readonly data: readonly (string | Uint8Array)[]
    }

/** The inputs of a request, by their names. */
export type InferInputs = Readonly<Record<string, InferInput>>

/**
 * An output: a {@link Tensor}; bytes where its type is BYTES, or texts with `texts`; and the best classes where
 * `classification` asked for these.
 */
export type InferOutput = Tensor | Shaped<Uint8Array> | Shaped<string> | Shaped<Classification>

/** A parameter of a request: a whole number may be a bigint, too. */
export type ParameterValue = string | number | bigint | boolean

/** What an inference answered, with what is known beside its outputs. */
export interface InferAnswer<Outputs = Readonly<Record<string, Tensor>>> {
  /** As it was given; empty where none was. */
  readonly id: string
  /** The name of the model. */
  readonly model: string
  /** The version that answered. */
  readonly version: string
  /** What the server says beside. */
  readonly parameters: Readonly<Record<string, ParameterValue>>
  /** By name. */
  readonly outputs: Outputs
}

/** Options of every call. */
export interface CallOptions {
  /** Rejects the call at once with the signal's reason; the server is told that nobody waits any more. */
  readonly signal?: AbortSignal | undefined
  /** The longest that the call may take, waits and retries included, in milliseconds; default that of the client. */
  readonly timeoutMs?: number | undefined
  /** Headers of HTTP, or metadata of gRPC, beside those of the client. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** Options of calls that are for one version of a model. */
export interface VersionOptions extends CallOptions {
  /** Default: the one that the server chooses, which is the newest. */
  readonly version?: string | number | undefined
}

/** What a request asks for, beside its inputs. */
export interface RequestOptions {
  /** Default: the one that the server chooses, which is the newest. */
  readonly version?: string | number | undefined
  /** Comes back with the answer, and stands in the server's log. */
  readonly id?: string | undefined
  /** The names of the outputs that are wanted; default: all, or those that `classification` names. */
  readonly outputs?: readonly string[] | undefined
  /**
   * The best classes in place of numbers, and how many of each row: by name of an output, or a number for all that
   * `outputs` names.
   */
  readonly classification?: number | Readonly<Record<string, number>> | undefined
  /** A level of the model's queue: 1 is the first, 0 the model's default. */
  readonly priority?: number | undefined
  /**
   * The longest that the request may wait in the server's queue, in milliseconds, from 0.001; whether it counts is the
   * model's to say.
   */
  readonly queueTimeoutMs?: number | undefined
  /** Parameters of the request, which models and servers of some kinds read. */
  readonly parameters?: Readonly<Record<string, ParameterValue>> | undefined
}

/** Options of {@link InferenceClient.infer}. */
export interface InferRequestOptions extends CallOptions, RequestOptions {
  /**
   * How tensors go over HTTP: as they are (`binary`), or as `json`, for servers that know no other, which has neither
   * float16 and bfloat16, nor NaN and Infinity. Default `binary`; gRPC knows no other.
   */
  readonly encoding?: 'binary' | 'json' | undefined
  /** `utf8`: outputs of the type BYTES are strings; default: Uint8Arrays. */
  readonly texts?: 'utf8' | undefined
}

/** What a server says of itself. */
export interface ServerMetadata {
  /** Such as `triton`. */
  readonly name: string
  /** Of the server. */
  readonly version: string
  /** The extensions of the protocol that it has, by Triton's names. */
  readonly extensions: readonly string[]
}

/** A model's configuration, with the names of model_config.proto. */
export interface ModelConfig {
  /** Of the model. */
  readonly name: string
  /** Rows of a batch at most; 0: the model has no batches. */
  readonly max_batch_size: number
  /** Any other field. */
  readonly [field: string]: unknown
}

/** A version of a model in the index; a model that was never loaded has a name alone. */
export interface IndexEntry {
  /** Of the model. */
  readonly name: string
  /** The name of the version's folder. */
  readonly version?: string | undefined
  /** Whether it answers requests: `READY`, `LOADING`, `UNLOADING` or `UNAVAILABLE`. */
  readonly state?: string | undefined
  /** Why it is not ready. */
  readonly reason?: string | undefined
}

/** Options of {@link InferenceClient.repositoryIndex}. */
export interface IndexOptions extends CallOptions {
  /** Those alone that are ready; default false. */
  readonly ready?: boolean | undefined
}

/** Options of {@link InferenceClient.load}. */
export interface LoadOptions extends CallOptions {
  /** A configuration in place of the file's: an object with the names of model_config.proto, or its JSON. */
  readonly config?: string | Readonly<Record<string, unknown>> | undefined
  /** Files of the model, by their path in its folder, such as `1/model.onnx`, in place of those that the server has. */
  readonly files?: Readonly<Record<string, Uint8Array>> | undefined
}

/** Options of {@link InferenceClient.unload}. */
export interface UnloadOptions extends CallOptions {
  /** Also the models that it is made of; default false. */
  readonly dependents?: boolean | undefined
}

/**
 * What is sent again. A request that cannot have run always is: its connection was refused, or was closed before a byte
 * of it was written.
 */
export interface RetryOptions {
  /** How often at most; default 2. 0: never. */
  readonly times?: number | undefined
  /** Milliseconds before the first; before each further one twice as many as before the last; default 50. */
  readonly delayMs?: number | undefined
  /**
   * Whether a request that failed otherwise is sent again, too: the server may have run it, so it may run twice.
   * Default: no. Of the error `details.status` is what the server said; `details.sent` says whether it may have run.
   */
  readonly when?: ((error: TensorRTError) => boolean) | undefined
}

/** What TLS needs; only for https:// and grpcs://. */
export interface TlsOptions {
  /** Who is trusted, as PEM; default: whom Node trusts. */
  readonly ca?: string | Uint8Array | undefined
  /** This client's own certificate, as PEM; `key` with it. */
  readonly cert?: string | Uint8Array | undefined
  /** Of the certificate, as PEM. */
  readonly key?: string | Uint8Array | undefined
  /** The name that the server's certificate has; default that of the url. */
  readonly servername?: string | undefined
  /** `false`: any certificate is taken; default true. */
  readonly rejectUnauthorized?: boolean | undefined
}

/** Options of both clients. */
export interface ClientOptions {
  /** Headers of HTTP, or metadata of gRPC, of every call: keys and tokens. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** The longest that a call may take, in milliseconds; default: no limit. */
  readonly timeoutMs?: number | undefined
  /** What is sent again; a number is `times`. */
  readonly retries?: number | RetryOptions | undefined
  /**
   * Inputs and outputs are held against the model's metadata, so that a wrong name, type or shape is told before
   * anything is sent. The metadata is asked for once, and again where something does not fit. Default false.
   */
  readonly checkModels?: boolean | undefined
  /** What TLS needs. */
  readonly tls?: TlsOptions | undefined
}

/** Options of {@link HttpClient}. */
export interface HttpClientOptions extends ClientOptions {
  /** The most connections at one time; further requests wait for one that is free. Default 32. */
  readonly maxConnections?: number | undefined
  /** How long a connection without requests is kept, in milliseconds, unless the server says less; default 4000. */
  readonly keepAliveMs?: number | undefined
}

/** Options of {@link GrpcClient}. */
export type GrpcClientOptions = ClientOptions

/** Options of {@link GrpcClient.stream}. */
export interface StreamOptions {
  /** Ends the stream at once: reading it throws the signal's reason. The server is told. */
  readonly signal?: AbortSignal | undefined
  /** The longest that the stream may take in all, in milliseconds; default: no limit. */
  readonly timeoutMs?: number | undefined
  /** Metadata of gRPC, beside that of the client. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** `utf8`: outputs of the type BYTES are strings; default: Uint8Arrays. */
  readonly texts?: 'utf8' | undefined
  /** Names of the outputs that are classes, in all answers: those that requests ask to be classified. */
  readonly classes?: readonly string[] | undefined
}

/** What a stream gives: the answer to a request, or why there is none; the stream goes on either way. */
export type StreamItem<Outputs = Readonly<Record<string, Tensor>>> =
  | (InferAnswer<Outputs> & {
      /** There is none. */
      readonly error?: undefined
    })
  | {
      /** Of the request that failed; empty where the server does not say it. */
      readonly id: string
      /** What the server said. */
      readonly error: TensorRTError
      /** There are none. */
      readonly outputs?: undefined
    }

/**
 * Requests and their answers over one call of gRPC, in the order in which answers are ready. A model may give several
 * for a request, or none.
 */
export interface InferStream<Outputs = Readonly<Record<string, Tensor>>>
  extends AsyncIterable<StreamItem<Outputs>>, AsyncDisposable {
  /**
   * Sends a request. Fulfilled with its id, which is made up unless given, when the next one should be sent.
   * @throws TensorRTError (as a rejection) ERR_TRT_INVALID_ARGUMENT, ERR_TRT_DTYPE; ERR_TRT_CLOSED after {@link end},
   * or when the stream is over
   */
  send(model: string, inputs: InferInputs, options?: RequestOptions): Promise<string>
  /** Says that there are no further requests: the answers end with the last. */
  end(): void
  /** Ends it at once; the server is told. Twice without harm. */
  close(): void
}

/**
 * A client of a server that speaks KServe's protocol v2, such as `trt serve` and Triton. {@link HttpClient} and {@link
 * GrpcClient} are such, and code can be given either.
 *
 * All methods reject with a TensorRTError: ERR_TRT_SERVER when the server refuses or cannot be reached
 * (`details.status` is HTTP's number, or gRPC's name of its code, and undefined without an answer; the message is the
 * server's; `details.sent` says whether the request may have reached it); ERR_TRT_TIMEOUT; ERR_TRT_CLOSED after {@link
 * close}; ERR_TRT_INVALID_ARGUMENT. With the signal's reason when it is aborted.
 */
export interface InferenceClient extends AsyncDisposable {
  /**
   * Asks a model. Tensors are sent as they are, and read until the promise is settled: leave their memory alone until
   * then.
   *
   * The type argument says what is expected, by name: {@link Tensor}s unless given. Nothing checks it.
   * @throws TensorRTError (as a rejection) also ERR_TRT_DTYPE for a type that KServe lacks, and ERR_TRT_DETACHED; with
   * `checkModels` ERR_TRT_UNKNOWN_INPUT and ERR_TRT_SHAPE
   */
  infer<Outputs extends { readonly [K in keyof Outputs]: InferOutput } = Readonly<Record<string, Tensor>>>(
    model: string,
    inputs: InferInputs,
    options?: InferRequestOptions,
  ): Promise<Outputs>
  /** As {@link infer}, with the version that answered and what the server says beside. */
  answer<Outputs extends { readonly [K in keyof Outputs]: InferOutput } = Readonly<Record<string, Tensor>>>(
    model: string,
    inputs: InferInputs,
    options?: InferRequestOptions,
  ): Promise<InferAnswer<Outputs>>
  /** Whether the server answers. It is rejected where nothing can be reached. */
  isLive(options?: CallOptions): Promise<boolean>
  /** Whether the server takes requests: false while it starts and ends. */
  isReady(options?: CallOptions): Promise<boolean>
  /** Whether a model takes requests; false for one that is not there. */
  isModelReady(model: string, options?: VersionOptions): Promise<boolean>
  /** What the server says of itself. */
  serverMetadata(options?: CallOptions): Promise<ServerMetadata>
  /** What a model takes and gives. */
  modelMetadata(model: string, options?: VersionOptions): Promise<ModelMetadata>
  /** How a model is configured, with what the server added. */
  modelConfig(model: string, options?: VersionOptions): Promise<ModelConfig>
  /** Counts and times of a model, or of all without a name. */
  statistics(model?: string, options?: VersionOptions): Promise<readonly ModelStatistics[]>
  /** The models that the server has. */
  repositoryIndex(options?: IndexOptions): Promise<readonly IndexEntry[]>
  /** Loads a model, or loads it again; fulfilled when it is ready. */
  load(model: string, options?: LoadOptions): Promise<void>
  /** Takes a model away; fulfilled when it takes no further requests. */
  unload(model: string, options?: UnloadOptions): Promise<void>
  /** Waits for the calls that are under way, and closes all connections; streams are ended. Twice without harm. */
  close(): Promise<void>
}
