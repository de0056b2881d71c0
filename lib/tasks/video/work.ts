import { drawBoxes, drawPolygons, type InstanceMask, type Mask, overlay } from '../../vision/index.js'
import type { VideoFrame } from '../../video/index.js'
import type { Detector, Found } from '../detector.js'
import type { BlurResult, FaceBlur } from '../face-blur.js'
import type { Segmenter } from '../segmenter.js'
import type { FrameWork } from './through.js'

/** @param most how many frames are under way at once */
export function blurring(task: FaceBlur, most: number): FrameWork<BlurResult<VideoFrame>['regions']> {
  return {
    most,
    answer: async (frame, signal) => (await task.blur(frame, { inPlace: true, signal })).regions,
    count: (regions) => regions.length,
  }
}

/** @param draws whether what is found is drawn on the frame */
export function detecting(task: Detector, most: number, draws: boolean): FrameWork<Found[]> {
  return {
    most,
    answer: async (frame, signal) => {
      const found = await task.detect(frame, { signal })
      if (draws) await drawFound(frame, found, signal)
      return found
    },
    count: (found) => found.length,
  }
}

/** @param draws whether the mask is laid on the frame */
export function segmenting(task: Segmenter, most: number, draws: boolean): FrameWork<Mask> {
  return {
    most,
    answer: async (frame, signal) => {
      const mask = await task.segment(frame, { signal })
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
  const turned = found.flatMap(({ corners }) => (corners === undefined ? [] : [corners]))
  if (turned.length > 0) await drawPolygons(frame, turned, how)
  const boxes = found.filter(({ corners }) => corners === undefined)
  const labelled = boxes.map(({ box, label = '', score, landmarks }) => ({ box, label: `${label} ${score.toFixed(2)}`.trim(), landmarks }))
  if (labelled.length > 0) await drawBoxes(frame, labelled, how)
}

/** Each class has a colour of its own. */
function ofClass(mask: InstanceMask, classIndex: number): InstanceMask {
  return { ...mask, data: mask.data.map((value) => (value === 0 ? 0 : (classIndex % 255) + 1)) }
}
