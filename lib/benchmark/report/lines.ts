import { element, type Markup, hint, polyline } from '../../base/markup.js'
import type { Scale } from './scale.js'
import { bottomAxis, leftAxis, plotOf } from './svg.js'

/** A point of a line, with what is told where the pointer rests. */
export interface Point {
  readonly x: number
  readonly y: number
  readonly words: string
  /** What a thin line from the point goes to. */
  readonly tail?: number | undefined
  /** Where a dashed line runs. */
  readonly median?: number | undefined
  /** Whether it is hollow. */
  readonly isOver?: boolean | undefined
}

export interface Line {
  readonly style: string
  readonly points: readonly Point[]
}

/** Of lines on white; more lines than that share them. */
export const colours = ['#0e7c66', '#2f6fc9', '#b26a00', '#b8336a', '#6a4fc4', '#5b6876']

export const seriesStyle = (index: number): string => `series-${(index % colours.length) + 1}`

/** Where lines lie in a panel, of which two stand side by side. */
export const panelPlot = plotOf(300, { width: 470, left: 58, top: 34 })

/** Lines with their axes. */
export function panel(
  lines: readonly Line[],
  [x, across]: readonly [Scale, string],
  [y, up]: readonly [Scale, string],
) {
  const drawn = lines.map(({ style, points }) => element('g', { class: style }, ...drawLine(points, x, y)))
  return [...leftAxis(panelPlot, y, up), ...bottomAxis(panelPlot, x, across), ...drawn]
}

/** What lies below the axis is drawn at its end. */
function drawLine(points: readonly Point[], x: Scale, y: Scale): Markup[][] {
  const heightOf = (value: number): number => y.at(Math.max(value, y.domain[0]))
  const line = (style: string, valueOf: (point: Point) => number): Markup =>
    polyline(
      points.map((point) => [x.at(point.x), heightOf(valueOf(point))]),
      style,
    )
  const marks = points.flatMap(({ x: value, y: height, tail, words, isOver }) => {
    const [cx, cy] = [x.at(value), heightOf(height)]
    const whisker = { x1: cx, x2: cx, y1: cy, y2: tail === undefined ? cy : heightOf(tail), class: 'whisker' }
    return [
      ...(tail === undefined || tail === height ? [] : [element('line', whisker)]),
      element(
        'circle',
        { cx, cy, r: points.length === 1 ? 5 : 3.5, class: isOver ? 'point over' : 'point' },
        hint(words),
      ),
    ]
  })
  const hasMedian = points.some(({ median }) => median !== undefined)
  return [
    hasMedian ? [line('line median', ({ median, y }) => median ?? y)] : [],
    [line('line', (point) => point.y), ...marks],
  ]
}
