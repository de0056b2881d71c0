import type { Readable } from 'node:stream'

/** A frame of a program, as its pipe brings it. */
export interface FedFrame {
  readonly width: number
  readonly height: number
  /** In ticks of num / den seconds. */
  readonly ticks: bigint
  readonly num: bigint
  readonly den: bigint
  /** Planes of Y, U and V without gaps. */
  readonly data: Uint8Array
  /** Gives the memory back, which detaches `data`; nothing where the collector does that. */
  readonly release: (() => void) | undefined
}

/** Frames of a program that writes NUT to its stdout. */
export interface FrameFeed {
  /** What the program's stdout is. */
  readonly stdout: 'pipe' | number
  /** Once the program is there; `stdout`, where it is a pipe of Node's. */
  start(stdout: Readable | undefined): void
  /** The next frame, until which the process stays alive; undefined at the end, and once it is closed. @throws TensorRTError ERR_TRT_VIDEO_DATA where the bytes are no frames, or end too early */
  next(): Promise<FedFrame | undefined>
  /** Lets go of the pipe and of what was read ahead. Settled when no thread is left. Twice without harm. */
  close(): Promise<void>
}
