import { element, type Markup, text } from '../../base/markup.js'
import { type Line, panel, panelPlot, type Point, seriesStyle } from './lines.js'
import { milliseconds, rate } from './numbers.js'
import { linearScale, logScale, pointScale, type Scale } from './scale.js'
import { chart } from './svg.js'
import { type OtherMeasurement, type Sweep, tailOf, waitOf } from './sweep.js'

/** Throughput and latency over what was varied, side by side. */
export function sweepCharts(sweep: Sweep, others: readonly OtherMeasurement[]): Markup {
  const names = [...new Set([...sweep.runs, ...others].map(({ series }) => series))]
  const wait = waitOf(sweep)
  const per = sweep.isBatch ? 'items per second (batch × queries)' : 'queries per second'
  const what = wait.isEndToEnd ? 'end to end, one at a time, ms' : 'latency (sum of the stages), ms'
  const axis = `${sweep.name}${sweep.unit === undefined ? '' : `, ${sweep.unit}`}`
  const throughputs = linesOf(sweep.runs, names, ({ benchmark, value }) => {
    const y = benchmark.throughput * (sweep.isBatch ? value : 1)
    return { x: value, y, words: `${value}: ${rate(y)} per second` }
  })
  const latencies = [
    ...linesOf(sweep.runs, names, ({ benchmark, value }) => latencyPoint(value, wait.of(benchmark))),
    ...linesOf(others, names, ({ value, medianMs: median, percentiles }) =>
      latencyPoint(value, { median, ...tailOf(percentiles, median) }),
    ),
  ]
  return element(
    'div',
    {},
    names.length > 1 ? legend(names) : undefined,
    element('div', { class: 'pair' }, linePanel(per, throughputs, axis), linePanel(what, latencies, axis)),
  )
}

function latencyPoint(x: number, { median, tail, percentile }: ReturnType<ReturnType<typeof waitOf>['of']>): Point {
  const words = `${x}: median ${milliseconds(median)} ms, ${percentile} % within ${milliseconds(tail)} ms`
  return { x, y: median, tail, words }
}

/** A line for each series, one after the other where its values lie. */
function linesOf<T extends { readonly series: string }>(
  runs: readonly T[],
  names: readonly string[],
  pointOf: (run: T) => Point,
): Line[] {
  return names.flatMap((name, i) => {
    const points = runs.flatMap((run) => {
      const point = pointOf(run)
      return run.series === name ? [{ ...point, words: `${name}, ${point.words}` }] : []
    })
    return points.length === 0 ? [] : [{ style: seriesStyle(i), points: points.sort((a, b) => a.x - b.x) }]
  })
}

/** From zero where that is told apart well; by ratios where the highest is fifty times the lowest. */
function linePanel(title: string, lines: readonly Line[], axis: string): Markup {
  const points = lines.flatMap((line) => line.points)
  const x = pointScale(points.map((point) => point.x), [panelPlot.left + 14, panelPlot.right - 14]) // prettier-ignore
  const [low, high] = [
    Math.min(...points.map(({ y }) => y)),
    Math.max(...points.map(({ y, tail = 0 }) => Math.max(y, tail))),
  ]
  const range = [panelPlot.bottom, panelPlot.top] as const
  const y =
    low > 0 && high > 50 * low
      ? logScale([low, high], range, { count: 10 })
      : linearScale([0, high || 1], range, { count: 5 })
  return chart(panelPlot, `${title} over ${axis}`, panel(lines, [thinned(x), axis], [y, title]))
}

/** Marks that would cover one another are left out; the last one stays. */
function thinned(x: Scale): Scale {
  const ticks: { value: number; label: string }[] = []
  let next = Infinity
  for (const tick of x.ticks.toReversed()) {
    const [at, half] = [x.at(tick.value), tick.label.length * 3.6 + 3]
    if (at + half > next) continue
    ticks.unshift(tick)
    next = at - half
  }
  return { ...x, ticks }
}

function legend(names: readonly string[]): Markup {
  const entries = names.map((name, i) => element('li', { class: seriesStyle(i) }, element('i'), text(name)))
  return element('ul', { class: 'legend' }, entries)
}
