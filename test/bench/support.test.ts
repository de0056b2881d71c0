// What all benches share: rows that are printed as they are measured, parts that fail, and the verdicts of --against.
import { chmodSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { compare, type Pair, studentT } from '../../bench/support/compare.js'
import { type PartRow, row } from '../../bench/support/report.js'
import { rowsOf } from '../../bench/support/parts.js'
import { callRate } from '../../bench/support/serve/h2load.js'
import { packageRoot } from '../../lib/base/package.js'
import { runNode } from '../support/children.js'
import { Random } from '../support/random.js'

const support = pathToFileURL(join(packageRoot(), 'dist', 'bench', 'support')).href
const program = `
import { runParts } from '${support}/parts.js'
import { row } from '${support}/report.js'
const parts = {
  first: async () => [row('time', 'ms', 2, 1, { of: 'ratio', sign: '<=', value: 1 }, '')],
  broken: async function* () {
    yield row('count before', 'calls', 1, null, { of: 'ours', sign: '=', value: 1 }, '')
    throw new Error('no device')
  },
  last: async () => [row('count', 'calls', 3, null, { of: 'ours', sign: '=', value: 4 }, '')],
}
const names = process.argv.slice(1).filter((word) => !word.startsWith('--'))
await runParts(parts, names, { bench: 'sample', machine: { cpu: 'a CPU' }, json: process.argv.includes('--json') })
`
const run = (...args: string[]) => runNode(['--input-type=module', '-e', program, '--', ...args])

t.test('a part that throws becomes a row, the other parts still run, and the exit code is 1', async (t) => {
  const { code, stdout, stderr } = await run('--json')
  t.equal(code, 1)
  const lines = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
  t.match(lines, [
    { bench: 'sample', machine: { cpu: 'a CPU' }, quick: false },
    { part: 'first', what: 'time', ratio: 2, goal: '<= 1 x', ok: false, better: 'lower' },
    { part: 'broken', what: 'count before', ok: true },
    { part: 'broken', what: 'broken', ours: null, ok: false, failed: 'no device', note: 'failed: no device' },
    { part: 'last', what: 'count', goal: '= 4 calls', ok: false, better: 'equal' },
  ])
  t.match(stderr, /Error: no device\n +at /)
  const rows = rowsOf(stdout)
  t.same(
    rows.map(({ what }) => what),
    ['time', 'count before', 'broken', 'count'],
  )
  t.ok(Number.isNaN(rows[2]?.ours))
})

t.test('people read a line for each row, and the table at the end', async (t) => {
  const { code, stdout } = await run('first', 'broken')
  t.equal(code, 1)
  const lines = stdout.split('\n')
  t.same(lines.slice(0, 5), [
    'sample',
    '  cpu      a CPU',
    'MISSED time: 2 ms, peer 1 ms, 2 x (goal <= 1 x)',
    'ok     count before: 1 calls (goal = 1 calls)',
    'FAILED broken: no device',
  ])
  t.equal(lines.at(-2), '1 of 3 goals missed, 1 part failed')
})

t.test('--quick judges only counts; named parts run alone, and an unknown name is an error', async (t) => {
  const { code, stdout } = await run('--json', '--quick', 'last', 'first')
  t.equal(code, 0)
  t.match(rowsOf(stdout), [
    { part: 'first', goal: '-', ok: true },
    { part: 'last', goal: '= 4 calls', ok: false },
  ])
  const unknown = await run('none')
  t.match(unknown, {
    code: 1,
    stdout: '',
    stderr: /part of the bench sample \(first, broken, last\) but received none/,
  })
})

t.test('reads the document that benches printed before they printed lines', (t) => {
  const rows = [{ what: 'a call', ours: 2 }]
  t.match(rowsOf(JSON.stringify({ bench: 'core', machine: {}, rows }, null, 2)), rows)
  t.end()
})

t.test('Student’s t is that of the tables', (t) => {
  for (const [degrees, quantile] of [
    [6, 2.4469],
    [10, 2.2281],
    [20, 2.086],
    [120, 1.9799],
  ] as const)
    t.ok(Math.abs(studentT(degrees) - quantile) < 5e-4, `${degrees}: ${studentT(degrees)}`)
  t.end()
})

/** Rounds on a machine that drifts: both figures of a round are off by the same factor, and a little by themselves. */
function roundsOf(count: number, factor: number, noise: number): Pair[] {
  const random = new Random(7)
  return Array.from({ length: count }, () => {
    const drift = 1 + random.next()
    const jitter = (): number => 1 + noise * (random.next() - 0.5)
    return { here: 10 * factor * drift * jitter(), commit: 10 * drift * jitter() }
  })
}

t.test('verdicts on known figures', (t) => {
  const lower = { better: 'lower' } as const
  const higher = { better: 'higher' } as const
  const verdict = (pairs: readonly Pair[], of: Parameters<typeof compare>[1]) => compare(pairs, of).verdict
  t.equal(verdict(roundsOf(7, 1, 0.02), lower), 'same')
  t.equal(verdict(roundsOf(7, 1.02, 0.01), lower), 'same', 'two percent are tolerated')
  t.equal(verdict(roundsOf(7, 1.06, 0.02), lower), 'worse')
  t.equal(verdict(roundsOf(7, 0.9, 0.02), lower), 'better')
  t.equal(verdict(roundsOf(7, 1, 0.4), lower), 'unclear', 'a wide interval')
  t.equal(verdict(roundsOf(7, 2, 0.4), lower), 'worse', 'a wide interval that lies wholly beyond the limit')
  t.equal(verdict(roundsOf(7, 1.06, 0.02), higher), 'better')
  t.equal(verdict(roundsOf(7, 0.9, 0.02), higher), 'worse')
  t.equal(verdict(roundsOf(1, 1, 0), lower), 'unclear', 'one round has no interval')
  t.equal(verdict([], lower), 'unclear')

  const counts = (here: number, commit: number): Pair[] => Array.from({ length: 7 }, () => ({ here, commit }))
  t.equal(verdict(counts(4, 4), { better: 'equal' }), 'same')
  t.equal(verdict(counts(3, 4), { better: 'equal' }), 'worse', 'fewer are as wrong as more')
  t.equal(verdict(counts(0, 0), lower), 'same')
  t.equal(verdict(counts(1, 0), lower), 'worse')
  t.equal(verdict([...counts(1, 1), { here: NaN, commit: 1 }], lower), 'unclear', 'a missing figure')
  t.end()
})

t.test('the interval is that of the paired logarithms, whatever the machine drifts by', (t) => {
  const ratios = [1.01, 1.02, 0.99, 1.0, 1.03, 1.01, 1.02]
  const pairs = ratios.map((ratio, i) => ({ here: ratio * (i + 1), commit: i + 1 }))
  // mean 0.011288, deviation 0.013324 of the logarithms; 2.4469 x 0.013324 / sqrt(7) = 0.012322
  const { ratio, low, high } = compare(pairs, { better: 'lower' })
  t.ok(Math.abs(ratio - 1.01) < 1e-9)
  t.ok(Math.abs(Math.log(low) - (0.011288 - 0.012322)) < 1e-5, String(low))
  t.ok(Math.abs(Math.log(high) - (0.011288 + 0.012322)) < 1e-5, String(high))
  t.end()
})

t.test('remainders near zero are compared in parts of their bound', (t) => {
  const delay = row('delay', 'ms', 0.1, 0, { of: 'ours', sign: '<', value: 2, isRemainder: true }, '') as PartRow
  const noisy = [0.05, -0.01, 0.02, 0.03, 0, 0.04, 0.01].map((here, i) => ({ here, commit: 0.03 - 0.005 * i }))
  t.equal(compare(noisy, { better: 'lower' }).verdict, 'unclear', 'their ratio says nothing')
  t.equal(compare(noisy, delay).verdict, 'same')
  t.equal(
    compare(
      noisy.map(({ here, commit }) => ({ here: here + 0.2, commit })),
      delay,
    ).verdict,
    'worse',
  )
  t.end()
})

t.test('h2load is run once more if its time was over before it connected', async (t) => {
  const folder = t.testdir({})
  const [log, program] = [join(folder, 'log'), join(folder, 'h2load')]
  const printed = (count: number): string => `requests: ${count} total, ${count} done, ${count} succeeded, 0 failed`
  const answering = (first: string, then: string): void => {
    const script = `#!/bin/sh\necho >>'${log}'\n[ $(wc -l <'${log}') = 1 ] && echo '${first}' || echo '${then}'\n`
    writeFileSync(log, '')
    writeFileSync(program, script)
    chmodSync(program, 0o755)
  }
  const path = process.env['PATH'] ?? ''
  process.env['PATH'] = `${folder}${delimiter}${path}`
  t.teardown(() => (process.env['PATH'] = path))
  const rate = callRate('http://127.0.0.1:1', { path: '/call', frame: Buffer.alloc(5) }, 1, 2)
  answering(printed(0), printed(50))
  t.equal(await rate(), 25)
  answering(printed(0), printed(0))
  await t.rejects(rate(), /h2load got no answer from http:\/\/127\.0\.0\.1:1: requests: 0 total/)
})
