import { drawBoxes, drawPolygons, type InstanceMask, type Mask, overlay } from '../../vision/index.js'
import type { VideoFrame } from '../../video/index.js'
import type { Found } from '../found.js'
import { labelledBox } from '../labelled.js'
import type { FrameWork } from './through.js'

interface Cut {
  readonly signal: AbortSignal
}

/** What a Detector does with a frame. */
export interface Detects {
  detect(frame: VideoFrame, options: Cut): Promise<Found[]>
}

/** What a FaceBlur does with a frame. */
export interface Blurs<R> {
  blur(frame: VideoFrame, options: Cut & { readonly inPlace: true }): Promise<{ readonly regions: readonly R[] }>
}

/** What a Segmenter does with a frame. */
export interface Segments {
  segment(frame: VideoFrame, options: Cut): Promise<Mask>
}

/** How a task goes through frames. */
export interface Manner {
  /** How many frames are under way at once. */
  readonly most: number
  /** Options of each call. */
  readonly asked?: Readonly<Record<string, unknown>> | undefined
}

export function blurring<R>(task: Blurs<R>, { most, asked }: Manner): FrameWork<readonly R[]> {
  return {
    most,
    answer: async (frame, signal) => (await task.blur(frame, { ...asked, inPlace: true, signal })).regions,
    count: (regions) => regions.length,
  }
}

/** @param draws whether what is found is drawn on the frame */
export function detecting(task: Detects, { most, asked }: Manner, draws: boolean): FrameWork<Found[]> {
  return {
    most,
    answer: async (frame, signal) => {
      const found = await task.detect(frame, { ...asked, signal })
      if (draws) await drawFound(frame, found, signal)
      return found
    },
    count: (found) => found.length,
  }
}

/** @param draws whether the mask is laid on the frame */
export function segmenting(task: Segments, { most, asked }: Manner, draws: boolean): FrameWork<Mask> {
  return {
    most,
    answer: async (frame, signal) => {
      const mask = await task.segment(frame, { ...asked, signal })
      if (draws) await overlay(frame, mask, { inPlace: true, signal })
      return mask
    },
    count: ({ data }) => Number(data.some((value) => value !== 0)),
  }
}

/** Masks in the colours of their classes, then boxes with their labels, or the corners of turned ones. */
async function drawFound(frame: VideoFrame, found: readonly Found[], signal: AbortSignal): Promise<void> {
  const how = { inPlace: true, signal } as const
  for (const { mask, classIndex } of found)
    if (mask !== undefined && mask.data.length > 0) await overlay(frame, ofClass(mask, classIndex), how)
  const isText = ({ corners, angle }: Found): boolean => corners !== undefined && angle === undefined
  const texts = found.flatMap((one) => (isText(one) ? [one.corners!] : []))
  if (texts.length > 0) await drawPolygons(frame, texts, how)
  const labelled = found.filter((one) => !isText(one)).map(labelledBox)
  if (labelled.length > 0) await drawBoxes(frame, labelled, how)
}

/** Each class has a colour of its own. */
function ofClass(mask: InstanceMask, classIndex: number): InstanceMask {
  return { ...mask, data: mask.data.map((value) => (value === 0 ? 0 : (classIndex % 255) + 1)) }
}
