import { checkedNumber, checkedWhole } from '../base/checks.js'
import { readOptions } from '../base/options.js'
import type { Tensor } from '../tensor.js'
import { Calls } from './calls.js'
import { HttpTransport } from './http/transport.js'
import type {
  CallOptions,
  HttpClientOptions,
  IndexEntry,
  IndexOptions,
  InferAnswer,
  InferenceClient,
  InferInputs,
  InferRequestOptions,
  InferOutput,
  LoadOptions,
  ModelConfig,
  ModelMetadata,
  ModelStatistics,
  ServerMetadata,
  UnloadOptions,
  VersionOptions,
} from './public-types.js'
import { clientOptionNames, clientSettings } from './settings.js'
import { httpPlace } from './url.js'

/**
 * Asks a server over HTTP: tensors go as they are in memory, by the binary tensor extension. It needs nothing but Node.
 * Connections are made when they are needed, and kept; those without a request keep no process alive.
 * @example
 * ```ts
 * import { Tensor } from 'node-tensorrt'
 * import { HttpClient } from 'node-tensorrt/client'
 *
 * await using client = new HttpClient('http://localhost:8000')
 * const images = new Tensor('float32', new Float32Array(3 * 224 * 224), [1, 3, 224, 224])
 * const { scores } = await client.infer('resnet50', { images }, { timeoutMs: 1000 })
 * console.log(scores?.shape)
 * ```
 */
export class HttpClient implements InferenceClient {
  /** The server's address. */
  readonly url: string
  readonly #calls: Calls

  /**
   * Nothing is connected yet.
   * @param url such as `http://localhost:8000`, or `https://host/prefix`
   * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT
   */
  constructor(url: string | URL, options?: HttpClientOptions) {
    const place = httpPlace(url)
    const given = readOptions(options, [...clientOptionNames, 'maxConnections', 'keepAliveMs'], 'HttpClient')
    const settings = clientSettings(given)
    const limits = {
      most: checkedWhole(given.maxConnections ?? 32, 'maxConnections', 1, 65_535),
      keepAliveMs: checkedNumber(given.keepAliveMs ?? 4000, 'keepAliveMs', 1, 2 ** 31 - 1),
    }
    this.url = place.text
    this.#calls = new Calls(new HttpTransport(place, settings.headers, settings.tls, limits), settings)
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
    return this.#calls.close()
  }

  /** As {@link close}. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#calls.close()
  }
}
