import { element, hint, label, type Markup } from '../../base/markup.js'
import type { Benchmark, TraceRow } from '../types.js'
import { milliseconds } from './numbers.js'
import { linearScale, type Scale } from './scale.js'
import { bottomAxis, chart, plotOf } from './svg.js'

interface Span {
  readonly query: number
  readonly start: number
  readonly end: number
}

interface Lane {
  readonly name: string
  readonly style: string
  readonly spanOf: (row: TraceRow) => readonly [start: number, end: number]
}

const lanes: readonly Lane[] = [
  { name: 'enqueue (host)', style: 'enqueue', spanOf: (row) => [row.startEnqMs, row.endEnqMs] },
  { name: 'copy in', style: 'copy-in', spanOf: (row) => [row.startH2dMs, row.endH2dMs] },
  { name: 'compute', style: 'compute', spanOf: (row) => [row.startComputeMs, row.endComputeMs] },
  { name: 'copy out', style: 'copy-out', spanOf: (row) => [row.startD2hMs, row.endD2hMs] },
]

const rowHeight = 22
const gap = 10

/** So many queries of each stream are looked at closely. */
const closeUp = 5

/**
 * A few queries from the middle of the run, stage by stage: what overlaps lies above one another. Undefined where there
 * is no query.
 */
export function stages({ trace, settings }: Pick<Benchmark, 'trace' | 'settings'>): Markup | undefined {
  const count = Math.min(trace.length, closeUp * settings.streams)
  const first = Math.floor((trace.length - count) / 2)
  const rows = trace.slice(first, first + count)
  const filled = lanes.flatMap((lane) => {
    const spans = spansOf(lane, rows, first)
    return spans.length === 0 ? [] : [{ ...lane, tracks: tracksOf(spans) }]
  })
  if (filled.length === 0) return undefined
  const all = filled.flatMap(({ tracks }) => tracks.flat())
  const start = Math.min(...all.map((span) => span.start))
  const height = filled.reduce((sum, { tracks }) => sum + tracks.length * rowHeight + gap, 0) + 56
  const plot = plotOf(height, { left: 108, top: 8 })
  const end = Math.max(...all.map((span) => span.end))
  const x = linearScale([0, end - start], [plot.left, plot.right], { count: 10, exact: true })
  let y = plot.top
  const drawn = filled.map((lane) => {
    const top = y
    y += lane.tracks.length * rowHeight + gap
    return drawLane(lane, { x, top, start })
  })
  const which = `ueries ${first + 1} to ${first + count} of ${trace.length}`
  const axis = bottomAxis(plot, x, `ms; q${which}`, { grid: true })
  const baseline = element('line', { x1: plot.left, x2: plot.left, y1: plot.top, y2: plot.bottom, class: 'axis' })
  return chart(plot, `Q${which}, stage by stage`, axis, ...drawn, baseline)
}

function spansOf({ spanOf }: Lane, rows: readonly TraceRow[], first: number): Span[] {
  const spans = rows.map((row, i) => ({ query: first + i + 1, start: spanOf(row)[0], end: spanOf(row)[1] }))
  return spans.filter(({ start, end }) => end > start)
}

/** Spans that do not overlap share a track: as few tracks as there can be. */
export function tracksOf(spans: readonly Span[]): Span[][] {
  const tracks: Span[][] = []
  for (const span of [...spans].sort((a, b) => a.start - b.start)) {
    const free = tracks.find((track) => track.at(-1)!.end <= span.start)
    if (free === undefined) tracks.push([span])
    else free.push(span)
  }
  return tracks
}

function drawLane(
  { name, style, tracks }: Lane & { readonly tracks: readonly (readonly Span[])[] },
  { x, top, start }: { readonly x: Scale; readonly top: number; readonly start: number },
): Markup {
  const boxes = tracks.flatMap((track, i) =>
    track.map((span) => {
      const [left, right] = [x.at(span.start - start), x.at(span.end - start)]
      const y = top + i * rowHeight
      const width = Math.max(right - left, 1)
      const number = String(span.query)
      const words = `query ${number}, ${name}: ${milliseconds(span.end - span.start)} ms`
      return element(
        'g',
        { class: span.query % 2 === 0 ? 'even' : undefined },
        element('rect', { x: left, y, width, height: rowHeight - 3, rx: 2, class: style }, hint(words)),
        width > number.length * 7 + 6
          ? label(number, { x: left + width / 2, y: y + 14, 'text-anchor': 'middle', class: 'on' })
          : undefined,
      )
    }),
  )
  return element('g', {}, label(name, { x: 96, y: top + 14, 'text-anchor': 'end' }), boxes)
}
