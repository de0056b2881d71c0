/** What a bench prints: rows of figures, each beside its peer, and the machine they were measured on. */
import { cpus, loadavg, totalmem } from 'node:os'
import Table from 'cli-table3'
import { isQuick } from './quick.js'

export interface Row {
  /** What was measured. `--against` finds the same row of another commit by it. */
  readonly what: string
  /** The unit of `ours` and `peer`. */
  readonly unit: string
  /** NaN in a row of a part that failed; null in JSON. */
  readonly ours: number
  /** Null where the figure stands alone, such as a count. */
  readonly peer: number | null
  /** ours / peer. */
  readonly ratio: number | null
  /** What is to be reached, for people. */
  readonly goal: string
  readonly ok: boolean
  /** What the peer is, how often was measured. */
  readonly note: string
  /** Which figures are better than others; `equal` for counts that must not change. */
  readonly better: 'lower' | 'higher' | 'equal'
  /** For remainders near zero: `--against` compares differences in parts of this. */
  readonly scale?: number
  /** The message of the error that ended the part. */
  readonly failed?: string
}

/** A row as it is printed. */
export interface PartRow extends Row {
  /** The part of the bench that measured it. */
  readonly part: string
}

/** The first line of a bench with `--json`. */
export interface Head {
  readonly bench: string
  readonly date: string
  /** What it ran on, by name: CPU, Node, fakes or GPU, versions. */
  readonly machine: Readonly<Record<string, string>>
  readonly quick: boolean
}

/** How a goal is stated: at most or at least so much, of ours / peer, of ours - peer or of ours itself. */
export interface Goal {
  readonly of: 'ratio' | 'difference' | 'ours'
  readonly sign: '<=' | '<' | '>=' | '='
  readonly value: number
  /** A count that no load changes, which is judged with `--quick`, too. Default: `sign` is `=`. */
  readonly isCount?: boolean
  /** A small remainder, such as a delay above idle: see `scale` of a row. */
  readonly isRemainder?: boolean
}

const holds: Record<Goal['sign'], (value: number, bound: number) => boolean> = {
  '<=': (value, bound) => value <= bound,
  '<': (value, bound) => value < bound,
  '>=': (value, bound) => value >= bound,
  '=': (value, bound) => value === bound,
}
const better = { '<=': 'lower', '<': 'lower', '>=': 'higher', '=': 'equal' } as const

export function row(what: string, unit: string, ours: number, peer: number | null, goal: Goal, note: string): Row {
  const ratio = peer === null ? null : ours / peer
  const { of, sign, value, isCount = sign === '=', isRemainder = false } = goal
  const judged = { ratio: ratio ?? NaN, difference: ours - (peer ?? NaN), ours }[of]
  const isJudged = isCount || !isQuick
  const text = `${sign} ${of === 'difference' ? 'peer + ' : ''}${value} ${of === 'ratio' ? 'x' : unit}`
  return {
    ...{ what, unit, ours, peer, ratio, note },
    goal: isJudged ? text : '-',
    ok: !isJudged || holds[sign](judged, value),
    better: better[sign],
    ...(isRemainder && { scale: value }),
  }
}

/** A figure that nothing is asked of: it says what something costs. Of rates more is better. */
export function shown(what: string, unit: string, ours: number, peer: number | null, note: string): Row {
  const ratio = peer === null ? null : ours / peer
  return { what, unit, ours, peer, ratio, goal: '-', ok: true, note, better: unit.endsWith('/s') ? 'higher' : 'lower' }
}

/** The row of a part that threw. */
export function failedRow(part: string, error: unknown): Row {
  const failed = error instanceof Error ? error.message : String(error)
  return {
    ...shown(part, '', NaN, null, `failed: ${failed}`),
    ok: false,
    failed,
  }
}

export function machine(more: Readonly<Record<string, string>>): Record<string, string> {
  const [first] = cpus()
  return {
    cpu: `${first?.model ?? '?'}, ${cpus().length} cores, ${(totalmem() / 2 ** 30).toFixed(0)} GiB`,
    load: `${(loadavg()[0] ?? 0).toFixed(2)} before it began`,
    node: process.version,
    ...more,
  }
}

/** Prints a bench on stdout as it runs: with `--json` lines of JSON, otherwise lines and a table at the end. */
export class Report {
  readonly rows: PartRow[] = []
  readonly #json: boolean

  constructor(head: Head, json: boolean) {
    this.#json = json
    const about = Object.entries(head.machine).map(([name, value]) => `  ${name.padEnd(8)} ${value}`)
    this.#print(json ? JSON.stringify(head) : [head.bench, ...about].join('\n'))
  }

  add(row: PartRow): void {
    this.rows.push(row)
    this.#print(this.#json ? JSON.stringify(row) : line(row))
  }

  end(): void {
    if (!this.#json) this.#print(`${table(this.rows)}\n${verdict(this.rows)}`)
  }

  #print(text: string): void {
    process.stdout.write(`${text}\n`)
  }
}

function verdict(rows: readonly Row[]): string {
  const failed = rows.filter((row) => row.failed !== undefined).length
  const missed = rows.filter((row) => !row.ok).length - failed
  const goals = missed === 0 ? 'every goal is met' : `${missed} of ${rows.length} goals missed`
  const parts = failed === 0 ? '' : `, ${failed} ${failed === 1 ? 'part' : 'parts'} failed`
  return `${goals}${isQuick ? ' (--quick judges only counts)' : ''}${parts}`
}

function line(row: Row): string {
  if (row.failed !== undefined) return `FAILED ${row.what}: ${row.failed}`
  const peer = row.peer === null ? '' : `, peer ${figure(row.peer, row.unit)}, ${digits(row.ratio ?? NaN)} x`
  const goal = row.goal === '-' ? '' : ` (goal ${row.goal})`
  return `${row.ok ? 'ok    ' : 'MISSED'} ${row.what}: ${figure(row.ours, row.unit)}${peer}${goal}`
}

function table(rows: readonly Row[]): string {
  const narrow = [15, 15, 9, 13, 6]
  const width = Math.max(80, Math.min(process.stdout.columns ?? 120, 160))
  const what = width - narrow.reduce((sum, each) => sum + each, 0) - narrow.length - 2
  const table = new Table({
    head: ['what', 'ours', 'peer', 'ratio', 'goal', 'ok'],
    style: { head: [], border: [] },
    colWidths: [what, ...narrow],
    colAligns: ['left', 'right', 'right', 'right', 'right', 'left'],
    wordWrap: true,
  })
  for (const { what, unit, ours, peer, ratio, goal, ok, note } of rows)
    table.push([
      `${what}\n${note}`,
      figure(ours, unit),
      figure(peer, unit),
      ratio === null ? '-' : `${digits(ratio)} x`,
      goal,
      ok ? 'yes' : 'NO',
    ])
  return table.toString()
}

function figure(value: number | null, unit: string): string {
  return value === null || Number.isNaN(value) ? '-' : `${digits(value)} ${unit}`
}

/** Three digits, but never fewer than a whole number has. */
export function digits(value: number): string {
  if (Number.isInteger(value) || Math.abs(value) >= 100) return String(Math.round(value))
  return value.toFixed(Math.abs(value) >= 10 ? 1 : Math.abs(value) >= 0.1 ? 2 : 3)
}

/** Says on stderr what is being measured; stdout is for the report. */
export function note(text: string): void {
  process.stderr.write(`${text}\n`)
}
