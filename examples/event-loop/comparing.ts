/** A program of other people's before and after: with onnxruntime-node, and with node-tensorrt in its place. */
import { execFile } from 'node:child_process'
import { copyFile, mkdir, writeFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { join, resolve } from 'node:path'
import { isDeepStrictEqual, promisify } from 'node:util'
import { packageRoot } from '../../lib/base/package.js'
import { linearScale } from '../../lib/benchmark/report/scale.js'
import { panel, panelPlot, type Point, seriesStyle } from '../../lib/benchmark/report/lines.js'
import { joined, type Markup } from '../../lib/base/markup.js'
import { packBuilt } from '../../test/onnxruntime/installing.js'
import { barPanel, draw } from '../serve-support/chart.js'
import { writeResults } from '../serve-support/results.js'
import { commandOf, type Done, type Given, note, tableOf } from '../support/program.js'

/** What an app prints: its answer, how long it took, and how the event loop fared. */
interface Printed {
  readonly answer: unknown
  readonly took: number
  readonly delay: Readonly<Record<Percentile, number>>
  readonly ticks: readonly (readonly [at: number, late: number])[]
}

const percentiles = { p50: 50, p90: 90, p99: 99, max: 100 } as const
type Percentile = keyof typeof percentiles

/** A program, and how it is started. */
export interface Comparison {
  /** The folder of the example, which has its app.mjs. */
  readonly name: string
  readonly title: string
  readonly dependencies: Readonly<Record<string, string>>
  /** What Node is told to load before the app, so that this package stands for onnxruntime-node. */
  readonly preload: readonly string[]
  readonly args: readonly string[]
  /** How long its answer is. */
  readonly count: (answer: unknown) => number
}

export interface CompareGiven extends Given {
  readonly package?: string
}

/** The command of such an example. */
export function compareCommand(name: string, description: string): ReturnType<typeof commandOf> {
  return commandOf(`npm run example -- ${name}`, description).option(
    '--package <FILE>',
    'a tarball of node-tensorrt (default: of what is built here)',
  )
}

/** Installs what the app needs, runs it twice, and draws what became of the event loop. */
export async function compare(given: CompareGiven, comparison: Comparison): Promise<Done> {
  const { name, title, preload, args } = comparison
  const folder = resolve(given.out, `${name}-app`)
  await install(folder, comparison, given.package)
  const before = await runApp(folder, [], args)
  const after = await runApp(folder, preload, args)
  if (!isDeepStrictEqual(before.answer, after.answer)) throw new Error('The two answers differ, which they must not')
  const sides = { 'before: onnxruntime-node': before, 'after: node-tensorrt': after }
  const results = { machine: machineText(), preload: preload.join(' '), before, after }
  await writeResults(given.out, name, results, chartOf(title, sides))
  const rows = Object.entries(sides).map(([side, { took, delay }]) => [
    side,
    (took / 1000).toFixed(1),
    ...Object.keys(percentiles).map((name) => delay[name as Percentile].toFixed(1)),
  ])
  const count = comparison.count(before.answer)
  const head = ['', 'seconds', ...Object.keys(percentiles).map((name) => `delay ${name}, ms`)]
  return { results, text: `${tableOf(head, rows)}\nThe answers (${count}) are the same to the last digit.` }
}

async function install(folder: string, { name, dependencies }: Comparison, tarball?: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  const spec = tarball === undefined ? await packBuilt(folder) : `file:${resolve(tarball)}`
  const manifest = { private: true, dependencies: { ...dependencies, 'node-tensorrt': spec } }
  await writeFile(join(folder, 'package.json'), JSON.stringify(manifest))
  const examples = join(packageRoot(), 'examples')
  await copyFile(join(examples, name, 'app.mjs'), join(folder, 'app.mjs'))
  await copyFile(join(examples, 'event-loop', 'delay.mjs'), join(folder, 'delay.mjs'))
  note(`installing ${Object.keys(dependencies).join(', ')} in ${folder}`)
  await runIn(folder, 'npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts'])
}

async function runApp(folder: string, preload: readonly string[], args: readonly string[]): Promise<Printed> {
  const command = ['--no-warnings', ...preload, 'app.mjs', ...args]
  note(`node ${command.slice(1).join(' ')}`)
  return JSON.parse(await runIn(folder, process.execPath, command)) as Printed
}

/** Without what the npm around this program, or a test's hooks, hand down. */
async function runIn(folder: string, command: string, args: readonly string[]): Promise<string> {
  const kept = Object.entries(process.env).filter(([name]) => !/^(npm_|TAP|_TAPJS|NODE_OPTIONS|INIT_CWD)/i.test(name))
  const env = Object.fromEntries(kept)
  const { stdout } = await promisify(execFile)(command, [...args], { cwd: folder, env, maxBuffer: 1 << 26 })
  return stdout
}

function machineText(): string {
  return `${cpus().length} cores of ${cpus()[0]?.model ?? 'a processor'}; Node ${process.versions.node}, on the CPU`
}

const ms = (value: number): string => `${value.toFixed(1)} ms`

/** Delays at percentiles as bars, and how late a timer came by when that was. */
function chartOf(title: string, sides: Readonly<Record<string, Printed>>): string {
  const [names, printed] = [Object.keys(sides), Object.values(sides)]
  const groups = Object.keys(percentiles).map((name) => ({
    name,
    bars: printed.map(({ delay }, i) => {
      const value = delay[name as Percentile]
      return { value, words: `${names[i] ?? ''}, ${name}: ${ms(value)}` }
    }),
  }))
  const bars = barPanel('delay of the event loop, ms', { value: 0, words: '0 ms' }, groups)
  return draw(title, names, [bars, timePanel(printed)])
}

/** How many points a line has at most. */
const mostPoints = 60

function timePanel(printed: readonly Printed[]): Markup {
  const end = Math.max(...printed.map(({ took }) => took)) / 1000
  const lines = printed.map(({ ticks }, i) => ({ style: seriesStyle(i), points: pointsOf(ticks, end) }))
  const x = linearScale([0, end], [panelPlot.left, panelPlot.right])
  const most = Math.max(...lines.flatMap(({ points }) => points.map(({ y }) => y)))
  const y = linearScale([0, most], [panelPlot.bottom, panelPlot.top], { count: 5 })
  return joined(panel(lines, [x, 'seconds since the first text or picture'], [y, 'how late a timer of 20 ms came, ms']))
}

/** The latest tick of each part of the time. */
function pointsOf(ticks: Printed['ticks'], end: number): Point[] {
  const part = end / mostPoints
  const groups = new Map<number, number>()
  for (const [at, late] of ticks) {
    const index = Math.floor(at / 1000 / part)
    groups.set(index, Math.max(groups.get(index) ?? 0, late))
  }
  return Array.from(groups, ([index, y]) => ({ x: (index + 0.5) * part, y, words: ms(y) }))
}
