// The execution core without Node: its C++ cases, for both families, each an assertion here.
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { buildFakes, root } from '../fake/build.js'

t.setTimeout(600_000) // it compiles the fakes and the core first, on a machine that may be busy
const run = promisify(execFile)
const options = { maxBuffer: 1 << 26 }
const fakes = await buildFakes()
const folder = join(root, 'build', 'core')
mkdirSync(folder, { recursive: true })
if (!existsSync(join(folder, 'CMakeCache.txt'))) await run('cmake', ['-S', join(root, 'test', 'native', 'core'), '-B', folder], options)
await run('cmake', ['--build', folder, '--parallel', '2'], options)

for (const [family, path] of [
  ['TensorRT 10', fakes.trt10],
  ['TensorRT 11', fakes.trt11],
] as const) {
  t.test(`the core on ${family}`, { timeout: 180_000 }, async (t) => {
    const { stdout } = await run(join(folder, 'core_test'), [path], {
      ...options,
      env: { ...process.env, NODE_TENSORRT_LIBCUDA: fakes.cuda },
    }).catch((error: unknown) => error as { stdout: string })
    const lines = stdout.split('\n')
    for (const [index, line] of lines.entries()) {
      const found = /^(ok|not ok) (?:\d+ - )?(.*)$/.exec(line)
      if (!found) continue
      const rest = lines.slice(index + 1)
      const end = rest.findIndex((each) => !each.startsWith('  # '))
      t.ok(found[1] === 'ok', found[2] ?? '', { reasons: rest.slice(0, end) })
    }
    t.match(stdout, /^# \d+ cases, \d+ checks, 0 failed$/m, 'it came to its end')
  })
}
