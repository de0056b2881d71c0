import { fromBinary } from '@bufbuild/protobuf'
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire'
import { openFile } from '../base/files.js'
import { type ModelProto, ModelProtoSchema, StringStringEntryProtoSchema } from './onnx_pb.js'

/** Entries that exporters leave in a model, by their keys. */
export type ModelMetadata = Readonly<Record<string, string>>

/** `metadata_props` of a model; of a key that is there twice the last one, as onnxruntime has it. */
export function metadataOf({ metadataProps }: Pick<ModelProto, 'metadataProps'>): ModelMetadata {
  return Object.fromEntries(metadataProps.map(({ key, value }) => [key, value]))
}

/** Where the bytes of a model are read: fewer than were asked for at the end. */
type ReadAt = (position: number, length: number) => Promise<Uint8Array>

/** A field's tag and its length, as protobuf writes them, have at most so many bytes. */
const mostHeadBytes = 20
/** More than exporters write: bytes of an entry, and fields of a model. */
const [mostEntryBytes, mostFields] = [2 ** 22, 20_000]

/**
 * `metadata_props` of a model's file, of which only the heads of its fields are read besides: a few reads of a file of
 * any size. Nothing of what is no model; what cannot be read has its error from who loads it.
 */
export async function metadataOfFile(path: string): Promise<ModelMetadata> {
  try {
    await using file = await openFile(path)
    return await walk(async (position, length) => {
      const { buffer, bytesRead } = await file.read(new Uint8Array(length), 0, length, position)
      return buffer.subarray(0, bytesRead)
    })
  } catch {
    return {}
  }
}

/** The same of a model's bytes. */
export async function metadataOfBytes(bytes: Uint8Array): Promise<ModelMetadata> {
  return walk(async (position, length) => bytes.subarray(position, position + length)).catch(() => ({}))
}

async function walk(readAt: ReadAt): Promise<ModelMetadata> {
  const metadataProps = []
  for (let position = 0, fields = 0; fields < mostFields; fields++) {
    const head = await readAt(position, mostHeadBytes)
    if (head.length === 0) return metadataOf({ metadataProps })
    const reader = new BinaryReader(head)
    const [number, type] = reader.tag()
    if (type !== WireType.LengthDelimited) {
      reader.skip(type, number)
      position += reader.pos
      continue
    }
    const length = reader.uint32()
    const from = position + reader.pos
    if (number === ModelProtoSchema.field.metadataProps.number && length <= mostEntryBytes)
      metadataProps.push(fromBinary(StringStringEntryProtoSchema, await readAt(from, length)))
    position = from + length
  }
  return {}
}
