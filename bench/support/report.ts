/** What a bench prints: rows of figures, each beside its peer, and the machine they were measured on. */
import { cpus, loadavg, totalmem } from 'node:os'
import Table from 'cli-table3'

export interface Row {
  /** What was measured. */
  readonly what: string
  /** The unit of `ours` and `peer`. */
  readonly unit: string
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
}

export interface Report {
  readonly bench: string
  readonly date: string
  /** What it ran on, by name: CPU, Node, fakes or GPU, versions. */
  readonly machine: Readonly<Record<string, string>>
  readonly rows: readonly Row[]
}

/** How a goal is stated: at most or at least so much, of ours / peer, of ours - peer or of ours itself. */
export interface Goal {
  readonly of: 'ratio' | 'difference' | 'ours'
  readonly sign: '<=' | '<' | '>=' | '='
  readonly value: number
}

const holds: Record<Goal['sign'], (value: number, bound: number) => boolean> = {
  '<=': (value, bound) => value <= bound,
  '<': (value, bound) => value < bound,
  '>=': (value, bound) => value >= bound,
  '=': (value, bound) => value === bound,
}

export function row(what: string, unit: string, ours: number, peer: number | null, goal: Goal, note: string): Row {
  const ratio = peer === null ? null : ours / peer
  const judged = { ratio: ratio ?? NaN, difference: ours - (peer ?? NaN), ours }[goal.of]
  const text = `${goal.sign} ${goal.of === 'difference' ? 'peer + ' : ''}${goal.value} ${goal.of === 'ratio' ? 'x' : unit}`
  return { what, unit, ours, peer, ratio, goal: text, ok: holds[goal.sign](judged, goal.value), note }
}

/** A figure that nothing is asked of: it says what something costs. */
export function shown(what: string, unit: string, ours: number, peer: number, note: string): Row {
  return { what, unit, ours, peer, ratio: ours / peer, goal: '-', ok: true, note }
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

/** Prints a report on stdout: as JSON alone, or for people. */
export function print(report: Report, json: boolean): void {
  process.stdout.write(json ? `${JSON.stringify(report, null, 2)}\n` : text(report))
}

function text({ bench, machine, rows }: Report): string {
  const about = Object.entries(machine).map(([name, value]) => `  ${name.padEnd(8)} ${value}\n`)
  const missed = rows.filter((row) => !row.ok).length
  const verdict = missed === 0 ? 'every goal is met' : `${missed} of ${rows.length} goals missed`
  return `${bench}\n${about.join('')}${table(rows)}\n${verdict}\n`
}

function table(rows: readonly Row[]): string {
  const narrow = [15, 15, 9, 13, 5]
  const width = Math.max(80, Math.min(process.stdout.columns ?? 120, 160))
  const what = width - narrow.reduce((sum, each) => sum + each, 0) - narrow.length - 2
  const table = new Table({
    head: ['what', 'ours', 'peer', 'ratio', 'goal', 'ok'],
    style: { head: [], border: [] },
    colWidths: [what, ...narrow],
    colAligns: ['left', 'right', 'right', 'right', 'right', 'left'],
    wordWrap: true,
  })
  for (const { what, unit, ours, peer, ratio, goal, ok, note } of rows) {
    const figure = (value: number | null): string => (value === null ? '-' : `${digits(value)} ${unit}`)
    table.push([
      `${what}\n${note}`,
      figure(ours),
      figure(peer),
      ratio === null ? '-' : `${digits(ratio)} x`,
      goal,
      ok ? 'yes' : 'NO',
    ])
  }
  return table.toString()
}

/** Three digits, but never fewer than a whole number has. */
function digits(value: number): string {
  if (Number.isInteger(value) || Math.abs(value) >= 100) return String(Math.round(value))
  return value.toFixed(Math.abs(value) >= 10 ? 1 : Math.abs(value) >= 0.1 ? 2 : 3)
}

/** Says on stderr what is being measured; stdout is for the report. */
export function note(text: string): void {
  process.stderr.write(`${text}\n`)
}
