/** The smallest rectangle, turned any way, around points: OpenCV's minAreaRect. */

export type Corner = readonly [x: number, y: number]
/** The corners of a rectangle that may be turned. */
export type Corners = readonly [Corner, Corner, Corner, Corner]

export interface Rectangle {
  readonly centre: Corner
  /** The direction of `width`, of length 1; that of `height` is a quarter turn further. */
  readonly along: Corner
  readonly width: number
  readonly height: number
}

const cross = (o: Corner, a: Corner, b: Corner): number => (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])

/** Andrew's monotone chain. The points are sorted by x, then by y; none of them twice in a row. */
function half(points: readonly Corner[]): Corner[] {
  const chain: Corner[] = []
  for (const point of points) {
    while (chain.length >= 2 && cross(chain.at(-2)!, chain.at(-1)!, point) <= 0) chain.pop()
    chain.push(point)
  }
  return chain.slice(0, -1)
}

/** The corners of what is around them, one after the other; one point of one, two of a line. */
export function convexHull(points: readonly Corner[]): Corner[] {
  const sorted = points.toSorted((a, b) => a[0] - b[0] || a[1] - b[1])
  const distinct = sorted.filter(
    (point, i) => i === 0 || point[0] !== sorted[i - 1]![0] || point[1] !== sorted[i - 1]![1],
  )
  return distinct.length < 3 ? distinct : [...half(distinct), ...half(distinct.toReversed())]
}

/**
 * One side lies along an edge of the hull. Rotating calipers: the farthest points along an edge, across it and back
 * move on, never back, as the edge does.
 * @param points at least one
 */
export function smallestRectangle(points: readonly Corner[]): Rectangle {
  const hull = convexHull(points)
  if (hull.length === 1) return { centre: hull[0]!, along: [1, 0], width: 0, height: 0 }
  let best: (Rectangle & { readonly area: number }) | undefined
  let [right, top, left] = [1, 1, 1]
  const at = (index: number): Corner => hull[index % hull.length]!
  for (let edge = 0; edge < hull.length; edge++) {
    const [from, to] = [at(edge), at(edge + 1)]
    const length = Math.hypot(to[0] - from[0], to[1] - from[1])
    const along: Corner = [(to[0] - from[0]) / length, (to[1] - from[1]) / length]
    const ahead = (index: number): number => at(index)[0] * along[0] + at(index)[1] * along[1]
    const across = (index: number): number => at(index)[1] * along[0] - at(index)[0] * along[1]
    right = climb(ahead, Math.max(right, edge + 1), hull.length)
    top = climb(across, Math.max(top, right), hull.length)
    left = climb((index) => -ahead(index), Math.max(left, top), hull.length)
    const [width, height] = [ahead(right) - ahead(left), across(top) - across(edge)]
    if (best !== undefined && width * height >= best.area) continue
    const [x, y] = [(ahead(right) + ahead(left)) / 2, (across(top) + across(edge)) / 2]
    best = {
      area: width * height,
      centre: [x * along[0] - y * along[1], x * along[1] + y * along[0]],
      along,
      width,
      height,
    }
  }
  return best!
}

/** From an index on to the first that none of those behind it exceeds. */
function climb(height: (index: number) => number, from: number, length: number): number {
  let index = from
  for (let left = length; left > 0 && height(index + 1) >= height(index); left--) index++
  return index
}

/**
 * Its corners: the two on the left first, by their height, then those on the right; from the upper left on, clockwise.
 */
export function cornersOf({ centre, along, width, height }: Rectangle): Corners {
  const [w, h] = [width / 2, height / 2]
  const corner = (x: number, y: number): Corner => [
    centre[0] + x * w * along[0] - y * h * along[1],
    centre[1] + x * w * along[1] + y * h * along[0],
  ]
  const byX = [corner(-1, -1), corner(1, -1), corner(1, 1), corner(-1, 1)].sort((a, b) => a[0] - b[0])
  const [a, b, c, d] = byX as [Corner, Corner, Corner, Corner]
  const [topLeft, bottomLeft] = b[1] > a[1] ? [a, b] : [b, a]
  const [topRight, bottomRight] = d[1] > c[1] ? [c, d] : [d, c]
  return [topLeft, topRight, bottomRight, bottomLeft]
}
