import { resolve } from 'node:path'
import { fromBinary, isMessage, toBinary } from '@bufbuild/protobuf'
import { type BlobLike, bytesIn, bytesOfBlob, expectedBytes, isBlobLike } from '../base/bytes.js'
import { pathProblem, readOrdinary } from '../base/files.js'
import { looksLikeOnnx, otherThan } from '../base/file-kinds.js'
import { isLfsPointer, lfsPointer } from '../base/lfs.js'
import { rememberFiles } from '../base/overwriting.js'
import { isError, isUrl, ownBytes } from '../base/kinds.js'
import { localPath, type ModelSource } from '../base/source.js'
import { describe, expected, TensorRTError } from '../errors.js'
import { type ModelProto, ModelProtoSchema } from './onnx_pb.js'
import { whyTooMany } from './wire.js'

/** Since this IR version a model says which version of the operators it uses. */
export const firstIrWithOpsets = 3n

/**
 * {@link readModel} of bytes, at once.
 * @param name What to call the model in an error.
 * @throws TensorRTError ERR_TRT_ONNX_PARSE for bytes that are no model: empty, truncated, damaged or something else.
 */
export function parseModel(bytes: Exclude<ModelSource, string | URL>, name = 'the model'): ModelProto {
  const model = decode(toBytes(bytes), name)
  // Many bytes that are no model decode without an error, so what every model has is asked for.
  if (model.irVersion < 1n) throw notOnnx(name, 'it has no IR version')
  if (model.graph === undefined) throw notOnnx(name, 'it has no graph')
  if (model.irVersion >= firstIrWithOpsets && model.opsetImport.length === 0)
    throw notOnnx(name, 'it does not say which operators it uses')
  return model
}

/**
 * Reads a model from a file (path or file URL), a Blob, a File, the Response of `fetch`, or from its bytes, whose
 * weights are not copied: they stay views on them. Fields that ONNX has not defined yet are kept, and written by {@link
 * writeModel}. Weights in other files are left there, see {@link loadExternalData}.
 * @throws TensorRTError ERR_TRT_FILE when the file cannot be read, ERR_TRT_ONNX_PARSE when it is no model,
 * ERR_TRT_INVALID_ARGUMENT for an address of elsewhere.
 */
export async function readModel(source: ModelSource | BlobLike): Promise<ModelProto> {
  if (isBlobLike(source)) return parseModel(await bytesOfBlob(source, 'source'))
  if (typeof source !== 'string' && !isUrl(source)) return parseModel(source)
  const path = localPath(source, 'source')
  const bytes = await readOrdinary(path).catch(async (cause: unknown) => {
    const why = await pathProblem(path, cause)
    throw new TensorRTError('ERR_TRT_FILE', `Cannot read the model ${path}: ${why}`, { cause, details: { path } })
  })
  if (isLfsPointer(bytes))
    throw new TensorRTError('ERR_TRT_FILE', `Cannot read the model ${path}: it is ${lfsPointer}`, { details: { path } })
  const model = parseModel(bytes, path)
  rememberFiles(model, resolve(path))
  return model
}

/**
 * The bytes of an ONNX file.
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT for a model with fields of the wrong type, such as a number where ONNX
 * has 64 bits (bigint), and for what is no model.
 */
export function writeModel(model: ModelProto): Uint8Array<ArrayBuffer> {
  checkedModel(model)
  try {
    return toBinary(ModelProtoSchema, model)
  } catch (cause) {
    throw new TensorRTError('ERR_TRT_INVALID_ARGUMENT', `The model cannot be written: ${(cause as Error).message}`, {
      cause,
    })
  }
}

/**
 * What is no model, such as a path, a file's bytes or a promise of one, is told before any field of it is missed.
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT
 */
export function checkedModel(model: ModelProto): ModelProto {
  if (isMessage(model, ModelProtoSchema)) return model
  throw expected('a model, as readModel() resolves with and GraphBuilder makes,', 'model', model)
}

function toBytes(given: unknown): Uint8Array {
  const bytes = bytesIn(given)
  if (bytes !== undefined) return ownBytes(bytes)
  throw expectedBytes('a path, URL, Uint8Array or ArrayBuffer', 'model', given)
}

function decode(bytes: Uint8Array, name: string): ModelProto {
  if (bytes.length === 0) throw notOnnx(name, 'it is empty')
  const other = otherThan('model', bytes)
  if (other !== undefined) throw notOnnx(name, `it is ${other}`)
  const tooMany = whyTooMany(bytes, ModelProtoSchema)
  if (tooMany !== undefined) throw notOnnx(name, tooMany)
  try {
    return fromBinary(ModelProtoSchema, bytes)
  } catch (cause) {
    const why = isError(cause) ? cause.message : describe(cause)
    throw notOnnx(
      name,
      looksLikeOnnx(bytes) ? `it is damaged or truncated: ${why}` : `${why}, as nothing of ONNX begins`,
      cause,
    )
  }
}

function notOnnx(name: string, reason: string, cause?: unknown): TensorRTError {
  return new TensorRTError(
    'ERR_TRT_ONNX_PARSE',
    `Cannot parse ${name} as ONNX: ${reason}`,
    cause === undefined ? {} : { cause },
  )
}

/** The IR version that came with a version of the operators: the last row whose opset is not above it. */
const irVersions = [
  { opset: 1, ir: 4 }, // initializers that are no inputs need 4
  { opset: 10, ir: 5 },
  { opset: 11, ir: 6 },
  { opset: 12, ir: 7 },
  { opset: 15, ir: 8 },
  { opset: 19, ir: 9 },
  { opset: 21, ir: 10 },
  { opset: 23, ir: 11 },
  { opset: 24, ir: 12 },
  { opset: 25, ir: 13 },
  { opset: 28, ir: 14 },
]

/** The IR version that the ONNX release of an opset wrote. */
export function irVersionOf(opset: number): number {
  return irVersions.findLast((row) => row.opset <= opset)?.ir as number
}
