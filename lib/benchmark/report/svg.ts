import { element, label, type Markup } from '../../base/markup.js'
import type { Scale } from './scale.js'

/** Where the plot lies within a chart, in the chart's own units: a chart is as wide as the page, 960 units. */
export interface Plot {
  readonly width: number
  readonly height: number
  readonly left: number
  readonly right: number
  readonly top: number
  readonly bottom: number
}

/** A plot with room for its marks; `right` and `bottom` are places, not margins. */
export function plotOf(height: number, { width = 960, left = 64, right = 16, top = 12, bottom = 44 } = {}): Plot {
  return { width, height, left, right: width - right, top, bottom: height - bottom }
}

/** A drawing with a name for those who do not see it. */
export function chart({ width, height }: Plot, name: string, ...parts: (Markup | readonly Markup[])[]): Markup {
  const attributes = {
    viewBox: `0 0 ${width} ${height}`,
    role: 'img',
    'aria-label': name,
    class: 'chart',
    xmlns: 'http://www.w3.org/2000/svg',
  }
  return element('svg', attributes, ...parts)
}

/** Marks and name of the axis below. */
export function bottomAxis(plot: Plot, scale: Scale, name: string, { grid = false } = {}): Markup[] {
  const { left, right, top, bottom } = plot
  const marks = scale.ticks.flatMap(({ value, label: words }) => {
    const x = scale.at(value)
    const line = grid ? { y1: top, y2: bottom, class: 'grid' } : { y1: bottom, y2: bottom + 4, class: 'axis' }
    return [element('line', { x1: x, x2: x, ...line }), label(words, { x, y: bottom + 18, 'text-anchor': 'middle' })]
  })
  return [
    ...marks,
    element('line', { x1: left, x2: right, y1: bottom, y2: bottom, class: 'axis' }),
    label(name, { x: (left + right) / 2, y: bottom + 37, 'text-anchor': 'middle', class: 'name' }),
  ]
}

/** Marks, lines through the plot and, above, the name of the axis at the left. */
export function leftAxis(plot: Plot, scale: Scale, name: string): Markup[] {
  const { left, right, top } = plot
  const marks = scale.ticks.flatMap(({ value, label: words }) => {
    const y = scale.at(value)
    return [
      element('line', { x1: left, x2: right, y1: y, y2: y, class: 'grid' }),
      label(words, { x: left - 8, y: y + 4, 'text-anchor': 'end' }),
    ]
  })
  return [...marks, label(name, { x: 0, y: top - 14, class: 'name' })]
}

/** About how wide a text is at 12 units. */
export function textWidth(words: string): number {
  return words.length * 6.6
}
