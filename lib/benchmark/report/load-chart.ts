import { checkedArray, checkedObject, checkedText } from '../../base/checks.js'
import { drawing, element, joined, label, type Markup } from '../../base/markup.js'
import { readOptions } from '../../base/options.js'
import { expected } from '../../errors.js'
import type { LoadPoint, LoadTest } from '../load/types.js'
import type { Summary } from '../types.js'
import { colours, type Line, panel, panelPlot, type Point, seriesStyle } from './lines.js'
import { milliseconds, rate as rateText } from './numbers.js'
import { linearScale, type Scale } from './scale.js'
import { textWidth } from './svg.js'
import { tailOf } from './sweep.js'

/** One line of a chart: what an engine did with one way of batching. */
export interface LoadCurve {
  /** What the line is called, such as `maxDelayMs 2`. */
  readonly name: string
  /** What was measured. */
  readonly test: LoadTest
}

/** What {@link loadTestChart} writes beside the figures. */
export interface LoadTestChartOptions {
  /** At the head of the chart; `Latency against rate` unless given. */
  readonly title?: string | undefined
}

const width = 960
const margin = 12
const { width: panelWidth, height: panelHeight } = panelPlot
const gap = width - 2 * panelWidth

const style = `text{fill:#5b6876;font:12px system-ui,-apple-system,Segoe UI,Roboto,Helvetica,Arial,sans-serif}.title{fill:#16202b;font-size:16px;font-weight:600}.axis{stroke:#5b6876;stroke-opacity:.6}.grid{stroke:#ebeef2}
.line{fill:none;stroke:currentColor;stroke-width:2;stroke-linejoin:round}.median{stroke-dasharray:4 4;stroke-width:1.25}
.point{fill:currentColor;stroke:currentColor;stroke-width:1.5}.over{fill:#fff}
${colours.map((colour, i) => `.series-${i + 1}{color:${colour}}`).join('')}`

/**
 * Latency against rate as a drawing (SVG), a line for each curve: the highest percentile, and dashed the median; by
 * priority where requests have some; and how large batches were. A hollow point is a rate that overloads the engine: if
 * its latency is far above the others, it is at the upper end of the axis.
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT
 */
export function loadTestChart(curves: readonly LoadCurve[], options?: LoadTestChartOptions): string {
  const checked = checkedCurves(curves)
  const { title } = readOptions(options, ['title'], 'loadTestChart')
  const head = title === undefined ? 'Latency against rate' : checkedText(title, 'title')
  const panels = [...latencyPanels(checked), batchPanel(checked)]
  const legend = legendOf(checked)
  const top = 40 + legend.height
  const height = top + Math.ceil(panels.length / 2) * panelHeight
  const placed = panels.map((panel, i) => {
    const [x, y] = [(i % 2) * (panelWidth + gap), top + Math.floor(i / 2) * panelHeight]
    return element('g', { transform: `translate(${x} ${y})` }, panel)
  })
  const whole = { left: -margin, width: width + 2 * margin, height }
  return drawing(
    whole,
    head,
    style,
    element('rect', { x: -margin, width: whole.width, height, fill: '#fff' }),
    label(head, { x: 0, y: 22, class: 'title' }),
    legend.drawing,
    placed,
  )
}

function checkedCurves(curves: unknown): readonly LoadCurve[] {
  const what = 'an array of { name, test }, whose tests are what loadTest resolves with,'
  const list = checkedArray(curves, 'curves', what).map((curve) => {
    const { name, test } = checkedObject(curve, 'curves', what) as Partial<LoadCurve>
    if (typeof test !== 'object' || test?.kind !== 'load-test') throw expected(what, 'curves', test)
    return { name: checkedText(name, 'the name of a curve'), test }
  })
  if (list.every(({ test }) => test.points.length === 0))
    throw expected('at least one curve that has points', 'curves', curves)
  return list
}

function latencyPanels(curves: readonly LoadCurve[]): Markup[] {
  const points = curves.flatMap(({ test }) => test.points)
  const levels = [...new Set(points.flatMap(({ priorities }) => priorities.map(({ priority }) => priority)))]
  const latency = points.find((point) => point.latency)?.latency
  const { percentile } = tailOf(latency?.percentiles, 0)
  const title = (of: string): string => `${of}p${percentile} latency, ms (dashed: median)`
  if (levels.length === 0) return [latencyPanel(curves, title(''), ({ latency }) => latency)]
  return levels
    .sort((a, b) => a - b)
    .map((level) =>
      latencyPanel(
        curves,
        title(`priority ${level}: `),
        ({ priorities }) => priorities.find(({ priority }) => priority === level)?.latency,
      ),
    )
}

function latencyPanel(
  curves: readonly LoadCurve[],
  title: string,
  latencyOf: (point: LoadPoint) => Summary | undefined,
): Markup {
  const lines = linesOf(curves, (point) => {
    const latency = latencyOf(point)
    if (latency === undefined) return undefined
    const { median } = latency
    const { tail, percentile } = tailOf(latency.percentiles, median)
    const words = `median ${milliseconds(median)} ms, ${percentile} % within ${milliseconds(tail)} ms`
    return { y: tail, median, words }
  })
  const highest = highestOf(lines)
  return ratePanel(clipped(lines, highest), title, (range) => linearScale([0, highest], range, { count: 8 }))
}

/** How much above the others an overloaded point is drawn where it is. */
const overloadRoom = 2

/** An overloaded engine is as slow as requests came: that is no reason to draw all others at the bottom. */
function highestOf(lines: readonly Line[]): number {
  const points = lines.flatMap(({ points }) => points)
  const most = (some: readonly Point[]): number => Math.max(...some.flatMap(({ y, median = y }) => [y, median]), 0.001)
  const within = points.filter(({ isOver }) => isOver !== true)
  return within.length === 0 ? most(points) : Math.min(most(points), overloadRoom * most(within))
}

function clipped(lines: readonly Line[], highest: number): Line[] {
  return lines.map(({ points, ...line }) => ({
    ...line,
    points: points.map(({ y, median, ...point }) => ({
      ...point,
      y: Math.min(y, highest),
      ...(median !== undefined && { median: Math.min(median, highest) }),
    })),
  }))
}

function batchPanel(curves: readonly LoadCurve[]): Markup {
  const lines = linesOf(curves, ({ meanBatch }) => ({ y: meanBatch, words: `${meanBatch.toFixed(2)} rows a batch` }))
  const values = lines.flatMap(({ points }) => points.map(({ y }) => y))
  return ratePanel(lines, 'mean batch, rows', (range) => linearScale([0, Math.max(...values, 1)], range, { count: 5 }))
}

function linesOf(
  curves: readonly LoadCurve[],
  drawn: (point: LoadPoint) => Pick<Point, 'y' | 'median' | 'words'> | undefined,
): Line[] {
  return curves.map(({ name, test }, i) => ({
    style: seriesStyle(i),
    points: test.points.flatMap((point) => {
      const found = drawn(point)
      const { rate, overloaded: isOver } = point
      const words = `${name}, ${rateText(rate)}/s: ${found?.words}${isOver ? ', overloaded' : ''}`
      return found === undefined ? [] : [{ ...found, x: rate, isOver, words }]
    }),
  }))
}

function ratePanel(lines: readonly Line[], title: string, scale: (range: readonly [number, number]) => Scale): Markup {
  const { left, right, bottom, top } = panelPlot
  const rates = lines.flatMap(({ points }) => points.map(({ x }) => x))
  const x = linearScale([0, Math.max(...rates, 1e-6)], [left, right - 14], { count: 6 })
  return joined(panel(lines, [x, 'offered load, requests per second'], [scale([bottom, top]), title]))
}

/** The names of curves, in as many rows as they take. */
function legendOf(curves: readonly LoadCurve[]): { readonly drawing: Markup; readonly height: number } {
  const row = 18
  let [x, y] = [0, 48]
  const entry = (words: string, mark: Markup, colour: string): Markup => {
    const entryWidth = 26 + textWidth(words) + 18
    if (x > 0 && x + entryWidth > width) [x, y] = [0, y + row]
    const place = { class: colour, transform: `translate(${x} ${y})` }
    const drawn = element('g', place, mark, label(words, { x: 26, y: 4 }))
    x += entryWidth
    return drawn
  }
  const line = element('line', { x1: 0, x2: 18, y1: 0, y2: 0, class: 'line' })
  const over = element('circle', { cx: 9, cy: 0, r: 3.5, class: 'point over' })
  const entries = curves.map(({ name }, i) => entry(name, line, seriesStyle(i)))
  const isOver = curves.some(({ test }) => test.points.some(({ overloaded }) => overloaded))
  return {
    drawing: joined([...entries, ...(isOver ? [entry('overloaded', over, 'series-6')] : [])]),
    height: y - 48 + row + 10,
  }
}
