// The models of the record for ours: ONNX Identity of each input; of strings, which are no Tensor, a model in
// JavaScript that does the same; ensembles as they are.
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { GraphBuilder, writeModel } from '../../../lib/onnx/index.js'
import { dtypeOf } from '../../../lib/kserve/tensor.js'
import type { RecordedModel } from './repository.js'

/** Whether an engine runs it. */
export const isServed = ({ ports }: RecordedModel): boolean => ports.every(({ datatype }) => datatype !== 'BYTES')

/** Writes the same files that a real Triton got, with a model in each version. */
export async function writeServed(repository: string, model: RecordedModel): Promise<void> {
  const folder = join(repository, model.name)
  for (const version of model.versions) await mkdir(join(folder, version), { recursive: true })
  const config = isServed(model) ? model.config : model.config.replace('"onnxruntime"', '"node"')
  const content = contentOf(model)
  const versions =
    content === undefined ? [] : model.versions.map((version) => [join(version, content[0]), content[1]] as const)
  for (const [file, content] of [...Object.entries(model.files), ['config.pbtxt', config] as const, ...versions]) {
    await mkdir(dirname(join(folder, file)), { recursive: true })
    await writeFile(join(folder, file), content)
  }
}

/** The file that a version has; an ensemble has none. */
function contentOf(model: RecordedModel): readonly [string, Uint8Array | string] | undefined {
  if (model.ports.length === 0) return undefined
  return isServed(model) ? ['model.onnx', identityOf(model)] : ['model.mjs', textsBack]
}

const textsBack = `export default {
  execute: (requests) => requests.map(({ inputs, shapes }) => ({ OUTPUT0: { shape: shapes.INPUT0, data: inputs.INPUT0 } })),
}
`

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
