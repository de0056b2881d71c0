import type { NativeComponents } from '../backend/native-vision.js'

/**
 * Pixels beside each other in a row: begin, end (just beyond the last) and the run before it that it is connected to,
 * or itself.
 */
interface Runs {
  readonly begins: number[]
  readonly ends: number[]
  readonly parents: number[]
  /** Where each row's begin, and the end of all. */
  readonly rows: number[]
}

/**
 * The connected parts of a mask, in JavaScript, as native/vision/components.cc finds them. Writes `labels`; seven
 * numbers for each part.
 */
export function labelRuns(job: NativeComponents): Float64Array {
  const { width, height, labels } = job
  const runs = runsOf(job)
  const parts: number[] = []
  for (let run = 0, count = 0; run < runs.parents.length; run++) {
    const parent = runs.parents[run]!
    // a parent comes before what it is the parent of, and has its number already
    runs.parents[run] = parent === run ? count++ : runs.parents[parent]!
    if (parent === run) parts.push(0, 0, 0, 0, 0, 0, 0)
  }
  for (let y = 0; y < height; y++) {
    for (let run = runs.rows[y]!; run < runs.rows[y + 1]!; run++) {
      const [begin, end, part] = [runs.begins[run]!, runs.ends[run]!, runs.parents[run]!]
      labels.fill(part + 1, y * width + begin, y * width + end)
      addTo(parts, part * 7, begin, end, y)
    }
  }
  return Float64Array.from(parts)
}

/** Area, left, top, width, height, sums of x and of y. */
function addTo(parts: number[], at: number, begin: number, end: number, y: number): void {
  const isFirst = parts[at] === 0
  const left = isFirst ? begin : Math.min(parts[at + 1]!, begin)
  const right = isFirst ? end : Math.max(parts[at + 1]! + parts[at + 3]!, end)
  const top = isFirst ? y : parts[at + 2]!
  const length = end - begin
  parts[at]! += length
  parts[at + 1] = left
  parts[at + 2] = top
  parts[at + 3] = right - left
  parts[at + 4] = y + 1 - top
  parts[at + 5]! += ((begin + end - 1) * length) / 2
  parts[at + 6]! += y * length
}

function runsOf({ data, width, height, only, diagonal }: NativeComponents): Runs {
  const runs: Runs = { begins: [], ends: [], parents: [], rows: [] }
  const belongs = (index: number): boolean => (only < 0 ? data[index] !== 0 : data[index] === only)
  for (let y = 0; y < height; y++) {
    const start = y * width
    const above = runs.rows[y - 1] ?? 0
    const here = runs.begins.length
    runs.rows.push(here)
    for (let x = 0; x < width;) {
      if (!belongs(start + x)) {
        x++
        continue
      }
      const begin = x
      while (x < width && belongs(start + x)) x++
      runs.parents.push(runs.begins.length)
      runs.begins.push(begin)
      runs.ends.push(x)
    }
    connect(runs, above, here, diagonal)
  }
  runs.rows.push(runs.begins.length)
  return runs
}

/** The runs from `here` on with those of the row above. */
function connect({ begins, ends, parents }: Runs, above: number, here: number, reach: number): void {
  let up = above
  for (let run = here; run < begins.length; run++) {
    while (up < here && ends[up]! + reach <= begins[run]!) up++
    for (let other = up; other < here && begins[other]! < ends[run]! + reach; other++) {
      const [first, second] = [rootOf(parents, other), rootOf(parents, run)]
      parents[Math.max(first, second)] = Math.min(first, second)
    }
  }
}

function rootOf(parents: number[], run: number): number {
  let at = run
  while (parents[at] !== at) {
    parents[at] = parents[parents[at]!]!
    at = parents[at]!
  }
  return at
}
