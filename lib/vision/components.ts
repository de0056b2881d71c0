import { within } from '../base/cancellation.js'
import { checkedCall, type OptionTable, signalOption } from '../base/option-table.js'
import type { Abortable } from '../base/options.js'
import { jobOf, labelled, labelledSync, type PartOptions, partTable } from './mask-labels.js'
import type { Mask } from './mask-data.js'
import type { Box, Size } from './types.js'

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
