/**
 * Videos: what they are, and frames out, by the programs ffmpeg and ffprobe, which are found where they are installed.
 * @module node-tensorrt/video
 */
export { type ProbeOptions, type ProbeSource, probeVideo, type VideoAudio, type VideoColors, type VideoInfo } from './probe.js'
export {
  type FrameTime,
  type TimeBase,
  type VideoCodec,
  type VideoContainer,
  type VideoLike,
  VideoWriter,
  type WritableFrame,
  writeVideo,
  type WriteVideoOptions,
} from './write.js'
