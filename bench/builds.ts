/**
 * Two builds of the addon, other benches with both in turns: by rooms beside file by file; `--older`: as it is shipped
 * beside all at -O3, linked for this machine. core, cpu, vision, or core:calls for a part; `--rounds N`.
 */
import { parseArgs } from 'node:util'
import { median } from './support/measure.js'
import { type Part, rowsOfBench, runParts } from './support/parts.js'
import { flags, roundsOf } from './support/quick.js'
import { machine, note, row, type Row } from './support/report.js'

const times = ['ns', 'µs', 'ms', 's']
/** More of them is better. */
const rates = ['/s', 'x']

const { values, positionals } = parseArgs({
  options: { ...flags, older: { type: 'boolean', default: false }, rounds: { type: 'string' } },
  allowPositionals: true,
})
const rounds = roundsOf(5, values.rounds)
const { TRT_BENCH_OURS: ourBuild = '', TRT_BENCH_PEER: peerBuild = '' } = process.env
const what = values.older ? 'all of it at -O3, linked for the glibc of this machine' : 'each file compiled by itself'

/**
 * Runs a bench, or a part of it, in a process of its own, with the addon below a folder; what has no unit of time or of
 * a rate is no speed.
 */
async function speeds(wanted: string, addon: string): Promise<readonly Row[]> {
  const [name = '', ...parts] = wanted.split(':')
  const rows = await rowsOfBench(name, parts, { ...process.env, NODE_TENSORRT_PREBUILD: addon })
  const failed = rows.find((row) => row.failed !== undefined)
  if (failed !== undefined) throw new Error(`${wanted}, part ${failed.what}: ${failed.failed}`)
  return rows.filter(({ unit }) => [...times, ...rates].includes(unit))
}

async function* compared(wanted: string): AsyncGenerator<Row> {
  const both: (readonly [readonly Row[], readonly Row[]])[] = []
  for (let round = 0; round < rounds; round++) {
    note(`${wanted}: round ${round + 1} of ${rounds} …`)
    both.push([await speeds(wanted, ourBuild), await speeds(wanted, peerBuild)])
  }
  for (const { what: measured, unit } of both[0]?.[0] ?? []) {
    const of = (each: readonly Row[]): number => each.find((row) => row.what === measured)?.ours ?? NaN
    const [ours, peer] = [median(both.map(([mine]) => of(mine))), median(both.map(([, other]) => of(other)))]
    if (ours === 0 && peer === 0) continue // nothing was copied: no speed
    const goal = rates.includes(unit)
      ? ({ of: 'ratio', sign: '>=', value: 0.97 } as const)
      : ({ of: 'ratio', sign: '<=', value: 1.03 } as const)
    yield row(`${wanted}: ${measured}`, unit, ours, peer, goal, `peer: ${what}; medians of ${rounds} runs in turns`)
  }
}

const benches = positionals.length > 0 ? positionals : ['core', 'cpu', 'vision']
const parts = Object.fromEntries(benches.map((wanted): [string, Part] => [wanted, () => compared(wanted)]))
await runParts(parts, [], { bench: 'builds', machine: machine({}), json: values.json })
