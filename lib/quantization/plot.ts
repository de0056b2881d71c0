import { checkedObject } from '../base/checks.js'
import { drawing, element, hint, label, type Markup } from '../base/markup.js'
import { expected } from '../errors.js'
import type { Histogram } from './thresholds.js'
import type { QuantizationReport, QuantizedTensor } from './report.js'

/** Sizes in pixels. */
const width = 240
const height = 110
const columns = 4
const margin = 12
const plotWidth = width - 2 * margin
const plotHeight = 56
const head = 64
const bars = 72

/**
 * The ranges of a model that was quantized, as a picture (SVG): for each value how often which magnitude was seen (on a
 * scale of logarithms), and where its range ends: what lies to the right of the line saturates.
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT for what is no report
 */
export function plotReport(report: QuantizationReport): string {
  checkReport(report)
  const { tensors, layers, multiplyAdds } = report
  const rows = Math.ceil(tensors.length / columns)
  const [w, h] = [columns * width, head + rows * height]
  const quantized = layers.filter((layer) => layer.quantized).length
  const share = `${(multiplyAdds.share * 100).toFixed(1)} % of the multiply-adds`
  const title = `${quantized} of ${layers.length} layers quantized, ${share}; ranges of ${tensors.length} values`
  return drawing(
    { width: w, height: h },
    title,
    'text{font:10px sans-serif;fill:#666}.name{fill:#222}.title{font-size:15px}',
    element('rect', { width: w, height: h, fill: '#fff' }),
    label(title, { x: margin, y: 24, class: 'name title' }),
    label('How often each magnitude was seen (logarithms); beyond the red line it saturates.', { x: margin, y: 44 }),
    tensors.map((tensor, i) => panel(tensor, (i % columns) * width, head + Math.floor(i / columns) * height)),
  )
}

/** It is the `report` of what quantize() resolves with, not that itself. */
function checkReport(report: unknown): void {
  const what = 'the report of a quantized model'
  const { tensors, layers } = checkedObject(report, 'report', what) as Readonly<Record<string, unknown>>
  if (!Array.isArray(tensors) || !Array.isArray(layers)) throw expected(what, 'report', report)
}

function panel({ name, amax, histogram, saturated }: QuantizedTensor, x: number, y: number): Markup {
  const limit = Math.max(amax, histogram === undefined ? 0 : histogram.counts.length * histogram.width)
  const [at, bottom] = [margin + (plotWidth * amax) / limit, 16 + plotHeight]
  const beyond = saturated === undefined ? '' : `, ${(saturated * 100).toPrecision(2)} % beyond`
  return element(
    'g',
    { transform: `translate(${x} ${y})` },
    hint(name),
    label(shortened(name), { x: margin, y: 10, class: 'name' }),
    histogram && columnsOf(histogram, limit),
    element('line', { x1: margin, x2: margin + plotWidth, y1: bottom, y2: bottom, stroke: '#999' }),
    element('line', { x1: at, x2: at, y1: 14, y2: bottom, stroke: '#c22' }),
    label(`range ±${amax.toPrecision(4)}${beyond}`, { x: margin, y: bottom + 14 }),
  )
}

/** As many columns as there is room for. */
function columnsOf({ counts, width: binWidth }: Histogram, limit: number): Markup {
  const sums = new Float64Array(bars)
  for (let i = 0; i < counts.length; i++)
    sums[Math.min(bars - 1, Math.floor((i * binWidth * bars) / limit))]! += counts[i]!
  const logs = sums.map((count) => Math.log1p(count))
  const highest = logs.reduce((a, b) => Math.max(a, b), 0) || 1
  const step = plotWidth / bars
  let path = ''
  logs.forEach((log, i) => {
    const tall = (log / highest) * plotHeight
    if (tall > 0)
      path += `M${(margin + i * step).toFixed(1)} ${16 + plotHeight}v-${tall.toFixed(1)}h${step.toFixed(2)}v${tall.toFixed(1)}z`
  })
  return element('path', { d: path, fill: '#4a78b5' })
}

function shortened(name: string): string {
  return name.length > 38 ? `…${name.slice(-37)}` : name
}
