/**
 * Short clips of every kind (video-recipes.ts), made by ffmpeg once and kept in .cache/video-clips, by what they are
 * made of.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync } from 'node:fs'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { findPrograms, type Programs } from '../../lib/video/programs/find.js'
import { type ClipName, type Recipe, recipes } from './video-recipes.js'

const run = promisify(execFile)

const found = await findPrograms().catch((error: unknown) => (error as Error).message)

/** The programs; `undefined` if this machine has none that the package can use. */
export const programs: Programs | undefined = typeof found === 'string' ? undefined : found
/** The reason to skip tests of videos. CI allows the first one only, so an ffmpeg that is too old fails there. */
export const skip =
  typeof found !== 'string' ? false : /^There is no program /.test(found) ? 'ffmpeg is not installed here' : found

export type { ClipName } from './video-recipes.js'

export const clipNames = Object.keys(recipes) as readonly ClipName[]

const folder = resolve('.cache/video-clips')

/** The clips that this process has requested, by path: later callers wait for the same run of ffmpeg. */
const requested = new Map<string, Promise<string>>()

/** Returns the path of a clip. */
export async function clip(name: ClipName): Promise<string> {
  const { file, args, of, change }: Recipe = recipes[name]
  const source =
    of === undefined ? [] : [...(name === 'edit-list' ? ['-ss', '0.35'] : []), '-i', await clip(of as ClipName)]
  return await keptClip(file, [...source, ...args, '-fflags', '+bitexact', '-flags', '+bitexact'], change)
}

/**
 * Returns the path of a file that ffmpeg makes from `args`, which lack only the output. Later processes find it by its
 * arguments and the version of ffmpeg.
 */
export function keptClip(file: string, args: readonly string[], change?: Recipe['change']): Promise<string> {
  const key = JSON.stringify([args, programs?.version, String(change)])
  const path = join(folder, `${createHash('sha256').update(key).digest('hex').slice(0, 8)}-${file}`)
  const making = requested.get(path) ?? makeClip(path, args, change)
  requested.set(path, making)
  return making
}

async function makeClip(path: string, args: readonly string[], change: Recipe['change']): Promise<string> {
  if (existsSync(path)) return path
  mkdirSync(folder, { recursive: true })
  const temporary = join(folder, `${process.pid}-${path.slice(folder.length + 1)}`)
  await run(programs?.ffmpeg ?? 'ffmpeg', ['-nostdin', '-loglevel', 'error', ...args, '-y', temporary])
  if (change !== undefined) await writeFile(temporary, change(await readFile(temporary)))
  await rename(temporary, path).catch(
    async (error: unknown) => (await rm(temporary, { force: true }), Promise.reject(error as Error)),
  )
  return path
}

/** Returns what `ffprobe -show_entries ENTRIES` prints of a file: of some streams, or of 'all'. */
export async function probed(
  path: string,
  entries: string,
  streams = 'v:0',
  more: readonly string[] = [],
): Promise<Record<string, any>> {
  const selected = streams === 'all' ? [] : ['-select_streams', streams]
  const args = ['-v', 'error', ...more, ...selected, '-show_entries', entries, '-of', 'json', path]
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
  const { stdout } = await run(
    programs!.ffmpeg,
    ['-nostdin', '-loglevel', 'error', '-i', path, ...args, '-f', 'framemd5', '-'],
    {
      maxBuffer: 1 << 26,
    },
  )
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
  const args = [
    '-nostdin',
    '-loglevel',
    'error',
    '-copyts',
    '-i',
    path,
    '-map',
    '0:V:0',
    '-fps_mode',
    'passthrough',
    '-pix_fmt',
    'yuv420p',
  ]
  const { stdout } = await run(programs!.ffmpeg, [...args, '-f', 'rawvideo', '-'], {
    maxBuffer: 1 << 28,
    encoding: 'buffer',
  })
  const entries = 'packet=pts,flags:stream=width,height,time_base:stream_side_data=rotation'
  const { streams, packets } = await probed(path, entries, 'V:0')
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
