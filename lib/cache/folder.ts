import { access, constants, stat } from 'node:fs/promises'
import { isMissing, makeFolder } from '../base/files.js'
import { TensorRTError } from '../errors.js'

/**
 * Makes the folder where there is none, and finds out whether entries can be written there.
 * @throws TensorRTError ERR_TRT_FILE; what the system says
 */
export async function makeCacheFolder(folder: string): Promise<void> {
  // plans are code: nobody else is to put any here
  await makeFolder(folder, 0o700)
  await access(folder, constants.R_OK | constants.W_OK | constants.X_OK)
  await refuseUntrusted(folder)
}

/**
 * A plan is code, which runs with the rights of whoever opens it. So a folder is not used that everybody can write to,
 * or that belongs to another user (root apart, and root reads everybody's). A group that may write was
 * given that right by the folder's owner. One that is not there holds nothing.
 * @throws TensorRTError ERR_TRT_FILE
 */
export async function refuseUntrusted(folder: string): Promise<void> {
  const own = process.getuid?.()
  if (own === undefined) return // of Windows: rights are not told in modes
  const facts = await stat(folder).catch((error: unknown) => {
    if (!isMissing(error)) throw error
  })
  if (facts === undefined) return
  const { uid, mode } = facts
  if ((mode & 0o002) !== 0)
    throw untrusted(
      folder,
      `everybody can write to it (mode ${(mode & 0o7777).toString(8)}), and plans are code: chmod o-w, or name a folder in it, which is made for this user alone`,
    )
  if (uid !== own && uid !== 0 && own !== 0)
    throw untrusted(folder, `it belongs to another user (${uid}; this is ${own}), and plans are code`)
}

function untrusted(folder: string, why: string): TensorRTError {
  return new TensorRTError('ERR_TRT_FILE', why, { details: { path: folder } })
}
