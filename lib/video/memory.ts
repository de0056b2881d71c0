import { loadAddon } from '../backend/native.js'
import { whyPortable } from '../backend/portable/why.js'
import { checkedBytes } from '../building/options.js'

/** Bytes of decoded frames of all videos of the process. */
export interface VideoMemory {
  /**
   * Those that wait, and those that were given and are neither closed nor collected. Without the addon they are the
   * collector's, and not counted.
   */
  readonly used: number
  /** How many there may be, but for frames that somebody waits for. */
  readonly most: number
}

/** What there is, and may be: 1 GiB, unless {@link limitVideoMemory} said otherwise. */
export function videoMemory(): VideoMemory {
  return whyPortable() === undefined ? loadAddon().frameMemory() : { used: 0, most: Infinity }
}

/**
 * Limits the memory of all videos of the process together, beside what the option `buffer` says of each. Where there is
 * no more, what is read ahead waits, and live sources drop frames; a frame that somebody waits for is let through, so
 * that nothing stands still. Frames that are there stay.
 * @param most bytes, or text such as `'512MiB'`
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT
 * @example
 * ```ts
 * import { limitVideoMemory, videoMemory } from 'node-tensorrt/video'
 *
 * limitVideoMemory('512MiB')
 * console.log(videoMemory().most)
 * ```
 */
export function limitVideoMemory(most: number | string): void {
  const bytes = checkedBytes(most, 'most')
  if (whyPortable() === undefined) loadAddon().frameMemory(bytes)
}
