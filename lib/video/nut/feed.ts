import { whyPortable } from '../../backend/portable/why.js'
import type { FrameFeed } from './fed.js'
import { NativeFeed } from './native-feed.js'
import { NewestFeed } from './newest-feed.js'
import { StreamFeed } from './stream-feed.js'

/**
 * By a thread of the addon, or in this thread where there is none. `most`: bytes of frames, read ahead or held.
 * `newest`: a frame that nobody took yet is dropped for a newer one; otherwise the program waits.
 */
export function frameFeed(most: number, newest: boolean): FrameFeed {
  if (whyPortable() === undefined) return new NativeFeed(most, newest)
  return newest ? new NewestFeed() : new StreamFeed()
}
