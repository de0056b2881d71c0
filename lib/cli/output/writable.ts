import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { isMissing, onFile, writeTarget } from '../../base/files.js'
import { TensorRTError } from '../../errors.js'

/** Whether files can be written where they are to be, told before the work that they are of: it may take hours. @throws TensorRTError ERR_TRT_FILE */
export async function refuseUnwritable(...paths: readonly (string | undefined)[]): Promise<void> {
  for (const path of paths) if (path !== undefined) await onFile('write', path, () => refuse(path))
}

async function refuse(path: string): Promise<void> {
  if (path === '') throw new TensorRTError('ERR_TRT_FILE', 'Cannot write: the path is empty')
  const folder = dirname(path)
  const facts = await stat(folder).catch((error: unknown) => {
    if (!isMissing(error)) throw error
  })
  if (facts === undefined)
    throw new TensorRTError('ERR_TRT_FILE', `Cannot write ${path}: there is no folder ${folder}`, { details: { path } })
  // who replaces a file writes into its folder
  await access(dirname(await writeTarget(path)), constants.W_OK)
}
