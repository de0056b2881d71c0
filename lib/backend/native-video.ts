/** What native/node/frames.cc gives and takes: frames from a pipe. */

/**
 * What a reader of frames tells, in this order: the stream once, unless there are no bytes, its frames, and the end,
 * always.
 */
export type NativeFrameEvent =
  | readonly [kind: 'stream', width: number, height: number, num: number, den: number]
  /**
   * `number`: how many the pipe brought before it; `arrived`: when its bytes were there, in milliseconds, as
   * process.hrtime() counts.
   */
  | readonly [kind: 'frame', buffer: ArrayBuffer, pts: bigint, number: number, arrived: number]
  /** `whole`: it ended as it should; false where it was closed before, or where there were no bytes. */
  | readonly [kind: 'end', whole: boolean, error: unknown]

/** Frames that somebody writes into a pipe as NUT, read on a thread. */
export interface NativeFrameReader {
  /** The end of the pipe to write to, for a child process; until start(), or close(). */
  readonly descriptor: number
  /** The writer has its descriptor: this process closes its own, and reads. */
  start(): void
  /**
   * Somebody waits for what comes next: the process stays alive until then, and one frame comes even where there are
   * too many bytes already. `begun`: for the stream alone.
   */
  want(begun?: boolean): void
  /** Ends the thread; `end` is told then. One that was not started tells nothing. Twice without harm. */
  close(): void
  /** Bytes of frames that are neither closed nor collected. */
  used(): number
  /** Frames that nobody got, since newer ones came: of a reader of the newest. */
  dropped(): number
}

export interface NativeVideo {
  /**
   * `most`: bytes of frames that may be there before the pipe is left to fill. `newest`: it is read on, and a frame
   * that nobody took yet is dropped for a newer one; frames are told to those who want one, and the last one with the
   * end. Throws ERR_TRT_FILE.
   */
  readFrames(most: number, newest: boolean, listener: (...event: NativeFrameEvent) => void): NativeFrameReader
  /**
   * Bytes of frames that all readers of the process have, and how many they may have: `most`, where it is set by that.
   */
  frameMemory(most?: number): { readonly used: number; readonly most: number }
  /** Detaches the buffer of a frame; its memory is used again. What is detached already is left alone. */
  closeFrame(buffer: ArrayBuffer): void
}
