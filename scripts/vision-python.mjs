// @ts-check
// Python with what bench/vision.ts and bench/tasks.ts measure beside, in an environment of its own in the user's cache.
// TRT_BENCH_PYTHON names one that has it already.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cacheFolder, Failure, runQuietly, say, withLock } from './support.mjs'
import { findPython, pythonWithPip } from './wheels.mjs'

/** Those that the oracles of test/vision/oracles were recorded with. */
const packages = [
  ...['Pillow==13.0.0', 'opencv-python-headless==5.0.0.93', 'torch==2.15.0', 'torchvision==0.29.2'],
  // what deface needs; by itself it would bring another OpenCV
  ...['onnxruntime==1.31.1', 'onnx', 'imageio', 'imageio-ffmpeg', 'scikit-image', 'tqdm'],
]
const alone = ['deface==1.5.0']
/** What is in it: another listing is another environment. */
const listing = [...packages, ...alone].join('\n')

/** @returns {Promise<{ path?: string, reason?: string }>} */
export const ensureVisionPython = async () => {
  const given = process.env['TRT_BENCH_PYTHON']
  if (given) return { path: given }
  const python = pythonWithPip()
  if (!python) return { reason: 'this bench needs Python 3 with pip and venv (Debian: apt-get install python3-venv)' }
  const digest = createHash('sha256').update(`${findPython()?.version}\n${listing}`).digest('hex')
  const key = `vision-python-${digest.slice(0, 16)}`
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
    return { reason: `Python's ${listing.replaceAll('\n', ', ')} could not be had: ${error.message}` }
  }
}

const make = async (/** @type {string} */ python, /** @type {string} */ folder, /** @type {string} */ complete) => {
  say('fetching OpenCV, Pillow, torch, torchvision, onnxruntime and deface (5 GB, once) …')
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  await runQuietly(python, ['-m', 'venv', folder], { what: 'making an environment for Python' })
  const pip = ['-m', 'pip', 'install', '--quiet']
  await runQuietly(join(folder, 'bin', 'python'), [...pip, ...packages], { what: 'fetching them' })
  await runQuietly(join(folder, 'bin', 'python'), [...pip, '--no-deps', ...alone], { what: 'fetching deface' })
  writeFileSync(complete, listing)
}
