// @ts-check
// The execution core and the fakes with a sanitizer, without Node. npm run test:tsan and npm run test:asan begin with it; alone:
// node scripts/test-core.mjs [--sanitize=address]
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { argv } from 'node:process'
import { pathToFileURL } from 'node:url'
import { buildFakes } from './fakes.mjs'
import { Failure, main, root, say } from './support.mjs'

/** What the thread sanitizer reports of glibc and is none: it hands the thread-local memory of a thread that ended to the next one. */
export const glibcRaces = ['race:_dl_deallocate_tls']

/** @param {'address' | 'thread'} sanitize */
export async function testCore(sanitize) {
  if (process.platform !== 'linux') throw new Failure('the execution core is built on Linux only')
  const fakes = await buildFakes(sanitize)
  const core = join(root, 'build', `core-${sanitize}`)
  say(`building the core (${sanitize} sanitizer)`)
  run('cmake', ['-S', 'test/native/core', '-B', core, `-DSANITIZE=${sanitize}`])
  run('cmake', ['--build', core, '--parallel', String(Math.min(availableParallelism(), 4))])
  const suppressions = join(core, 'suppressions')
  writeFileSync(suppressions, glibcRaces.join('\n'))
  for (const family of ['trt10', 'trt11']) {
    say(`the core on ${family}, ${sanitize} sanitizer`)
    const env = {
      ...process.env,
      NODE_TENSORRT_LIBCUDA: join(fakes, 'libcuda.so.1'),
      ASAN_OPTIONS: 'detect_leaks=1:detect_stack_use_after_return=1',
      UBSAN_OPTIONS: 'print_stacktrace=1:halt_on_error=1',
      // GCC's runtime misreads thread-local memory of a library that dlopen brought, once many threads have come and gone.
      TSAN_OPTIONS: `halt_on_error=1:second_deadlock_stack=1:intercept_tls_get_addr=0:suppressions=${suppressions}`,
    }
    const { status } = spawnSync(join(core, 'core_test'), [join(fakes, family)], { env, stdio: 'inherit' })
    if (status !== 0) throw new Failure(`the core on ${family} failed with the ${sanitize} sanitizer`)
  }
}

/**
 * @param {string} command
 * @param {string[]} args
 */
function run(command, args) {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: root, encoding: 'utf8', maxBuffer: 1 << 26 })
  if (status !== 0) throw new Failure(`${command} ${args.join(' ')} failed\n${stdout}${stderr}`)
}

if (import.meta.url === pathToFileURL(argv[1] ?? '').href) {
  await main(async () => {
    await testCore(argv.includes('--sanitize=address') ? 'address' : 'thread')
  })
}
