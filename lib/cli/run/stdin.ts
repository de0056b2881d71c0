import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { addAbortSignal, Readable } from 'node:stream'
import { TensorRTError } from '../../errors.js'

/** How stdin is named on the command line. */
export const stdinName = '-'

type Source = AsyncIterable<Uint8Array> & { readonly isTTY?: boolean | undefined }

/** What stdin gives, in a file: those who read files go by their endings, and by random access. */
export class StdinFile {
  readonly #source: Source
  readonly #signal: AbortSignal
  #found: Promise<string> | undefined
  #path: string | undefined

  constructor(source: Source, signal: AbortSignal) {
    this.#source = source
    this.#signal = signal
  }

  /** The same file, however often it is asked for. @throws TensorRTError ERR_TRT_FILE; the signal's reason */
  async path(): Promise<string> {
    return (this.#found ??= this.#spooled())
  }

  /** A text that names stdin where it names the file. */
  hidden(text: string): string {
    return this.#path === undefined ? text : text.replaceAll(this.#path, stdinName)
  }

  async remove(): Promise<void> {
    if (this.#path !== undefined) await rm(dirname(this.#path), { recursive: true, force: true })
  }

  async #spooled(): Promise<string> {
    if (this.#source.isTTY === true)
      throw new TensorRTError('ERR_TRT_FILE', 'Cannot read -: stdin is a terminal. Give it a file, as in < photo.jpg')
    const bytes = await bytesOf(this.#source, this.#signal)
    if (bytes.length === 0) throw new TensorRTError('ERR_TRT_FILE', 'Cannot read -: stdin gave nothing')
    const folder = await mkdtemp(join(tmpdir(), 'node-tensorrt-stdin-'))
    this.#path = join(folder, `stdin${endingOf(bytes)}`)
    await writeFile(this.#path, bytes, { signal: this.#signal })
    return this.#path
  }
}

async function bytesOf(source: Source, signal: AbortSignal): Promise<Buffer> {
  const stream = source instanceof Readable ? source : Readable.from(source)
  const pieces: Uint8Array[] = []
  try {
    for await (const piece of addAbortSignal(signal, stream)) pieces.push(piece as Uint8Array)
  } catch (error) {
    signal.throwIfAborted()
    throw new TensorRTError('ERR_TRT_FILE', `Cannot read -: ${(error as Error).message}`, { cause: error })
  }
  return Buffer.concat(pieces)
}

const signatures: readonly (readonly [ending: string, offset: number, bytes: string])[] = [
  ['.jpg', 0, '\xff\xd8\xff'],
  ['.png', 0, '\x89PNG'],
  ['.gif', 0, 'GIF8'],
  ['.webp', 8, 'WEBP'],
  ['.avif', 4, 'ftypavi'],
  ['.tiff', 0, 'II*\0'],
  ['.tiff', 0, 'MM\0*'],
  ['.npy', 0, '\x93NUMPY'],
  ['.npz', 0, 'PK\x03\x04'],
]

/** By how it begins; what is nothing else is raw bytes. */
function endingOf(bytes: Buffer): string {
  const head = bytes.toString('latin1', 0, 64)
  const found = signatures.find(([, offset, signature]) => head.startsWith(signature, offset))
  if (found !== undefined) return found[0]
  return /^(\xef\xbb\xbf)?\s*[[{]/.test(head) ? '.json' : '.raw'
}
