// @ts-check
// Python with what bench/vision.ts measures beside, in an ignored environment of its own. TRT_BENCH_PYTHON names one that has it already.
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Failure, root, runQuietly, say, withLock } from './support.mjs'
import { pythonWithPip } from './wheels.mjs'

/** Those that the oracles of test/vision/oracles were recorded with. */
const packages = ['Pillow==13.0.0', 'opencv-python-headless==5.0.0.93', 'torch==2.15.0', 'torchvision==0.29.2']

/** @returns {Promise<{ path?: string, reason?: string }>} */
export const ensureVisionPython = async () => {
  const given = process.env['TRT_BENCH_PYTHON']
  if (given) return { path: given }
  const python = pythonWithPip()
  if (!python) return { reason: 'this bench needs Python 3 with pip and venv (Debian: apt-get install python3-venv)' }
  const folder = join(root, '.cache', 'vision-python')
  const complete = join(folder, 'complete')
  try {
    await withLock('vision-python', async () => {
      if (!existsSync(complete)) await make(python, folder, complete)
    })
    return { path: join(folder, 'bin', 'python') }
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return { reason: `Python's ${packages.join(', ')} could not be had: ${error.message}` }
  }
}

const make = async (/** @type {string} */ python, /** @type {string} */ folder, /** @type {string} */ complete) => {
  say('fetching OpenCV, Pillow, torch and torchvision (5 GB, once) …')
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  await runQuietly(python, ['-m', 'venv', folder], { what: 'making an environment for Python' })
  await runQuietly(join(folder, 'bin', 'python'), ['-m', 'pip', 'install', '--quiet', ...packages], { what: 'fetching them' })
  writeFileSync(complete, packages.join('\n'))
}
