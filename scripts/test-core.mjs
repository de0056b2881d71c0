// @ts-check
// The execution core with a sanitizer, without Node: on the fakes, and on the real onnxruntime. npm run test:tsan and
// npm run test:asan run it beside their test files; alone: node scripts/test-core.mjs [--sanitize=address]
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join, relative } from 'node:path'
import { argv, env } from 'node:process'
import { pathToFileURL } from 'node:url'
import { buildCases } from './build.mjs'
import { buildFakes } from './fakes.mjs'
import { runInSlots } from './slots.mjs'
import { cacheFolder, collect, Failure, filesUnder, main, root, say } from './support.mjs'

/**
 * What the thread sanitizer reports of glibc and is none: it hands the thread-local memory of a thread that ended to
 * the next one.
 */
export const glibcRaces = ['race:_dl_deallocate_tls']

/** @typedef {'address' | 'thread'} Sanitizer */

/**
 * @typedef {object} Core
 * @property {import('./slots.mjs').Task[]} programs none if all of them passed before
 * @property {() => number} end prints what failed and returns how many; remembers that all passed
 */

/** @type {Core} */
export const noCore = { programs: [], end: () => 0 }

/**
 * Builds the programs of the execution core. If all of them have passed for the same sources, compiler and onnxruntime
 * in this user's checkouts, nothing is built and nothing runs again, unless `anew` is set.
 *
 * @param {Sanitizer} sanitize
 * @param {{ long?: boolean, anew?: boolean }} [options] `long`: all cases and faults on each family. `anew`: by default
 * if `long` or CI_ANEW=1 is set
 * @returns {Promise<Core>}
 */
export async function buildCore(sanitize, { long = false, anew = long || env['CI_ANEW'] === '1' } = {}) {
  if (process.platform !== 'linux') throw new Failure('the execution core is built on Linux only')
  const passed = passedMark(sanitize, long)
  if (!anew && existsSync(passed)) {
    say(
      `the core passed before for the same sources, so it does not run again (CI_ANEW=1 runs it): ${basename(passed)}`,
    )
    return noCore
  }
  // Of the fakes themselves only the thread sanitizer has to see: what is atomic orders what else they do.
  const fakes = await buildFakes(sanitize === 'thread' ? sanitize : undefined)
  const folder = await buildCases(sanitize)
  /** @type {string[]} */
  const failures = []
  const suppressions = join(folder, 'suppressions')
  writeFileSync(suppressions, glibcRaces.join('\n'))
  const programs = runsOf(folder, fakes, sanitize, long).map(({ what, program, args, env }) => ({
    run: async () => {
      const begun = Date.now()
      const { code, output } = await collect(program, args, {
        env: { ...checks(suppressions), ...env },
      })
      const seconds = Math.round((Date.now() - begun) / 1000)
      say(`${what}, ${sanitize} sanitizer (${seconds} s)\n${output.trimEnd()}`)
      if (code !== 0) failures.push(`${what} failed with the ${sanitize} sanitizer (${code})`)
    },
  }))
  const end = () => {
    for (const failure of failures) console.log(failure)
    if (failures.length === 0) {
      mkdirSync(dirname(passed), { recursive: true })
      writeFileSync(passed, new Date().toISOString())
    }
    return failures.length
  }
  return { programs, end }
}

/** @returns {string} the file that exists if the core has passed; its name has a digest of all that this depends on */
export function passedMark(/** @type {Sanitizer} */ sanitize, /** @type {boolean} */ long) {
  const hash = createHash('sha256')
  const scripts = ['build', 'fakes', 'test-core', 'units'].map((name) => join(root, 'scripts', `${name}.mjs`))
  const folders = ['native', 'test/native', 'test/fake', 'test/facts'].flatMap((name) => filesUnder(join(root, name)))
  const recipes = [join(root, 'CMakeLists.txt'), join(root, 'scripts', 'compile.cmake')]
  const files = [...folders.filter((path) => !path.endsWith('.ts')), ...scripts, ...recipes]
  for (const path of files.sort()) hash.update(relative(root, path)).update(readFileSync(path))
  const compiler = execFileSync('c++', ['--version'], { encoding: 'utf8' })
  const { version } = JSON.parse(readFileSync(manifest(), 'utf8'))
  hash.update(JSON.stringify([sanitize, long, compiler, version, process.arch]))
  return join(cacheFolder(), 'passed', `core-${sanitize}-${hash.digest('hex').slice(0, 16)}`)
}

/**
 * @param {string} folder of the programs
 * @param {string} fakes
 * @param {Sanitizer} sanitize
 * @param {boolean} long
 */
function runsOf(folder, fakes, sanitize, long) {
  const onFakes = (/** @type {string} */ name, /** @type {boolean} */ whole, /** @type {string[]} */ ...parts) => ({
    program: join(folder, 'core_test'),
    args: [join(fakes, name), ...parts],
    env: { NODE_TENSORRT_LIBCUDA: join(fakes, 'libcuda.so.1'), ...(whole ? { CORE_TEST_WHOLE: '1' } : {}) },
  })
  // The families differ only below native/tensorrt: all cases run on one of them, and on the other those that reach it.
  const of11 = long
    ? ['']
    : sanitize === 'address'
      ? ['answers: ', 'graphs: ', 'life: ', 'faults: TensorRT']
      : ['life: ']
  return [
    { what: 'the core on trt10', ...onFakes('trt10', long) },
    ...of11.map((part) => ({ what: 'the core on trt11', ...onFakes('trt11', long, part) })),
    { what: 'the core on onnxruntime', program: join(folder, 'cpu_test'), args: [onnxruntime()], env: {} },
    { what: 'the core on TensorRT-RTX', ...onFakes('rtx17', long, 'rtx: ') },
  ]
}

function checks(/** @type {string} */ suppressions) {
  // GCC's runtimes misread thread-local memory of a library that dlopen brought, once many threads have come and gone:
  // the search for leaks then dies of it ("Tracer caught signal 11").
  const tls = 'intercept_tls_get_addr=0'
  return {
    ASAN_OPTIONS: `detect_leaks=1:detect_stack_use_after_return=1:${tls}`,
    UBSAN_OPTIONS: 'print_stacktrace=1:halt_on_error=1',
    TSAN_OPTIONS: `halt_on_error=1:second_deadlock_stack=1:${tls}:suppressions=${suppressions}`,
  }
}

const manifest = () => createRequire(import.meta.url).resolve('onnxruntime-node/package.json')

/** The library that the package onnxruntime-node brings. */
function onnxruntime() {
  return join(dirname(manifest()), 'bin', 'napi-v6', 'linux', process.arch, 'libonnxruntime.so.1')
}

if (import.meta.url === pathToFileURL(argv[1] ?? '').href) {
  await main(async () => {
    const { programs, end } = await buildCore(argv.includes('--sanitize=address') ? 'address' : 'thread', {
      anew: true,
    })
    await runInSlots(programs)
    if (end() > 0) process.exitCode = 1
  })
}
