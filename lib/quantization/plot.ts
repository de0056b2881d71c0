import { checkedObject } from '../base/checks.js'
import { text } from '../base/markup.js'
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
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${w}" height="${h}" viewBox="0 0 ${w} ${h}" font-family="sans-serif" font-size="10">`,
    `<rect width="${w}" height="${h}" fill="#fff"/>`,
    `<text x="${margin}" y="24" font-size="15" fill="#222">${title}</text>`,
    `<text x="${margin}" y="44" fill="#666">How often each magnitude was seen (logarithms); beyond the red line it saturates.</text>`,
    ...tensors.map((tensor, i) => panel(tensor, (i % columns) * width, head + Math.floor(i / columns) * height)),
    '</svg>\n',
  ].join('\n')
}

/** It is the `report` of what quantize() resolves with, not that itself. */
function checkReport(report: unknown): void {
  const what = 'the report of a quantized model'
  const { tensors, layers } = checkedObject(report, 'report', what) as Readonly<Record<string, unknown>>
  if (!Array.isArray(tensors) || !Array.isArray(layers)) throw expected(what, 'report', report)
}

function panel(tensor: QuantizedTensor, x: number, y: number): string {
  const { name, amax, histogram, saturated } = tensor
  const limit = Math.max(amax, histogram === undefined ? 0 : histogram.counts.length * histogram.width)
  const at = margin + (plotWidth * amax) / limit
  const beyond = saturated === undefined ? '' : `, ${(saturated * 100).toPrecision(2)} % beyond`
  return [
    `<g transform="translate(${x} ${y})">`,
    `<title>${text(name)}</title>`,
    `<text x="${margin}" y="10" fill="#222">${text(shortened(name))}</text>`,
    ...(histogram === undefined ? [] : [columnsOf(histogram, limit)]),
    `<line x1="${margin}" x2="${margin + plotWidth}" y1="${16 + plotHeight}" y2="${16 + plotHeight}" stroke="#999"/>`,
    `<line x1="${at.toFixed(1)}" x2="${at.toFixed(1)}" y1="14" y2="${16 + plotHeight}" stroke="#c22"/>`,
    `<text x="${margin}" y="${30 + plotHeight}" fill="#666">range ±${amax.toPrecision(4)}${beyond}</text>`,
    '</g>',
  ].join('')
}

/** As many columns as there is room for. */
function columnsOf({ counts, width: binWidth }: Histogram, limit: number): string {
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
  return `<path d="${path}" fill="#4a78b5"/>`
}

function shortened(name: string): string {
  return name.length > 38 ? `…${name.slice(-37)}` : name
}
