// @ts-check
// npm test [-- files...]   all tests but those for a GPU, with the gate on coverage; with files (or parts of their names) those alone, without it
// npm run test:long        the same with larger sizes;   npm run test:gpu: the tests that need a GPU
import { existsSync } from 'node:fs'
import { join, relative } from 'node:path'
import { argv } from 'node:process'
import { buildAll } from './build.mjs'
import { ensureCenterFace } from './centerface.mjs'
import { checkCoverage } from './coverage.mjs'
import { Failure, filesUnder, main, root, say } from './support.mjs'
import { runTap } from './tap.mjs'
import { ensureTensorRT } from './tensorrt.mjs'

const begun = Date.now()
const long = argv.includes('--long')
const gpu = argv.includes('--gpu')
const wanted = argv.slice(2).filter((word) => !word.startsWith('--'))

await main(async () => {
  const unknown = argv.slice(2).find((word) => word.startsWith('--') && !['--long', '--gpu'].includes(word))
  if (unknown) throw new Failure(`unknown option ${unknown}`)
  if (gpu && !hasGpu())
    throw new Failure(
      'npm run test:gpu: this machine has no NVIDIA GPU (no /dev/nvidia0, /dev/dxg or /dev/nvhost-gpu), so nothing was tested',
    )
  await buildAll()
  const env = { ...(await tensorRT()), ...(long ? { TRT_TEST_LONG: '1' } : {}) }
  const coverage = wanted.length === 0 && !gpu
  const totals = await runTap(testFiles(), { timeoutSeconds: long || gpu ? 900 : 120, coverage, env })
  const problem = coverage ? failureOf(checkCoverage) : undefined
  const seconds = Math.round((Date.now() - begun) / 1000)
  console.log(`\n${Math.floor(seconds / 60)} min ${seconds % 60} s`)
  if (problem) console.log(problem)
  if (totals.passed + totals.failed === 0) console.log('no test ran')
  console.log(`${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`)
  process.exitCode = totals.failed > 0 || totals.passed === 0 || problem ? 1 : 0
})

/** @returns {string | undefined} the message of the failure, if it is one */
function failureOf(/** @type {() => void} */ body) {
  try {
    body()
    return undefined
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return error.message
  }
}

/** On a GPU the tests choose their TensorRT themselves: the one that is installed there, or that TENSORRT_PATH names. */
async function tensorRT() {
  if (gpu) return {}
  const needed = { TENSORRT_PATH: await ensureTensorRT(), TRT_TEST_CENTERFACE: await ensureCenterFace() }
  /** @type {Record<string, string>} */
  const had = {}
  for (const [name, { path, reason }] of Object.entries(needed)) {
    if (path) had[name] = path
    else say(`${reason}\nThe tests that need it will be skipped.`)
  }
  return had
}

function hasGpu() {
  return ['/dev/nvidia0', '/dev/nvidiactl', '/dev/dxg', '/dev/nvhost-gpu'].some((device) => existsSync(device))
}

/** @returns {string[]} */
function testFiles() {
  const all = filesUnder(join(root, 'dist', 'test'))
    .map((path) => relative(root, path))
    .filter((path) => path.endsWith('.test.js'))
    .sort()
  const inFolder = (/** @type {string} */ path, /** @type {string} */ folder) => path.startsWith(`dist/test/${folder}/`)
  if (wanted.length > 0)
    return all.filter((path) => wanted.some((word) => path.includes(word.replace(/\.ts$/, '.js').replace(/^\.\//, ''))))
  return all.filter((path) => inFolder(path, 'gpu') === gpu && (long || !inFolder(path, 'long')))
}
