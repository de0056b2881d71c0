import type { GrpcClient, HttpClient } from '../../lib/client/index.js'
import { Tensor } from '../../lib/tensor.js'
import type { Label } from './outside.js'

/** Bytes of a JPEG there, a label back: a batch of one row. */
export async function classify(client: HttpClient | GrpcClient, jpeg: Uint8Array): Promise<Label> {
  const { label, score } = await client.infer('classify', { jpeg: Tensor.from(jpeg, [1, jpeg.length]) })
  return { label, score }
}
