import { availableParallelism } from 'node:os'
import type { Cut } from '../base/cancellation.js'
import { loadAddon, native } from '../backend/native.js'
import type { NativeAddon } from '../backend/native-types.js'
import { whyPortable } from '../backend/portable/why.js'
import { Turns } from '../base/turns.js'

/**
 * The addon, whose threads work on pixels; none where it is not there or not wanted: then JavaScript does the same, on
 * the event loop.
 */
export function pixelAddon(): NativeAddon | undefined {
  return whyPortable() === undefined ? loadAddon() : undefined
}

/**
 * As many at once as there are cores, less one, which is the event loop's: with all of them busy its p99 was at 9 to 13
 * ms for fifty pictures. More would only take longer each.
 */
const turns = new Turns(Math.max(1, availableParallelism() - 1))

/**
 * Work on pixels that a thread of the addon does, each in its turn. What was cut while it waited is not begun; what has
 * begun ends by itself, since it writes into memory that is to stay as it is until then.
 * @throws what the work throws as a TensorRTError; the cut's reason
 */
export function onThread<T>(work: () => Promise<T>, cut: Cut | undefined): Promise<T> {
  return turns.take(() => native(work), cut)
}
