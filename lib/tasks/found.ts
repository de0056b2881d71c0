import type { Detection, InstanceMask, Point } from '../vision/index.js'
import type { VideoFrame } from '../video/index.js'

/** Something that was found in a picture. Coordinates are pixels of the picture, upright. */
export interface Found extends Detection {
  /** The name of the class, where `labels` has one. */
  readonly label?: string | undefined
  /** The points of a face: eyes, nose, corners of the mouth. Of models of faces. */
  readonly landmarks?: readonly Point[] | undefined
  /** The pixels that belong to it. Of models that give masks. */
  readonly mask?: InstanceMask | undefined
  /** The corners of a turned rectangle (DBNet): upper left, upper right, lower right, lower left. */
  readonly corners?: readonly Point[] | undefined
}

/** What `Detector.detectVideo` gives for a frame. */
export interface DetectedFrame {
  /** Open until the loop goes on. */
  readonly frame: VideoFrame
  /** What was found in it, the best first. */
  readonly found: readonly Found[]
}
