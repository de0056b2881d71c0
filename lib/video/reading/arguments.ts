import type { VideoInfo } from '../probe.js'
import type { Input } from '../programs/inputs.js'
import { quietly } from '../programs/start.js'
import type { Reading } from './options.js'

/** What is added to each time stamp, and taken off again: NUT has none below 0. In seconds, of which every time base has whole ticks. */
export const offsetSeconds = 2 ** 20

/** What RGB, and what has a palette, becomes: swscale's own choice. */
export function isRgb({ pixelFormat }: VideoInfo): boolean {
  return /^(0?rgb|0?bgr|argb|abgr|gbr|pal8|x2rgb|x2bgr|bayer|mono)/.test(pixelFormat)
}

export function isFullRange(info: VideoInfo): boolean {
  return info.range === 'full' && !isRgb(info)
}

/** ffmpeg's, to decode `input` into NUT on its stdout. */
export function decodingArguments(input: Input, info: VideoInfo, reading: Reading, hardware: 'none' | 'cuda'): string[] {
  const [num, den] = info.timeBase
  return [
    ...quietly,
    // the first wrong byte is the end: what would be made up of it is no frame of this video
    ...['-xerror', '-err_detect', 'explode'],
    ...(hardware === 'none' ? [] : ['-hwaccel', hardware]),
    ...(reading.decode === 'all' ? [] : ['-skip_frame', reading.decode === 'key' ? 'nokey' : 'noref']),
    ...seeking(input, info, reading),
    ...input.options,
    // time stamps as they are
    ...['-copyts', '-i', input.url, '-map', '0:V:0', '-map_metadata', '-1', '-map_chapters', '-1'],
    ...filters(reading),
    // j: of full range, and no other numbers
    ...['-c:v', 'rawvideo', '-pix_fmt', isFullRange(info) ? 'yuvj420p' : 'yuv420p'],
    // each frame once, with its own time, in the ticks of the source: by default it is moved to a constant rate
    ...['-fps_mode', 'passthrough', '-enc_time_base', `${num}/${den}`, '-output_ts_offset', String(offsetSeconds)],
    ...['-f', 'nut', 'pipe:1'],
  ]
}

/** Containers that have an index of key frames: others are read from their beginning, since a seek in them may end behind the key frame that is needed. */
const indexed = /\b(mov|mp4|matroska|webm)\b/

/** To a key frame before the start, from which on frames are decoded and left out. */
function seeking(input: Input, info: VideoInfo, { start }: Reading): string[] {
  if (start === undefined || input.path === undefined || !indexed.test(info.container)) return []
  // an index tells when frames are decoded, which may be some frames before they are shown
  const margin = Math.max(1, 32 / (info.averageFrameRate ?? info.frameRate ?? 25))
  return start - margin <= 0 ? [] : ['-seek_timestamp', '1', '-noaccurate_seek', '-ss', seconds(start - margin)]
}

/** ffmpeg turns frames upright before them. */
function filters({ start, end, every, scale }: Reading): string[] {
  const list = []
  if (start !== undefined || end !== undefined) {
    const from = start === undefined ? [] : [`start=${seconds(start)}`]
    const to = end === undefined ? [] : [`end=${seconds(end)}`]
    list.push(`trim=${[...from, ...to].join(':')}`)
  }
  if (every > 1) list.push(`select=not(mod(n\\,${every}))`)
  if (scale !== undefined) list.push(`scale=${scale.width ?? -1}:${scale.height ?? -1}`)
  return list.length === 0 ? [] : ['-vf', list.join(',')]
}

/** To the microsecond, which ffmpeg rounds to the nearest tick. */
function seconds(value: number): string {
  return value.toFixed(6)
}
