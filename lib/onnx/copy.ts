import { clone } from '@bufbuild/protobuf'
import { inheritFiles } from '../base/overwriting.js'
import { checkedModel } from './model.js'
import { type ModelProto, ModelProtoSchema, type TensorProto } from './onnx_pb.js'
import { tensorsOf } from './walk.js'

const nothing = new Uint8Array(0)

/**
 * A copy of a model that can be edited: only the elements of its tensors (`raw_data`) are shared, and never changed in
 * place. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT for what is no model
 */
export function copyModel(model: ModelProto): ModelProto {
  // they are taken out for a moment, since protobuf would copy them
  const tensors = [...tensorsOf(checkedModel(model))]
  const elements = tensors.map(({ rawData }) => rawData)
  let copy: ModelProto
  try {
    // those that have none are left alone: an empty list would be written, none is not
    tensors.forEach((tensor, i) => elements[i]!.length > 0 && (tensor.rawData = nothing))
    copy = clone(ModelProtoSchema, model)
  } finally {
    giveBack(tensors, elements)
  }
  giveBack([...tensorsOf(copy)], elements)
  return inheritFiles(copy, model)
}

function giveBack(tensors: readonly TensorProto[], elements: readonly Uint8Array[]): void {
  tensors.forEach((tensor, i) => elements[i]!.length > 0 && (tensor.rawData = elements[i]!))
}

/**
 * The model's bytes for a hash: without the elements of its tensors, which follow one after the other. They are views,
 * and not to be changed.
 */
export function* chunksOfModel(
  model: ModelProto,
  write: (model: ModelProto) => Uint8Array,
): Generator<Uint8Array, void, undefined> {
  const copy = copyModel(model)
  for (const tensor of tensorsOf(copy)) tensor.rawData = nothing
  yield write(copy)
  for (const { rawData } of tensorsOf(model)) yield rawData
}
