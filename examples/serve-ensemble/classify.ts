import type { InferenceClient } from 'node-tensorrt/client'
import { Tensor } from 'node-tensorrt'
import type { Label } from './outside.js'

interface Outputs {
  readonly label: readonly string[] & { readonly shape: readonly number[] }
  readonly score: Tensor<'float32'>
}

/** Bytes of a JPEG there, a label back: a batch of one row. */
export async function classify(client: InferenceClient, jpeg: Uint8Array): Promise<Label> {
  const { label, score } = await client.infer<Outputs>(
    'classify',
    { jpeg: Tensor.from(jpeg, [1, jpeg.length]) },
    { texts: 'utf8' },
  )
  return { label: label[0] ?? '', score: score.data[0] ?? NaN }
}
