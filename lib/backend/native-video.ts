/** What native/node/frames.cc gives and takes: frames from a pipe. */

/** What a reader of frames tells, in this order: the stream once, unless there are no bytes, its frames, and the end, always. */
export type NativeFrameEvent =
  | readonly [kind: 'stream', width: number, height: number, num: number, den: number]
  | readonly [kind: 'frame', buffer: ArrayBuffer, pts: bigint]
  /** `whole`: it ended as it should; false where it was closed before, or where there were no bytes. */
  | readonly [kind: 'end', whole: boolean, error: unknown]

/** Frames that somebody writes into a pipe as NUT, read on a thread. */
export interface NativeFrameReader {
  /** The end of the pipe to write to, for a child process; until start(), or close(). */
  readonly descriptor: number
  /** The writer has its descriptor: this process closes its own, and reads. */
  start(): void
  /** Somebody waits for what comes next: the process stays alive until then, and one frame comes even where there are too many bytes already. */
  want(): void
  /** Ends the thread; `end` is told then. One that was not started tells nothing. Twice without harm. */
  close(): void
  /** Bytes of frames that are neither closed nor collected. */
  used(): number
}

export interface NativeVideo {
  /** `most`: bytes of frames that may be there before the pipe is left to fill. Throws ERR_TRT_FILE. */
  readFrames(most: number, listener: (...event: NativeFrameEvent) => void): NativeFrameReader
  /** Detaches the buffer of a frame; its memory is used again. What is detached already is left alone. */
  closeFrame(buffer: ArrayBuffer): void
}
