// @ts-check
// NVIDIA's Python client of Triton, which tests ask our server with: fetched once by pip, which checks the hashes of
// tritonclient-requirements.txt, into the user's cache, where all checkouts find it. TRT_TEST_TRITONCLIENT names a
// folder that has it already. To make that file anew: `uv lock` of a project that depends on tritonclient[http,grpc],
// and of its wheels those for Linux and the versions of Python below.
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cacheFolder, Failure, root, runQuietly, say, withLock } from './support.mjs'
import { findPython, pythonWithPip } from './wheels.mjs'

const listing = join(root, 'scripts', 'tritonclient-requirements.txt')
const oldest = 11

/** @returns {Promise<{ path?: string, reason?: string }>} a folder for PYTHONPATH */
export const ensureTritonClient = async () => {
  const given = process.env['TRT_TEST_TRITONCLIENT']
  if (given) return { path: given }
  const python = pythonWithPip()
  const version = findPython()?.version ?? ''
  if (!python) return { reason: "NVIDIA's tritonclient needs Python 3 with pip (Debian: apt-get install python3-pip)" }
  if (Number(version.split('.')[1]) < oldest)
    return { reason: `NVIDIA's tritonclient needs Python 3.${oldest} or newer, not ${version}` }
  const digest = createHash('sha256')
    .update(`${version}\n${readFileSync(listing, 'utf8')}`)
    .digest('hex')
  const key = `tritonclient-${digest.slice(0, 16)}`
  const folder = join(cacheFolder(), key)
  try {
    const made = async () => {
      if (!existsSync(join(folder, 'complete'))) await fetchInto(python, folder)
    }
    await withLock(key, made, cacheFolder())
    return { path: folder }
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return { reason: `NVIDIA's tritonclient could not be fetched: ${error.message}` }
  }
}

const fetchInto = async (/** @type {string} */ python, /** @type {string} */ folder) => {
  say("fetching NVIDIA's tritonclient and what it imports (45 MB, once) …")
  const temporary = mkdtempSync(`${folder}.tmp-`)
  try {
    const pip = [
      '-m',
      'pip',
      'install',
      '--no-deps',
      '--no-cache-dir',
      '--no-input',
      '--only-binary=:all:',
      '--no-warn-script-location',
      '--no-compile',
    ]
    await runQuietly(python, [...pip, '--require-hashes', '--target', temporary, '-r', listing], {
      what: 'fetching tritonclient',
    })
    writeFileSync(join(temporary, 'complete'), '')
    rmSync(folder, { recursive: true, force: true })
    renameSync(temporary, folder)
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
}
