/** Model repositories in the folder of this process. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { GraphBuilder, writeModel } from '../../../lib/onnx/index.js'
import { temporaryFolder } from './folder.js'

function tensor(name: string, dims: number): string {
  return `{ name: "${name}" data_type: TYPE_FP32 dims: [ ${dims} ] }`
}

function put(folder: string, model: string, file: string, bytes: Uint8Array, config: string): void {
  mkdirSync(join(folder, model, '1'), { recursive: true })
  writeFileSync(join(folder, model, '1', file), bytes)
  writeFileSync(join(folder, model, 'config.pbtxt'), `${config}\n`)
}

/** `identity`: an ONNX Identity of floats, of any length, on one thread. */
export function identityRepository(): string {
  const folder = join(temporaryFolder(), 'identity')
  const graph = new GraphBuilder({ name: 'identity' })
  graph.output(
    graph.node('Identity', [graph.input('INPUT0', 'float32', ['n'])], {}, { output: 'OUTPUT0' }),
    'float32',
    ['n'],
  )
  const config = `backend: "onnxruntime" max_batch_size: 0 input [ ${tensor('INPUT0', -1)} ] output [ ${tensor('OUTPUT0', -1)} ]
parameters { key: "intra_op_thread_count" value: { string_value: "1" } }`
  put(folder, 'identity', 'model.onnx', writeModel(graph.toModel()), config)
  return folder
}

/**
 * A plan from `x` to `y`, as `merged`, whose requests share batches, and as `single`, where each runs by itself: as in
 * Triton, more rows would be merged.
 */
export function batchingRepository(
  plan: Uint8Array,
  { maxBatch, width }: { readonly maxBatch: number; readonly width: number },
): string {
  const folder = join(temporaryFolder(), 'batching')
  const config = (rows: number): string =>
    `backend: "tensorrt" max_batch_size: ${rows} input [ ${tensor('x', width)} ] output [ ${tensor('y', width)} ]
instance_group [ { count: 1 kind: KIND_GPU } ]`
  put(folder, 'merged', 'model.plan', plan, `${config(maxBatch)}\ndynamic_batching { }`)
  put(folder, 'single', 'model.plan', plan, config(1))
  return folder
}
