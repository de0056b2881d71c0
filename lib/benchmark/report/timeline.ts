import { element, type Markup, hint, polyline } from '../../base/markup.js'
import type { TraceRow } from '../types.js'
import { medianOf } from '../statistics.js'
import { milliseconds, plural } from './numbers.js'
import { usualRange } from './histogram.js'
import { linearScale, type Scale } from './scale.js'
import { bottomAxis, chart, leftAxis, plotOf } from './svg.js'

/** Queries that lie side by side, as one column of the drawing. */
interface Column {
  readonly at: number
  readonly min: number
  readonly median: number
  readonly max: number
  readonly queries: number
}

const mostColumns = 160

/** Latency over the time of the run: a clock that falls, a neighbour that wakes, all that a histogram hides. */
export function timeline(trace: readonly TraceRow[]): Markup {
  const columns = columnsOf(trace)
  const plot = plotOf(240, { top: 34 })
  const end = columns.at(-1)?.at ?? 0
  const x = linearScale([0, end || 1], [plot.left, plot.right], { count: 10, exact: true })
  const [low, high] = usualRange(trace.map(({ latencyMs }) => latencyMs))
  const y = linearScale([low < high / 2 ? 0 : low, high], [plot.bottom, plot.top], { count: 4 })
  const grouped = trace.length > columns.length
  return chart(
    plot,
    'Latency over time',
    leftAxis(plot, y, grouped ? 'latency, ms: median and range of neighbours' : 'latency, ms'),
    grouped ? band(columns, x, y) : [],
    polyline(
      columns.map(({ at, median }) => [x.at(at), heightOf(median, y)]),
      'line',
    ),
    columns.map((column) => dot(column, x, y, grouped)),
    columns.filter(({ max }) => max > y.domain[1]).map((column) => peak(column, x, plot.top)),
    bottomAxis(plot, x, 'seconds since the first query that counts'),
  )
}

/**
 * What a reader would see: by how many percent the last quarter's median is above the first one's. Undefined below
 * eight queries.
 */
export function drift(trace: readonly TraceRow[]): number | undefined {
  const quarter = Math.floor(trace.length / 4)
  if (quarter < 2) return undefined
  const latencies = trace.map(({ latencyMs }) => latencyMs)
  const [first, last] = [middleOf(latencies.slice(0, quarter)), middleOf(latencies.slice(-quarter))]
  return first > 0 ? (last / first - 1) * 100 : undefined
}

function columnsOf(trace: readonly TraceRow[]): Column[] {
  const first = trace[0] === undefined ? 0 : startOf(trace[0])
  const size = Math.ceil(trace.length / mostColumns) || 1
  return Array.from({ length: Math.ceil(trace.length / size) }, (_, i) => {
    const rows = trace.slice(i * size, (i + 1) * size)
    const latencies = rows.map(({ latencyMs }) => latencyMs)
    const at = (startOf(rows[0]!) - first) / 1000
    return {
      at,
      min: Math.min(...latencies),
      median: middleOf(latencies),
      max: Math.max(...latencies),
      queries: rows.length,
    }
  })
}

const startOf = ({ h2dMs, startH2dMs, startComputeMs }: TraceRow): number => (h2dMs > 0 ? startH2dMs : startComputeMs)

function band(columns: readonly Column[], x: Scale, y: Scale): Markup {
  const points = [
    ...columns.map(({ at, max }) => [x.at(at), heightOf(max, y)] as const),
    ...columns.toReversed().map(({ at, min }) => [x.at(at), heightOf(min, y)] as const),
  ]
  return polyline(points, 'band', 'polygon')
}

function dot({ at, min, median, max, queries }: Column, x: Scale, y: Scale, isGroup: boolean): Markup {
  const words = isGroup
    ? `${plural(queries, 'query', 'queries')}: ${milliseconds(min)} to ${milliseconds(max)} ms, median ${milliseconds(median)} ms`
    : `${milliseconds(median)} ms`
  return element('circle', { cx: x.at(at), cy: heightOf(median, y), r: isGroup ? 1.5 : 2.5, class: 'dot' }, hint(words))
}

const middleOf = (values: readonly number[]): number => medianOf(Float64Array.from(values).sort())

/** What is above the axis is drawn at its end, and a small arrow says that it goes on. */
const heightOf = (value: number, y: Scale): number => y.at(Math.min(value, y.domain[1]))

function peak({ at, max }: Column, x: Scale, top: number): Markup {
  const tip = x.at(at)
  const points = [
    [tip - 4, top],
    [tip + 4, top],
    [tip, top - 7],
  ] as const
  return polyline(points, 'peak', 'polygon', hint(`up to ${milliseconds(max)} ms`))
}
