// Videos: wrong options are told before ffmpeg is looked for.
import { join } from 'node:path'
import * as typed from '../../lib/video/index.js'
import { argument, type Room, wrongly } from './table.js'

const { openVideo, probeVideo, writeVideo, streams, limitVideoMemory } = wrongly(typed)

const videos: Room = ({ folder }) => {
  const out = join(folder, 'out.mp4')
  const task = (): number => 1
  return [
    [() => openVideo(), argument, ['undefined']],
    [() => openVideo(5), argument, ['number 5']],
    [() => openVideo(''), argument, ['""']],
    [() => openVideo({ path: 'in.mp4' }), argument, ['Object']],
    [() => openVideo('in.mp4', 25), argument, ['the options of openVideo', 'number 25']],
    [() => openVideo('in.mp4', { fps: 5 }), argument, ['"fps" for openVideo', 'every']],
    [() => openVideo('in.mp4', { start: '00:01:00' }), argument, ['start', '"00:01:00"']],
    [() => openVideo('in.mp4', { start: 10, end: 5 }), argument, ['seconds above start, 10', 'end', '5']],
    [() => openVideo('in.mp4', { every: 0 }), argument, ['every', 'number 0']],
    [() => openVideo('in.mp4', { every: 0.5 }), argument, ['every', '0.5']],
    [() => openVideo('in.mp4', { scale: 0.5 }), argument, ['scale', '0.5']],
    [() => openVideo('in.mp4', { scale: '640x480' }), argument, ['scale', '"640x480"']],
    [() => openVideo('in.mp4', { width: 640 }), argument, ['"width" for openVideo', 'scale']],
    [() => openVideo('in.mp4', { hardware: true }), argument, ["'none' or 'cuda'", 'hardware', 'true']],
    [() => openVideo('in.mp4', { hwaccel: 'cuda' }), argument, ['"hwaccel" for openVideo', 'hardware']],
    [() => openVideo('in.mp4', { buffer: 'big' }), argument, ['buffer', '"big"']],
    [() => openVideo('in.mp4', { decode: 'keyframes' }), argument, ["'all', 'reference', 'key'", '"keyframes"']],
    [() => openVideo('in.mp4', { reconnect: {} }), argument, ['live is not true', 'reconnect']],
    [() => openVideo('rtsp://cam/1', { transport: 'http' }), argument, ["'tcp' or 'udp'", '"http"']],
    [() => openVideo('in.mp4', { live: 'yes' }), argument, ['true or false', 'live']],
    [() => openVideo('in.mp4', { ffmpeg: true }), argument, ['ffmpeg', 'true']],
    [() => openVideo('in.mp4', { signal: 5 }), argument, ['an AbortSignal', 'number 5']],
    [() => probeVideo(), argument, ['undefined']],
    [() => probeVideo('in.mp4', { frames: true }), argument, ['"frames" for probeVideo', 'count']],
    [() => probeVideo('in.mp4', { count: 'yes' }), argument, ['true or false', 'count']],
    [() => writeVideo(), argument, ['target', 'undefined']],
    [() => writeVideo('out.txt'), argument, ['.mp4', 'the option container', 'out.txt']],
    [() => writeVideo('out'), argument, ['.mp4', 'the option container']],
    [() => writeVideo(out, { codec: 'x264' }), argument, ["'h264'", '"x264"']],
    [() => writeVideo(out, { codec: 'libx264' }), argument, ["'h264'", '"libx264"']],
    [() => writeVideo(join(folder, 'out.webm'), { codec: 'h264' }), argument, ["'vp9'", 'webm', '"h264"']],
    [() => writeVideo(out, { fps: 25 }), argument, ['"fps" for writeVideo', 'frameRate']],
    [() => writeVideo(out, { frameRate: '25' }), argument, ['frameRate', '"25"']],
    [() => writeVideo(out, { frameRate: 0 }), argument, ['frameRate', 'number 0']],
    [() => writeVideo(out, { crf: 23 }), argument, ['"crf" for writeVideo', 'quality']],
    [() => writeVideo(out, { quality: 99 }), argument, ['quality', '99']],
    [() => writeVideo(out, { preset: 'fastest' }), argument, ["'veryfast'", '"fastest"']],
    [() => writeVideo(out, { audio: true }), argument, ["'copy' or false", 'audio', 'true']],
    [() => writeVideo(out, { width: '640' }), argument, ['width', '"640"']],
    [() => writeVideo(out, { size: { width: 640, height: 480 } }), argument, ['"size" for writeVideo', 'width']],
    [() => writeVideo(out, { like: 5 }), argument, ['like', 'number 5']],
    [() => writeVideo(out, { like: { width: 640 } }), argument, ['like.info', 'undefined']],
    [() => writeVideo(out, { bitrate: '2M' }), argument, ['"bitrate" for writeVideo']],
    [() => streams(), argument, ['undefined']],
    [() => streams(['in.mp4'], 'detect'), argument, ['a function', 'task', '"detect"']],
    [() => streams(task, ['in.mp4']), argument, ['for task', 'array of 1']],
    [() => streams('in.mp4', task), argument, ['an array of videos', '"in.mp4"']],
    [() => streams([], task, { inFlight: 0 }), argument, ['inFlight', 'number 0']],
    [() => streams([], task, { every: 5 }), argument, ['did you mean inferEvery?']],
    [() => streams([], task, { onEnd: 5 }), argument, ['a function', 'onEnd']],
    [() => limitVideoMemory(), argument, ['undefined']],
    [() => limitVideoMemory('much'), argument, ['"much"']],
    [() => limitVideoMemory(-1), argument, ['-1']],
  ]
}

export const videoRooms: readonly Room[] = [videos]
