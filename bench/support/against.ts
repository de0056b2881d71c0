/**
 * The program of `npm run bench -- NAME --against COMMIT`: runs the bench of two checkouts in turns and compares the
 * rows. Its arguments: both folders, the commit, the bench, and the arguments of the bench.
 */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import Table from 'cli-table3'
import { compare, type Comparison, type Pair } from './compare.js'
import { median } from './measure.js'
import { rowsOf } from './parts.js'
import { digits, note, type PartRow, type Row } from './report.js'

/** Rounds before a verdict; rows that are still unclear are repeated as often, up to `mostRounds` in all. */
const rounds = 7
const mostRounds = 21

const [here = '', there = '', commit = '', bench = '', ...args] = process.argv.slice(2)
const isJson = args.includes('--json')

type Measured = readonly (Row & Partial<PartRow>)[]

/** @throws Error (as a rejection) if the bench ends without a row, with its last words */
function run(folder: string, parts: readonly string[]): Promise<Measured> {
  const command = [join(folder, 'scripts', 'bench.mjs'), bench, ...args.filter((word) => word !== '--json'), '--json']
  const env = { ...process.env, TRT_BENCH_PARTS: parts.length > 0 ? parts.join() : undefined }
  return new Promise((resolve, reject) => {
    execFile(process.execPath, command, { cwd: folder, env, maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
      const rows = stdout === '' ? [] : rowsOf(stdout)
      if (rows.length > 0) resolve(rows)
      else
        reject(
          new Error(
            `The bench ${bench} of ${folder} printed no row.\n${stderr.slice(-2000) || (error?.message ?? '')}`,
          ),
        )
    })
  })
}

/** A row of this checkout, with the figures of both. */
class Compared {
  readonly row: Row & Partial<PartRow>
  readonly pairs: Pair[] = []
  failed: string | undefined

  constructor(row: Row & Partial<PartRow>) {
    this.row = row
  }

  get comparison(): Comparison {
    return compare(this.pairs, this.row)
  }

  get isUnclear(): boolean {
    return this.failed === undefined && this.comparison.verdict === 'unclear'
  }
}

const compared = new Map<string, Compared>()
/** Rows that only one checkout has, or that failed in the commit. */
const alone = new Map<string, string>()

function add(ours: Measured, theirs: Measured): void {
  for (const row of ours) {
    const found = compared.get(row.what) ?? new Compared(row)
    const other = theirs.find(({ what, failed }) => what === row.what && failed === undefined)
    if (row.failed !== undefined) found.failed = row.failed
    else if (other !== undefined) found.pairs.push({ here: row.ours, commit: other.ours })
    if (found.failed !== undefined || found.pairs.length > 0) compared.set(row.what, found)
    else alone.set(row.what, 'only here')
  }
  for (const { what, failed } of theirs)
    if (!ours.some((row) => row.what === what))
      alone.set(what, failed === undefined ? 'only in the commit' : `failed in the commit: ${failed}`)
}

/** Runs both in turns, A B B A, so that a drift of the machine affects both. */
async function measure(from: number, to: number, parts: readonly string[]): Promise<void> {
  for (let round = from; round < to; round++) {
    const order = round % 2 === 0 ? [here, there] : [there, here]
    const found = new Map<string, Measured>()
    for (const folder of order) {
      note(`round ${round + 1} of ${to}: ${folder === here ? 'here' : commit.slice(0, 8)} …`)
      found.set(folder, await run(folder, parts))
    }
    add(found.get(here) ?? [], found.get(there) ?? [])
  }
}

/** The parts that have unclear rows; none (that is, all parts) if a row does not have its part. */
function partsToRepeat(unclear: readonly Compared[]): string[] {
  const parts = unclear.map(({ row }) => row.part)
  return parts.every((part) => part !== undefined) ? [...new Set(parts)] : []
}

function print(all: readonly Compared[]): void {
  const lines = all.map(({ row: { what, unit, part }, failed, pairs, comparison }) => ({
    ...{ what, part, unit, rounds: pairs.length },
    here: median(pairs.map((pair) => pair.here)),
    commit: median(pairs.map((pair) => pair.commit)),
    ...comparison,
    ...(failed !== undefined && { verdict: 'failed', failed }),
  }))
  if (isJson) {
    console.log(JSON.stringify({ bench, against: commit, date: new Date().toISOString() }))
    for (const line of lines) console.log(JSON.stringify(line))
    for (const [what, why] of alone) console.log(JSON.stringify({ what, verdict: 'not compared', why }))
    return
  }
  const table = new Table({
    head: ['what', 'here', commit.slice(0, 8), 'here / commit', '95 %', 'rounds', 'verdict'],
    style: { head: [], border: [] },
    colAligns: ['left', 'right', 'right', 'right', 'right', 'right', 'left'],
  })
  for (const { what, unit, here: ours, commit: theirs, ratio, low, high, rounds: count, verdict, failed } of lines)
    table.push([
      failed === undefined ? what : `${what}: ${failed}`,
      ...[ours, theirs].map((value) => (Number.isNaN(value) ? '-' : `${digits(value)} ${unit}`)),
      ratio.toFixed(3),
      `${low.toFixed(3)} to ${high.toFixed(3)}`,
      count,
      verdict,
    ])
  console.log(table.toString())
  for (const [what, why] of alone) console.log(`not compared: ${what} (${why})`)
}

await measure(0, rounds, [])
for (let done = rounds; done < mostRounds; done += rounds) {
  const unclear = [...compared.values()].filter((each) => each.isUnclear)
  if (unclear.length === 0) break
  note(`${unclear.length} rows are unclear: ${unclear.map(({ row }) => row.what).join('; ')}`)
  await measure(done, done + rounds, partsToRepeat(unclear))
}
const all = [...compared.values()]
print(all)
const bad = all.filter((each) => each.failed !== undefined || ['worse', 'unclear'].includes(each.comparison.verdict))
if (!isJson)
  console.log(`${all.length} rows compared, ${bad.length} of them worse, unclear after ${mostRounds} rounds, or failed`)
process.exitCode = bad.length > 0 || all.length === 0 ? 1 : 0
