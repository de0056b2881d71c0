import { type BarPanel, draw } from '../serve-support/chart.js'
import { type Measured, ways } from './measuring.js'

const figures = { average: 'average', P90: 'p90', P95: 'p95' } as const

/** A panel for each model and form of its input: three bars, one for each way, for each of three figures. */
export function chartOf(measured: readonly Measured[]): string {
  const panels = measured.map(({ what, form, modelMs, calls }): BarPanel => ({
    title: `${what}, ${form}, ms (dashed: the model itself)`,
    level: { value: modelMs, words: `the model itself: ${modelMs.toFixed(2)} ms` },
    groups: Object.entries(figures).map(([name, figure]) => ({
      name,
      bars: calls.map(({ way, times }) => ({
        series: way,
        value: times[figure],
        words: `${way}, ${name}: ${times[figure].toFixed(2)} ms`,
      })),
    })),
  }))
  return draw({ title: 'What a call takes, from the tensor to the answer', series: ways, panels })
}
