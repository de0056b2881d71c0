import type { FileHandle } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { crc32 } from 'node:zlib'
import { isUint8Array } from 'node:util/types'
import { type Entry, fromBufferPromise, fromFdPromise, getFileNameLowLevel, type ZipFile } from 'yauzl'
import { ZipFile as ZipWriter } from 'yazl'
import { allocated } from '../base/pieces.js'
import { isSystemError } from '../base/kinds.js'
import { expected, TensorRTError } from '../errors.js'
import type { Tensor } from '../tensor.js'
import { npyChunks, parseNpy } from './npy.js'
import { damaged } from './types.js'

/** Deflate makes at most so many bytes of one. */
const mostOfDeflate = 1032

/**
 * The arrays of a `.npz` by their names, in the order of the file: stored or deflated, each held against its checksum
 * and its declared size.
 * @throws TensorRTError ERR_TRT_FILE, and as parseNpy
 */
export async function readNpz(
  from: FileHandle | Uint8Array,
  name: string,
  signal: AbortSignal | undefined,
): Promise<Map<string, Tensor>> {
  const found = new Map<string, Tensor>()
  try {
    const zip = await opened(from)
    let compressed = 0
    for await (const entry of zip.eachEntry()) {
      const array = arrayName(entry, name)
      if (found.has(array)) throw damaged(name, `it has two arrays called ${JSON.stringify(array)}`)
      compressed += entry.compressedSize
      if (compressed > zip.fileSize)
        throw damaged(name, `its arrays have ${compressed} bytes by what it says, more than the file`)
      const where = `${JSON.stringify(array)} of ${name}`
      found.set(array, parseNpy(await bytesOfEntry(zip, entry, where, signal), where))
    }
  } catch (error) {
    signal?.throwIfAborted()
    if (error instanceof TensorRTError || isSystemError(error)) throw error
    throw damaged(name, `expected a .npz, which is a zip archive: ${(error as Error).message}`, error)
  }
  return found
}

/**
 * Names are decoded here: they are names of arrays and may begin with a slash, no paths that anything is written to.
 */
function opened(from: FileHandle | Uint8Array): Promise<ZipFile> {
  const options = { autoClose: false, decodeStrings: false }
  if (!isUint8Array(from)) return fromFdPromise(from.fd, options)
  return fromBufferPromise(Buffer.from(from.buffer, from.byteOffset, from.byteLength), options)
}

function arrayName(entry: Entry, name: string): string {
  const { generalPurposeBitFlag, fileNameRaw, extraFields } = entry
  const file = getFileNameLowLevel(generalPurposeBitFlag, fileNameRaw, extraFields, true)
  if (!file.endsWith('.npy')) throw damaged(name, `expected arrays alone, NAME.npy, but it has ${JSON.stringify(file)}`)
  if (!entry.canDecodeFileData())
    throw damaged(
      name,
      `${JSON.stringify(file)} is ${entry.isEncrypted() ? 'encrypted' : 'neither stored nor deflated'}`,
    )
  return file.slice(0, -'.npy'.length)
}

async function bytesOfEntry(
  zip: ZipFile,
  entry: Entry,
  where: string,
  signal: AbortSignal | undefined,
): Promise<Uint8Array> {
  const { compressedSize, uncompressedSize: size } = entry
  if (size > compressedSize * mostOfDeflate)
    throw damaged(where, `${compressedSize} bytes cannot become the ${size} that it is said to have`)
  const bytes = allocated(size, where)
  let at = 0
  // yauzl sees to it that there come exactly as many as are said
  for await (const chunk of await zip.openReadStreamPromise(entry)) {
    signal?.throwIfAborted()
    bytes.set(chunk as Uint8Array, at)
    at += (chunk as Uint8Array).length
  }
  if (crc32(bytes) !== entry.crc32) throw damaged(where, 'its bytes are not those of its checksum')
  return bytes
}

/** As numpy.savez has it: what is in it does not depend on when it was made. */
const epoch = new Date(1980, 0, 1)

/**
 * The pieces of a `.npz`. @throws TensorRTError ERR_TRT_DTYPE, ERR_TRT_INVALID_ARGUMENT for a name that a zip archive
 * refuses
 */
export function npzChunks(tensors: Iterable<readonly [string, Tensor]>, compress: boolean): AsyncIterable<Uint8Array> {
  const zip = new ZipWriter()
  for (const [name, tensor] of tensors) {
    const chunks = npyChunks(tensor)
    const size = chunks.reduce((sum, { length }) => sum + length, 0)
    const options = { mtime: epoch, forceDosTimestamp: true, compress, size }
    try {
      zip.addReadStreamLazy(`${name}.npy`, options, (take) => take(null, Readable.from(chunks, { objectMode: false })))
    } catch (error) {
      throw expected(`names that a zip archive takes (${(error as Error).message})`, 'the tensors', name)
    }
  }
  zip.end()
  const output = Readable.from(zip.outputStream)
  zip.on('error', (error: Error) => output.destroy(error))
  return output
}
