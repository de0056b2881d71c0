import { stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { loadAddon, native } from '../backend/native.js'
import { isLfsPointer } from '../base/lfs.js'
import { TensorRTError } from '../errors.js'
import { onFile, openFile, pointed } from '../base/files.js'
import { chunksOfBytes, chunksOfFile, hashOf } from './hash.js'

/** What a model is made of, and what its files were when that was found out. */
export interface ModelDigest {
  /** The hash of the ONNX; see hash.ts. */
  readonly model: string
  /** Those of the files that it keeps tensors in, in the order of their names. */
  readonly external: readonly string[]
  readonly files: readonly FileState[]
}

/** Of a file: another one there, or a write to it, changes something of this. */
interface FileState {
  readonly path: string
  readonly state: string
}

interface HashedFile extends FileState {
  readonly hash: string
}

/**
 * Checks a model, and hashes it: the bytes of its ONNX, and all of every file that it keeps tensors in, whichever part
 * of it is used.
 * @throws TensorRTError ERR_TRT_FILE, ERR_TRT_ONNX_PARSE, ERR_TRT_NO_ADDON, ERR_TRT_PLATFORM
 */
export async function digestModel(model: string | Uint8Array, signal: AbortSignal | undefined): Promise<ModelDigest> {
  if (typeof model !== 'string') {
    await native(() => loadAddon().inspectModel({ model })) // one that keeps tensors in files is refused
    return { model: await hashOf(chunksOfBytes(model), signal), external: [], files: [] }
  }
  const onnx = await hashFile(model, signal)
  const { externalFiles } = await native(() => loadAddon().inspectModel({ path: model }))
  const external: HashedFile[] = []
  for (const name of externalFiles) external.push(await hashFile(resolve(dirname(model), name), signal))
  const files = [onnx, ...external]
  await refuseChanged(files, 'while it was read')
  return { model: onnx.hash, external: external.map(({ hash }) => hash), files }
}

/** The hashes of files by their paths. @throws TensorRTError ERR_TRT_FILE */
export async function digestFiles(
  paths: readonly string[],
  signal: AbortSignal | undefined,
): Promise<Map<string, string>> {
  const digests = new Map<string, string>()
  for (const path of paths) digests.set(path, (await hashFile(resolve(path), signal)).hash)
  return digests
}

/**
 * @throws TensorRTError ERR_TRT_FILE where a file is not what was hashed any more: then nobody knows what a build of it
 * was made from
 */
export async function refuseChanged(
  files: readonly FileState[],
  when = 'while an engine was built from it',
): Promise<void> {
  for (const { path, state } of files) {
    if ((await stateOf(path)) === state) continue
    throw new TensorRTError('ERR_TRT_FILE', `${path} was changed ${when}: load it again`, { details: { path } })
  }
}

async function hashFile(path: string, signal: AbortSignal | undefined): Promise<HashedFile> {
  return onFile('read', path, async () => {
    const file = await openFile(path)
    try {
      const facts = await file.stat({ bigint: true })
      return { path, state: describeState(facts), hash: await hashOf(unlessPointer(path, chunksOfFile(file)), signal) }
    } finally {
      await file.close()
    }
  })
}

async function stateOf(path: string): Promise<string> {
  return onFile('read', path, async () => describeState(await stat(path, { bigint: true })))
}

function describeState({
  dev,
  ino,
  size,
  mtimeNs,
}: {
  dev: bigint
  ino: bigint
  size: bigint
  mtimeNs: bigint
}): string {
  return [dev, ino, size, mtimeNs].join(' ')
}

/** The chunks of a file, unless Git LFS left a pointer in its place. @throws TensorRTError ERR_TRT_FILE */
async function* unlessPointer(
  path: string,
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  let isFirst = true
  for await (const chunk of chunks) {
    if (isFirst && isLfsPointer(chunk)) throw pointed(path)
    isFirst = false
    yield chunk
  }
}
