import { isError } from '../base/kinds.js'

/**
 * ICC profiles, as far as it takes to see that one says nothing but sRGB. @see
 * https://www.color.org/specification/ICC.1-2022-05.pdf
 */

/**
 * Red, green and blue of sRGB as profiles have them: CIE XYZ, adapted to D50. @see
 * https://www.w3.org/Graphics/Color/srgb
 */
const primaries = {
  rXYZ: [0.43607, 0.22249, 0.01392],
  gXYZ: [0.38515, 0.71687, 0.09708],
  bXYZ: [0.14307, 0.06061, 0.7141],
} as const

/** Of a primary, in XYZ: of a whole pixel value in 255 that is a quarter. */
const nearlyThere = 0.001

/**
 * Whether a profile's colours are sRGB's, by its primaries and its curves: no pixel would move by more than one of 255.
 * To convert by such a profile takes twice as long as to decode the picture, and most JPEGs with a profile have one of
 * these.
 */
export function isSrgb(profile: Uint8Array): boolean {
  try {
    return saysSrgb(new DataView(profile.buffer, profile.byteOffset, profile.byteLength))
  } catch (error) {
    // what is cut short is libvips' to judge
    if (isError(error) && error.name === 'RangeError') return false
    throw error
  }
}

function saysSrgb(view: DataView): boolean {
  if (text(view, 16) !== 'RGB ' || text(view, 20) !== 'XYZ ') return false
  const tags = tagsOf(view)
  // a table goes before primaries and curves, and may say anything
  if (tags.has('A2B0') || tags.has('A2B1')) return false
  return (
    Object.entries(primaries).every(([name, xyz]) => isNear(view, tags.get(name), xyz)) &&
    ['rTRC', 'gTRC', 'bTRC'].every((name) => isSrgbCurve(view, tags.get(name)))
  )
}

function text(view: DataView, at: number): string {
  return String.fromCharCode(...[0, 1, 2, 3].map((i) => view.getUint8(at + i)))
}

/** Where the data of each tag begins. */
function tagsOf(view: DataView): ReadonlyMap<string, number> {
  const tags = new Map<string, number>()
  const count = Math.min(view.getUint32(128), 1000)
  for (let at = 132; at < 132 + count * 12; at += 12) tags.set(text(view, at), view.getUint32(at + 4))
  return tags
}

const fixed = (view: DataView, at: number): number => view.getInt32(at) / 65536

function isNear(view: DataView, at: number | undefined, xyz: readonly number[]): boolean {
  return (
    at !== undefined &&
    text(view, at) === 'XYZ ' &&
    xyz.every((value, i) => Math.abs(fixed(view, at + 8 + i * 4) - value) < nearlyThere)
  )
}

/** Whether the curve gives back each value of 0 to 255 when sRGB's own is undone, to half a step. */
function isSrgbCurve(view: DataView, at: number | undefined): boolean {
  if (at === undefined) return false
  const curve = curveOf(view, at)
  if (curve === undefined) return false
  for (let value = 0; value <= 255; value++)
    if (!(Math.abs(encoded(curve(value / 255)) * 255 - value) < 0.5)) return false
  return true
}

function encoded(linear: number): number {
  return linear <= 0.0031308 ? 12.92 * linear : 1.055 * linear ** (1 / 2.4) - 0.055
}

type Curve = (value: number) => number

function curveOf(view: DataView, at: number): Curve | undefined {
  const kind = text(view, at)
  if (kind === 'curv') return tableOf(view, at)
  return kind === 'para' ? formulaOf(view, at) : undefined
}

function tableOf(view: DataView, at: number): Curve | undefined {
  const count = view.getUint32(at + 8)
  // none is a straight line, one is a gamma: sRGB's curve is neither
  if (count < 2 || count > 65536) return undefined
  const entry = (index: number): number => view.getUint16(at + 12 + index * 2) / 65535
  return (value) => {
    const place = value * (count - 1)
    const below = Math.min(Math.floor(place), count - 2)
    return entry(below) + (entry(below + 1) - entry(below)) * (place - below)
  }
}

/** (a x + b) ^ g from d on, below c x; with e and f added in the fifth kind. */
function formulaOf(view: DataView, at: number): Curve | undefined {
  const kind = view.getUint16(at + 8)
  if (kind !== 3 && kind !== 4) return undefined
  const [g, a, b, c, d] = [0, 1, 2, 3, 4].map((i) => fixed(view, at + 12 + i * 4)) as [
    number,
    number,
    number,
    number,
    number,
  ]
  const [e, f] = kind === 4 ? [fixed(view, at + 32), fixed(view, at + 36)] : [0, 0]
  return (value) => (value >= d ? (a * value + b) ** g + e : c * value + f)
}
