import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'

/**
 * The folder of this package among the user's caches: `$XDG_CACHE_HOME/node-tensorrt`, else `~/.cache/node-tensorrt`.
 * Nothing where the user has no home.
 */
export function userCacheFolder(): string | undefined {
  // a relative one is to be ignored, says the XDG Base Directory Specification
  const caches = process.env['XDG_CACHE_HOME'] ?? ''
  if (isAbsolute(caches)) return join(caches, 'node-tensorrt')
  const home = homeOfUser()
  return home === undefined ? undefined : join(home, '.cache', 'node-tensorrt')
}

/**
 * @see https://nodejs.org/api/os.html#oshomedir It throws where HOME is not set and the user is not among the system's,
 * as in some containers.
 */
function homeOfUser(): string | undefined {
  try {
    const home = homedir()
    return isAbsolute(home) ? home : undefined
  } catch {
    return undefined
  }
}
