// @ts-check
// node scripts/kserve.mjs: KServe's own Python package in an environment of its own in the user's cache, with which a
// long test asks our server; prints the path of its Python, or why there is none, as JSON. TRT_TEST_KSERVE names one
// that has it already. To make kserve-requirements.txt anew: `pip freeze` of an environment into which `pip install
// kserve` was done.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cacheFolder, Failure, main, root, runQuietly, say, withLock } from './support.mjs'
import { findPython, pythonWithPip } from './wheels.mjs'

const listing = join(root, 'scripts', 'kserve-requirements.txt')

/** @returns {Promise<{ path?: string, reason?: string }>} */
const ensureKServe = async () => {
  const given = process.env['TRT_TEST_KSERVE']
  if (given) return { path: given }
  const python = pythonWithPip()
  if (!python)
    return { reason: "KServe's clients need Python 3 with pip and venv (Debian: apt-get install python3-venv)" }
  const digest = createHash('sha256')
    .update(`${findPython()?.version}\n${readFileSync(listing, 'utf8')}`)
    .digest('hex')
  const key = `kserve-${digest.slice(0, 16)}`
  const folder = join(cacheFolder(), key)
  const complete = join(folder, 'complete')
  try {
    const made = async () => {
      if (!existsSync(complete)) await make(python, folder, complete)
    }
    await withLock(key, made, cacheFolder())
    return { path: join(folder, 'bin', 'python') }
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return { reason: `KServe's clients could not be had: ${error.message}` }
  }
}

const make = async (/** @type {string} */ python, /** @type {string} */ folder, /** @type {string} */ complete) => {
  say("fetching KServe's clients and what they import (450 MB on disk, once) …")
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  await runQuietly(python, ['-m', 'venv', folder], { what: 'making an environment for Python' })
  const pip = ['-m', 'pip', 'install', '--quiet', '--no-deps', '--only-binary=:all:', '-r', listing]
  await runQuietly(join(folder, 'bin', 'python'), pip, { what: 'fetching kserve' })
  writeFileSync(complete, '')
}

await main(async () => {
  console.log(JSON.stringify(await ensureKServe()))
})
