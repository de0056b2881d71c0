import { letterbox, type RawImage, toTensor } from '../../lib/vision/index.js'

/** Work on a frame's bytes, by a thread. */
export const resize = (frame: RawImage): Promise<unknown> => toTensor(frame, letterbox(frame, 64))
