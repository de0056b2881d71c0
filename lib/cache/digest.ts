import type { Hash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { isLfsPointer } from '../base/lfs.js'
import { TensorRTError } from '../errors.js'
import { ExternalFileScanner } from '../onnx/external-scan.js'
import { onFile, openFile, pointed } from '../plan/files.js'
import { chunkSize, newHash } from '../plan/hash.js'

/** What a model is made of, and what its files were when that was found out. */
export interface ModelDigest {
  /** The SHA-256 of the ONNX. */
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

/**
 * Hashes a model: the bytes of its ONNX, and all of every file that it keeps tensors in, whichever part of it is used.
 * @throws TensorRTError ERR_TRT_FILE, ERR_TRT_ONNX_PARSE
 */
export async function digestModel(model: string | Uint8Array, signal: AbortSignal | undefined): Promise<ModelDigest> {
  const scanner = new ExternalFileScanner()
  const hash = newHash()
  const take = (piece: Uint8Array): void => {
    hash.update(piece)
    scanner.push(piece)
  }
  const files = typeof model === 'string' ? [await passFile(model, take, signal)] : []
  if (typeof model !== 'string') await passBytes(model, take, signal)
  const { files: names, damage } = scanner.end()
  const label = typeof model === 'string' ? model : `the model of ${model.length} bytes`
  if (damage !== undefined) throw new TensorRTError('ERR_TRT_ONNX_PARSE', `Cannot parse ${label} as ONNX: ${damage}`)
  const external: string[] = []
  for (const name of names) {
    const digest = newHash()
    files.push(await passExternal(model, name, digest, signal))
    external.push(digest.digest('hex'))
  }
  return { model: hash.digest('hex'), external, files }
}

/** The SHA-256 of files by their paths. @throws TensorRTError ERR_TRT_FILE */
export async function digestFiles(paths: readonly string[], signal: AbortSignal | undefined): Promise<Map<string, string>> {
  const digests = new Map<string, string>()
  for (const path of paths) {
    const hash = newHash()
    await passFile(resolve(path), (piece) => hash.update(piece), signal)
    digests.set(path, hash.digest('hex'))
  }
  return digests
}

/** @throws TensorRTError ERR_TRT_FILE where a file is not what was hashed any more: then nobody knows what a build of it was made from */
export async function refuseChanged(files: readonly FileState[]): Promise<void> {
  for (const { path, state } of files) {
    if ((await stateOf(path)) === state) continue
    throw new TensorRTError('ERR_TRT_FILE', `${path} was changed while an engine was built from it: load it again`, { details: { path } })
  }
}

async function passExternal(model: string | Uint8Array, name: string, hash: Hash, signal: AbortSignal | undefined): Promise<FileState> {
  if (typeof model !== 'string') {
    const message = `The model of ${model.length} bytes keeps tensors in a file, ${JSON.stringify(name)}, which is found from the model's path only: give that`
    throw new TensorRTError('ERR_TRT_FILE', message, { details: { file: name } })
  }
  if (name === '') throw new TensorRTError('ERR_TRT_ONNX_PARSE', `Cannot parse ${model} as ONNX: a tensor is in a file without a name`)
  return passFile(resolve(dirname(model), name), (piece) => hash.update(piece), signal)
}

async function passFile(path: string, take: (piece: Uint8Array) => void, signal: AbortSignal | undefined): Promise<FileState> {
  return onFile('read', path, async () => {
    const file = await openFile(path)
    try {
      const facts = await file.stat({ bigint: true })
      const buffer = new Uint8Array(chunkSize)
      for (let isFirst = true; ; isFirst = false) {
        signal?.throwIfAborted()
        const { bytesRead } = await file.read(buffer, 0, chunkSize)
        if (isFirst && isLfsPointer(buffer)) throw pointed(path)
        if (bytesRead === 0) return { path, state: describeState(facts) }
        take(buffer.subarray(0, bytesRead))
      }
    } finally {
      await file.close()
    }
  })
}

async function passBytes(bytes: Uint8Array, take: (piece: Uint8Array) => void, signal: AbortSignal | undefined): Promise<void> {
  for (let at = 0; at < bytes.length; at += chunkSize) {
    if (at > 0) await setImmediate()
    signal?.throwIfAborted()
    take(bytes.subarray(at, at + chunkSize))
  }
}

async function stateOf(path: string): Promise<string> {
  return onFile('read', path, async () => describeState(await stat(path, { bigint: true })))
}

function describeState({ dev, ino, size, mtimeNs }: { dev: bigint; ino: bigint; size: bigint; mtimeNs: bigint }): string {
  return [dev, ino, size, mtimeNs].join(' ')
}
