import { element, type Markup, text } from '../../base/markup.js'
import type { Benchmark, LayerTiming, Summary } from '../types.js'
import { addedText, decimalsFor, milliseconds, percent, plural, rate } from './numbers.js'
import { type OtherMeasurement, type Sweep, type SweepRun, tailOf } from './sweep.js'

/** A table of rows below its heads. */
function table(style: string, heads: readonly Markup[], rows: readonly Markup[]): Markup {
  const head = element('thead', {}, element('tr', {}, heads))
  return element('table', { class: style }, head, element('tbody', {}, rows))
}

/** The head of a column. */
const heading = (words: string): Markup => element('th', { scope: 'col' }, text(words))

const cell = (words: string): Markup => element('td', {}, text(words))

const nameCell = (words: string): Markup => element('td', { class: 'name' }, text(words))

type Measure = readonly [name: string, meaning: string, summary: Summary | undefined]

/** What was measured of a benchmark, each with what the word means: they are easily mistaken. */
function measuresOf(benchmark: Benchmark): Measure[] {
  const { latency, compute, enqueue, copyIn, copyOut, endToEnd, javascript, settings, backend } = benchmark
  const copied = settings.transfers
  const sum = 'copy in, compute and copy out of a query, summed; waiting for others is not in it'
  const alone = `one query at a time, from its inputs on the host to its outputs there (${plural(endToEnd?.queries ?? 0, 'query', 'queries')})`
  return [
    ['Latency', copied ? sum : 'the computation: nothing was copied', latency],
    ['Copy in', 'inputs to the device', copied ? copyIn : undefined],
    ['Compute', backend === 'cpu' ? 'the model, by the host’s clock' : 'the model, by the GPU’s clock', compute],
    ['Copy out', 'outputs from the device', copied ? copyOut : undefined],
    ['Enqueue', 'what the host takes to hand the work over', enqueue.max > 0 ? enqueue : undefined],
    ['End to end', alone, endToEnd],
    ['infer()', `the same from JavaScript (${plural(javascript?.infer.queries ?? 0, 'call')})`, javascript?.infer],
  ]
}

/** Milliseconds: what it took at least, at most, in the middle, and how often no more than that. */
export function timesTable(benchmark: Benchmark): Markup {
  const percentiles = Object.keys(benchmark.latency.percentiles).sort((a, b) => Number(a) - Number(b))
  const heads = ['min', 'mean', 'median', ...percentiles.map((p) => `${p} %`), 'max', 'CV'].map(heading)
  const rows = measuresOf(benchmark).flatMap((measure) => timesRow(measure, percentiles))
  return table('times', [element('th', {}, text('ms')), ...heads], rows)
}

function timesRow([name, meaning, summary]: Measure, percentiles: readonly string[]): Markup[] {
  if (summary === undefined) return []
  const { min, mean, median, max, cv } = summary
  const decimals = decimalsFor(median)
  const time = (value: number | undefined, key?: string): Markup =>
    element('td', { class: key }, text(value === undefined ? '–' : milliseconds(value, decimals)))
  const head = element('th', { scope: 'row' }, text(name), element('small', {}, text(meaning)))
  const ranks = percentiles.map((p) => time(summary.percentiles[p]))
  return [element('tr', {}, head, time(min), time(mean), time(median, 'main'), ranks, time(max), cell(percent(cv)))]
}

/** One row for each benchmark of a sweep. */
export function sweepTable(sweep: Sweep): Markup {
  const { percentile } = tailOf(sweep.runs[0]?.benchmark.latency.percentiles, 0)
  const named = sweep.runs.some(({ series }) => series !== '')
  const columns: (readonly [head: string, cell: (run: SweepRun) => string])[] = [
    ['queries/s', ({ benchmark }) => rate(benchmark.throughput)],
    ['items/s', ({ benchmark, value }) => rate(benchmark.throughput * value)],
    ['latency, median', ({ benchmark }) => orDash(benchmark.latency.median)],
    [`latency, ${percentile} %`, ({ benchmark }) => orDash(benchmark.latency.percentiles[percentile])],
    ['compute, median', ({ benchmark }) => orDash(benchmark.compute.median)],
    ['end to end, median', ({ benchmark }) => orDash(benchmark.endToEnd?.median)],
    ['infer() adds', ({ benchmark: { javascript } }) => (javascript ? addedText(javascript) : '–')],
    ['warnings', ({ benchmark }) => benchmark.warnings.map(({ code }) => code).join(', ') || '–'],
  ]
  const shown = columns.filter(([head]) => sweep.isBatch || head !== 'items/s')
  const heads = [...(named ? ['series'] : []), sweep.name, ...shown.map(([head]) => head)].map(heading)
  const rows = sweep.runs.map((run) => {
    const series = named ? nameCell(run.series) : undefined
    const value = element('th', { scope: 'row' }, text(run.value))
    return element(
      'tr',
      {},
      series,
      value,
      shown.map(([, textOf]) => cell(textOf(run))),
    )
  })
  return table('sweep', heads, rows)
}

/** What others took for the same. */
export function othersTable(sweep: Pick<Sweep, 'name'>, others: readonly OtherMeasurement[]): Markup {
  const rows = others.map(({ series, value, medianMs, percentiles }) => {
    const { percentile, tail } = tailOf(percentiles, medianMs)
    const within = percentiles === undefined ? '–' : `${milliseconds(tail)} (${percentile} %)`
    const head = element('th', { scope: 'row' }, text(value))
    return element('tr', {}, nameCell(series), head, cell(milliseconds(medianMs)), cell(within))
  })
  return table('sweep', ['beside it', sweep.name, 'end to end, median', 'within'].map(heading), rows)
}

const orDash = (value: number | undefined): string => (value === undefined ? '–' : milliseconds(value))

/** So many of the slowest layers are listed; the others are summed. */
const listed = 40

/** The layers, the slowest first, with their share of the time as bars. */
export function layerTable(layers: readonly LayerTiming[]): Markup {
  const sorted = [...layers].sort((a, b) => b.averageMs - a.averageMs)
  const [shown, rest] = [sorted.slice(0, listed), sorted.slice(listed)]
  const most = shown[0]?.timeShare ?? 0
  const decimals = decimalsFor(shown[0]?.averageMs ?? 0)
  const time = (ms: number | undefined): Markup => cell(ms === undefined ? '' : milliseconds(ms, decimals))
  const row = (name: string, share: number, average: number, median?: number): Markup =>
    element(
      'tr',
      {},
      nameCell(name),
      time(average),
      time(median),
      cell(`${(share * 100).toFixed(1)} %`),
      element('td', { class: 'bar-cell' }, bar(most > 0 ? Math.min(share / most, 1) : 0)),
    )
  const rows = shown.map(({ name, averageMs, medianMs, timeShare }) => row(name, timeShare, averageMs, medianMs))
  if (rest.length > 0)
    rows.push(row(plural(rest.length, 'other layer'), sum(rest, 'timeShare'), sum(rest, 'averageMs')))
  const heads = ['layer', 'average, ms', 'median, ms', 'share'].map(heading)
  return table('layers', [...heads, element('th')], rows)
}

/** Drawn, not a background: those are not printed. */
function bar(share: number): Markup {
  return element(
    'svg',
    { viewBox: '0 0 100 8', preserveAspectRatio: 'none', class: 'share', 'aria-hidden': 'true' },
    element('rect', { width: 100 * share, height: 8, class: 'bar' }),
  )
}

function sum(layers: readonly LayerTiming[], key: 'averageMs' | 'timeShare'): number {
  return layers.reduce((total, layer) => total + layer[key], 0)
}
