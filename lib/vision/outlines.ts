import type { NativeComponents, NativeOutlines } from '../backend/native-vision.js'

/** Right, down, left, up; a turn to the right is the next one. */
const steps = [[1, 0], [0, 1], [-1, 0], [0, -1]] as const // prettier-ignore

/**
 * The outlines of parts, in JavaScript, as native/vision/outlines.cc traces them: of each ring its part's number and
 * how many points it has; and their x and y.
 */
export function traceRings({
  labels,
  width,
  diagonal,
}: Pick<NativeComponents, 'labels' | 'width' | 'diagonal'>): NativeOutlines {
  const [rings, points]: [number[], number[]] = [[], []]
  const visited = new Uint8Array(labels.length)
  for (let at = 0; at < labels.length; at++) {
    const label = labels[at]!
    // each ring has an edge that goes right, along the top of a pixel of its part
    if (label === 0 || visited[at] === 1 || labels[at - width] === label) continue
    const ring = trace(labels, width, at, diagonal === 1, visited)
    rings.push(label, ring.length / 2)
    for (const coordinate of ring) points.push(coordinate)
  }
  return { rings: Int32Array.from(rings), points: Int32Array.from(points) }
}

/**
 * Follows the edges of pixels with the part on the right hand, from the top edge of pixel `start` until it is there
 * again; notes the top edges that it passes. The first point is a corner: the edge before it, if it were in line, would
 * have been found first.
 */
function trace(labels: Int32Array, width: number, start: number, diagonal: boolean, visited: Uint8Array): number[] {
  const label = labels[start]!
  const isInside = (x: number, y: number): boolean => x >= 0 && x < width && labels[y * width + x] === label
  const [firstX, firstY] = [start % width, Math.floor(start / width)]
  const ring = [firstX, firstY]
  let [x, y, heading] = [firstX, firstY, 0]
  do {
    if (heading === 0) visited[y * width + x] = 1
    const before = heading
    const [dx, dy] = steps[heading]!
    x += dx
    y += dy
    // the two pixels ahead, to the left and to the right of the way
    const aheadLeft = isInside(x + (dx + dy - 1) / 2, y + (dy - dx - 1) / 2)
    const aheadRight = isInside(x + (dx - dy - 1) / 2, y + (dy + dx - 1) / 2)
    if (aheadLeft && (aheadRight || diagonal)) heading = (heading + 3) % 4
    else if (!aheadRight) heading = (heading + 1) % 4
    if (heading !== before) ring.push(x, y)
  } while (x !== firstX || y !== firstY || heading !== 0)
  return ring.slice(0, -2) // the last corner is the first again
}
