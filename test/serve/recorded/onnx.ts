// The models of the record for ours: ONNX Identity of each input; ensembles as they are.
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { GraphBuilder, writeModel } from '../../../lib/onnx/index.js'
import { elementTypeOf } from '../repositories.js'
import type { RecordedModel } from './repository.js'

/** Writes the same files that a real Triton got, with a model in each version. */
export async function writeServed(repository: string, model: RecordedModel): Promise<void> {
  const folder = join(repository, model.name)
  for (const version of model.versions) await mkdir(join(folder, version), { recursive: true })
  const versions = model.ports.length === 0 ? [] : model.versions // an ensemble has no file
  const models = versions.map((version) => [join(version, 'model.onnx'), identityOf(model)] as const)
  for (const [file, content] of [...Object.entries(model.files), ['config.pbtxt', model.config] as const, ...models]) {
    await mkdir(dirname(join(folder, file)), { recursive: true })
    await writeFile(join(folder, file), content)
  }
}

function identityOf({ ports, maxBatchSize }: RecordedModel): Uint8Array {
  const graph = new GraphBuilder({ name: 'identity', opset: 19 })
  for (const [i, { datatype, dims, reshape }] of ports.entries()) {
    const sizes = (reshape ?? dims).map((size, axis) => (size < 0 ? `D${String(i)}_${String(axis)}` : size))
    const shape = maxBatchSize > 0 ? ['N', ...sizes] : sizes
    const dtype = elementTypeOf(datatype)
    const input = graph.input(`INPUT${String(i)}`, dtype, shape)
    graph.output(graph.node('Identity', [input], {}, { output: `OUTPUT${String(i)}` }), dtype, shape)
  }
  return writeModel(graph.toModel())
}
