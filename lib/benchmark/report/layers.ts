import { element, type Markup, text } from '../../base/markup.js'
import type { LayerTiming } from '../types.js'
import { decimalsFor, milliseconds, plural } from './numbers.js'
import { heading, table } from './tables.js'

/** So many of the slowest layers are listed; the others are summed. */
const listed = 40

/** The layers, the slowest first, with their share of the time as bars. */
export function layerTable(layers: readonly LayerTiming[]): Markup {
  const sorted = [...layers].sort((a, b) => b.averageMs - a.averageMs)
  const [shown, rest] = [sorted.slice(0, listed), sorted.slice(listed)]
  const most = shown[0]?.timeShare ?? 0
  const decimals = decimalsFor(shown[0]?.averageMs ?? 0)
  const time = (ms: number | undefined): Markup =>
    element('td', {}, ms === undefined ? undefined : text(milliseconds(ms, decimals)))
  const row = (name: string, share: number, average: number, median?: number): Markup =>
    element(
      'tr',
      {},
      element('td', { class: 'name' }, text(name)),
      time(average),
      time(median),
      element('td', {}, text(`${(share * 100).toFixed(1)} %`)),
      element('td', { class: 'bar-cell' }, bar(most > 0 ? Math.min(share / most, 1) : 0)),
    )
  const rows = shown.map(({ name, averageMs, medianMs, timeShare }) => row(name, timeShare, averageMs, medianMs))
  if (rest.length > 0)
    rows.push(row(plural(rest.length, 'other layer'), sum(rest, 'timeShare'), sum(rest, 'averageMs')))
  const heads = ['layer', 'average, ms', 'median, ms', 'share'].map(heading)
  return table('layers', [...heads, element('th')], rows)
}

/** Drawn, not a background: those are not printed. */
function bar(share: number): Markup {
  return element(
    'svg',
    { viewBox: '0 0 100 8', preserveAspectRatio: 'none', class: 'share', 'aria-hidden': 'true' },
    element('rect', { width: 100 * share, height: 8, class: 'bar' }),
  )
}

function sum(layers: readonly LayerTiming[], key: 'averageMs' | 'timeShare'): number {
  return layers.reduce((total, layer) => total + layer[key], 0)
}
