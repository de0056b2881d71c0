// @ts-check
// The execution core with a sanitizer, without Node: on the fakes, and on the real onnxruntime. npm run test:tsan and npm run test:asan begin with it; alone:
// node scripts/test-core.mjs [--sanitize=address]
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import { argv } from 'node:process'
import { pathToFileURL } from 'node:url'
import { buildFakes } from './fakes.mjs'
import { Failure, main, root, say } from './support.mjs'

/** What the thread sanitizer reports of glibc and is none: it hands the thread-local memory of a thread that ended to the next one. */
export const glibcRaces = ['race:_dl_deallocate_tls']

/** @typedef {'address' | 'thread'} Sanitizer */

/** @param {Sanitizer} sanitize */
export async function testCore(sanitize) {
  if (process.platform !== 'linux') throw new Failure('the execution core is built on Linux only')
  const fakes = await buildFakes(sanitize)
  const core = build('core', sanitize)
  const env = { NODE_TENSORRT_LIBCUDA: join(fakes, 'libcuda.so.1') }
  run('the core on trt10', core, [join(fakes, 'trt10')], sanitize, env)
  // threads are the same on both: under that sanitizer, which takes ten times as long, the whole of it runs once
  run('the core on trt11', core, [join(fakes, 'trt11'), ...(sanitize === 'thread' ? ['life: '] : [])], sanitize, env)
  run('the core on TensorRT-RTX', core, [join(fakes, 'rtx17'), 'rtx: '], sanitize, env)
  run('the core on onnxruntime', build('cpu', sanitize), [onnxruntime()], sanitize)
}

/**
 * @param {'core' | 'cpu'} name
 * @param {Sanitizer} sanitize
 * @returns {string} the program
 */
function build(name, sanitize) {
  const folder = join(root, 'build', `${name}-${sanitize}`)
  say(`building ${name}_test (${sanitize} sanitizer)`)
  cmake('-S', `test/native/${name}`, '-B', folder, `-DSANITIZE=${sanitize}`)
  cmake('--build', folder, '--parallel', String(Math.min(availableParallelism(), 4)))
  return join(folder, `${name}_test`)
}

/**
 * @param {string} what
 * @param {string} program
 * @param {string[]} args
 * @param {Sanitizer} sanitize
 * @param {Record<string, string>} [env]
 */
function run(what, program, args, sanitize, env = {}) {
  say(`${what}, ${sanitize} sanitizer`)
  const suppressions = join(dirname(program), 'suppressions')
  writeFileSync(suppressions, glibcRaces.join('\n'))
  // GCC's runtimes misread thread-local memory of a library that dlopen brought, once many threads have come and gone: the search for leaks then dies of it ("Tracer caught signal 11").
  const tls = 'intercept_tls_get_addr=0'
  const checks = {
    ASAN_OPTIONS: `detect_leaks=1:detect_stack_use_after_return=1:${tls}`,
    UBSAN_OPTIONS: 'print_stacktrace=1:halt_on_error=1',
    TSAN_OPTIONS: `halt_on_error=1:second_deadlock_stack=1:${tls}:suppressions=${suppressions}`,
  }
  const { status } = spawnSync(program, args, { env: { ...process.env, ...checks, ...env }, stdio: 'inherit' })
  if (status !== 0) throw new Failure(`${what} failed with the ${sanitize} sanitizer`)
}

/** The library that the package onnxruntime-node brings. */
function onnxruntime() {
  const manifest = createRequire(import.meta.url).resolve('onnxruntime-node/package.json')
  return join(dirname(manifest), 'bin', 'napi-v6', 'linux', process.arch, 'libonnxruntime.so.1')
}

/** @param {string[]} args */
function cmake(...args) {
  const { status, stdout, stderr } = spawnSync('cmake', args, { cwd: root, encoding: 'utf8', maxBuffer: 1 << 26 })
  if (status !== 0) throw new Failure(`cmake ${args.join(' ')} failed\n${stdout}${stderr}`)
}

if (import.meta.url === pathToFileURL(argv[1] ?? '').href) {
  await main(async () => {
    await testCore(argv.includes('--sanitize=address') ? 'address' : 'thread')
  })
}
