// @ts-check
// npm test [-- NAMES...]   the first tier, or the files (of any tier) with these words in their path
// npm run test:slow        the second tier: the files called *.slow.test.ts
// npm run test:all         both, with the gate on coverage;   npm run test:long: both, with larger sizes
// npm run test:gpu         what needs a GPU
// --coverage=keep          collects the coverage of this run for the next;   --coverage=gate: and checks that of both together
import { existsSync } from 'node:fs'
import { join, relative } from 'node:path'
import { argv, env, platform } from 'node:process'
import { buildAll } from './build.mjs'
import { ensureCenterFace } from './centerface.mjs'
import { checkCoverage, forgetCoverage, keepCoverage } from './coverage.mjs'
import { buildFakes } from './fakes.mjs'
import { ensurePythonOnnxRuntime } from './onnxruntime.mjs'
import { isAllowed } from './skips.mjs'
import { Failure, filesUnder, main, root, say } from './support.mjs'
import { runTap } from './tap.mjs'
import { ensureTensorRT } from './tensorrt.mjs'

const begun = Date.now()
const tiers = ['fast', 'slow', 'all', 'gpu']
const known = ['--long', '--coverage=keep', '--coverage=gate', ...tiers.map((tier) => `--tier=${tier}`)]
const option = (/** @type {string} */ name) => argv.findLast((word) => word.startsWith(`--${name}=`))?.split('=')[1]
const long = argv.includes('--long')
const tier = option('tier') ?? 'fast'
const wanted = argv.slice(2).filter((word) => !word.startsWith('--'))
/** Of some files it would say nothing. */
const coverage = wanted.length > 0 ? undefined : option('coverage')

await main(async () => {
  const unknown = argv.slice(2).find((word) => word.startsWith('--') && !known.includes(word))
  if (unknown) throw new Failure(`unknown option ${unknown}; known: ${known.join(', ')}`)
  if (tier === 'gpu' && !hasGpu())
    throw new Failure(
      'npm run test:gpu: this machine has no NVIDIA GPU (no /dev/nvidia0, /dev/dxg or /dev/nvhost-gpu), so nothing was tested',
    )
  await buildAll()
  const needed = { ...(await tensorRT()), ...(await fakes()), ...(long ? { TRT_TEST_LONG: '1' } : {}) }
  if (coverage === 'keep' || tier === 'all') forgetCoverage()
  const totals = await runTap(testFiles(), {
    // Of each test, on a machine that may be busy with others.
    timeoutSeconds: long || tier === 'gpu' ? 1800 : 900,
    coverage: coverage !== undefined,
    env: needed,
  })
  const problems = [coverage ? failureOf(() => gate(coverage)) : undefined, ...(env['CI'] ? skippedWithoutReason(totals.skips) : [])]
  const seconds = Math.round((Date.now() - begun) / 1000)
  console.log(`\n${Math.floor(seconds / 60)} min ${seconds % 60} s`)
  const told = problems.filter((problem) => problem !== undefined)
  for (const problem of told) console.log(problem)
  if (totals.passed + totals.failed === 0) console.log('no test ran')
  console.log(`${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`)
  process.exitCode = totals.failed > 0 || totals.passed === 0 || told.length > 0 ? 1 : 0
})

function gate(/** @type {string} */ what) {
  keepCoverage(tier)
  if (what === 'gate') checkCoverage(tier === 'all' ? ['all'] : ['fast', 'slow'])
}

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

function skippedWithoutReason(/** @type {import('./tap.mjs').Totals['skips']} */ skips) {
  return skips
    .filter((skip) => !isAllowed(skip))
    .map(({ title, reason }) => `skipped for a reason that scripts/skips.mjs does not allow: ${title} (${reason})`)
}

/** On a GPU the tests choose their TensorRT themselves: the one that is installed there, or that TENSORRT_PATH names. */
async function tensorRT() {
  if (tier === 'gpu') return {}
  const needed = {
    TENSORRT_PATH: await ensureTensorRT(),
    TRT_TEST_CENTERFACE: await ensureCenterFace(),
    TRT_TEST_PYTHONPATH: await ensurePythonOnnxRuntime(),
  }
  /** @type {Record<string, string>} */
  const had = {}
  for (const [name, { path, reason }] of Object.entries(needed)) {
    if (path) had[name] = path
    else say(`${reason}\nThe tests that need it will be skipped.`)
  }
  return had
}

async function fakes() {
  return platform === 'linux' ? { NODE_TENSORRT_FAKES: await buildFakes() } : {}
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
  if (wanted.length > 0)
    return all.filter((path) => wanted.some((word) => path.includes(word.replace(/\.ts$/, '.js').replace(/^\.\//, ''))))
  return all.filter((path) => tier === tierOf(path) || (tier === 'all' && tierOf(path) !== 'gpu'))
}

function tierOf(/** @type {string} */ path) {
  if (path.startsWith('dist/test/gpu/')) return 'gpu'
  return path.endsWith('.slow.test.js') ? 'slow' : 'fast'
}
