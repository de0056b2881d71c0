// node dist/test/gpu/run.js --references DIR --out DIR [--visit N] [--needs driver] [--seconds N] [--only NAME...]
// Runs the programs of programs.ts, each in a process with its own time limit, whatever became of those before it, and
// prints a line for each check. --needs leaves out programs that need more. Once --seconds are over, no program starts:
// the names of the rest are printed, for --only.
import { existsSync, mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { appendLine, type CheckLine, endCheck, readLines, resultsFile } from './check.js'
import { runLimited } from './process.js'
import { type Need, type Program, programs } from './programs.js'

const needs: readonly Need[] = ['nothing', 'driver', 'tensorrt']

const { values, positionals } = parseArgs({
  options: {
    references: { type: 'string' },
    out: { type: 'string' },
    visit: { type: 'string' },
    needs: { type: 'string' },
    seconds: { type: 'string' },
    only: { type: 'string', multiple: true },
  },
  allowPositionals: true,
})
const { references, out } = values
if (references === undefined || out === undefined) throw new Error('Expected --references DIR --out DIR.')
const only = values.only === undefined ? positionals : [...values.only, ...positionals]
const unknown = only.filter((name) => !programs.some((program) => program.name === name))
if (unknown.length > 0)
  throw new Error(
    `Expected names of ${programs.map(({ name }) => name).join(', ')} but received ${unknown.join(', ')}.`,
  )
if (values.needs !== undefined && !needs.includes(values.needs as Need))
  throw new Error(`Expected --needs of ${needs.join(', ')} but received ${values.needs}.`)

const isChosen = ({ name, visit, needs: need }: Program): boolean =>
  (only.length === 0 || only.includes(name)) &&
  (values.visit === undefined || visit === Number(values.visit)) &&
  needs.indexOf(need) <= needs.indexOf((values.needs as Need | undefined) ?? 'tensorrt')

const text = (value: unknown): string => JSON.stringify(value).slice(0, 300)

function printLine({ program, check, ok, expected, received }: CheckLine): void {
  console.log(
    `${ok ? 'ok    ' : 'FAILED'} ${program}: ${check}${ok ? '' : ` — expected ${text(expected)}, received ${text(received)}`}`,
  )
}

mkdirSync(out, { recursive: true })
const linesBefore = existsSync(resultsFile(out)) ? readLines(out).length : 0
const started = performance.now()
const secondsSpent = (): number => (performance.now() - started) / 1000
const notRun: string[] = []
let seen = linesBefore
for (const program of programs.filter(isChosen)) {
  if (values.seconds !== undefined && secondsSpent() >= Number(values.seconds)) {
    notRun.push(program.name)
    continue
  }
  const path = fileURLToPath(new URL(program.file, import.meta.url))
  const end = await runLimited([path, '--references', references, '--out', out], program.limitSeconds)
  const lines = existsSync(resultsFile(out)) ? readLines(out).slice(seen) : []
  const explained = end.code === 0 || (end.code === 1 && lines.some(({ ok }) => !ok))
  if (!explained || end.killed) {
    const expected = `exit within ${program.limitSeconds} s`
    const line = { program: program.name, check: endCheck, beliefs: [], expected, received: end, ok: false }
    appendLine(out, { ...line, versions: lines.at(-1)?.versions })
  }
  const all = existsSync(resultsFile(out)) ? readLines(out) : []
  for (const line of all.slice(seen)) printLine(line)
  seen = all.length
}
const results = existsSync(resultsFile(out)) ? readLines(out).slice(linesBefore) : []
const failed = results.filter(({ ok }) => !ok).length
if (notRun.length > 0) console.log(`not run, because ${values.seconds} s are over: --only ${notRun.join(' ')}`)
console.log(`${results.length - failed} passed, ${failed} failed`)
process.exitCode = failed > 0 || results.length === 0 ? 1 : 0
