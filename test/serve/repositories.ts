// Model repositories for tests: models that give back what they get, as Triton's own tests have them.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { GraphBuilder, writeModel } from '../../lib/onnx/index.js'
import { configTypeOf, typeName } from '../../lib/serve/config/types.js'
import { type Datatype, dtypeOf } from '../../lib/kserve/tensor.js'
import type { DType } from '../../lib/index.js'

export interface IdentityModel {
  readonly datatype?: Datatype
  /** Of one request's tensor, without the rows of a batch. */
  readonly dims?: readonly number[]
  readonly maxBatchSize?: number
  /** Lines of config.pbtxt besides. */
  readonly config?: string
  readonly labels?: readonly string[]
  readonly versions?: readonly string[]
}

/** The bytes of a model whose output OUTPUT0 is its input INPUT0; -1 is a size that each request decides. */
export function identityOnnx(datatype: Datatype, shape: readonly number[]): Uint8Array {
  const graph = new GraphBuilder({ name: 'identity' })
  const dims = shape.map((size, i) => (size < 0 ? `d${i}` : size))
  const dtype = elementTypeOf(datatype)
  const input = graph.input('INPUT0', dtype, dims)
  graph.output(graph.node('Identity', [input], {}, { output: 'OUTPUT0' }), dtype, dims)
  return writeModel(graph.toModel())
}

/** ONNX's name of a data type. */
export function elementTypeOf(datatype: Datatype): DType {
  return datatype === 'BYTES' ? 'string' : dtypeOf[datatype]
}

/** Puts an identity model into a repository. */
export function putIdentity(repository: string, name: string, model: IdentityModel = {}): void {
  const { datatype = 'FP32', dims = [-1], maxBatchSize = 8, config = '', labels, versions = ['1'] } = model
  const shape = maxBatchSize > 0 ? [-1, ...dims] : dims
  for (const version of versions) {
    mkdirSync(join(repository, name, version), { recursive: true })
    writeFileSync(join(repository, name, version, 'model.onnx'), identityOnnx(datatype, shape))
  }
  const tensor = (tensorName: string, more = ''): string =>
    `{ name: "${tensorName}" data_type: ${typeName(configTypeOf(elementTypeOf(datatype)) ?? 0)} dims: [ ${dims.join(', ')} ] ${more}}`
  const text = `backend: "onnxruntime"
max_batch_size: ${maxBatchSize}
input [ ${tensor('INPUT0')} ]
output [ ${tensor('OUTPUT0', labels ? 'label_filename: "labels.txt" ' : '')} ]
instance_group [ { kind: KIND_CPU count: 1 } ]
${config}
`
  writeFileSync(join(repository, name, 'config.pbtxt'), text)
  if (labels) writeFileSync(join(repository, name, 'labels.txt'), `${labels.join('\n')}\n`)
}
