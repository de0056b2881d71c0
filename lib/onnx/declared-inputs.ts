import { fromBinary } from '@bufbuild/protobuf'
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire'
import {
  GraphProtoSchema,
  ModelProtoSchema,
  TensorProtoSchema,
  type ValueInfoProto,
  ValueInfoProtoSchema,
} from './onnx_pb.js'

/**
 * The inputs of a model's bytes that have no value in it, without decoding anything else: of a model of any size in
 * less than a millisecond. Nothing for bytes that are no model.
 */
export function declaredInputs(bytes: Uint8Array): ValueInfoProto[] {
  try {
    return parts(bytes, ModelProtoSchema.field.graph.number).flatMap(inputsOf)
  } catch {
    // whoever reads the whole model says what is wrong with it
    return []
  }
}

function inputsOf(graph: Uint8Array): ValueInfoProto[] {
  const { input, initializer } = GraphProtoSchema.field
  const inputs = parts(graph, input.number).map((part) => fromBinary(ValueInfoProtoSchema, part))
  if (inputs.length < 2) return inputs
  const stored = new Set(parts(graph, initializer.number).map(nameOf))
  return inputs.filter(({ name }) => !stored.has(name))
}

function nameOf(tensor: Uint8Array): string {
  return Buffer.from(parts(tensor, TensorProtoSchema.field.name.number)[0] ?? []).toString()
}

/** The bytes of all fields with this number, as views. */
function parts(message: Uint8Array, wanted: number): Uint8Array[] {
  const reader = new BinaryReader(message)
  const found: Uint8Array[] = []
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag()
    if (number === wanted && type === WireType.LengthDelimited) found.push(reader.bytes())
    else reader.skip(type, number)
  }
  return found
}
