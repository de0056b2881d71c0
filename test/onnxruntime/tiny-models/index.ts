/**
 * Models for transformers.js, made here: six architectures by the names and with the files that it looks for, small,
 * with weights that are numbers of a fixed seed. Their answers mean nothing; they are the same each time.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { gpt2, t5 } from './decoders.js'
import { bert, clip, type ModelFiles, vit, wav2vec2 } from './encoders.js'

export { bert, clip, type ModelFiles, vit, wav2vec2 } from './encoders.js'
export { gpt2, t5 } from './decoders.js'
export type { Size } from './layers.js'

/** By the names of their folders. */
const tinyModels: Readonly<Record<string, () => ModelFiles>> = {
  'bert-features': () => bert('features'),
  'bert-classes': () => bert('classes'),
  clip: () => clip(),
  gpt2: () => gpt2(),
  t5: () => t5(),
  vit: () => vit(),
  wav2vec2: () => wav2vec2(),
}

/** Writes a model's files into its folder, which is made. */
export function writeModelFiles(folder: string, files: ModelFiles): void {
  for (const [name, content] of Object.entries(files)) {
    const path = join(folder, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, content instanceof Uint8Array ? content : JSON.stringify(content))
  }
}

/** Writes all of them, each into a folder of its own. */
export function writeTinyModels(folder: string): void {
  for (const [name, files] of Object.entries(tinyModels)) writeModelFiles(join(folder, name), files())
}
