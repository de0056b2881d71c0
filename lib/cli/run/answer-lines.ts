import { type FileHandle, open } from 'node:fs/promises'
import { onFile, writeTarget } from '../../base/files.js'
import { writeFully } from '../../base/pieces.js'
import { jsonText } from '../output/format.js'
import type { Target } from './target.js'

/**
 * Answers as lines of JSON, each written when it comes: who interrupts the run keeps those that came. The file is
 * replaced with the first of them.
 */
export class AnswerLines implements AsyncDisposable {
  readonly #path: string
  #file: FileHandle | undefined

  constructor(path: string) {
    this.#path = path
  }

  async add(answer: unknown): Promise<void> {
    await onFile('write', this.#path, async () =>
      writeFully(await this.#opened(), Buffer.from(`${jsonText(answer)}\n`)),
    )
  }

  /** Where nothing came, no answers of an earlier run stay. */
  async end(): Promise<void> {
    await onFile('write', this.#path, async () => (await this.#opened()).sync())
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file?.close()
    this.#file = undefined
  }

  async #opened(): Promise<FileHandle> {
    return (this.#file ??= await open(await writeTarget(this.#path), 'w'))
  }
}

/** Where answers go as they come. */
export function answerLines(target: Target | undefined): AnswerLines | undefined {
  return target?.kind === 'file' && target.ending === '.jsonl' ? new AnswerLines(target.path) : undefined
}
