import { nativeSync } from '../backend/native.js'
import type { NativeComponents } from '../backend/native-vision.js'
import type { Cut } from '../base/cancellation.js'
import { type Checked, is, option, type OptionTable } from '../base/option-table.js'
import { expected } from '../errors.js'
import { labelRuns } from './mask-runs.js'
import { checkedMask } from './mask-data.js'
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
