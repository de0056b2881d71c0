/** Something that the frames of a live source leave out, or pass over. */
export interface VideoGap {
  /**
   * `lost`: the connection is gone, and is made again; `back`: there are frames again; `jump`: the source's times went
   * back or far ahead, within a connection.
   */
  readonly kind: 'lost' | 'back' | 'jump'
  /**
   * Why: the source `ended`, ffmpeg `failed`, or the source `stalled`, which sent nothing for `reconnect.afterMs` while
   * somebody waited; `size`, where it is back with frames of another size; `times` of a jump.
   */
  readonly reason: 'ended' | 'failed' | 'stalled' | 'size' | 'times'
  /** The `pts` of the last frame before it; undefined: there was none. */
  readonly from: number | undefined
  /** The `pts` of the first frame after it; undefined where it is just lost. */
  readonly to: number | undefined
  /** How long it was, in seconds by this machine's clock: `to` less `from`. */
  readonly seconds: number | undefined
  /** How often the connection was made again until then. */
  readonly attempts: number
  /** What ffmpeg said, where it failed. */
  readonly error: Error | undefined
}

/** Why there is no frame. */
export interface Loss {
  readonly reason: 'ended' | 'failed' | 'stalled'
  readonly error: Error | undefined
}
