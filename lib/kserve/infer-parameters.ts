// Parameters of a request, of a tensor and of an answer: a map of InferParameter.
import type { Reader } from './wire/reader.js'
import type { Writer } from './wire/writer.js'

/** `kind` is the field that is set; none where a client has set none. */
export type InferParameter =
  | { readonly kind: 'bool'; readonly value: boolean }
  | { readonly kind: 'int64' | 'uint64'; readonly value: bigint }
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'double'; readonly value: number }
  | { readonly kind: undefined; readonly value: undefined }

export type InferParameters = ReadonlyMap<string, InferParameter>

export const noParameters: InferParameters = new Map()

const nothing: InferParameter = { kind: undefined, value: undefined }

/** Reads one entry of the map; `into` is what there is already. */
export function readParameter(reader: Reader, into: InferParameters): InferParameters {
  reader.entry()
  const outer = reader.enter()
  let [key, value] = ['', nothing]
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === 0x0a) key = reader.string()
    else if (tag === 0x12) value = readValue(reader, value)
    else reader.skip()
  }
  reader.leave(outer)
  const all = into === noParameters ? new Map<string, InferParameter>() : (into as Map<string, InferParameter>)
  return all.set(key, value)
}

function readValue(reader: Reader, before: InferParameter): InferParameter {
  const outer = reader.enter()
  let found = before
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    if (tag === 0x08) found = { kind: 'bool', value: reader.bool() }
    else if (tag === 0x10) found = { kind: 'int64', value: reader.int64() }
    else if (tag === 0x1a) found = { kind: 'string', value: reader.string() }
    else if (tag === 0x21) found = { kind: 'double', value: reader.double() }
    else if (tag === 0x28) found = { kind: 'uint64', value: reader.uint64() }
    else reader.skip()
  }
  reader.leave(outer)
  return found
}

export function writeParameters(writer: Writer, field: number, parameters: InferParameters): void {
  for (const [key, parameter] of parameters) {
    const entry = writer.open(field)
    writer.text(1, key)
    const value = writer.open(2)
    writeValue(writer, parameter)
    writer.close(value)
    writer.close(entry)
  }
}

function writeValue(writer: Writer, { kind, value }: InferParameter): void {
  if (kind === 'bool') {
    writer.tag(1, 0)
    writer.varint(value ? 1 : 0)
  } else if (kind === 'int64' || kind === 'uint64') {
    writer.tag(kind === 'int64' ? 2 : 5, 0)
    writer.integer(value)
  } else if (kind === 'string') {
    writer.tag(3, 2)
    writer.string(value)
  } else if (kind === 'double') {
    writer.tag(4, 1)
    writer.double(value)
  }
}
