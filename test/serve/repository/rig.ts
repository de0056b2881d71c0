// Folders of models.
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { ModelFolder } from '../../../lib/serve/repository/folder.js'
import { scanRepositories } from '../../../lib/serve/repository/scan.js'
import { temporaryFolder } from '../../support/folders.js'

export type Files = Readonly<Record<string, string>>

/** Writes files below a folder; a path that ends with a slash is a folder. */
export function write(folder: string, files: Files): void {
  for (const [path, text] of Object.entries(files)) {
    const full = join(folder, path)
    mkdirSync(path.endsWith('/') ? full : dirname(full), { recursive: true })
    if (!path.endsWith('/')) writeFileSync(full, text)
  }
}

export function repository(t: { teardown(end: () => unknown): unknown }, files: Files): string {
  const folder = temporaryFolder(t)
  write(folder, files)
  return folder
}

/** The only model of a repository. */
export async function modelFolder(
  t: { teardown(end: () => unknown): unknown },
  files: Files,
  name = 'm',
): Promise<ModelFolder> {
  const folder = repository(
    t,
    Object.fromEntries(Object.entries(files).map(([path, text]) => [`${name}/${path}`, text])),
  )
  const model = (await scanRepositories([folder])).models.get(name)
  if (model === undefined) throw new Error(`${name} is no model`)
  return model
}
