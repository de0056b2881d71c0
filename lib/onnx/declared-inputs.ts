import { fromBinary } from '@bufbuild/protobuf'
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire'
import { openFile } from '../base/files.js'
import { fieldsOf, type ReadAt, readerOfBytes, readerOfFile } from './fields.js'
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

/** An input, with a value in the model or without, or an output. */
export interface DeclaredValue {
  readonly use: 'input' | 'output'
  readonly value: ValueInfoProto
}

/**
 * The inputs and outputs that a model declares: of its nodes and weights the heads are read. Nothing of what is no
 * model; what cannot be read has its error from who loads it.
 */
export async function declaredValues(model: string | Uint8Array): Promise<readonly DeclaredValue[]> {
  try {
    if (typeof model !== 'string') return await valuesOf(readerOfBytes(model))
    await using file = await openFile(model)
    return await valuesOf(readerOfFile(file))
  } catch {
    return []
  }
}

async function valuesOf(readAt: ReadAt): Promise<readonly DeclaredValue[]> {
  const uses = new Map<number, DeclaredValue['use']>([
    [GraphProtoSchema.field.input.number, 'input'],
    [GraphProtoSchema.field.output.number, 'output'],
  ])
  const found: DeclaredValue[] = []
  for await (const graph of fieldsOf(readAt)) {
    if (graph.number !== ModelProtoSchema.field.graph.number) continue
    for await (const { number, position, length } of fieldsOf(readAt, graph.position, graph.position + graph.length)) {
      const use = uses.get(number)
      if (use !== undefined)
        found.push({ use, value: fromBinary(ValueInfoProtoSchema, await readAt(position, length)) })
    }
  }
  return found
}
