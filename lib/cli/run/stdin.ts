import { rmSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { addAbortSignal, Readable } from 'node:stream'
import { onFile } from '../../base/files.js'
import { TensorRTError } from '../../errors.js'
import type { Refuse } from '../flags.js'
import { early } from '../refusal.js'

/** How stdin is named on the command line. */
export const stdinName = '-'

type Source = AsyncIterable<Uint8Array> & { readonly isTTY?: boolean | undefined }

interface MayNameStdin {
  readonly data?: readonly string[] | undefined
  readonly input?: readonly string[] | undefined
}

/**
 * What names stdin (`-` as data, and `NAME=-` as an input), by the file that has what it gives: it can be read once.
 * @throws TensorRTError ERR_TRT_FILE where it gives nothing
 */
export async function withStdin<T extends MayNameStdin>(
  asked: T,
  session: { readonly stdinFile: () => Promise<string> },
  refuse: Refuse,
): Promise<T> {
  const isInput = (text: string): boolean => text.endsWith(`=${stdinName}`)
  const { data, input } = asked
  const count = [...(data ?? []).filter((file) => file === stdinName), ...(input ?? []).filter(isInput)].length
  if (count === 0) return asked
  if (count > 1) return refuse('- is stdin, which can be read once: name it once')
  const path = await early(() => session.stdinFile())
  return {
    ...asked,
    data: data?.map((file) => (file === stdinName ? path : file)),
    input: input?.map((text) => (isInput(text) ? `${text.slice(0, -stdinName.length)}${path}` : text)),
  }
}

/** What stdin gives, in a file: those who read files go by their endings, and by random access. */
export class StdinFile {
  readonly #source: Source
  readonly #signal: AbortSignal
  #found: Promise<string> | undefined
  #path: string | undefined
  /** For a process that exits before `remove()`, because its results cannot be written or have no reader. */
  readonly #removeAtExit = (): void => rmSync(dirname(this.#path!), { recursive: true, force: true })

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
    if (this.#path === undefined) return
    process.off('exit', this.#removeAtExit)
    await rm(dirname(this.#path), { recursive: true, force: true })
  }

  async #spooled(): Promise<string> {
    if (this.#source.isTTY === true)
      throw new TensorRTError('ERR_TRT_FILE', 'Cannot read -: stdin is a terminal. Give it a file, as in < photo.jpg')
    const bytes = await bytesOf(this.#source, this.#signal)
    if (bytes.length === 0) throw new TensorRTError('ERR_TRT_FILE', 'Cannot read -: stdin gave nothing')
    return onFile('write stdin to', tmpdir(), async () => {
      const folder = await mkdtemp(join(tmpdir(), 'node-tensorrt-stdin-'))
      this.#path = join(folder, `stdin${endingOf(bytes)}`)
      process.once('exit', this.#removeAtExit)
      await writeFile(this.#path, bytes, { signal: this.#signal })
      return this.#path
    })
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
