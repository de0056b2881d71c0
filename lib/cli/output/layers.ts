import type { EngineLayers, LayerTiming } from '../../benchmark/types.js'
import type { Session } from '../session.js'
import { percentText } from './format.js'

/** The ten slowest layers. */
export function slowestLayers({ layers }: EngineLayers): readonly LayerTiming[] {
  return [...layers].sort((a, b) => b.averageMs - a.averageMs).slice(0, 10)
}

/** How much computes in each precision; and the slowest layers, with `second` beside their names. */
export function layersText(session: Session, found: EngineLayers, second: 'mean ms' | 'precision'): string {
  const shares = found.precisions.map(({ precision, layers, timeShare }) => [precision, layers, percentText(timeShare)])
  const rows = slowestLayers(found).map(({ name, precision, averageMs, medianMs, timeShare }) => [
    name,
    second === 'precision' ? precision : averageMs.toFixed(3),
    medianMs.toFixed(3),
    percentText(timeShare),
  ])
  return [
    session.table(['precision', 'layers', 'of the time'], shares, { right: [2] }),
    session.table(['slowest layers', second, 'median ms', 'share'], rows, {
      right: second === 'precision' ? [2, 3] : [1, 2, 3],
    }),
  ].join('\n\n')
}
