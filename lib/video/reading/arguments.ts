import type { VideoInfo } from '../probe.js'
import type { Input } from '../programs/inputs.js'
import { quietly } from '../programs/start.js'
import type { Reading } from './options.js'

/** How a source comes: all of it as fast as it is taken; a file, at its own speed; or from a camera, as it happens. */
export type Manner = 'recorded' | 'paced' | 'live'

/** What is decoded, and by what. */
export interface Decoding {
  readonly ffmpeg: string
  readonly input: Input
  readonly manner: Manner
  /** Undefined of what can be opened only once, so that it could not be probed. */
  readonly info: VideoInfo | undefined
  readonly reading: Reading
  readonly onFull: 'drop-oldest' | 'wait'
  readonly hardware: 'none' | 'cuda'
  /** What the program reads from its stdin. */
  readonly stdin: AsyncIterator<Uint8Array> | undefined
  /** Its descriptors from 3 on, which may be closed once it has started. */
  readonly more: readonly number[]
}

/**
 * What is added to each time stamp, and taken off again: NUT has none below 0. In seconds, of which every time base has
 * whole ticks.
 */
export const offsetSeconds = 2 ** 20

/** What RGB, and what has a palette, becomes: swscale's own choice. */
export function isRgb({ pixelFormat }: VideoInfo): boolean {
  return /^(0?rgb|0?bgr|argb|abgr|gbr|pal8|x2rgb|x2bgr|bayer|mono)/.test(pixelFormat)
}

export function isFullRange(info: VideoInfo): boolean {
  return info.range === 'full' && !isRgb(info)
}

/** The ticks of what could not be probed: those of RTP and of MPEG transport streams. */
export const unprobedBase: readonly [number, number] = [1, 90_000]

/** ffmpeg's, to decode a source into NUT on its stdout. */
export function decodingArguments({ input, manner, info, reading, hardware }: Decoding): string[] {
  const [num, den] = info?.timeBase ?? unprobedBase
  return [
    ...quietly,
    // the first wrong byte is the end: what would be made up of it is no frame of this video. What a network loses is
    // no end.
    ...(manner === 'live' ? [] : ['-xerror', '-err_detect', 'explode']),
    ...(hardware === 'none' ? [] : ['-hwaccel', hardware]),
    ...(reading.decode === 'all' ? [] : ['-skip_frame', reading.decode === 'key' ? 'nokey' : 'noref']),
    ...(info === undefined ? [] : seeking(input, info, reading)),
    ...(manner === 'live' ? [...atOnce, '-flags', 'low_delay'] : manner === 'paced' ? ['-re'] : []),
    ...input.options,
    // time stamps as they are
    ...['-copyts', '-i', input.url, '-map', '0:V:0', '-map_metadata', '-1', '-map_chapters', '-1'],
    ...filters(manner, info, reading),
    // j: of full range, and no other numbers
    ...['-c:v', 'rawvideo', '-pix_fmt', info !== undefined && isFullRange(info) ? 'yuvj420p' : 'yuv420p'],
    // each frame once, with its own time, in the ticks of the source: by default it is moved to a constant rate
    ...['-fps_mode', 'passthrough', '-enc_time_base', `${num}/${den}`, '-output_ts_offset', String(offsetSeconds)],
    ...['-f', 'nut', 'pipe:1'],
  ]
}

/** How little of a live source is looked at before the first frame; for ffprobe, too. */
export const atOnce = ['-fflags', 'nobuffer', '-probesize', '500000', '-analyzeduration', '1000000'] as const

/**
 * Containers that have an index of key frames: others are read from their beginning, since a seek in them may end
 * behind the key frame that is needed.
 */
const indexed = /\b(mov|mp4|matroska|webm)\b/

/** To a key frame before the start, from which on frames are decoded and left out. */
function seeking(input: Input, info: VideoInfo, { start }: Reading): string[] {
  if (start === undefined || input.path === undefined || !indexed.test(info.container)) return []
  // an index tells when frames are decoded, which may be some frames before they are shown
  const margin = Math.max(1, 32 / (info.averageFrameRate ?? info.frameRate ?? 25))
  return start - margin <= 0 ? [] : ['-seek_timestamp', '1', '-noaccurate_seek', '-ss', seconds(start - margin)]
}

/** ffmpeg turns frames upright before them. */
function filters(manner: Manner, info: VideoInfo | undefined, { start, end, every, scale }: Reading): string[] {
  const list = []
  if (manner === 'live') list.push(rising)
  // of unknown range: as all frames whose range nobody told
  if (info === undefined) list.push('scale=out_range=tv')
  if (start !== undefined || end !== undefined) {
    const from = start === undefined ? [] : [`start=${seconds(start)}`]
    const to = end === undefined ? [] : [`end=${seconds(end)}`]
    list.push(`trim=${[...from, ...to].join(':')}`)
  }
  if (every > 1) list.push(`select=not(mod(n\\,${every}))`)
  if (scale !== undefined) list.push(`scale=${scale.width ?? -1}:${scale.height ?? -1}`)
  return list.length === 0 ? [] : ['-vf', list.join(',')]
}

/**
 * Times that go back go on an hour ahead: else ffmpeg's muxer would make them the last time and a tick, again and
 * again.
 */
const rising = "setpts='st(0,ld(0)+if(lt(PTS,PREV_INPTS),PREV_INPTS-PTS+3600/TB,0));PTS+ld(0)'"

/** To the microsecond, which ffmpeg rounds to the nearest tick. */
function seconds(value: number): string {
  return value.toFixed(6)
}
