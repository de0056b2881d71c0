import type { VideoInfo } from '../probe.js'
import type { Input } from '../programs/inputs.js'
import type { Reading } from './options.js'

/** How a source comes: all of it as fast as it is taken; a file, at its own speed; or from a camera, as it happens. */
export type Manner = 'recorded' | 'paced' | 'live'

/** What is decoded, and by what. */
export interface Decoding {
  readonly ffmpeg: string
  readonly input: Input
  readonly manner: Manner
  /** Undefined of what can be opened only once, so that it could not be probed. */
  readonly info: VideoInfo | undefined
  readonly reading: Reading
  readonly onFull: 'drop-oldest' | 'wait'
  readonly hardware: 'none' | 'cuda'
  /** What the program reads from its stdin. */
  readonly stdin: AsyncIterator<Uint8Array> | undefined
  /** Its descriptors from 3 on, which may be closed once it has started. */
  readonly more: readonly number[]
}
