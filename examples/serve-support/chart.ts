import { coordinate, element, hint, joined, type Markup, styleSheet, text } from '../../lib/base/markup.js'
import { grouped } from '../../lib/benchmark/report/numbers.js'
import { linearScale, pointScale, type Scale } from '../../lib/benchmark/report/scale.js'
import { bottomAxis, leftAxis, type Plot, plotOf, textWidth } from '../../lib/benchmark/report/svg.js'

/** A value of a panel, and what is told where the pointer rests on it. */
export interface Mark {
  readonly value: number
  readonly words: string
}

/** Lines over what was varied, one for each series. */
export interface LinePanel {
  readonly title: string
  readonly axis: string
  readonly lines: readonly { readonly series: string; readonly points: readonly (Mark & { readonly at: number })[] }[]
}

/** Bars side by side, one for each series, in groups. */
export interface BarPanel {
  readonly title: string
  /** A dashed line across all bars, such as what a part of each takes; the title says what it is. */
  readonly level?: Mark
  readonly groups: readonly { readonly name: string; readonly bars: readonly (Mark & { readonly series: string })[] }[]
}

export interface Drawing {
  readonly title: string
  /** Of what is drawn, in the legend's order. */
  readonly series: readonly string[]
  readonly panels: readonly (LinePanel | BarPanel)[]
}

const width = 960
const margin = 12
const panelWidth = 470
const panelHeight = 300
const colours = ['#0e7c66', '#2f6fc9', '#b26a00', '#b8336a', '#6a4fc4', '#5b6876']

const style = `text{fill:#5b6876}.title{fill:#16202b;font-size:16px;font-weight:600}.axis{stroke:#5b6876;stroke-opacity:.6}.grid{stroke:#ebeef2}
.line{fill:none;stroke:currentColor;stroke-width:2;stroke-linejoin:round}.point,.bar{fill:currentColor}
${colours.map((colour, i) => `.series-${i + 1}{color:${colour}}`).join('')}`

/** A drawing (SVG) of panels, two beside each other. */
export function draw({ title, series, panels }: Drawing): string {
  const top = 62
  const height = top + Math.ceil(panels.length / 2) * panelHeight
  const placed = panels.map((panel, i) => {
    const [x, y] = [(i % 2) * (width - panelWidth), top + Math.floor(i / 2) * panelHeight]
    return element(
      'g',
      { transform: `translate(${x} ${y})` },
      'lines' in panel ? linePanel(panel, series) : barPanel(panel, series),
    )
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

function linePanel({ title, axis, lines }: LinePanel, series: readonly string[]): Markup {
  const plot = plotOf(panelHeight, { width: panelWidth, left: 58, top: 34 })
  const points = lines.flatMap((line) => line.points)
  const x = pointScale(points.map(({ at }) => at), [plot.left + 14, plot.right - 14]) // prettier-ignore
  const y = fromZero(points, plot)
  const drawn = lines.map((line) => element('g', { class: classOf(line.series, series) }, lineOf(line.points, x, y)))
  return joined([...leftAxis(plot, y, title), ...bottomAxis(plot, x, axis), ...drawn])
}

function lineOf(points: LinePanel['lines'][number]['points'], x: Scale, y: Scale): Markup {
  const path = points.map(({ at, value }) => `${coordinate(x.at(at))},${coordinate(y.at(value))}`).join(' ')
  const marks = points.map(({ at, value, words }) =>
    element('circle', { cx: x.at(at), cy: y.at(value), r: 3.5, class: 'point' }, hint(words)),
  )
  return joined([element('polyline', { points: path, class: 'line' }), ...marks])
}

function barPanel({ title, groups, level }: BarPanel, series: readonly string[]): Markup {
  const plot = plotOf(panelHeight, { width: panelWidth, left: 58, top: 34 })
  const y = fromZero(groups.flatMap(({ bars }) => bars), plot) // prettier-ignore
  const groupWidth = (plot.right - plot.left) / groups.length
  const drawn = groups.flatMap(({ name, bars }, i) => {
    const left = plot.left + i * groupWidth
    const barWidth = (groupWidth * 0.8) / bars.length
    const label = element(
      'text',
      { x: left + groupWidth / 2, y: plot.bottom + 18, 'text-anchor': 'middle' },
      text(name),
    )
    return [
      ...bars.map((bar, at) =>
        barOf(bar, { x: left + groupWidth * 0.1 + at * barWidth, width: barWidth, plot, y }, series),
      ),
      label,
    ]
  })
  const axis = element('line', { x1: plot.left, x2: plot.right, y1: plot.bottom, y2: plot.bottom, class: 'axis' })
  return joined([
    ...leftAxis(plot, y, title),
    ...drawn,
    axis,
    ...(level === undefined ? [] : [levelOf(level, plot, y)]),
  ])
}

function levelOf({ value, words }: Mark, { left, right }: Plot, scale: Scale): Markup {
  const y = scale.at(value)
  return element(
    'line',
    { x1: left, x2: right, y1: y, y2: y, stroke: '#16202b', 'stroke-dasharray': '4 4' },
    hint(words),
  )
}

interface Place {
  readonly x: number
  readonly width: number
  readonly plot: Plot
  readonly y: Scale
}

/** A bar with its value above. */
function barOf(
  { value, words, series: name }: BarPanel['groups'][number]['bars'][number],
  place: Place,
  series: readonly string[],
): Markup {
  const top = place.y.at(value)
  const bar = {
    x: place.x + 1,
    width: place.width - 2,
    y: top,
    height: Math.max(place.plot.bottom - top, 0.5),
    class: 'bar',
  }
  const label = { x: place.x + place.width / 2, y: top - 4, 'text-anchor': 'middle', 'font-size': 10 }
  return element(
    'g',
    { class: classOf(name, series) },
    element('rect', bar, hint(words)),
    element('text', label, text(grouped(value, value >= 100 ? 0 : value >= 10 ? 1 : 2))),
  )
}

const fromZero = (marks: readonly Mark[], { top, bottom }: Plot): Scale =>
  linearScale([0, Math.max(...marks.map(({ value }) => value)) || 1], [bottom, top], { count: 5 })

const classOf = (name: string, series: readonly string[]): string =>
  `series-${(series.indexOf(name) % colours.length) + 1}`

function legend(series: readonly string[]): Markup {
  let x = 0
  const entries = series.map((name) => {
    const swatch = element('rect', { x: 0, y: -4, width: 18, height: 4, class: 'bar' })
    const entry = element(
      'g',
      { class: classOf(name, series), transform: `translate(${x} 46)` },
      swatch,
      element('text', { x: 26, y: 3 }, text(name)),
    )
    x += 26 + textWidth(name) + 18
    return entry
  })
  return joined(entries)
}
