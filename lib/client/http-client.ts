import { checkedOptions, is, option, type OptionTable } from '../base/option-table.js'
import { HttpTransport } from './http/transport.js'
import { KserveClient } from './kserve-client.js'
import type { HttpClientOptions } from './public-types.js'
import { clientTable } from './settings.js'
import { httpPlace } from './url.js'

const table = {
  ...clientTable,
  maxConnections: option(is.whole(1, 65_535), 32),
  keepAliveMs: option(is.number(1, 2 ** 31 - 1), 4000),
} satisfies OptionTable<HttpClientOptions>

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
export class HttpClient extends KserveClient {
  /**
   * Nothing is connected yet.
   * @param url such as `http://localhost:8000`, or `https://host/prefix`
   * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT
   */
  constructor(url: string | URL, options?: HttpClientOptions) {
    const place = httpPlace(url)
    const settings = checkedOptions(options, table, 'HttpClient')
    super(new HttpTransport(place, settings), settings)
  }
}
