import { nativeSync } from '../backend/native.js'
import type { NativeComponents } from '../backend/native-vision.js'
import type { Cut } from '../base/cancellation.js'
import { checkedWhole } from '../base/checks.js'
import { expected } from '../errors.js'
import { labelRuns } from './mask-runs.js'
import { checkedMask } from './mask-data.js'
import { onThread, pixelAddon } from './threads.js'

/** What finds parts: the mask and the options, checked, with room for the labels. */
export function jobOf(
  mask: unknown,
  given: { readonly connectivity?: unknown; readonly classIndex?: unknown },
): NativeComponents {
  const { width, height, data } = checkedMask(mask)
  const { connectivity = 8, classIndex } = given
  if (connectivity !== 8 && connectivity !== 4) throw expected('8 or 4', 'connectivity', connectivity)
  const only = classIndex === undefined ? -1 : checkedWhole(classIndex, 'classIndex', 0, 255)
  return { data, width, height, only, diagonal: connectivity === 8 ? 1 : 0, labels: new Int32Array(width * height) }
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
