import { type Cut, within } from '../base/cancellation.js'
import { type Checked, checkedCall, is, option, type OptionTable, signalOption } from '../base/option-table.js'
import type { Abortable } from '../base/options.js'
import { checkedMask, type Mask } from './mask-data.js'
import type { Box, Size } from './types.js'
import { nativeSync } from '../backend/native.js'
import type { NativeComponents } from '../backend/native-vision.js'
import { expected } from '../errors.js'
import { onThread, pixelAddon } from './threads.js'

/** Which pixels of a mask make a connected part. */
export interface PartOptions {
  /** 8 (default): pixels that touch at a corner are connected, too; 4: only those that share a side. */
  readonly connectivity?: 8 | 4 | undefined
  /** Only pixels of this value count; default: all but 0. */
  readonly classIndex?: number | undefined
}

export const partTable = {
  connectivity: option<8 | 4>(checkedConnectivity, 8),
  classIndex: option(is.whole(0, 255)),
} satisfies OptionTable<PartOptions>

function checkedConnectivity(connectivity: unknown): 8 | 4 {
  if (connectivity === 8 || connectivity === 4) return connectivity
  throw expected('8 or 4', 'connectivity', connectivity)
}

/** What finds parts: the mask and the options, checked, with room for the labels. */
export function jobOf(mask: unknown, { connectivity, classIndex = -1 }: Checked<typeof partTable>): NativeComponents {
  const { width, height, data } = checkedMask(mask)
  const diagonal = connectivity === 8 ? 1 : 0
  return { data, width, height, only: classIndex, diagonal, labels: new Int32Array(width * height) }
}

/** Writes the labels; of each part its area, left, top, width, height, and the sums of its pixels' x and y. */
export async function labelled(job: NativeComponents, cut: Cut | undefined): Promise<Float64Array> {
  const addon = pixelAddon()
  return addon === undefined ? labelRuns(job) : onThread(async () => addon.labelComponents(job, false), cut)
}

export function labelledSync(job: NativeComponents): Float64Array {
  const addon = pixelAddon()
  return addon === undefined ? labelRuns(job) : nativeSync(() => addon.labelComponents(job, true) as Float64Array)
}

/** Options of {@link connectedComponents}. */
export interface ConnectedComponentsOptions extends PartOptions, Abortable {}

const table = { ...partTable, signal: signalOption } satisfies OptionTable<ConnectedComponentsOptions>

/** A connected part of a mask. */
export interface Component {
  /** How many pixels it has. */
  readonly area: number
  /** The smallest box around it: left, top, width, height. */
  readonly box: Box
  /** The mean of its pixels' centres, which lie at halves: a single pixel at (0, 0) has [0.5, 0.5]. */
  readonly centroid: readonly [x: number, y: number]
}

export interface Components extends Size {
  /** The part of each pixel, row by row: i + 1 for `parts[i]`, 0 for the background. */
  readonly labels: Int32Array
  /** The parts, in the order of their first pixels, row by row. */
  readonly parts: readonly Component[]
}

/**
 * The connected parts of a mask. It runs on a thread; where the addon does not load, in JavaScript. Leave the mask
 * alone until the promise settles.
 * @throws TensorRTError (as a rejection) ERR_TRT_INVALID_ARGUMENT; or it is the reason of the signal
 */
export async function connectedComponents(mask: Mask, options?: ConnectedComponentsOptions): Promise<Components> {
  const { signal, ...rules } = checkedCall(options, table, 'connectedComponents')
  const job = jobOf(mask, rules)
  return within({ signal }, async (cut) => componentsOf(job, await labelled(job, cut)))
}

/** The same on the calling thread, for decoders. */
export function connectedComponentsSync(mask: Mask): Components {
  const job = jobOf(mask, { connectivity: 8, classIndex: undefined })
  return componentsOf(job, labelledSync(job))
}

/** Of seven numbers for each part. */
function componentsOf({ width, height, labels }: Omit<Components, 'parts'>, numbers: Float64Array): Components {
  const parts = Array.from({ length: numbers.length / 7 }, (_, part): Component => {
    const at = part * 7
    const area = numbers[at]!
    const box: Box = [numbers[at + 1]!, numbers[at + 2]!, numbers[at + 3]!, numbers[at + 4]!]
    return { area, box, centroid: [numbers[at + 5]! / area + 0.5, numbers[at + 6]! / area + 0.5] }
  })
  return { width, height, labels, parts }
}

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
