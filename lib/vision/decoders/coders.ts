/** How boxes are told from anchors, all of them (cx, cy, w, h) in pixels. */
import type { Variances } from '../../steps/families.js'
import { writeCentred } from './decoded.js'

/**
 * centre = anchor's + offset * variance * anchor's side; side = anchor's * exp(offset * variance).
 * @param offsetOf x, y, width and height as the model gives them
 */
export function writeFromAnchor(
  boxes: Float32Array,
  at: number,
  anchors: Float32Array,
  anchor: number,
  [centre, size]: Variances,
  offsetOf: (side: 0 | 1 | 2 | 3) => number,
): void {
  const [ax, ay, aw, ah] = [anchors[anchor]!, anchors[anchor + 1]!, anchors[anchor + 2]!, anchors[anchor + 3]!]
  const [x, y] = [ax + offsetOf(0) * centre * aw, ay + offsetOf(1) * centre * ah]
  writeCentred(boxes, at, x, y, aw * Math.exp(offsetOf(2) * size), ah * Math.exp(offsetOf(3) * size))
}

/** Where an offset stands of a model that has y before x and height before width. */
export const otherWay = [1, 0, 3, 2] as const

/** The last of what was computed from numbers: a model has one input, and its anchors are many. */
export function kept<O, T>(compute: (options: O) => T): (options: O) => T {
  let last: { readonly text: string; readonly value: T } | undefined
  return (options) => {
    const text = textOf(options)
    // what is not of numbers is for `compute` to refuse
    if (text === undefined) return compute(options)
    if (last?.text !== text) last = { text, value: compute(options) }
    return last.value
  }
}

/** Numbers, and arrays and objects of them, as text. */
function textOf(value: unknown): string | undefined {
  if (value === undefined || typeof value === 'number') return String(value)
  if (typeof value !== 'object' || value === null) return undefined
  const prototype: unknown = Object.getPrototypeOf(value)
  if (!Array.isArray(value) && prototype !== Object.prototype) return undefined
  const texts = Object.entries(value).map(([name, inner]) => [name, textOf(inner)])
  return texts.some(([, text]) => text === undefined) ? undefined : JSON.stringify(texts)
}
