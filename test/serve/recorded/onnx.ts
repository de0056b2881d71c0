// The models of the record for ours: ONNX Identity of each input.
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { GraphBuilder, writeModel } from '../../../lib/onnx/index.js'
import { dtypeOf } from '../../../lib/kserve/tensor.js'
import type { RecordedModel } from './repository.js'

/** Strings are no Tensor, so ours has no such model. */
export const isServed = ({ ports }: RecordedModel): boolean => ports.every(({ datatype }) => datatype !== 'BYTES')

/** Writes the same files that a real Triton got, with a model in each version. */
export async function writeServed(repository: string, model: RecordedModel): Promise<void> {
  const folder = join(repository, model.name)
  const onnx = identityOf(model)
  const versions = model.versions.map((version) => [join(version, 'model.onnx'), onnx] as const)
  const files = [...Object.entries(model.files), ['config.pbtxt', model.config] as const, ...versions]
  for (const [file, content] of files) {
    await mkdir(dirname(join(folder, file)), { recursive: true })
    await writeFile(join(folder, file), content)
  }
}

function identityOf({ ports, maxBatchSize }: RecordedModel): Uint8Array {
  const graph = new GraphBuilder({ name: 'identity', opset: 19 })
  for (const [i, { datatype, dims, reshape }] of ports.entries()) {
    if (datatype === 'BYTES') continue
    const sizes = (reshape ?? dims).map((size, axis) => (size < 0 ? `D${String(i)}_${String(axis)}` : size))
    const shape = maxBatchSize > 0 ? ['N', ...sizes] : sizes
    const input = graph.input(`INPUT${String(i)}`, dtypeOf[datatype], shape)
    graph.output(graph.node('Identity', [input], {}, { output: `OUTPUT${String(i)}` }), dtypeOf[datatype], shape)
  }
  return writeModel(graph.toModel())
}
