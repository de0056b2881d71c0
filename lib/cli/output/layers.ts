import type { EngineLayers, LayerTiming } from '../../benchmark/types.js'
import type { Session } from '../session.js'
import { percentText } from './format.js'

/** The ten slowest layers. */
export function slowestLayers({ layers }: EngineLayers): readonly LayerTiming[] {
  return layers.toSorted((a, b) => b.averageMs - a.averageMs).slice(0, 10)
}

/** How much computes in each precision; and the slowest layers. */
export function layersText(session: Session, found: EngineLayers): string {
  const shares = found.precisions.map(({ precision, layers, timeShare }) => [precision, layers, percentText(timeShare)])
  const rows = slowestLayers(found).map(({ name, precision, averageMs, medianMs, timeShare }) => [
    name,
    precision,
    averageMs.toFixed(3),
    medianMs.toFixed(3),
    percentText(timeShare),
  ])
  const table = session.table(['slowest layers', 'precision', 'mean ms', 'median ms', 'share'], rows)
  return `${session.table(['precision', 'layers', 'of the time'], shares)}\n\n${table}`
}
