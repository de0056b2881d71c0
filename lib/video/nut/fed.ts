import type { Readable } from 'node:stream'

/** What a program's frames are. */
export interface FedStream {
  readonly width: number
  readonly height: number
  /** Times are in ticks of num / den seconds. */
  readonly num: bigint
  readonly den: bigint
}

/** A frame of a program, as its pipe brings it. */
export interface FedFrame extends FedStream {
  readonly ticks: bigint
  /** How many the pipe brought before it. */
  readonly number: number
  /** When its bytes were there: milliseconds, as `performance.now()` counts. */
  readonly arrived: number
  /** Planes of Y, U and V without gaps. */
  readonly data: Uint8Array
  /** Gives the memory back, which detaches `data`; nothing where the collector does that. */
  readonly release: (() => void) | undefined
}

/** Frames of a program that writes NUT to its stdout. */
export interface FrameFeed {
  /** What the program's stdout is. */
  readonly stdout: 'pipe' | number
  /** Frames that nobody got, since newer ones came: of a feed of the newest. */
  readonly dropped: number
  /** Once the program is there; `stdout`, where it is a pipe of Node's. */
  start(stdout: Readable | undefined): void
  /**
   * What its header says, until which the process stays alive; undefined at the end. Never rejected: next() tells why.
   */
  header(): Promise<FedStream | undefined>
  /**
   * The next frame, until which the process stays alive; undefined at the end, and once it is closed. @throws
   * TensorRTError ERR_TRT_VIDEO_DATA where the bytes are no frames, or end too early
   */
  next(): Promise<FedFrame | undefined>
  /** Lets go of the pipe and of what was read ahead. Settled when no thread is left. Twice without harm. */
  close(): Promise<void>
}
