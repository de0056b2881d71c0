import { createHash } from 'node:crypto'
import { access, constants, realpath } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { makeFolder } from '../base/files.js'
import { userCacheFolder } from '../base/user-folders.js'

/**
 * What savers of a plan lock while they replace it, as `withFileLock` takes it. It lies in the user's cache folder, so
 * that nothing stays beside the plan: one of 256 files, by the hash of the plan's real path. Two plans
 * may share one, whose savers then wait for each other; whoever has one never asks for another. Where the user has no
 * such folder, or it cannot be written to, it is `.NAME` beside the plan.
 * @param target The real path of the plan, which need not be there.
 */
export async function planLock(target: string): Promise<string> {
  const caches = userCacheFolder()
  const folder = caches === undefined ? undefined : await usable(join(caches, 'locks'))
  if (folder === undefined) return lockBeside(target)
  return join(folder, `plan-${createHash('sha256').update(target).digest('hex').slice(0, 2)}`)
}

/** The lock of a plan whose saver has no cache folder. */
export function lockBeside(target: string): string {
  return join(dirname(target), `.${basename(target)}`)
}

async function usable(folder: string): Promise<string | undefined> {
  try {
    await makeFolder(folder, 0o700)
    await access(folder, constants.W_OK | constants.X_OK)
    return await realpath(folder)
  } catch {
    return undefined
  }
}
