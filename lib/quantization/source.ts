import { dirname } from 'node:path'
import { isMessage } from '@bufbuild/protobuf'
import { checkedSource, type ModelSource } from '../base/source.js'
import { chunksOfBytes, hashOf } from '../cache/hash.js'
import { chunksOfModel, copyModel } from '../onnx/copy.js'
import { loadExternalData, type ModelProto, readModel, writeModel } from '../onnx/index.js'
import { parseModel } from '../onnx/model.js'
import { ModelProtoSchema } from '../onnx/onnx_pb.js'

/** A model to be quantized or compared: where it is, its bytes, or as it was read. */
export type OnnxModel = ModelSource | ModelProto

/**
 * The model with all its weights, to be edited: one that was read already is copied, but for the elements of its
 * tensors.
 */
export async function loadModel(source: OnnxModel): Promise<ModelProto> {
  if (isMessage(source, ModelProtoSchema)) return copyModel(source)
  const checked = checkedSource(source, 'model')
  if (typeof checked !== 'string') return parseModel(checked)
  const model = await readModel(checked)
  await loadExternalData(model, dirname(checked))
  return model
}

/** The hash of a model, wherever its weights lie. */
export async function hashOfModel(model: ModelProto, signal: AbortSignal | undefined): Promise<string> {
  function* chunks(): Generator<Uint8Array, void, undefined> {
    for (const part of chunksOfModel(model, writeModel)) yield* chunksOfBytes(part)
  }
  return hashOf(chunks(), signal)
}
