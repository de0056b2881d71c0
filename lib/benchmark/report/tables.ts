import { element, type Markup, text } from '../../base/markup.js'
import type { Benchmark, Summary } from '../types.js'
import { decimalsFor, milliseconds, percent, plural, rate } from './numbers.js'
import { type OtherMeasurement, type Sweep, tailOf } from './sweep.js'

interface Measure {
  readonly name: string
  readonly meaning: string
  readonly summary: Summary
}

/** What was measured of a benchmark, each with what the word means: they are easily mistaken. */
function measuresOf(benchmark: Benchmark): Measure[] {
  const { latency, compute, enqueue, copyIn, copyOut, endToEnd, javascript, settings, backend } = benchmark
  const measures: (Measure | undefined)[] = [
    {
      name: 'Latency',
      meaning: settings.transfers
        ? 'copy in, compute and copy out of a query, summed; waiting for others is not in it'
        : 'the computation: nothing was copied',
      summary: latency,
    },
    settings.transfers ? { name: 'Copy in', meaning: 'inputs to the device', summary: copyIn } : undefined,
    {
      name: 'Compute',
      meaning: backend === 'cpu' ? 'the model, by the host’s clock' : 'the model, by the GPU’s clock',
      summary: compute,
    },
    settings.transfers ? { name: 'Copy out', meaning: 'outputs from the device', summary: copyOut } : undefined,
    enqueue.max > 0
      ? { name: 'Enqueue', meaning: 'what the host takes to hand the work over', summary: enqueue }
      : undefined,
    endToEnd && {
      name: 'End to end',
      meaning: `one query at a time, from its inputs on the host to its outputs there (${plural(endToEnd.queries, 'query', 'queries')})`,
      summary: endToEnd,
    },
    javascript && {
      name: 'infer()',
      meaning: `the same from JavaScript (${plural(javascript.infer.queries, 'call')})`,
      summary: javascript.infer,
    },
  ]
  return measures.filter((measure) => measure !== undefined)
}

/** Milliseconds: what it took at least, at most, in the middle, and how often no more than that. */
export function timesTable(benchmark: Benchmark): Markup {
  const percentiles = Object.keys(benchmark.latency.percentiles).sort((a, b) => Number(a) - Number(b))
  const heads = ['min', 'mean', 'median', ...percentiles.map((p) => `${p} %`), 'max', 'CV']
  return element(
    'table',
    { class: 'times' },
    element(
      'thead',
      {},
      element(
        'tr',
        {},
        element('th', {}, text('ms')),
        heads.map((head) => element('th', { scope: 'col' }, text(head))),
      ),
    ),
    element(
      'tbody',
      {},
      measuresOf(benchmark).map((measure) => timesRow(measure, percentiles)),
    ),
  )
}

function timesRow({ name, meaning, summary }: Measure, percentiles: readonly string[]): Markup {
  const { min, mean, median, max, cv } = summary
  const decimals = decimalsFor(median)
  const cell = (value: number | undefined, key?: string): Markup =>
    element('td', { class: key }, text(value === undefined ? '–' : milliseconds(value, decimals)))
  return element(
    'tr',
    {},
    element('th', { scope: 'row' }, text(name), element('small', {}, text(meaning))),
    cell(min),
    cell(mean),
    cell(median, 'main'),
    percentiles.map((p) => cell(summary.percentiles[p])),
    cell(max),
    element('td', {}, text(percent(cv))),
  )
}

/** One row for each benchmark of a sweep. */
export function sweepTable(sweep: Sweep): Markup {
  const { percentile } = tailOf(sweep.runs[0]?.benchmark.latency.percentiles, 0)
  const named = sweep.runs.some(({ series }) => series !== '')
  const heads = [
    ...(named ? ['series'] : []),
    sweep.name,
    'queries/s',
    ...(sweep.isBatch ? ['items/s'] : []),
    'latency, median',
    `latency, ${percentile} %`,
    'compute, median',
    'end to end, median',
    'infer() adds',
    'warnings',
  ]
  const rows = sweep.runs.map(({ series, value, benchmark }) => {
    const { throughput, latency, compute, endToEnd, javascript, warnings } = benchmark
    const cells = [
      rate(throughput),
      ...(sweep.isBatch ? [rate(throughput * value)] : []),
      ...[latency.median, latency.percentiles[percentile], compute.median, endToEnd?.median].map(orDash),
      javascript === undefined ? '–' : signed(javascript.addsMs),
      warnings.map(({ code }) => code).join(', ') || '–',
    ]
    return element(
      'tr',
      {},
      named ? element('td', { class: 'name' }, text(series)) : undefined,
      element('th', { scope: 'row' }, text(value)),
      cells.map((cell) => element('td', {}, text(cell))),
    )
  })
  return element('table', { class: 'sweep' }, headOf(heads), element('tbody', {}, rows))
}

/** What others took for the same. */
export function othersTable(sweep: Pick<Sweep, 'name'>, others: readonly OtherMeasurement[]): Markup {
  const rows = others.map(({ series, value, medianMs, percentiles }) => {
    const { percentile, tail } = tailOf(percentiles, medianMs)
    const within = percentiles === undefined ? '–' : `${milliseconds(tail)} (${percentile} %)`
    return element(
      'tr',
      {},
      element('td', { class: 'name' }, text(series)),
      element('th', { scope: 'row' }, text(value)),
      [milliseconds(medianMs), within].map((cell) => element('td', {}, text(cell))),
    )
  })
  return element(
    'table',
    { class: 'sweep' },
    headOf(['beside it', sweep.name, 'end to end, median', 'within']),
    element('tbody', {}, rows),
  )
}

const headOf = (heads: readonly string[]): Markup =>
  element(
    'thead',
    {},
    element(
      'tr',
      {},
      heads.map((head) => element('th', { scope: 'col' }, text(head))),
    ),
  )

const orDash = (value: number | undefined): string => (value === undefined ? '–' : milliseconds(value))

/** What is added may be below zero, where the noise is greater. */
export const signed = (value: number): string => `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(3)}`
