type Point = readonly [x: number, y: number]

/**
 * The ring without the points that are at most `tolerance` beside the line that takes their place: Douglas and
 * Peucker's way, from its first point and the one farthest from that.
 */
export function simplified(ring: readonly Point[], tolerance: number): readonly Point[] {
  if (tolerance === 0 || ring.length < 4) return ring
  const stays = new Uint8Array(ring.length + 1)
  const closed = [...ring, ring[0]!]
  const far = farthest(closed, 0, ring.length).index
  stays[0] = stays[far] = 1
  // no recursion: an outline may have a million points
  const open: [number, number][] = [[0, far], [far, ring.length]] // prettier-ignore
  for (let part = open.pop(); part !== undefined; part = open.pop()) {
    const [from, to] = part
    const { index, distance } = farthest(closed, from, to)
    if (distance <= tolerance) continue
    stays[index] = 1
    open.push([from, index], [index, to])
  }
  return ring.filter((_, index) => stays[index] === 1)
}

/**
 * Of the points between two others the one that is farthest from the line between these; of one point, if they are the
 * same.
 */
function farthest(
  points: readonly Point[],
  from: number,
  to: number,
): { readonly index: number; readonly distance: number } {
  const [ax, ay] = points[from]!
  const [bx, by] = points[to]!
  const [dx, dy] = [bx - ax, by - ay]
  const length = dx * dx + dy * dy
  let [index, most] = [from, -1]
  for (let i = from + 1; i < to; i++) {
    const [x, y] = points[i]!
    const along = length === 0 ? 0 : Math.min(1, Math.max(0, ((x - ax) * dx + (y - ay) * dy) / length))
    const distance = Math.hypot(x - ax - along * dx, y - ay - along * dy)
    if (distance > most) [index, most] = [i, distance]
  }
  return { index, distance: most }
}
