/** How boxes suppress each other, on typed arrays; `suppress` and `nonMaxSuppression` give it what it works on. */

/** The boxes as corners, and who competes with whom. */
export interface Rivals {
  readonly left: Float64Array
  readonly top: Float64Array
  readonly right: Float64Array
  readonly bottom: Float64Array
  readonly areas: Float64Array
  readonly scores: Float64Array
  /** Of each box its group, from 0; only those of one group compete. */
  readonly groups: Int32Array
  readonly groupCount: number
}

export interface Rules {
  readonly method: 'hard' | 'soft-linear' | 'soft-gaussian'
  readonly iouThreshold: number
  /** Whether a box falls at `iouThreshold`, not only above. */
  readonly inclusive: boolean
  /** What is added to the sides of boxes, and of what they share: 1 with pixelAreas, else 0. */
  readonly added: number
  readonly sigma: number
  readonly scoreThreshold: number
  readonly maximum: number
}

export function emptyRivals(count: number): Omit<Rivals, 'groups' | 'groupCount'> {
  const numbers = (): Float64Array => new Float64Array(count)
  return { left: numbers(), top: numbers(), right: numbers(), bottom: numbers(), areas: numbers(), scores: numbers() }
}

/** The group of each of `keys`, in the order of their first coming. */
export function groupsOf(count: number, keyOf: (index: number) => unknown): Pick<Rivals, 'groups' | 'groupCount'> {
  const groups = new Int32Array(count)
  const known = new Map<unknown, number>()
  for (let i = 0; i < count; i++) {
    const key = keyOf(i)
    const group = known.get(key) ?? known.size
    if (group === known.size) known.set(key, group)
    groups[i] = group
  }
  return { groups, groupCount: Math.max(1, known.size) }
}

/** Area over area of i and j; 0 where they share nothing. */
function overlapOf({ left, top, right, bottom, areas }: Rivals, i: number, j: number, added: number): number {
  const width = Math.min(right[i]!, right[j]!) - Math.max(left[i]!, left[j]!) + added
  const height = Math.min(bottom[i]!, bottom[j]!) - Math.max(top[i]!, top[j]!) + added
  if (width <= 0 || height <= 0) return 0
  const shared = width * height
  return shared / (areas[i]! + areas[j]! - shared)
}

/** The indices whose score reaches the threshold, the best first, of equal ones the first. */
export function ranked(scores: Float64Array, least: number): Int32Array {
  const order = new Int32Array(scores.length)
  let count = 0
  for (let i = 0; i < scores.length; i++) if (scores[i]! >= least) order[count++] = i
  return sortByScore(order.subarray(0, count), scores)
}

const wholeNumbers = 2 ** 53
/**
 * Sorting numbers is several times faster than sorting with a comparison: where score and index fit into one number,
 * exactly, that is sorted.
 */
function sortByScore(order: Int32Array, scores: Float64Array): Int32Array {
  const keys = new Float64Array(order.length)
  const bits = new Int32Array(1)
  const single = new Float32Array(bits.buffer)
  const count = scores.length
  if (count * 2 ** 32 > wholeNumbers) return byComparison(order, scores)
  for (let i = 0; i < order.length; i++) {
    const score = scores[order[i]!]!
    single[0] = score
    if (single[0] !== score) return byComparison(order, scores)
    // the bits of a positive float32 grow with it, those of a negative one the other way; + 0 makes 0 of -0
    single[0] = score + 0
    const rank = bits[0]! >= 0 ? bits[0]! : -(bits[0]! & 0x7fffffff)
    keys[i] = -rank * count + order[i]!
  }
  keys.sort()
  for (let i = 0; i < order.length; i++) order[i] = ((keys[i]! % count) + count) % count
  return order
}

function byComparison(order: Int32Array, scores: Float64Array): Int32Array {
  return order.sort((a, b) => scores[b]! - scores[a]! || a - b)
}

/** Where each group's part of an array begins that has room for all. */
function startsOf({ groups, groupCount }: Rivals): Int32Array {
  const starts = new Int32Array(groupCount + 1)
  for (const group of groups) starts[group + 1]!++
  for (let group = 0; group < groupCount; group++) starts[group + 1]! += starts[group]!
  return starts
}

/** Greedy: from the best on, one stays that no better one of its group, which stays, overlaps too much. */
function hard(rivals: Rivals, { iouThreshold, inclusive, added, scoreThreshold, maximum }: Rules): Int32Array {
  const order = ranked(rivals.scores, scoreThreshold)
  const starts = startsOf(rivals)
  const ends = starts.slice()
  const { left, top, right, bottom, areas } = rivals
  // those that stay, close together for each group: the loop below runs over nothing else
  const stay = emptyRivals(rivals.groups.length)
  let kept = 0
  for (const index of order) {
    if (kept >= maximum) break
    const group = rivals.groups[index]!
    const [l, t, r, b, area] = [left[index]!, top[index]!, right[index]!, bottom[index]!, areas[index]!]
    const end = ends[group]!
    let falls = false
    for (let k = starts[group]!; k < end; k++) {
      const width = Math.min(r, stay.right[k]!) - Math.max(l, stay.left[k]!) + added
      if (width <= 0) continue
      const height = Math.min(b, stay.bottom[k]!) - Math.max(t, stay.top[k]!) + added
      if (height <= 0) continue
      const shared = width * height
      const overlap = shared / (stay.areas[k]! + area - shared)
      falls = inclusive ? !(overlap < iouThreshold) : !(overlap <= iouThreshold)
      if (falls) break
    }
    if (falls) continue
    stay.left[end] = l
    stay.top[end] = t
    stay.right[end] = r
    stay.bottom[end] = b
    stay.areas[end] = area
    ends[group] = end + 1
    order[kept++] = index
  }
  return order.slice(0, kept)
}

/**
 * Soft: the best stays, the scores of those that overlap it are lowered, the best of what is left stays, and so on. The
 * lowered ones stand in `rivals.scores` afterwards.
 */
function soft(rivals: Rivals, rules: Rules): Int32Array {
  const { scores, groups } = rivals
  const starts = startsOf(rivals)
  const ends = starts.slice()
  const members = new Int32Array(groups.length)
  groups.forEach((group, index) => (members[ends[group]!++] = index))
  const kept = new Int32Array(groups.length)
  let count = 0
  for (let group = 0; group < rivals.groupCount; group++) {
    const left = members.subarray(starts[group], starts[group + 1])
    for (const index of softOf(rivals, left, rules)) kept[count++] = index
  }
  return byComparison(kept.subarray(0, count), scores).slice(0, rules.maximum)
}

/** Of one group, whose indices are in `left`, in ascending order; that is used up. */
function softOf(
  rivals: Rivals,
  left: Int32Array,
  { method, iouThreshold, added, sigma, scoreThreshold, maximum }: Rules,
): Int32Array {
  const { scores } = rivals
  const most = Math.min(maximum, left.length)
  const kept: number[] = []
  const factor = (overlap: number): number =>
    method === 'soft-gaussian' ? Math.exp(-(overlap * overlap) / sigma) : overlap > iouThreshold ? 1 - overlap : 1
  let remaining = 0
  for (const index of left) if (scores[index]! >= scoreThreshold) left[remaining++] = index
  while (remaining > 0 && kept.length < most) {
    const best = takeBest(left, remaining--, scores)
    kept.push(best)
    let staying = 0
    for (let k = 0; k < remaining; k++) {
      const index = left[k]!
      const overlap = overlapOf(rivals, best, index, added)
      if (overlap > 0) scores[index]! *= factor(overlap)
      if (scores[index]! >= scoreThreshold) left[staying++] = index
    }
    remaining = staying
  }
  return Int32Array.from(kept)
}

/** Takes the index with the best score out of the first `count`, of equal ones the first; the others stay in order. */
function takeBest(indices: Int32Array, count: number, scores: Float64Array): number {
  let at = 0
  for (let k = 1; k < count; k++) if (scores[indices[k]!]! > scores[indices[at]!]!) at = k
  const best = indices[at]!
  indices.copyWithin(at, at + 1, count)
  return best
}

/** The indices of those that stay, the best first. A soft method lowers `rivals.scores`. */
export function stayingOf(rivals: Rivals, rules: Rules): Int32Array {
  return rules.method === 'hard' ? hard(rivals, rules) : soft(rivals, rules)
}
