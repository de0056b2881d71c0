/** Clips that ffmpeg makes, and what ffmpeg's own tools say of them. */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import type { OpenVideoOptions, VideoFrame, VideoSource, VideoSourceInput } from '../../lib/video/index.js'
import { openVideo } from '../../lib/video/index.js'
import type { RawImage } from '../../lib/vision/index.js'
import { keptClip } from '../support/video-clips.js'

const run = promisify(execFile)
const quiet = ['-hide_banner', '-nostdin', '-loglevel', 'error', '-y']

/** Returns the path of a clip that ffmpeg makes from `args`, which lack only the output; `name` sets its container. */
export const clip = (name: string, args: readonly string[]): Promise<string> => keptClip(name, args)

/** ffmpeg's moving test picture, as H.264 with B-frames and a key frame each second. */
export const moving = (size = '96x64', rate = '25', seconds = 2): string[] => [
  ...['-f', 'lavfi', '-i', `testsrc2=size=${size}:rate=${rate}:duration=${seconds}`],
  ...['-c:v', 'libx264', '-preset', 'veryfast', '-bf', '3', '-g', '25', '-pix_fmt', 'yuv420p'],
]

/** Frames of a constant rate, of which some are left out. */
export const variable = ['-vf', "select='lt(n,20)+not(mod(n,3))+eq(mod(n,7),1)'", '-fps_mode', 'vfr']

/** The time stamps of a file's frames in ticks, as ffprobe tells them. */
export async function ticksOf(path: string): Promise<bigint[]> {
  const args = [
    '-v',
    'error',
    '-select_streams',
    'v:0',
    '-show_entries',
    'frame=best_effort_timestamp',
    '-of',
    'csv=p=0',
    path,
  ]
  const { stdout } = await run('ffprobe', args, { maxBuffer: 1 << 26 })
  return Array.from(stdout.matchAll(/^-?\d+/gm), ([text]) => BigInt(text))
}

/** The first frame as RGB, as swscale makes it exactly, of the same chroma for four pixels. */
export async function rgbOf(path: string): Promise<Buffer> {
  const flags = [
    '-sws_flags',
    'neighbor+accurate_rnd+full_chroma_int',
    '-frames:v',
    '1',
    '-pix_fmt',
    'rgb24',
    '-f',
    'rawvideo',
    '-',
  ]
  return (await run('ffmpeg', [...quiet, '-i', path, ...flags], { encoding: 'buffer', maxBuffer: 1 << 26 })).stdout
}

/** Frames of a file as ffmpeg decodes them. */
export interface DecodedFrames {
  /** Of the file's stream, in seconds: numerator and denominator. */
  readonly timeBase: readonly [number, number]
  /** Time stamps in units of `timeBase`; ffmpeg fills in those that the file lacks. */
  readonly ticks: readonly bigint[]
  /** The MD5 of each frame's planes. */
  readonly sums: readonly string[]
}

/** Added to all times in seconds, because ffmpeg shifts times that begin below 0. */
const offset = 2 ** 20

/** Decodes a file once: the frames' times and sums as ffmpeg's framemd5 prints them. */
export async function framesOf(path: string, format = 'yuv420p'): Promise<DecodedFrames> {
  const args = [
    ...[...quiet, '-copyts', '-i', path, '-map', '0:v:0', '-fps_mode', 'passthrough', '-enc_time_base', '-1'],
    ...['-output_ts_offset', String(offset), '-pix_fmt', format, '-f', 'framemd5', '-'],
  ]
  const { stdout } = await run('ffmpeg', args, { maxBuffer: 1 << 26 })
  const [, num = '', den = ''] = /^#tb 0: (\d+)\/(\d+)$/m.exec(stdout) ?? []
  const timeBase = [Number(num), Number(den)] as const
  const rows = Array.from(stdout.matchAll(/^\d+, *-?\d+, *(-?\d+),.*, (\w+)$/gm))
  return {
    timeBase,
    ticks: rows.map(([, pts = '']) => BigInt(pts) - BigInt(Math.round((offset * timeBase[1]) / timeBase[0]))),
    sums: rows.map(([, , sum = '']) => sum),
  }
}

/** The MD5 of each frame's planes, as ffmpeg's framemd5 has them. */
export const sumsOf = async (path: string): Promise<readonly string[]> => (await framesOf(path)).sums

export const sumOf = (frame: VideoFrame): string => createHash('md5').update(frame.data).digest('hex')

/** What was read of a video. */
export interface Read {
  readonly video: VideoSource
  readonly ticks: readonly bigint[]
  readonly sums: readonly string[]
  readonly numbers: readonly number[]
  /** What the first frame says of itself. */
  readonly first: Partial<Pick<VideoFrame, 'width' | 'height' | 'matrix' | 'range'>>
  /** What the loop threw, if anything. */
  readonly error: unknown
}

/** A copy of the first frame. */
export async function firstFrame(path: string): Promise<RawImage> {
  for await (const { format, width, height, data, matrix, range } of await openVideo(path))
    return { format, width, height, data: Uint8Array.from(data), ...(matrix && { matrix }), ...(range && { range }) }
  throw new Error(`${path} has no frame`)
}

/** Reads a video to its end, and closes each frame. */
export async function readAll(source: VideoSourceInput, options?: OpenVideoOptions): Promise<Read> {
  const video = await openVideo(source, options)
  const [ticks, sums, numbers]: [bigint[], string[], number[]] = [[], [], []]
  let first: Read['first'] | undefined
  try {
    for await (const frame of video) {
      const { width, height, matrix, range } = frame
      first ??= { width, height, matrix, range }
      ticks.push(frame.ticks)
      sums.push(sumOf(frame))
      numbers.push(frame.number)
      frame.close()
    }
    return { video, ticks, sums, numbers, first: first ?? {}, error: undefined }
  } catch (error) {
    return { video, ticks, sums, numbers, first: first ?? {}, error }
  }
}
