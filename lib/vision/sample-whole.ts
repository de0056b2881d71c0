import type { WholeTaps } from '../steps/pixels/taps.js'
import { wholeUnit } from '../steps/pixels/whole.js'
import { planesOf, writeRow, type Writing } from './sample.js'

interface Sampling extends Writing {
  readonly columns: WholeTaps
  readonly rows: WholeTaps
}

/**
 * What native/vision/resample_bytes.cc does, in JavaScript, to the same bytes.
 * @param data RGB, `width` pixels a row
 * @param out an array that rounds by itself (uint8), or floats
 */
export function sampleWhole(
  data: Uint8Array,
  width: number,
  plan: Sampling,
  out: Float32Array | Uint8ClampedArray,
): void {
  const { columns, rows, fill } = plan
  const narrow = narrowed(data, width, plan)
  const planes = planesOf(columns.outputs)
  for (let y = 0; y < rows.outputs; y++) {
    const isSeen = y >= rows.begin && y < rows.end
    planes.forEach((plane, channel) => {
      plane.fill(fill[channel as 0 | 1 | 2])
      if (isSeen) combineRows(narrow, plan, y, channel as 0 | 1 | 2, plane)
    })
    writeRow(planes, plan, y, out)
  }
}

/** The rows of the picture that are seen, as narrow as the output; others, and what lies beyond the picture, are 0. */
function narrowed(data: Uint8Array, width: number, { columns, rows, fill }: Sampling): Uint8Array {
  const { outputs, begin, end, taps, first, weights, outside } = columns
  const firstRows = rows.first.subarray(rows.begin, rows.end)
  const last = firstRows.reduce((most, row) => Math.max(most, row + rows.taps), 0)
  const out = new Uint8Array(last * outputs * 3)
  for (let y = firstRows.reduce((least, row) => Math.min(least, row), last); y < last; y++) {
    for (let x = begin; x < end; x++) {
      const from = (y * width + first[x]!) * 3
      for (const channel of [0, 1, 2] as const) {
        let sum = outside[x]! * fill[channel]
        for (let k = 0; k < taps; k++) sum += weights[x * taps + k]! * data[from + 3 * k + channel]!
        out[(y * outputs + x) * 3 + channel] = byteOf(sum)
      }
    }
  }
  return out
}

function combineRows(
  narrow: Uint8Array,
  { columns, rows, fill }: Sampling,
  y: number,
  channel: 0 | 1 | 2,
  plane: Float32Array,
): void {
  const { taps, first, weights, outside } = rows
  const [length, from] = [columns.outputs * 3, first[y]! * columns.outputs * 3 + channel]
  for (let x = columns.begin; x < columns.end; x++) {
    let sum = outside[y]! * fill[channel]
    for (let k = 0; k < taps; k++) sum += weights[y * taps + k]! * narrow[from + k * length + x * 3]!
    plane[x] = byteOf(sum)
  }
}

function byteOf(sum: number): number {
  return Math.min(255, Math.max(0, Math.floor(sum / wholeUnit + 0.5)))
}
