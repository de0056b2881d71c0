/**
 * On a GPU: latency against torch, as a list of rows in the order of their worth, each a process with a time limit.
 * `--out FOLDER` has the rows, and a later call goes on with those that are not measured. docs/design/gpu-kit.md
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { packageRoot } from '../lib/base/package.js'
import { platformHere } from './support/gpu-platform.js'
import {
  appendRow,
  type GpuRow,
  gpuRows,
  openRows,
  type Peer,
  type Platform,
  readRows,
  type RowFigures,
  type RowHead,
  type RowLine,
} from './support/gpu-rows.js'
import { flags, isQuick } from './support/quick.js'
import { failedRow, machine, note, type PartRow, Report, row, shown } from './support/report.js'

/** A row starts only if this part of its limit is left in the list. */
const minPart = 1 / 8

const { values, positionals } = parseArgs({
  options: {
    ...flags,
    out: { type: 'string', default: join(packageRoot(), 'bench', 'results') },
    /** For models, plans and the timing cache, hundreds of megabytes. */
    work: { type: 'string', default: join(packageRoot(), 'build', 'bench', 'gpu') },
    /** The folder that gpu-ranges.js wrote. */
    ranges: { type: 'string', default: join(packageRoot(), 'build', 'gpu-references') },
    /** Of the whole list. */
    seconds: { type: 'string', default: '180' },
    /** Of a row. */
    limit: { type: 'string', default: '40' },
    /** A Relu in place of each network, for the fakes of TensorRT. */
    'stand-in': { type: 'boolean', default: false },
  },
  allowPositionals: true,
})

function secondsIn(name: 'seconds' | 'limit'): number {
  const seconds = Number(values[name])
  if (seconds > 0 && Number.isFinite(seconds)) return seconds
  throw new Error(`Expected a positive number for --${name} but received ${values[name]}.`)
}

/** Kills a row with its children: torch is a separate process. */
function kill({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** Runs the program of a row, which appends its line. Returns the line if it was killed or ended without one. */
async function runRow(
  { name }: GpuRow,
  seconds: number,
): Promise<
  | undefined
  | { readonly status: 'killed'; readonly stage: string }
  | { readonly status: 'failed'; readonly error: string }
> {
  const program = fileURLToPath(new URL('./support/gpu-row.js', import.meta.url))
  const folders = ['--out', resolve(values.out), '--work', resolve(values.work), '--ranges', resolve(values.ranges)]
  const options = [...(values['stand-in'] ? ['--stand-in'] : []), ...(isQuick ? ['--quick'] : [])]
  const child = spawn(process.execPath, [program, '--row', name, ...folders, ...options], {
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  })
  let stage = 'starting'
  createInterface({ input: child.stdout }).on('line', (line) => note(`  ${(stage = line)}`))
  let isKilled = false
  const timer = setTimeout(() => {
    isKilled = true
    kill(child)
  }, seconds * 1000)
  const end = await new Promise<number | string>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve(code ?? signal ?? '?'))
  })
  clearTimeout(timer)
  // what it started, if it crashed
  kill(child)
  if (isKilled) return { status: 'killed', stage }
  return end === 0 || end === 1
    ? undefined
    : { status: 'failed', error: `The process ended with ${end} while ${stage}.` }
}

/** Measures rows until the time is over. */
async function runList(on: Platform): Promise<void> {
  const [total, limit] = [secondsIn('seconds'), secondsIn('limit')]
  const started = performance.now()
  const left = (): number => total - (performance.now() - started) / 1000
  const chosen = gpuRows.filter(({ name }) => positionals.length === 0 || positionals.includes(name))
  for (const each of openRows(readRows(values.out, on), chosen)) {
    const seconds = Math.min(limit, left())
    if (seconds < limit * minPart) break
    note(`${each.name} (at most ${seconds.toFixed(0)} s) …`)
    const before = readRows(values.out, on).length
    const end = await runRow(each, seconds)
    if (readRows(values.out, on).length > before) continue
    const head = { row: each.name, date: new Date().toISOString(), on } satisfies RowHead
    if (end?.status !== 'killed')
      appendRow(values.out, { ...head, status: 'failed', error: end?.error ?? 'The process ended without a result.' })
    else if (seconds < limit) appendRow(values.out, { ...head, status: 'interrupted', stage: end.stage })
    else appendRow(values.out, { ...head, status: 'over', seconds, stage: end.stage })
  }
  const open = openRows(readRows(values.out, on), chosen).map(({ name }) => name)
  note(open.length === 0 ? 'no row is left' : `left for the next call: ${open.join(', ')}`)
}

/** The source of the goal: 15.6 ms in INT8 against 130 ms of TorchScript on a T4. */
const goalOf = ({ precision }: GpuRow, peer: Peer): number =>
  precision === 'int8' && peer === 'torchscript' ? 1 / 8 : 1

/** The rows of the report: one for each peer. */
function reportRows(each: GpuRow, figures: RowFigures): PartRow[] {
  const { ms, cosine, layers, buildSeconds, rounds, calls, torch, peers, peerErrors } = figures
  const what = `latency p50, ${each.model} ${each.size}x${each.size}, batch 1, ${each.precision}`
  const about = [
    `cosine ${cosine?.toFixed(5) ?? '-'}`,
    `layers ${JSON.stringify(layers)}`,
    ...(buildSeconds === undefined ? [] : [`built in ${buildSeconds.toFixed(1)} s`]),
    `${rounds} rounds, ${calls} calls`,
    torch,
  ].join('; ')
  const rows = Object.entries(peers).map(([peer, { ms: theirs, cosine: near }]) => {
    const goal = { of: 'ratio', sign: '<=', value: goalOf(each, peer as Peer) } as const
    return row(`${what} vs. ${peer}`, 'ms', ms, theirs, goal, `${about}, cosine ${near?.toFixed(5) ?? '-'}`)
  })
  const failed = Object.entries(peerErrors).map(([peer, error]) => failedRow(`${what} vs. ${peer}`, error))
  const all = rows.length > 0 ? rows : [shown(what, 'ms', ms, null, about)]
  return [...all, ...failed].map((one) => ({ ...one, part: each.name }))
}

function print(lines: readonly RowLine[], on: Platform): void {
  const head = { bench: 'gpu', date: new Date().toISOString(), machine: machine({ ...on }), quick: isQuick }
  const report = new Report(head, values.json)
  for (const each of gpuRows) {
    const line = lines.findLast((line) => line.row === each.name)
    if (line?.status === 'measured') for (const row of reportRows(each, line)) report.add(row)
    else if (line !== undefined) {
      const reason =
        line.status === 'failed'
          ? line.error
          : `${line.status === 'over' ? `killed after ${line.seconds} s` : 'interrupted'} (${line.stage})`
      report.add({ ...failedRow(each.name, reason), part: each.name })
    }
  }
  report.end()
  if (report.rows.some(({ failed }) => failed !== undefined)) process.exitCode = 1
}

const unknown = positionals.find((name) => !gpuRows.some((each) => each.name === name))
if (unknown !== undefined)
  throw new Error(`Expected a row of ${gpuRows.map(({ name }) => name).join(', ')} but received ${unknown}.`)
const on = await platformHere()
if (typeof on === 'string') {
  note(on)
  process.exitCode = 1
} else {
  mkdirSync(values.out, { recursive: true })
  await runList(on)
  print(readRows(values.out, on), on)
}
