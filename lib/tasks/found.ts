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
  /**
   * The corners of a turned rectangle (DBNet, OBB): upper left, upper right, lower right, lower left. The box is the
   * upright one around them.
   */
  readonly corners?: readonly Point[] | undefined
  /** How far the corners are turned from an upright box, clockwise, in radians: 0 to π / 2. Of models of OBB. */
  readonly angle?: number | undefined
  /** The keypoints of a body or a thing, in the order of the model. Of pose models. */
  readonly keypoints?: readonly Keypoint[] | undefined
}

/** A point of a body or a thing, in pixels of the picture, upright. */
export interface Keypoint {
  /** From the left edge. */
  readonly x: number
  /** From the upper edge. */
  readonly y: number
  /** How sure it is that the point is seen there, 0 to 1; 1 where the model does not say it. */
  readonly score: number
}

/** What `Detector.detectVideo` gives for a frame. */
export interface DetectedFrame {
  /** Open until the loop goes on. */
  readonly frame: VideoFrame
  /** What was found in it, the best first. */
  readonly found: readonly Found[]
}
