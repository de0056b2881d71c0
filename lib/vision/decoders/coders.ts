/** How boxes are told from anchors, all of them (cx, cy, w, h) in pixels. */
import type { Variances } from '../../steps/anchors/index.js'
import { writeCentred } from './decoded.js'

/**
 * centre = anchor's + offset * variance * anchor's side; side = anchor's * exp(offset * variance). Offsets in pairs:
 * those of the centre at `from`, those of the size behind them.
 */
export function writeFromAnchor(
  boxes: Float32Array,
  at: number,
  anchors: Float32Array,
  anchor: number,
  [x, y, width, height]: readonly [x: number, y: number, width: number, height: number],
  [centre, size]: Variances,
): void {
  const [ax, ay, aw, ah] = [anchors[anchor]!, anchors[anchor + 1]!, anchors[anchor + 2]!, anchors[anchor + 3]!]
  writeCentred(
    boxes,
    at,
    ax + x * centre * aw,
    ay + y * centre * ah,
    aw * Math.exp(width * size),
    ah * Math.exp(height * size),
  )
}
