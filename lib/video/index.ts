/**
 * Videos: what they are, frames in and frames out, by the programs ffmpeg and ffprobe, which are found where they are
 * installed.
 * @module node-tensorrt/video
 */
export type { PixelFormat, RawImage, Size } from '../vision/index.js'
export { VideoFrame } from './frame.js'
export { openVideo, VideoSource } from './open.js'
export {
  type ProbeOptions,
  type ProbeSource,
  probeVideo,
  type VideoAudio,
  type VideoColors,
  type VideoInfo,
} from './probe.js'
export { limitVideoMemory, type VideoMemory, videoMemory } from './memory.js'
export type { VideoStats } from './reading/decoded.js'
export type { VideoDecoder } from './reading/begin.js'
export type { OpenVideoOptions, VideoGap } from './reading/options.js'
export type { ReconnectOptions } from './reading/reconnect.js'
export type { GivenFrame, VideoSourceInput } from './reading/sources.js'
export type { StreamItem } from './streams/line.js'
export type { StreamEnd, StreamsOptions } from './streams/options.js'
export type { StreamInput, StreamSource } from './streams/source.js'
export type { StreamLatency, StreamSourceStats, StreamsStats, StreamStage } from './streams/statistics.js'
export { streams, Streams } from './streams/streams.js'
export type { EngineTask, FrameCall, StreamEngine, StreamResult, StreamTask } from './streams/task.js'
export {
  type FrameTime,
  type TimeBase,
  type VideoCodec,
  type VideoContainer,
  type VideoLike,
  VideoWriter,
  type CloseVideoOptions,
  type WritableFrame,
  writeVideo,
  type WriteVideoOptions,
} from './write.js'
