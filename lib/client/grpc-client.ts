import { readOptions } from '../base/options.js'
import type { Tensor } from '../tensor.js'
import { Calls } from './calls.js'
import { Channel } from './grpc/channel.js'
import { GrpcStream, streamSettings } from './grpc/stream.js'
import { GrpcTransport } from './grpc/transport.js'
import type {
  CallOptions,
  GrpcClientOptions,
  IndexEntry,
  IndexOptions,
  InferAnswer,
  InferenceClient,
  InferInputs,
  InferRequestOptions,
  InferOutput,
  InferStream,
  LoadOptions,
  ModelConfig,
  ModelMetadata,
  ModelStatistics,
  ServerMetadata,
  StreamOptions,
  UnloadOptions,
  VersionOptions,
} from './public-types.js'
import { closed } from './errors.js'
import { clientOptionNames, clientSettings } from './settings.js'
import { grpcPlace } from './url.js'

/**
 * Asks a server over gRPC: all requests share one connection. It needs the package @grpc/grpc-js, which is loaded at
 * the first call. Large tensors go faster over HTTP: see docs/serving.md.
 * @example
 * ```ts
 * import { Tensor } from 'node-tensorrt'
 * import { GrpcClient } from 'node-tensorrt/client'
 *
 * await using client = new GrpcClient('localhost:8001')
 * await using stream = client.stream()
 * const images = Tensor.zeros('float32', [1, 3, 224, 224])
 * for (let i = 0; i < 3; i++) await stream.send('resnet50', { images }, { id: `${i}` })
 * stream.end()
 * for await (const { id, error, outputs } of stream) console.log(id, error?.message ?? outputs?.['scores']?.shape)
 * ```
 */
export class GrpcClient implements InferenceClient {
  /** The server's address. */
  readonly url: string
  readonly #channel: Channel
  readonly #calls: Calls
  readonly #streams = new Set<GrpcStream>()

  /**
   * Nothing is connected yet.
   * @param url such as `localhost:8001`, `grpc://host:8001` or, with TLS, `grpcs://host:8001`
   * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT
   */
  constructor(url: string | URL, options?: GrpcClientOptions) {
    const place = grpcPlace(url)
    const settings = clientSettings(readOptions(options, clientOptionNames, 'GrpcClient'))
    this.url = place.text
    this.#channel = new Channel(place, settings.headers, settings.tls)
    this.#calls = new Calls(new GrpcTransport(place.text, this.#channel), settings)
  }

  /** {@inheritDoc InferenceClient.infer} */
  async infer<Outputs extends { readonly [K in keyof Outputs]: InferOutput } = Readonly<Record<string, Tensor>>>(
    model: string,
    inputs: InferInputs,
    options?: InferRequestOptions,
  ): Promise<Outputs> {
    return (await this.#calls.answer(model, inputs, options)).outputs as unknown as Outputs
  }

  /** {@inheritDoc InferenceClient.answer} */
  async answer<Outputs extends { readonly [K in keyof Outputs]: InferOutput } = Readonly<Record<string, Tensor>>>(
    model: string,
    inputs: InferInputs,
    options?: InferRequestOptions,
  ): Promise<InferAnswer<Outputs>> {
    return (await this.#calls.answer(model, inputs, options)) as unknown as InferAnswer<Outputs>
  }

  /**
   * Requests and answers over one call, which models that give several answers for a request need.
   *
   * The type argument says what answers have, by name: {@link Tensor}s unless given. Nothing checks it.
   * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT, ERR_TRT_CLOSED; the signal's reason where it is aborted already.
   * Reading it throws what the whole stream failed with, as other calls do
   */
  stream<Outputs extends { readonly [K in keyof Outputs]: InferOutput } = Readonly<Record<string, Tensor>>>(
    options?: StreamOptions,
  ): InferStream<Outputs> {
    this.#calls.checkOpen()
    const stream = new GrpcStream(this.#channel, streamSettings(options, this.url), () => this.#streams.delete(stream))
    this.#streams.add(stream)
    return stream as unknown as InferStream<Outputs>
  }

  /** {@inheritDoc InferenceClient.isLive} */
  isLive(options?: CallOptions): Promise<boolean> {
    return this.#calls.isLive(options)
  }

  /** {@inheritDoc InferenceClient.isReady} */
  isReady(options?: CallOptions): Promise<boolean> {
    return this.#calls.isReady(options)
  }

  /** {@inheritDoc InferenceClient.isModelReady} */
  isModelReady(model: string, options?: VersionOptions): Promise<boolean> {
    return this.#calls.isModelReady(model, options)
  }

  /** {@inheritDoc InferenceClient.serverMetadata} */
  serverMetadata(options?: CallOptions): Promise<ServerMetadata> {
    return this.#calls.serverMetadata(options)
  }

  /** {@inheritDoc InferenceClient.modelMetadata} */
  modelMetadata(model: string, options?: VersionOptions): Promise<ModelMetadata> {
    return this.#calls.modelMetadata(model, options)
  }

  /** {@inheritDoc InferenceClient.modelConfig} */
  modelConfig(model: string, options?: VersionOptions): Promise<ModelConfig> {
    return this.#calls.modelConfig(model, options)
  }

  /** {@inheritDoc InferenceClient.statistics} */
  statistics(model?: string, options?: VersionOptions): Promise<readonly ModelStatistics[]> {
    return this.#calls.statistics(model, options)
  }

  /** {@inheritDoc InferenceClient.repositoryIndex} */
  repositoryIndex(options?: IndexOptions): Promise<readonly IndexEntry[]> {
    return this.#calls.repositoryIndex(options)
  }

  /** {@inheritDoc InferenceClient.load} */
  load(model: string, options?: LoadOptions): Promise<void> {
    return this.#calls.load(model, options)
  }

  /** {@inheritDoc InferenceClient.unload} */
  unload(model: string, options?: UnloadOptions): Promise<void> {
    return this.#calls.unload(model, options)
  }

  /** {@inheritDoc InferenceClient.close} */
  close(): Promise<void> {
    const closing = this.#calls.close()
    for (const stream of this.#streams) stream.fail(closed())
    return closing
  }

  /** As {@link close}. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}
