import { fromBinary } from '@bufbuild/protobuf'
import { openFile } from '../base/files.js'
import { fieldsOf, type ReadAt, readerOfBytes, readerOfFile } from './fields.js'
import { type ModelProto, ModelProtoSchema, StringStringEntryProtoSchema } from './onnx_pb.js'

/** Entries that exporters leave in a model, by their keys. */
export type ModelMetadata = Readonly<Record<string, string>>

/** `metadata_props` of a model; of a key that is there twice the last one, as onnxruntime has it. */
export function metadataOf({ metadataProps }: Pick<ModelProto, 'metadataProps'>): ModelMetadata {
  return Object.fromEntries(metadataProps.map(({ key, value }) => [key, value]))
}

/** More than exporters write: bytes of an entry, and fields of a model. */
const [mostEntryBytes, mostFields] = [2 ** 22, 20_000]

/**
 * `metadata_props` of a model's file, of which only the heads of its fields are read besides: a few reads of a file of
 * any size. Nothing of what is no model; what cannot be read has its error from who loads it.
 */
export async function metadataOfFile(path: string): Promise<ModelMetadata> {
  try {
    await using file = await openFile(path)
    return await walk(readerOfFile(file))
  } catch {
    return {}
  }
}

/** The same of a model's bytes. */
export async function metadataOfBytes(bytes: Uint8Array): Promise<ModelMetadata> {
  return walk(readerOfBytes(bytes)).catch(() => ({}))
}

/** The same of either. */
export async function metadataOfSource(model: string | Uint8Array): Promise<ModelMetadata> {
  return typeof model === 'string' ? metadataOfFile(model) : metadataOfBytes(model)
}

async function walk(readAt: ReadAt): Promise<ModelMetadata> {
  const metadataProps = []
  for await (const { number, position, length } of fieldsOf(readAt, 0, Infinity, mostFields)) {
    if (number === ModelProtoSchema.field.metadataProps.number && length <= mostEntryBytes)
      metadataProps.push(fromBinary(StringStringEntryProtoSchema, await readAt(position, length)))
  }
  return metadataOf({ metadataProps })
}
