// @ts-check
// The execution core with a sanitizer, without Node: on the fakes, and on the real onnxruntime. npm run test:tsan and
// npm run test:asan begin with it; alone: node scripts/test-core.mjs [--sanitize=address]
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { argv } from 'node:process'
import { pathToFileURL } from 'node:url'
import { buildCases } from './build.mjs'
import { buildFakes } from './fakes.mjs'
import { atOnce, collect, Failure, main, say } from './support.mjs'

/**
 * What the thread sanitizer reports of glibc and is none: it hands the thread-local memory of a thread that ended to
 * the next one.
 */
export const glibcRaces = ['race:_dl_deallocate_tls']

/** @typedef {'address' | 'thread'} Sanitizer */

/**
 * @param {Sanitizer} sanitize
 * @param {{ whole?: boolean }} [options] `whole`: all cases on each family, where the thread sanitizer otherwise has a
 * part of them
 */
export async function testCore(sanitize, { whole = sanitize === 'address' } = {}) {
  if (process.platform !== 'linux') throw new Failure('the execution core is built on Linux only')
  // Of the fakes themselves only the thread sanitizer has to see: what is atomic orders what else they do.
  const fakes = await buildFakes(sanitize === 'thread' ? sanitize : undefined)
  const folder = await buildCases(sanitize)
  const onFakes = (/** @type {string} */ name, /** @type {string[]} */ ...parts) => ({
    program: join(folder, 'core_test'),
    args: [join(fakes, name), ...parts],
    env: { NODE_TENSORRT_LIBCUDA: join(fakes, 'libcuda.so.1') },
  })
  const runs = [
    { what: 'the core on trt10', ...onFakes('trt10') },
    // threads are the same on both: under that sanitizer, which takes ten times as long, the whole of it runs once
    { what: 'the core on trt11', ...onFakes('trt11', ...(whole ? [] : ['life: '])) },
    { what: 'the core on TensorRT-RTX', ...onFakes('rtx17', 'rtx: ') },
    { what: 'the core on onnxruntime', program: join(folder, 'cpu_test'), args: [onnxruntime()], env: {} },
  ]
  const suppressions = join(folder, 'suppressions')
  writeFileSync(suppressions, glibcRaces.join('\n'))
  const outcomes = await atOnce(runs, async ({ what, program, args, env }) => {
    say(`${what}, ${sanitize} sanitizer: begins; what it says comes at its end`)
    const { code, output } = await collect(program, args, {
      env: { ...checks(suppressions), ...(whole ? { CORE_TEST_WHOLE: '1' } : {}), ...env },
    })
    say(`${what}, ${sanitize} sanitizer\n${output.trimEnd()}`)
    return code === 0 ? undefined : `${what} failed with the ${sanitize} sanitizer (${code})`
  })
  const failed = outcomes.filter((outcome) => outcome !== undefined)
  if (failed.length > 0) throw new Failure(failed.join('\n'))
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

/** The library that the package onnxruntime-node brings. */
function onnxruntime() {
  const manifest = createRequire(import.meta.url).resolve('onnxruntime-node/package.json')
  return join(dirname(manifest), 'bin', 'napi-v6', 'linux', process.arch, 'libonnxruntime.so.1')
}

if (import.meta.url === pathToFileURL(argv[1] ?? '').href) {
  await main(async () => {
    await testCore(argv.includes('--sanitize=address') ? 'address' : 'thread')
  })
}
