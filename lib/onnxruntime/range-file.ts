/** The range that a model's engine grew to, in a file beside the cached engines: the next process begins there. */
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { checkedProfiles } from '../building/shapes.js'
import { saveText } from '../base/files.js'
import { digestModel } from '../cache/digest.js'
import { makeCacheFolder, refuseUntrusted } from '../cache/folder.js'
import { checkedCache } from '../cache/options.js'
import type { EngineOptions } from '../engine/options.js'
import type { Range } from './ranges.js'

const suffix = '.range.json'

export class RangeFile {
  readonly #model: string | Uint8Array
  readonly #folder: string
  readonly #options: string
  #path: Promise<string> | undefined

  private constructor(model: string | Uint8Array, folder: string, options: string) {
    this.#model = model
    this.#folder = folder
    this.#options = options
  }

  /** Of an engine with these options; nothing where it is not cached. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
  static of(model: string | Uint8Array, options: EngineOptions): RangeFile | undefined {
    const { cache, tensorrt, freeDimensions = {} } = options
    const folder = checkedCache(cache)?.folder
    if (folder === undefined) return undefined
    const { timingCache: _, ...builder } = tensorrt?.builder ?? {}
    const parts = [builder, freeDimensions].map((each) => Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
    return new RangeFile(model, folder, JSON.stringify(parts))
  }

  /** Nothing where there is none that can be used; a model is hashed only where the folder has any. */
  async read(): Promise<Range | undefined> {
    try {
      await refuseUntrusted(this.#folder)
      if (!(await readdir(this.#folder)).some((name) => name.endsWith(suffix))) return undefined
      const range = JSON.parse(await readFile(await this.#place(), 'utf8')) as Range
      checkedProfiles(range)
      return range
    } catch {
      return undefined
    }
  }

  /** @throws TensorRTError ERR_TRT_FILE */
  async write(range: Range): Promise<void> {
    await makeCacheFolder(this.#folder)
    await saveText(await this.#place(), JSON.stringify(range))
  }

  #place(): Promise<string> {
    return (this.#path ??= this.#findPlace())
  }

  async #findPlace(): Promise<string> {
    const { model, external } = await digestModel(this.#model, undefined)
    const parts = JSON.stringify([model, external, this.#options])
    return join(this.#folder, createHash('sha256').update(parts).digest('hex') + suffix)
  }
}
