import { clone } from '@bufbuild/protobuf'
import type { ModelProto } from './onnx_pb.js'
import { ModelProtoSchema } from './onnx_pb.js'
import { tensorsOf } from './walk.js'

const nothing = new Uint8Array(0)

/** A copy of a model that can be edited: only the elements of its tensors (`raw_data`) are shared, and never changed in place. */
export function copyModel(model: ModelProto): ModelProto {
  // they are taken out for a moment, since protobuf would copy them
  const tensors = [...tensorsOf(model)]
  const elements = tensors.map(({ rawData }) => rawData)
  let copy: ModelProto
  try {
    for (const tensor of tensors) tensor.rawData = nothing
    copy = clone(ModelProtoSchema, model)
  } finally {
    tensors.forEach((tensor, i) => {
      tensor.rawData = elements[i]!
    })
  }
  let i = 0
  for (const tensor of tensorsOf(copy)) tensor.rawData = elements[i++]!
  return copy
}

/** The model's bytes for a hash: without the elements of its tensors, which follow one after the other. They are views, and not to be changed. */
export function* chunksOfModel(model: ModelProto, write: (model: ModelProto) => Uint8Array): Generator<Uint8Array, void, undefined> {
  const copy = copyModel(model)
  for (const tensor of tensorsOf(copy)) tensor.rawData = nothing
  yield write(copy)
  for (const { rawData } of tensorsOf(model)) yield rawData
}
