import { element, joined, type Markup, text } from '../../base/markup.js'
import type { Benchmark, BenchmarkWarning } from '../types.js'
import { histogram } from './histogram.js'
import { stages } from './lanes.js'
import { addedText, milliseconds, percent, plural, rate } from './numbers.js'
import { layerTable, timesTable } from './tables.js'
import { drift, timeline } from './timeline.js'

/** The numbers that most people look for. */
export function figureList({ throughput, latency, endToEnd, javascript }: Benchmark): Markup {
  const figures = [
    ['Throughput', rate(throughput), 'queries/s'],
    ['Latency, median', milliseconds(latency.median), 'ms'],
    ...(endToEnd === undefined ? [] : [['End to end, median', milliseconds(endToEnd.median), 'ms']]),
    ...(javascript === undefined ? [] : [[addedTitle(javascript), addedText(javascript), 'ms']]),
  ] as const
  const shown = figures.map(([name, value, unit]) =>
    element(
      'div',
      {},
      element('dt', {}, text(name)),
      element('dd', {}, text(value), element('small', {}, text(` ${unit}`))),
    ),
  )
  return element('dl', { class: 'figures' }, shown)
}

const addedTitle = ({ addsMs }: NonNullable<Benchmark['javascript']>): string =>
  addsMs === undefined ? 'JavaScript adds (not measurable)' : 'JavaScript adds'

/** What a benchmark ran on and was measured with: a name and words. */
export type Fact = readonly [name: string, words: string]

export function factList(facts: readonly Fact[]): Markup | undefined {
  if (facts.length === 0) return undefined
  return element(
    'dl',
    { class: 'facts' },
    facts.map(([name, words]) => joined([element('dt', {}, text(name)), element('dd', {}, text(words))])),
  )
}

export function warningList(warnings: readonly BenchmarkWarning[]): Markup {
  if (warnings.length === 0) return joined([])
  return element(
    'ul',
    { class: 'warnings' },
    warnings.map(({ message }) => element('li', {}, text(message))),
  )
}

/** Tables and charts of one benchmark. */
export function detailsOf(benchmark: Benchmark): Markup[] {
  const { trace, latency, layers } = benchmark
  const close = stages(benchmark)
  const parts = [element('h3', {}, text('Times')), element('div', { class: 'scroll' }, timesTable(benchmark))]
  if (trace.length > 0) {
    const latencies = trace.map(({ latencyMs }) => latencyMs)
    const queries = plural(trace.length, 'query', 'queries')
    parts.push(...figure('How latencies are spread', `${queries}.`, histogram(latencies, latency)))
    parts.push(...figure('Over time', `Each query that counts, in its order.${courseText(trace)}`, timeline(trace)))
  }
  const seen = 'A few queries from the middle: what lies above one another happens at the same time.'
  if (close !== undefined) parts.push(...figure('Stages', seen, close))
  if (layers !== undefined && layers.layers.length > 0) {
    const words = `By TensorRT’s profiler, in a run of its own of ${plural(layers.iterations, 'execution')}: with it a query takes longer, so shares say more than times.`
    parts.push(...figure('Layers', words, element('div', { class: 'scroll' }, layerTable(layers.layers))))
  }
  return parts
}

function courseText(trace: Benchmark['trace']): string {
  const drifted = drift(trace)
  if (drifted === undefined) return ''
  return ` From the first quarter to the last the median went ${drifted < 0 ? 'down' : 'up'} by ${percent(Math.abs(drifted))}.`
}

function figure(title: string, caption: string, content: Markup): Markup[] {
  return [element('h3', {}, text(title)), element('figure', {}, element('figcaption', {}, text(caption)), content)]
}
