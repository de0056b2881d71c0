/** Short clips of every kind, made by ffmpeg once and kept in .cache/video-clips, by what they are made of. */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { access, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { findPrograms, type Programs } from '../../lib/video/programs/find.js'
import { Random } from './random.js'

const run = promisify(execFile)

/** The programs, or why a test of videos is skipped. */
export const programs: Programs | undefined = await findPrograms().catch(() => undefined)
export const skip = programs === undefined ? 'ffmpeg is not installed here' : false

/** What ffmpeg is told to make; with `of`, of another clip, which is the first input; `change` works on the bytes that came out. */
interface Recipe {
  readonly file: string
  readonly args: readonly string[]
  readonly of?: ClipName
  readonly change?: (bytes: Buffer) => Buffer
}

const picture = (size = '160x120', seconds = 2): string[] => ['-f', 'lavfi', '-i', `testsrc2=size=${size}:rate=25:duration=${seconds}`]
const sound = (frequency = 440, seconds = 2): string[] => [
  '-f',
  'lavfi',
  '-i',
  `sine=frequency=${frequency}:sample_rate=16000:duration=${seconds}`,
]
const x264 = ['-c:v', 'libx264', '-preset', 'ultrafast', '-threads', '1', '-g', '12', '-pix_fmt', 'yuv420p']
const aac = ['-c:a', 'aac', '-b:a', '32k']

/** Frames of one matrix and range, converted and tagged. */
function coloured(matrix: 'bt601' | 'bt709', range: 'limited' | 'full'): Recipe {
  const [name, space] = matrix === 'bt601' ? ['bt601', 'smpte170m'] : ['bt709', 'bt709']
  const tags = ['-colorspace', space, '-color_primaries', space, '-color_trc', space, '-color_range', range === 'full' ? 'pc' : 'tv']
  const filter = `scale=out_color_matrix=${name}:out_range=${range},format=yuv420p`
  return { file: `${matrix}-${range}.mp4`, args: [...picture('160x120', 0.4), '-vf', filter, ...x264, ...tags] }
}

/** As a phone writes it: frames as the sensor gave them, and a matrix in the track's header. */
function rotated(degrees: 0 | 90 | 180 | 270): Recipe {
  const [width, height] = [160, 120]
  const matrix = { 0: [1, 0, 0, 1, 0, 0], 90: [0, 1, -1, 0, height, 0], 180: [-1, 0, 0, -1, width, height], 270: [0, -1, 1, 0, 0, width] }
  const [a = 1, b = 0, c = 0, d = 1, x = 0, y = 0] = matrix[degrees]
  const change = (bytes: Buffer): Buffer => {
    const at = bytes.indexOf('tkhd') + 44 // ISO/IEC 14496-12, 8.3.2, version 0
    for (const [i, value] of [a, b, 0, c, d, 0, x, y].entries()) bytes.writeInt32BE(value * 65_536, at + 4 * i)
    return bytes
  }
  return { file: `rotated-${degrees}.mov`, args: [...picture('160x120', 0.4), ...sound(440, 0.4), ...x264, ...aac], change }
}

const damaged = (bytes: Buffer): Buffer => {
  const random = new Random(5)
  for (let i = Math.floor(bytes.length * 0.5); i < bytes.length * 0.6; i++) bytes[i] = random.below(256)
  return bytes
}

const recipes = {
  plain: { file: 'plain.mp4', args: [...picture(), ...sound(), ...x264, ...aac] },
  silent: { file: 'silent.mp4', args: [...picture(), ...x264] },
  'two-sounds': {
    file: 'two-sounds.mp4',
    args: [
      ...picture(),
      ...sound(440),
      ...sound(880, 1.5),
      ...x264,
      '-map',
      '0:v',
      '-map',
      '1:a',
      '-map',
      '2:a',
      ...aac,
      '-metadata:s:a:1',
      'language=deu',
    ],
  },
  vfr: {
    file: 'vfr.mp4',
    args: [
      ...picture(),
      ...sound(),
      '-vf',
      'select=not(eq(mod(n\\,7)\\,3))*not(between(n\\,20\\,28))',
      '-fps_mode',
      'passthrough',
      ...x264,
      ...aac,
      '-enc_time_base',
      '1:90000',
    ],
  },
  'b-frames': { file: 'b-frames.mp4', args: [...picture(), ...sound(), ...x264, '-bf', '3', '-b_strategy', '0', ...aac] },
  'edit-list': { file: 'edit-list.mp4', of: 'b-frames', args: ['-c', 'copy'] },
  offset: { file: 'offset.mkv', args: ['-itsoffset', '0.48', ...picture(), ...sound(), ...x264, ...aac] },
  'offset-mp4': { file: 'offset.mp4', args: ['-itsoffset', '0.48', ...picture(), ...sound(), '-fps_mode', 'passthrough', ...x264, ...aac] },
  'rotated-0': rotated(0),
  'rotated-90': rotated(90),
  'rotated-180': rotated(180),
  'rotated-270': rotated(270),
  odd: {
    file: 'odd.mkv',
    args: [
      ...picture('162x122', 0.4),
      ...sound(440, 0.4),
      '-vf',
      'format=yuv444p,crop=161:121:0:0,format=yuv420p',
      '-c:v',
      'ffv1',
      '-pix_fmt',
      'yuv420p',
      ...aac,
    ],
  },
  'ten-bit': { file: 'ten-bit.mp4', args: [...picture('160x120', 0.4), ...x264, '-pix_fmt', 'yuv420p10le'] },
  'bt601-limited': coloured('bt601', 'limited'),
  'bt601-full': coloured('bt601', 'full'),
  'bt709-limited': coloured('bt709', 'limited'),
  'bt709-full': coloured('bt709', 'full'),
  hdr: {
    file: 'hdr.mp4',
    args: [
      ...picture('160x120', 0.4),
      ...x264,
      '-pix_fmt',
      'yuv420p10le',
      '-colorspace',
      'bt2020nc',
      '-color_primaries',
      'bt2020',
      '-color_trc',
      'smpte2084',
      '-color_range',
      'tv',
    ],
  },
  streamed: { file: 'streamed.ts', args: [...picture(), ...sound(), ...x264, ...aac] },
  'cut-short': {
    file: 'cut-short.mkv',
    args: [...picture(), ...sound(), ...x264, ...aac],
    change: (bytes) => bytes.subarray(0, Math.floor(bytes.length * 0.6)),
  },
  'no-index': {
    file: 'no-index.mp4',
    of: 'plain',
    args: ['-c', 'copy'],
    change: (bytes) => bytes.subarray(0, Math.floor(bytes.length * 0.6)),
  },
  damaged: { file: 'damaged.ts', args: [...picture(), ...sound(), ...x264, ...aac], change: damaged },
  'sound-only': { file: 'sound-only.m4a', args: [...sound(), ...aac] },
  'no-frame': { file: 'no-frame.mp4', of: 'plain', args: ['-c', 'copy', '-an', '-frames:v', '0', '-movflags', '+empty_moov'] },
} as const satisfies Record<string, Recipe>

export type ClipName =
  | 'plain'
  | 'silent'
  | 'two-sounds'
  | 'vfr'
  | 'b-frames'
  | 'edit-list'
  | 'offset'
  | 'offset-mp4'
  | 'rotated-0'
  | 'rotated-90'
  | 'rotated-180'
  | 'rotated-270'
  | 'odd'
  | 'ten-bit'
  | 'bt601-limited'
  | 'bt601-full'
  | 'bt709-limited'
  | 'bt709-full'
  | 'hdr'
  | 'streamed'
  | 'cut-short'
  | 'no-index'
  | 'damaged'
  | 'sound-only'
  | 'no-frame'

export const clipNames = Object.keys(recipes) as readonly ClipName[]

const folder = resolve('.cache/video-clips')

/** The path of a clip. */
export async function clip(name: ClipName): Promise<string> {
  const recipe: Recipe = recipes[name]
  const source = recipe.of === undefined ? [] : [...(name === 'edit-list' ? ['-ss', '0.35'] : []), '-i', await clip(recipe.of)]
  const { ffmpeg, version } = programs!
  const hash = createHash('sha256')
    .update(JSON.stringify([recipe.args, version, String(recipe.change), 1]))
    .digest('hex')
    .slice(0, 8)
  const path = join(folder, `${hash}-${recipe.file}`)
  if (
    await access(path).then(
      () => true,
      () => false,
    )
  )
    return path
  mkdirSync(folder, { recursive: true })
  const temporary = join(folder, `${process.pid}-${recipe.file}`)
  await run(ffmpeg, [
    '-nostdin',
    '-loglevel',
    'error',
    ...source,
    ...recipe.args,
    '-fflags',
    '+bitexact',
    '-flags',
    '+bitexact',
    '-y',
    temporary,
  ])
  if (recipe.change !== undefined) await writeFile(temporary, recipe.change(await readFile(temporary)))
  await rename(temporary, path).catch(async (error: unknown) => (await rm(temporary, { force: true }), Promise.reject(error as Error)))
  return path
}

/** What `ffprobe -show_entries ENTRIES` tells of a file, as JSON. */
export async function probed(path: string, entries: string, streams = 'v:0'): Promise<Record<string, any>> {
  const args = ['-v', 'error', '-select_streams', streams, '-show_entries', entries, '-of', 'json', path]
  const { stdout } = await run(programs!.ffprobe, args, { maxBuffer: 1 << 26 })
  return JSON.parse(stdout) as Record<string, any>
}

/** The times of all pictures, as ffprobe gives them for packets, in the order in which they are shown. */
export async function timesOf(path: string): Promise<number[]> {
  const { packets } = await probed(path, 'packet=pts_time,flags')
  const shown = (packets as { pts_time: string; flags: string }[]).filter(({ flags }) => !flags.includes('D'))
  return shown.map(({ pts_time }) => Number(pts_time)).sort((a, b) => a - b)
}

/** A line with an MD5 for each packet (`-c copy`) or frame of a file's streams. */
export async function framemd5(path: string, args: readonly string[]): Promise<string[]> {
  const { stdout } = await run(programs!.ffmpeg, ['-nostdin', '-loglevel', 'error', '-i', path, ...args, '-f', 'framemd5', '-'], {
    maxBuffer: 1 << 26,
  })
  return stdout.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
}

/** A frame as ffmpeg decodes it, with its time as the file has it. */
export interface DecodedFrame {
  readonly format: 'i420'
  readonly width: number
  readonly height: number
  readonly data: Uint8Array
  readonly ticks: bigint
  readonly timeBase: readonly [number, number]
}

/** All frames of a file, upright, in 8 bits. */
export async function decodedFrames(path: string): Promise<DecodedFrame[]> {
  const args = ['-nostdin', '-loglevel', 'error', '-copyts', '-i', path, '-map', '0:V:0', '-fps_mode', 'passthrough', '-pix_fmt', 'yuv420p']
  const { stdout } = await run(programs!.ffmpeg, [...args, '-f', 'rawvideo', '-'], { maxBuffer: 1 << 28, encoding: 'buffer' })
  const { streams } = await probed(path, 'stream=width,height,time_base:stream_side_data=rotation', 'V:0')
  const { packets } = await probed(path, 'packet=pts,flags', 'V:0')
  const { width: codedWidth, height: codedHeight, time_base, side_data_list } = streams[0]
  const isTurned = Math.abs(side_data_list?.[0]?.rotation ?? 0) % 180 === 90
  const [width, height] = isTurned ? [codedHeight, codedWidth] : [codedWidth, codedHeight]
  const bytes = width * height + 2 * Math.ceil(width / 2) * Math.ceil(height / 2)
  const shown = (packets as { pts: number; flags: string }[]).filter(({ flags }) => !flags.includes('D'))
  const ticks = shown.map(({ pts }) => pts).sort((a, b) => a - b)
  const timeBase = time_base.split('/').map(Number) as [number, number]
  return ticks.map((each, i) => ({
    format: 'i420',
    width,
    height,
    data: stdout.subarray(i * bytes, (i + 1) * bytes),
    ticks: BigInt(each),
    timeBase,
  }))
}
