import { checkedOptions } from '../base/option-table.js'
import type { Tensor } from '../tensor.js'
import { closed } from './errors.js'
import { Channel } from './grpc/channel.js'
import { GrpcStream, streamSettings } from './grpc/stream.js'
import { GrpcTransport } from './grpc/transport.js'
import { KserveClient } from './kserve-client.js'
import type { GrpcClientOptions, InferOutput, InferStream, StreamOptions } from './public-types.js'
import { clientTable } from './settings.js'
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
export class GrpcClient extends KserveClient {
  readonly #channel: Channel
  readonly #streams = new Set<GrpcStream>()

  /**
   * Nothing is connected yet.
   * @param url such as `localhost:8001`, `grpc://host:8001` or, with TLS, `grpcs://host:8001`
   * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT
   */
  constructor(url: string | URL, options?: GrpcClientOptions) {
    const place = grpcPlace(url)
    const settings = checkedOptions(options, clientTable, 'GrpcClient')
    const channel = new Channel(place, settings.headers, settings.tls)
    super(new GrpcTransport(place.text, channel), settings)
    this.#channel = channel
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
    this.checkOpen()
    const stream = new GrpcStream(this.#channel, streamSettings(options, this.url), () => this.#streams.delete(stream))
    this.#streams.add(stream)
    return stream as unknown as InferStream<Outputs>
  }

  /** {@inheritDoc InferenceClient.close} */
  override close(): Promise<void> {
    const closing = super.close()
    for (const stream of this.#streams) stream.fail(closed())
    return closing
  }
}
