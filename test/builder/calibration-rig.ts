// What the tests of calibrators work with: models, data, and what is expected to come of it.
import type { Tensor } from '../../lib/index.js'
import { type CalibrationSource } from '../../lib/index.js'
import { GraphBuilder, writeModel } from '../../lib/onnx/index.js'
import { bytesOf, randomTensor } from '../support/values.js'

/** Four inputs of four types: two of them calibration takes as they are, and the half one as float32. */
export function mixedModel(): Uint8Array {
  const graph = new GraphBuilder({ name: 'mixed' })
  const inputs = [
    graph.input('x', 'float32', [1, 4]),
    graph.input('half', 'float16', ['N', 3]),
    graph.input('index', 'int64', [2]),
    graph.input('mask', 'bool', [5]),
  ]
  const shapes = [[1, 4], ['N', 3], [2], [5]]
  for (const [i, input] of inputs.entries())
    graph.output(graph.node('Cast', [input], { to: 1 }), 'float32', shapes[i] ?? [])
  return writeModel(graph.toModel())
}

/** What these calibrators give: each input by its name. */
export type Batch = Readonly<Record<string, Tensor>>

/** Batches of one input, each unlike the others. */
export const batchesOf = (count: number, shape = [1, 4], name = 'x'): Batch[] =>
  Array.from({ length: count }, (_, i) => ({ [name]: randomTensor(shape, i + 1, i + 1) }))

/** A calibrator over batches, which remembers what was asked of it. */
export class Recorder implements CalibrationSource {
  readonly algorithm: 'entropy' | 'minmax'
  readonly given: readonly Batch[]
  asked = 0
  ended = 0
  written: string[] = []
  signal: AbortSignal | undefined
  cache: string | undefined
  /** Called before the batch of that number, from 0, is given. */
  before: (n: number) => Promise<void> | void = () => {}

  constructor(given: readonly Batch[], algorithm: 'entropy' | 'minmax' = 'entropy') {
    this.given = given
    this.algorithm = algorithm
  }

  async *batches(options?: { signal?: AbortSignal }): AsyncGenerator<Batch> {
    this.signal = options?.signal
    try {
      for (const [n, batch] of this.given.entries()) {
        this.asked++
        await this.before(n)
        yield batch
      }
    } finally {
      this.ended++
    }
  }

  async readCache(): Promise<string | undefined> {
    return this.cache
  }

  writeCache(text: string): void {
    this.written.push(text)
  }
}

export function fnv1a(tensors: readonly Tensor[]): string {
  let hash = 2166136261
  for (const tensor of tensors) for (const byte of bytesOf(tensor)) hash = Math.imul(hash ^ byte, 16777619)
  return (hash >>> 0).toString(16).padStart(8, '0')
}

function greatest(tensors: readonly Tensor[]): number {
  let most = 0
  for (const tensor of tensors) for (const value of tensor.toFloat32().data) most = Math.max(most, Math.abs(value))
  return most
}

/** What the fake is to have seen of each batch. */
export const seenOf = (batches: readonly Batch[]): unknown =>
  batches.map((batch) =>
    Object.fromEntries(Object.entries(batch).map(([name, tensor]) => [name, { hash: fnv1a([tensor]) }])),
  )

/** A float32 as the hexadecimal digits of its bits. */
function hexOf(value: number): string {
  const view = new DataView(new ArrayBuffer(4))
  view.setFloat32(0, value)
  return view.getUint32(0).toString(16).padStart(8, '0')
}

/** The fake's text: TensorRT's form, with each input's scale, and a line of what it was made of. */
export function cacheOf(header: string, batches: readonly Readonly<Record<string, Tensor>>[]): string {
  const inputs = Object.keys(batches[0] ?? {})
  const lines = inputs.flatMap((name) => {
    const tensors = batches.flatMap((batch) => batch[name] ?? [])
    return [`${name}: ${hexOf(greatest(tensors) / 127)}`, `data of ${name}: ${fnv1a(tensors)}`]
  })
  return [header, ...lines, ''].join('\n')
}
