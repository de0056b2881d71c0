import { element, hint, label, type Markup } from '../../base/markup.js'
import type { Summary } from '../types.js'
import { milliseconds, plural } from './numbers.js'
import { linearScale, niceStep, type Scale } from './scale.js'
import { bottomAxis, chart, leftAxis, type Plot, plotOf, textWidth } from './svg.js'

/** How often values lie between two edges. */
export interface Bins {
  /** The lower edge of the first, and how wide each is. */
  readonly start: number
  readonly width: number
  readonly counts: readonly number[]
  /** How many values lie above the last one: a few that are far away would leave no room for the others. */
  readonly beyond: number
}

/**
 * The least value and the greatest that an axis should show: where the slowest half percent would take more than three
 * fifths of it, that is left out.
 */
export function usualRange(values: readonly number[]): readonly [low: number, high: number] {
  const sorted = [...values].sort((a, b) => a - b)
  const [low, high] = [sorted[0] ?? 0, sorted.at(-1) ?? 0]
  const most = sorted[Math.ceil(sorted.length * 0.995) - 1] ?? low
  return [low, high - low > 2.5 * (most - low) && most > low ? most + 0.1 * (most - low) : high]
}

/** Bins of a round width over the usual range, about 40 of them. */
export function binsOf(values: readonly number[]): Bins {
  const [low, high] = usualRange(values)
  const width = niceStep(high - low || Math.abs(low) / 10 || 1, 40)
  const first = Math.floor(low / width + 1e-9)
  const counts = Array.from({ length: Math.floor(high / width + 1e-9) - first + 1 }, () => 0)
  let beyond = 0
  for (const value of values) {
    const bin = Math.floor(value / width + 1e-9) - first
    if (bin < counts.length) counts[bin]! += 1
    else beyond++
  }
  return { start: first * width, width, counts, beyond }
}

/** How latencies are spread, with their median and percentiles as lines. */
export function histogram(values: readonly number[], summary: Summary): Markup {
  const bins = binsOf(values)
  const beyond =
    bins.beyond === 0
      ? ''
      : ` (${plural(bins.beyond, 'query', 'queries')} beyond, up to ${milliseconds(summary.max)} ms)`
  const plot = plotOf(280, { top: 64 })
  const end = bins.start + bins.counts.length * bins.width
  const x = linearScale([bins.start, end], [plot.left, plot.right], { count: 10, exact: true })
  const y = linearScale([0, Math.max(1, ...bins.counts)], [plot.bottom, plot.top], { count: 4 })
  return chart(
    plot,
    'Histogram of the latencies',
    leftAxis(plot, y, 'queries'),
    bars(bins, x, y),
    bottomAxis(plot, x, `latency, ms${beyond}`),
    marks(summary, plot, x),
  )
}

function bars({ start, width, counts }: Bins, x: Scale, y: Scale): Markup[] {
  return counts.flatMap((count, i) => {
    if (count === 0) return []
    const [from, to] = [start + i * width, start + (i + 1) * width]
    const [left, top] = [x.at(from), y.at(count)]
    const place = { x: left + 0.5, y: top, width: x.at(to) - left - 1, height: y.at(0) - top, class: 'bar' }
    const words = `${milliseconds(from)} to ${milliseconds(to)} ms: ${plural(count, 'query', 'queries')}`
    return [element('rect', place, hint(words))]
  })
}

/** Lines with their names above the plot, a name a row deeper where it would cover another. */
function marks({ median, percentiles }: Summary, plot: Plot, x: Scale): Markup[] {
  const named = [
    ['median', median] as const,
    ...Object.entries(percentiles).map(([p, value]) => [`${p} %`, value] as const),
  ]
  const ends = [-Infinity, -Infinity, -Infinity]
  return named
    .filter(([, value]) => value <= x.domain[1])
    .sort(([, a], [, b]) => a - b)
    .map(([name, value]) => {
      const words = `${name} ${milliseconds(value)}`
      const [at, width] = [x.at(value), textWidth(words)]
      const flips = at + width + 6 > plot.width
      const begin = flips ? at - width - 6 : at + 6
      const free = ends.findIndex((end) => end < begin)
      const row = Math.max(0, free)
      ends[row] = begin + width
      const top = 14 + row * 16
      const line = element('line', { x1: at, x2: at, y1: top - 8, y2: plot.bottom })
      const place = { x: flips ? at - 5 : at + 5, y: top + 2, 'text-anchor': flips ? 'end' : undefined }
      return element('g', { class: 'mark' }, line, label(words, place))
    })
}
