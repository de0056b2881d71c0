import { coordinate, element, joined, type Markup, text } from '../../base/markup.js'
import { milliseconds, rate } from './numbers.js'
import { linearScale, logScale, pointScale, type Scale } from './scale.js'
import { bottomAxis, chart, hint, leftAxis, plotOf } from './svg.js'
import { type OtherMeasurement, type Sweep, tailOf, waitOf } from './sweep.js'

interface Point {
  readonly value: number
  readonly height: number
  /** What a thin line from the point goes to. */
  readonly tail?: number | undefined
  readonly words: string
}

interface Line {
  readonly series: string
  readonly points: readonly Point[]
}

/** So many colours there are; more lines than that share them. */
export const seriesColours = 6

/** Throughput and latency over what was varied, side by side. */
export function sweepCharts(sweep: Sweep, others: readonly OtherMeasurement[]): Markup {
  const names = [...new Set([...sweep.runs, ...others].map(({ series }) => series))]
  const wait = waitOf(sweep)
  const per = sweep.isBatch ? 'items per second (batch × queries)' : 'queries per second'
  const what = wait.isEndToEnd ? 'end to end, one at a time, ms' : 'latency (sum of the stages), ms'
  const latencies = [...linesOf(sweep.runs, names, latencyPoint), ...linesOf(others, names, otherPoint)]
  return element(
    'div',
    {},
    names.length > 1 ? legend(names) : undefined,
    element('div', { class: 'pair' }, panel(per, linesOf(sweep.runs, names, throughputPoint)), panel(what, latencies)),
  )

  function throughputPoint({ benchmark, value }: Sweep['runs'][number]): Point {
    const height = benchmark.throughput * (sweep.isBatch ? value : 1)
    return { value, height, words: `${value}: ${rate(height)} per second` }
  }

  function latencyPoint({ benchmark, value }: Sweep['runs'][number]): Point {
    const { median, tail, percentile } = wait.of(benchmark)
    return { value, height: median, tail, words: tailWords(value, median, percentile, tail) }
  }

  function panel(title: string, lines: readonly Line[]): Markup {
    return linePanel(title, lines, { names, axis: `${sweep.name}${sweep.unit === undefined ? '' : `, ${sweep.unit}`}` })
  }
}

function otherPoint({ value, medianMs, percentiles }: OtherMeasurement): Point {
  const { tail, percentile } = tailOf(percentiles, medianMs)
  return { value, height: medianMs, tail, words: tailWords(value, medianMs, percentile, tail) }
}

const tailWords = (value: number, median: number, percentile: string, tail: number): string =>
  `${value}: median ${milliseconds(median)} ms, ${percentile} % within ${milliseconds(tail)} ms`

function linesOf<T extends { readonly series: string }>(
  runs: readonly T[],
  names: readonly string[],
  pointOf: (run: T) => Point,
): Line[] {
  return names.flatMap((series) => {
    const points = runs.filter((run) => run.series === series).map(pointOf)
    return points.length === 0 ? [] : [{ series, points: points.sort((a, b) => a.value - b.value) }]
  })
}

interface PanelOptions {
  readonly names: readonly string[]
  readonly axis: string
}

/** From zero where that is told apart well; by ratios where the highest is fifty times the lowest. */
function linePanel(title: string, lines: readonly Line[], { names, axis }: PanelOptions): Markup {
  const plot = plotOf(300, { width: 470, left: 58, top: 34 })
  const points = lines.flatMap((line) => line.points)
  const x = pointScale(points.map(({ value }) => value), [plot.left + 14, plot.right - 14]) // prettier-ignore
  const [low, high] = [
    Math.min(...points.map(({ height }) => height)),
    Math.max(...points.map(({ height, tail = 0 }) => Math.max(height, tail))),
  ]
  const range = [plot.bottom, plot.top] as const
  const y =
    low > 0 && high > 50 * low
      ? logScale([low, high], range, { count: 10 })
      : linearScale([0, high || 1], range, { count: 5 })
  const drawn = lines.map((line) => element('g', { class: colourOf(names, line.series) }, drawLine(line, x, y)))
  return chart(plot, `${title} over ${axis}`, leftAxis(plot, y, title), bottomAxis(plot, thinned(x), axis), drawn)
}

/** Marks that would cover one another are left out; the last one stays. */
function thinned(x: Scale): Scale {
  const kept: { value: number; label: string }[] = []
  let next = Infinity
  for (const tick of x.ticks.toReversed()) {
    const [at, half] = [x.at(tick.value), tick.label.length * 3.6 + 3]
    if (at + half > next) continue
    kept.unshift(tick)
    next = at - half
  }
  return { ...x, ticks: kept }
}

function drawLine({ points, series }: Line, x: Scale, y: Scale): Markup {
  const path = points.map(({ value, height }) => `${coordinate(x.at(value))},${coordinate(y.at(height))}`).join(' ')
  const marks = points.flatMap(({ value, height, tail, words }) => {
    const at = x.at(value)
    const whisker =
      tail === undefined || tail === height
        ? []
        : [element('line', { x1: at, x2: at, y1: y.at(height), y2: y.at(tail), class: 'whisker' })]
    return [
      ...whisker,
      element('circle', { cx: at, cy: y.at(height), r: 3.5, class: 'point' }, hint(`${series}, ${words}`)),
    ]
  })
  return joined([element('polyline', { points: path, class: 'line' }), ...marks])
}

function legend(names: readonly string[]): Markup {
  return element(
    'ul',
    { class: 'legend' },
    names.map((name) => element('li', { class: colourOf(names, name) }, element('i'), text(name))),
  )
}

const colourOf = (names: readonly string[], series: string): string =>
  `series-${(names.indexOf(series) % seriesColours) + 1}`
