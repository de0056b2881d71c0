import { element, hint, joined, type Markup, styleSheet, text } from '../../lib/base/markup.js'
import { type Line, panel, panelPlot, seriesStyle } from '../../lib/benchmark/report/lines.js'
import { grouped } from '../../lib/benchmark/report/numbers.js'
import { linearScale, pointScale, type Scale } from '../../lib/benchmark/report/scale.js'
import { leftAxis, textWidth } from '../../lib/benchmark/report/svg.js'

/** A value, and what is told where the pointer rests on it. */
export interface Mark {
  readonly value: number
  readonly words: string
}

const width = 960
const margin = 12
const top = 62
const colours = ['#0e7c66', '#2f6fc9', '#b26a00', '#b8336a', '#6a4fc4', '#5b6876']

const style = `text{fill:#5b6876}.title{fill:#16202b;font-size:16px;font-weight:600}.axis{stroke:#5b6876;stroke-opacity:.6}.grid{stroke:#ebeef2}
.line{fill:none;stroke:currentColor;stroke-width:2;stroke-linejoin:round}.point,.bar{fill:currentColor}
${colours.map((colour, i) => `.series-${i + 1}{color:${colour}}`).join('')}`

/** A drawing (SVG) of panels, two beside each other; the series are those of their lines or bars, in order. */
export function draw(title: string, series: readonly string[], panels: readonly Markup[]): string {
  const height = top + Math.ceil(panels.length / 2) * panelPlot.height
  const placed = panels.map((panel, i) => {
    const [x, y] = [(i % 2) * (width - panelPlot.width), top + Math.floor(i / 2) * panelPlot.height]
    return element('g', { transform: `translate(${x} ${y})` }, panel)
  })
  const attributes = {
    xmlns: 'http://www.w3.org/2000/svg',
    width: width + 2 * margin,
    height,
    viewBox: `${-margin} 0 ${width + 2 * margin} ${height}`,
    role: 'img',
    'font-family': 'system-ui,-apple-system,Segoe UI,Roboto,Helvetica,Arial,sans-serif',
    'font-size': 12,
  }
  const paper = element('rect', { x: -margin, width: width + 2 * margin, height, fill: '#fff' })
  const head = element('text', { x: 0, y: 22, class: 'title' }, text(title))
  return `${element('svg', attributes, hint(title), styleSheet(style), paper, head, legend(series), placed)}\n`
}

/** A line for each series over what was varied. */
export function linePanel(title: string, axis: string, lines: readonly Omit<Line, 'style'>[]): Markup {
  const points = lines.flatMap((line) => line.points)
  const x = pointScale(points.map((point) => point.x), [panelPlot.left + 14, panelPlot.right - 14]) // prettier-ignore
  const styled = lines.map((line, i) => ({ ...line, style: seriesStyle(i) }))
  return joined(panel(styled, [x, axis], [fromZero(points.map(({ y }) => y)), title]))
}

/** Bars side by side, one for each series, in groups; across all a dashed line, which the title explains. */
export function barPanel(
  title: string,
  level: Mark,
  groups: readonly { readonly name: string; readonly bars: readonly Mark[] }[],
): Markup {
  const { left, right, bottom } = panelPlot
  const y = fromZero(groups.flatMap(({ bars }) => bars.map(({ value }) => value)))
  const across = (right - left) / groups.length
  const drawn = groups.flatMap(({ name, bars }, group) => {
    const start = left + group * across
    const wide = (across * 0.8) / bars.length
    const label = { x: start + across / 2, y: bottom + 18, 'text-anchor': 'middle' }
    return [
      ...bars.map((bar, i) => barOf(bar, start + across * 0.1 + i * wide, wide, y, seriesStyle(i))),
      element('text', label, text(name)),
    ]
  })
  const line = (at: number, attributes: object, ...children: Markup[]): Markup =>
    element('line', { x1: left, x2: right, y1: at, y2: at, ...attributes }, ...children)
  const dashed = line(y.at(level.value), { stroke: '#16202b', 'stroke-dasharray': '4 4' }, hint(level.words))
  return joined([...leftAxis(panelPlot, y, title), ...drawn, line(bottom, { class: 'axis' }), dashed])
}

/** A bar with its value above. */
function barOf({ value, words }: Mark, x: number, width: number, scale: Scale, style: string): Markup {
  const y = scale.at(value)
  const bar = { x: x + 1, width: width - 2, y, height: Math.max(panelPlot.bottom - y, 0.5), class: 'bar' }
  const label = { x: x + width / 2, y: y - 4, 'text-anchor': 'middle', 'font-size': 10 }
  const figure = grouped(value, value >= 100 ? 0 : value >= 10 ? 1 : 2)
  return element('g', { class: style }, element('rect', bar, hint(words)), element('text', label, text(figure)))
}

const fromZero = (values: readonly number[]): Scale =>
  linearScale([0, Math.max(...values) || 1], [panelPlot.bottom, panelPlot.top], { count: 5 })

function legend(series: readonly string[]): Markup {
  let x = 0
  const entries = series.map((name, i) => {
    const swatch = element('rect', { x: 0, y: -4, width: 18, height: 4, class: 'bar' })
    const place = { class: seriesStyle(i), transform: `translate(${x} 46)` }
    x += 26 + textWidth(name) + 18
    return element('g', place, swatch, element('text', { x: 26, y: 3 }, text(name)))
  })
  return joined(entries)
}
