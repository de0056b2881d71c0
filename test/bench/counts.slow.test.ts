// The counts of benches, which no load of the machine changes, and the options of `bench tasks`: see also
// quick.long.test.ts.
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { rowsOf } from '../../bench/support/parts.js'
import { packageRoot } from '../../lib/base/package.js'
import { runNode } from '../support/children.js'
import { centerFacePath, skipWithoutCenterFace } from '../support/tensorrt.js'

/** Runs a bench that is built, and asserts that none of its parts failed and that it counted what it should. */
async function bench(t: Test, name: string, args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const program = join(packageRoot(), 'dist', 'bench', `${name}.js`)
  const { code, stdout, stderr } = await runNode([program, '--json', ...args], undefined, undefined, env)
  t.equal(code, 0)
  if (code !== 0) t.comment(stderr)
  const rows = stdout === '' ? [] : rowsOf(stdout)
  t.same(
    rows.filter(({ ok }) => !ok),
    [],
  )
  return rows
}

t.test('the execution core: copies, pinned memory, batches, counters, cancels', async (t) => {
  const rows = await bench(t, 'core', ['--quick', 'copies', 'pinned', 'batching', 'counters', 'cancels'])
  const judged = rows.filter(({ goal }) => goal !== '-')
  t.same(
    judged.map(({ part, ours }) => [part, part === 'pinned' ? 'at most 64 MiB' : ours]),
    [
      ['copies', 1],
      ['copies', 0],
      ['pinned', 'at most 64 MiB'],
      ['batching', 4],
      ['counters', 0],
      ['cancels', 4096],
    ],
  )
})

t.test('each part of bench tasks opens its engines with its options', { skip: skipWithoutCenterFace }, async (t) => {
  const rows = await bench(t, 'tasks', ['--dry'], { TRT_BENCH_CENTERFACE: centerFacePath })
  t.same(
    rows.map(({ part, ours }) => [part, ours]),
    [
      ['classification', 1],
      ['faces', 2],
      ['large', 1],
      ['inside', 3],
    ],
  )
})
