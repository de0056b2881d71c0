import { element, type Markup, text } from '../../base/markup.js'
import type { LayerTiming } from '../types.js'
import { decimalsFor, milliseconds, plural } from './numbers.js'

/** So many of the slowest layers are listed; the others are summed. */
const listed = 40

/** The layers, the slowest first, with their share of the time as bars. */
export function layerTable(layers: readonly LayerTiming[]): Markup {
  const sorted = [...layers].sort((a, b) => b.averageMs - a.averageMs)
  const [shown, rest] = [sorted.slice(0, listed), sorted.slice(listed)]
  const most = shown[0]?.timeShare ?? 0
  const decimals = decimalsFor(shown[0]?.averageMs ?? 0)
  const rows = shown.map(({ name, averageMs, medianMs, timeShare }) => row(name, [averageMs, medianMs], timeShare))
  const others = { averageMs: sum(rest, 'averageMs'), timeShare: sum(rest, 'timeShare') }
  return element(
    'table',
    { class: 'layers' },
    element(
      'thead',
      {},
      element('tr', {}, ['layer', 'average, ms', 'median, ms', 'share'].map(heading), element('th')),
    ),
    element(
      'tbody',
      {},
      rows,
      rest.length === 0 ? undefined : row(plural(rest.length, 'other layer'), [others.averageMs], others.timeShare),
    ),
  )

  function row(name: string, times: readonly number[], share: number): Markup {
    return element(
      'tr',
      {},
      element('td', { class: 'name' }, text(name)),
      [0, 1].map((i) => element('td', {}, times[i] === undefined ? undefined : text(milliseconds(times[i], decimals)))),
      element('td', {}, text(`${(share * 100).toFixed(1)} %`)),
      element('td', { class: 'bar-cell' }, bar(most > 0 ? Math.min(share / most, 1) : 0)),
    )
  }
}

const heading = (words: string): Markup => element('th', { scope: 'col' }, text(words))

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
