// @ts-check
// npm test [-- NAMES...]: the first tier, or the files of any tier with these words in their path.
// npm run test:all: the first and the second tier, as .ci/run has them.
// npm run test:gpu [-- PROGRAM...]: the checks of test/gpu on the GPU of this machine (docs/design/gpu-checks.md); what
// they found, and recordings, are in build/gpu.
// --room=NAME: all files of a folder of test/, of all tiers; --long: with the large sizes; both are for test:long.
// --coverage: also checks that of lib/. --seconds=keep: writes how long the files took into test/seconds.json.
// docs/testing.md tells what the tiers hold.
import { existsSync, rmSync } from 'node:fs'
import { join, relative } from 'node:path'
import { argv, env, execPath } from 'node:process'
import { buildAddon, buildLib } from './build.mjs'
import { checkCoverage } from './coverage.mjs'
import { runFiles } from './runner.mjs'
import { isAllowed } from './skips.mjs'
import { compilerCount } from './slots.mjs'
import { Failure, filesUnder, main, root, runHere } from './support.mjs'
import { fakesVariable, needsOf, prepare } from './test-needs.mjs'

const begun = Date.now()
const tiers = ['fast', 'slow', 'all', 'gpu']
const known = ['--long', '--coverage', '--seconds=keep', ...tiers.map((tier) => `--tier=${tier}`)]
const option = (/** @type {string} */ name) => argv.findLast((word) => word.startsWith(`--${name}=`))?.split('=')[1]
const long = argv.includes('--long')
const tier = option('tier') ?? 'fast'
const room = option('room')
const wanted = argv.slice(2).filter((word) => !word.startsWith('--'))
/** Not only some files, of which the coverage would say nothing. */
const isWhole = wanted.length === 0 && room === undefined
const coverage = wanted.length === 0 && argv.includes('--coverage')
/** @type {Promise<void> | undefined} */
let addon

await main(async () => {
  const unknown = argv
    .slice(2)
    .find((word) => word.startsWith('--') && !known.includes(word) && !/^--(room|node)=./.test(word))
  if (unknown) throw new Failure(`unknown option ${unknown}; known: ${known.join(', ')}, --room=NAME, --node=PATH`)
  if (tier === 'gpu' && !hasGpu())
    throw new Failure(
      'npm run test:gpu: this machine has no NVIDIA GPU (no /dev/nvidia0, /dev/dxg or /dev/nvhost-gpu), so nothing was tested',
    )
  // What files need is known once they are compiled; a whole tier needs the addon.
  if (isWhole) beginAddon().catch(() => undefined)
  await buildLib()
  if (tier === 'gpu') {
    await beginAddon()
    process.exitCode = await runGpuChecks()
    return
  }
  const totals = await runFiles(testFiles(), {
    timeoutSeconds: long ? 1800 : 600,
    env: long ? { TRT_TEST_LONG: '1' } : {},
    prepare: (file) => provided(needsOf(file)),
    coverage,
    ...(argv.includes('--seconds=keep') ? { seconds: 'keep' } : long || coverage ? {} : { seconds: 'last' }),
    node: option('node') ?? execPath,
  })
  const problems = [...(coverage ? gate() : []), ...(env['CI'] ? skippedWithoutReason(totals.skips) : [])]
  const seconds = Math.round((Date.now() - begun) / 1000)
  console.log(`\n${Math.floor(seconds / 60)} min ${seconds % 60} s`)
  for (const problem of problems) console.log(problem)
  const none = totals.passed + totals.failed + totals.skipped === 0
  if (none) console.log('no test ran')
  console.log(`${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`)
  process.exitCode = totals.failed > 0 || none || problems.length > 0 ? 1 : 0
})

/** Builds the addon once. The files that wait for it throw its failure. */
function beginAddon() {
  return (addon ??= buildAddon())
}

/**
 * @param {import('./test-needs.mjs').Needs} needs
 * @returns {Promise<Record<string, string>>} the environment of a file, as soon as all that it needs is there
 */
async function provided({ addon: needsAddon, variables }) {
  const fetched = prepare(variables.filter((variable) => variable !== fakesVariable))
  const addonBuilt = needsAddon ? beginAddon() : undefined
  const fakes = async () => {
    // two processors compile the addon first, as most files need only that
    if (compilerCount() <= 2) await addonBuilt
    return await prepare([fakesVariable])
  }
  const [others, own] = await Promise.all([fetched, variables.includes(fakesVariable) ? fakes() : {}, addonBuilt])
  return { ...others, ...own }
}

/** @returns {string[]} the message of the failure, if it is one */
function gate() {
  try {
    checkCoverage()
    return []
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return [error.message]
  }
}

function skippedWithoutReason(/** @type {import('./tap.mjs').Skip[]} */ skips) {
  return skips
    .filter((skip) => !isAllowed(skip))
    .map(({ title, reason }) => `skipped for a reason that scripts/skips.mjs does not allow: ${title} (${reason})`)
}

/** @returns {Promise<number>} the exit code */
async function runGpuChecks() {
  const program = (/** @type {string} */ name) => join(root, 'dist', 'test', 'gpu', name)
  const folder = join(root, 'build', 'gpu')
  const [references, out] = [join(folder, 'references'), join(folder, 'results')]
  rmSync(folder, { recursive: true, force: true })
  const made = await runHere(execPath, [program('references.js'), references])
  return made || (await runHere(execPath, [program('run.js'), '--references', references, '--out', out, ...wanted]))
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
  if (room !== undefined) return all.filter((path) => path.startsWith(`dist/test/${room}/`))
  if (wanted.length > 0)
    return all.filter((path) => wanted.some((word) => path.includes(word.replace(/\.ts$/, '.js').replace(/^\.\//, ''))))
  return all.filter((path) => tier === tierOf(path) || (tier === 'all' && ['fast', 'slow'].includes(tierOf(path))))
}

/** The file's name says it: NAME.slow.test.ts is of the second tier, NAME.long.test.ts of test:long alone. */
function tierOf(/** @type {string} */ path) {
  return /\.(slow|long)\.test\.js$/.exec(path)?.[1] ?? 'fast'
}
