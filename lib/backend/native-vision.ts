/**
 * What native/node/vision_*.cc gives and takes. What is handed over is checked by lib/vision, and is to stay as it is
 * until a promise settles.
 */
import type { Taps, WholeTaps } from '../steps/pixels/taps.js'

/** Pixels that were made on a thread: none where the picture itself was painted. */
export type Painted = Promise<ArrayBuffer | undefined>

/** A picture of 8 bits that is painted where it lies; or RGB without gaps, of which a copy is. */
export interface NativePainted extends NativePixels {
  readonly inPlace: 0 | 1
}

export interface NativeVision {
  /**
   * Memory for what is to be filled whole. It is kept for the next one when it is collected: memory that the system
   * gives anew for each tensor of 5 MB is written with zeros first, which holds up the event loop longer than all else
   * here. Throws ERR_TRT_OUT_OF_MEMORY.
   */
  pixelMemory(bytes: number): ArrayBuffer
  /**
   * Reads the picture and writes `out`, which are to stay as they are meanwhile: on a thread, or at once where `sync`.
   * Rejected with (or throws) ERR_TRT_INVALID_ARGUMENT.
   */
  resample(job: NativeResampling, picture: NativePixels, sync: boolean): Promise<void> | undefined
  /** The same of a turned part. */
  warp(job: NativeWarp, picture: NativePixels, sync: boolean): Promise<void> | undefined
  /**
   * A picture with regions hidden: [left, top, right, bottom] of each, one after the other, within a billion pixels.
   * `style`: the method (0 blur, 1 pixelate, 2 fill), 1 for ellipses, strength, feather, red, green, blue. The
   * picture's bytes are used where they are until the promise is settled; ERR_TRT_BUFFER_IN_USE where an inference uses
   * those that are painted.
   */
  hideRegions(picture: NativePainted, regions: Float64Array, style: Float64Array): Painted
  /**
   * The same of the pixels that are not zero in a mask: a byte for each pixel of an area [left, top, right, bottom] of
   * the picture.
   */
  hideMask(picture: NativePainted, mask: Uint8Array, area: Float64Array, style: Float64Array): Painted
  /** The same with the mask's pixels coloured by class. `palette`: 256 times red, green, blue; `opacity`: 0 to 1. */
  overlayMask(
    picture: NativePainted,
    mask: Uint8Array,
    area: Float64Array,
    palette: Uint8Array,
    opacity: number,
  ): Painted
  /**
   * A copy as RGBA, alpha by the mask; or as RGB before a background of one colour (3 bytes) or of a picture of the
   * same size.
   */
  cutOut(
    picture: NativePainted,
    mask: Uint8Array | Float32Array,
    area: Float64Array,
    background: Uint8Array,
  ): Promise<ArrayBuffer>
  /**
   * As {@link hideRegions}, with strokes drawn, nine numbers each: 0 a frame, 1 a filled rectangle (left, top, right,
   * bottom), 2 a line (x and y of its ends), 3 a tile (left, top, width, height); then the line's width or the tile's
   * offset in `tiles`, where its RGBA is; red, green, blue.
   */
  drawStrokes(picture: NativePainted, strokes: Float64Array, tiles: Uint8Array): Painted
  /** Reads `values` and writes `out`, which are to stay as they are meanwhile. Throws ERR_TRT_INVALID_ARGUMENT. */
  makeMask(job: NativeMask): Promise<void>
  /** As {@link makeMask}, of values that are made first. */
  makeInstanceMask(job: NativeInstanceMask): Promise<void>
  /**
   * As {@link makeMask}, or at once where `sync`; writes `labels`, which are 0 before. Of each part its area, left,
   * top, width, height, and the sums of its pixels' x and y.
   */
  labelComponents(job: NativeComponents, sync: boolean): Promise<Float64Array> | Float64Array
  /** As {@link makeMask}, of what {@link labelComponents} has written. */
  traceOutlines(job: Omit<NativeComponents, 'data' | 'only'>): Promise<NativeOutlines>
  /**
   * The boxes whose scores are above a threshold, at once: the best first, of equal scores that of the lower number,
   * then of the lower class. Throws ERR_TRT_INVALID_ARGUMENT.
   */
  findCandidates(parts: readonly NativeScores[], rule: NativeCandidateRule): NativeCandidates
}

/**
 * The scores of `count` boxes, values[i * step + c * classStep], each times objectness[i * objectnessStep] where there
 * is one. Box i is number first + i * firstStep.
 */
export interface NativeScores {
  readonly values: Float32Array
  readonly count: number
  readonly classes: number
  readonly step: number
  readonly classStep: number
  readonly objectness?: Float32Array | undefined
  readonly objectnessStep?: number | undefined
  readonly first: number
  readonly firstStep: number
}

/** See native/vision/candidates.h. */
export interface NativeCandidateRule {
  /** Whether what is given are logits, of scores and of objectness. */
  readonly sigmoid: boolean
  /** Of probabilities; a score is above it. */
  readonly threshold: number
  /** Each class that is above the threshold, not only the best one of a box. */
  readonly everyClass: boolean
  /** From 1. */
  readonly most: number
}

export interface NativeCandidates {
  readonly indices: Int32Array
  readonly classes: Int32Array
  readonly scores: Float32Array
}

/** How values are written: see native/vision/resample.h. `number` and `channels` are by the order there. */
export interface NativeTarget {
  readonly fill: readonly number[]
  readonly number: number
  readonly channels: number
  readonly planar: 0 | 1
  readonly rounded: 0 | 1
  readonly scale: readonly number[]
  readonly mean: readonly number[]
  readonly out: Float32Array | Uint16Array | Uint8Array
}

/** A picture as a model's input: see native/vision/resample.h. */
export interface NativeResampling extends NativeTarget {
  /** Of {@link WholeTaps} where `whole` is 1, which is a resize as in native/vision/resample_bytes.h. */
  readonly columns: Taps | WholeTaps
  readonly rows: Taps | WholeTaps
  readonly whole: 0 | 1
}

/** See native/vision/warp.h. */
export interface NativeWarp extends NativeTarget {
  readonly width: number
  readonly height: number
  readonly matrix: Float64Array
}

/** See native/vision/picture.h. `format` is by the order there. */
export interface NativePixels {
  readonly format: number
  readonly width: number
  readonly height: number
  readonly stride: number
  readonly data: Uint8Array
  readonly yuv: Readonly<Record<'black' | 'luma' | 'red' | 'greenU' | 'greenV' | 'blue' | 'sample' | 'centre', number>>
}

/** See native/vision/masks.h. */
export interface NativeMask {
  readonly values: Float32Array
  readonly width: number
  readonly height: number
  readonly channels: number
  readonly planar: 0 | 1
  readonly columns: NativeMaskAxis
  readonly rows: NativeMaskAxis
  /** None: the channel with the greatest value. */
  readonly threshold: number | undefined
  readonly out: Uint8Array
  readonly stride: number
}

/**
 * The values: the sum of `prototypes` (`count` planes of width x height), each times its coefficient; of the part at
 * `left` and `top`, `across` x `down`, which the axes count from.
 */
export interface NativeInstanceMask extends Pick<NativeMask, 'columns' | 'rows' | 'threshold' | 'out' | 'stride'> {
  readonly prototypes: Float32Array
  readonly coefficients: Float32Array
  readonly width: number
  readonly height: number
  readonly count: number
  readonly left: number
  readonly top: number
  readonly across: number
  readonly down: number
}

export interface NativeMaskAxis {
  readonly count: number
  readonly last: number
  readonly first: Int32Array
  readonly weights: Float64Array
}

/** See native/vision/outlines.h. */
export interface NativeOutlines {
  readonly rings: Int32Array
  readonly points: Int32Array
}

/** See native/vision/components.h. */
export interface NativeComponents {
  readonly data: Uint8Array
  readonly width: number
  readonly height: number
  /** The value that counts; -1: all but 0. */
  readonly only: number
  readonly diagonal: 0 | 1
  readonly labels: Int32Array
}
