/** What a session tells of its inputs and outputs, as onnxruntime-node does. */
import type { InferenceSession } from 'onnxruntime-common'
import type { TensorInfo } from '../backend/backend.js'
import type { Engine } from '../engine.js'
import { describeValue, type ValueInfo } from '../onnx/info.js'
import { readModel } from '../onnx/model.js'
import { ortTypeOf } from './tensors.js'

type ValueMetadata = InferenceSession.ValueMetadata

export interface SessionMetadata {
  readonly inputNames: readonly string[]
  readonly outputNames: readonly string[]
  readonly inputMetadata: readonly ValueMetadata[]
  readonly outputMetadata: readonly ValueMetadata[]
}

type DescribedEngine = Pick<Engine, 'inputs' | 'outputs' | 'inputNames' | 'outputNames' | 'unsupported'>

/** @throws TensorRTError ERR_TRT_DTYPE for a data type that onnxruntime-common has not */
export async function readMetadata(engine: DescribedEngine, model: string | Uint8Array): Promise<SessionMetadata> {
  const inputMetadata = engine.inputNames.map((name) => metadataOf(engine.inputs[name]!))
  const tensors = engine.outputNames.map((name) => metadataOf(engine.outputs[name]!))
  const others = engine.unsupported.filter(({ use }) => use === 'output').map(({ name }) => name)
  const outputMetadata = others.length === 0 ? tensors : await inOrderOfModel(model, tensors)
  return {
    inputNames: engine.inputNames.slice(),
    outputNames: outputMetadata.map(({ name }) => name),
    inputMetadata,
    outputMetadata,
  }
}

function metadataOf({ name, dtype, shape, dimensionNames }: TensorInfo): ValueMetadata {
  return {
    name,
    isTensor: true,
    type: ortTypeOf(dtype),
    shape: shape.map((size, i) => (size < 0 ? (dimensionNames[i] ?? '') : size)),
  }
}

/** With the outputs that no Tensor of this package can hold, in their places. */
async function inOrderOfModel(
  model: string | Uint8Array,
  tensors: readonly ValueMetadata[],
): Promise<readonly ValueMetadata[]> {
  const { graph } = await readModel(model)
  const outputs = (graph?.output ?? []).map(describeValue)
  return outputs.map((output) => tensors.find(({ name }) => name === output.name) ?? otherMetadata(output))
}

function otherMetadata({ name, kind, dtype, shape = [] }: ValueInfo): ValueMetadata {
  if (kind !== 'tensor') return { name, isTensor: false }
  const type = dtype as 'string' // what it is, the model says
  return { name, isTensor: true, type, shape: shape.map((size) => (size === -1 ? '' : size)) }
}
