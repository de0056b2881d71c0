// The tables of docs/guides/command-line.md against the options that there are.
import t from 'tap'
import type { Commands } from '../../../lib/cli/command.js'
import { commands as all } from '../../../lib/cli/commands.js'
import { helpText } from '../../../lib/cli/exec/help.js'
import { meanings } from '../../../lib/cli/exec/meanings.js'
import { statusOf } from '../../../lib/cli/exec/option.js'
import { execOptions } from '../../../lib/cli/exec/parse.js'
import { Session } from '../../../lib/cli/session.js'
import { presetAliases, presets } from '../../../lib/tasks/presets.js'
import { readText } from '../../package/support.js'

const page = readText('docs/guides/command-line.md')
const section = (heading: string): string => page.split(/^## /m).find((each) => each.startsWith(heading)) ?? ''
/** The cells of a table's rows, of the first table after a heading. */
const rowsOf = (text: string): string[][] => {
  const [, , ...rows] = text
    .slice(text.indexOf('\n|') + 1)
    .split('\n\n')[0]!
    .split('\n')
  return rows.map((row) => row.split(/(?<!\\)\|/).slice(1, -1))
}
const flagsIn = (text: string): string[] => Array.from(text.matchAll(/--[a-zA-Z0-9-]+/g), ([flag]) => flag)

const session = new Session({ name: 'trt', stdout: { write: () => true }, stderr: { write: () => true } })
const commands = await Promise.all(
  Object.values<Commands[string]>(all).map(async ([, load]) => (await load()).command(session, all)),
)
const ours = new Set(commands.flatMap(({ options }) => options.map(({ long }) => long)))

t.test('how many options of trtexec there are, and what becomes of them', async (t) => {
  const count = (status: string): number => execOptions.filter((option) => statusOf(option) === status).length
  t.match(
    page.replaceAll('\n', ' '),
    `Of ${execOptions.length} options ${count('mapped')} are mapped, ${count('noted')} have no effect any more and say so, and ${count('refused')} are refused`,
  )
})

t.test('each option has its meaning, in one of the groups of the help', async (t) => {
  const all = Object.values<Readonly<Record<string, string>>>(meanings).flatMap((group) =>
    Object.keys(group).flatMap((names) => names.split(' ')),
  )
  t.same(all.toSorted(), execOptions.map(({ name }) => name).toSorted()) // prettier-ignore
  const text = helpText('trt', 80)
  t.match(
    text,
    /=== Model Options ===[^]*=== Build Options ===[^]*=== Inference Options ===[^]*=== Reporting Options ===[^]*=== System Options ===/,
  )
  t.match(text, /--safe\n[^]*\[not here\][^]*--endToEnd\n {6}\[ours\]/)
})

t.test('each option of trtexec in the table is one, and each of ours beside it', async (t) => {
  const rows = rowsOf(section('From trtexec'))
  const theirs = new Set(execOptions.map(({ name }) => name))
  t.ok(rows.length > 20, `${rows.length} rows`)
  t.same(
    rows.flatMap(([left = '']) => flagsIn(left)).filter((flag) => !theirs.has(flag)),
    [],
  )
  t.same(
    rows.flatMap(([, right = '']) => flagsIn(right)).filter((flag) => !ours.has(flag)),
    [],
  )
})

t.test('each of our options in the table of Polygraphy is one', async (t) => {
  const rows = rowsOf(section('From Polygraphy'))
  t.ok(rows.length > 10, `${rows.length} rows`)
  t.same(
    rows.flatMap(([, right = '']) => flagsIn(right)).filter((flag) => !ours.has(flag)),
    [],
  )
})

t.test('every command has a row, and every preset stands in the guide of tasks', async (t) => {
  t.same(
    rowsOf(page).map(([name = '']) => name.trim().replaceAll('`', '')).sort(), // prettier-ignore
    Object.keys(all).sort(),
  )
  const guide = readText('docs/guides/pictures-and-tasks.md')
  const named = [...Object.keys(presets), ...Object.keys(presetAliases)]
  t.same(named.filter((name) => !guide.includes(`\`${name}\``)), []) // prettier-ignore
})
