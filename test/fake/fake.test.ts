// The fakes themselves: their C++ self-test for both families, and what TypeScript adds.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { buildFakes } from './build.js'
import { controlFakes } from './control.js'

const run = promisify(execFile)
const fakes = await buildFakes()

for (const family of [10, 11]) {
  t.test(`self-test of family ${family}`, async (t) => {
    const { stdout } = await run(join(fakes.folder, `selftest${family}`), [fakes.folder]).catch(
      (error: unknown) => error as { stdout: string },
    )
    t.match(stdout, /^\d+ checks, 0 failed$/m)
    t.notMatch(stdout, /not ok/)
  })
}

t.test('control', (t) => {
  const { driver, trt10, trt11 } = controlFakes(fakes)
  driver.set({ copyMs: 5, clock: 'virtual' })
  driver.failNth('cuInit', 1, 100)
  driver.reset()
  t.same(driver.stats().calls, {})
  t.equal(driver.stats().streams, 0)
  t.throws(() => driver.set({ nonsense: 1 } as never), /nonsense/)
  for (const { runtime, parser } of [trt10, trt11]) {
    t.same(runtime.stats().live.engines, 0)
    t.same(parser.stats().traps, [])
  }
  t.end()
})
