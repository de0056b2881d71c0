/**
 * Videos: their frames in, as YUV where ffmpeg left it, each with its time. ffmpeg and ffprobe are found where they are
 * installed.
 * @module node-tensorrt/video
 */
export { VideoFrame } from './frame.js'
export { openVideo, VideoSource } from './open.js'
export type { VideoStats } from './reading/decoded.js'
export type { VideoDecoder } from './reading/hardware.js'
export type { OpenVideoOptions } from './reading/options.js'
export type { GivenFrame, VideoSourceInput } from './reading/sources.js'
