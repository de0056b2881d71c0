import { constants } from 'node:fs'
import { access, realpath, stat } from 'node:fs/promises'
import { delimiter, dirname, join, resolve } from 'node:path'
import { checkedText } from '../../base/checks.js'
import { option } from '../../base/option-table.js'
import { unaborted } from '../../base/options.js'
import { lacking } from '../../base/remedies.js'
import { localPath } from '../../base/source.js'
import { isUrl } from '../../base/kinds.js'
import type { TensorRTError } from '../../errors.js'
import { remembered, runProgram } from './run.js'

/** The programs that read and write videos: found where they are installed, never shipped. */
export interface Programs {
  /** An absolute path. */
  readonly ffmpeg: string
  /** An absolute path. */
  readonly ffprobe: string
  /** Such as "5.1.9-0+deb12u1". */
  readonly version: string
}

/** Where to look, and what ends it. */
export interface FindOptions {
  /** The program ffmpeg, or the folder that has it and ffprobe; else FFMPEG_PATH, else PATH. */
  readonly ffmpeg?: string | URL | undefined
  readonly signal?: AbortSignal | undefined
}

/** Looked at by {@link findPrograms}. */
export const ffmpegOption = option((ffmpeg, name) =>
  isUrl(ffmpeg) ? ffmpeg : checkedText(ffmpeg, name, 'the path of ffmpeg'),
)

/**
 * The first that has -fps_mode, and the libavutil that it has: builds of a day are named by a commit instead of a
 * version.
 */
const least = { text: '5.1', version: [5, 1], libavutil: [57, 28] } as const

const suffix = process.platform === 'win32' ? '.exe' : ''

/**
 * Finds ffmpeg and ffprobe: by the option, the variable FFMPEG_PATH, or PATH. What a path was found to be is kept until
 * its file changes.
 * @throws TensorRTError ERR_TRT_VIDEO_PROGRAM where there is none, or one that is too old; ERR_TRT_INVALID_ARGUMENT;
 * the signal's reason
 */
export async function findPrograms({ ffmpeg: given, signal: aborts }: FindOptions = {}): Promise<Programs> {
  const signal = unaborted(aborts)
  const ffmpeg = await findFfmpeg(given)
  const ffprobe = await findFfprobe(ffmpeg)
  const version = await versionOf(ffmpeg, signal)
  return { ffmpeg, ffprobe, version }
}

async function findFfmpeg(given: unknown): Promise<string> {
  const variable = process.env['FFMPEG_PATH']
  if (given === undefined && (variable === undefined || variable === '')) {
    const found = await onPath('ffmpeg')
    if (found === undefined) throw lacks('There is no program ffmpeg on PATH', { program: 'ffmpeg' })
    return found
  }
  const by = given === undefined ? 'FFMPEG_PATH' : 'the option ffmpeg'
  const text =
    given === undefined ? variable : isUrl(given) ? given : checkedText(given, 'ffmpeg', 'the path of ffmpeg')
  const path = resolve(localPath(text as string | URL, by))
  const found = (await isFolder(path)) ? join(path, `ffmpeg${suffix}`) : path
  if (await isProgram(found)) return found
  throw lacks(`There is no program ffmpeg at ${path}, which ${by} names`, { program: 'ffmpeg', path, by })
}

/** Beside ffmpeg, where a link leads to beside that, or on PATH. */
async function findFfprobe(ffmpeg: string): Promise<string> {
  const folders = [dirname(ffmpeg), dirname(await realpath(ffmpeg))]
  for (const folder of folders) {
    const path = join(folder, `ffprobe${suffix}`)
    if (await isProgram(path)) return path
  }
  const found = await onPath('ffprobe')
  if (found === undefined)
    throw lacks(`There is no program ffprobe, neither beside ${ffmpeg} nor on PATH`, {
      program: 'ffprobe',
      path: ffmpeg,
    })
  return found
}

async function onPath(name: string): Promise<string | undefined> {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '')
  for (const folder of folders) {
    const path = resolve(folder, `${name}${suffix}`)
    if (await isProgram(path)) return path
  }
  return undefined
}

async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() ?? false
}

async function isProgram(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK)
    return (await stat(path)).isFile()
  } catch {
    return false
  }
}

const versionOf = remembered(async (path, signal) => {
  const { output, lines } = await runProgram(path, ['-version'], { signal, mostBytes: 65_536 })
  const version = /^ffmpeg version (\S+)/m.exec(output)?.[1]
  if (version === undefined) {
    const said = output.split('\n')[0] || lines.at(-1) || 'nothing'
    throw lacks(`${path} is no ffmpeg: asked for its version it says ${JSON.stringify(said.slice(0, 100))}`, {
      program: 'ffmpeg',
      path,
    })
  }
  if (!isRecent(version, output)) {
    const message = `ffmpeg ${version} at ${path} is too old: ffmpeg ${least.text} or newer is needed`
    throw lacks(message, { program: 'ffmpeg', path, version, least: least.text })
  }
  return version
})

/** The names that `ffmpeg -encoders` lists, after its six letters of abilities. */
const encodersOf = remembered(async (path, signal) => {
  const { output } = await runProgram(path, ['-hide_banner', '-encoders'], { signal, mostBytes: 1 << 20 })
  return new Set(Array.from(output.matchAll(/^ [VAS][A-Z.]{5} (\S+)/gm), ([, name = '']) => name))
})

/** @throws TensorRTError ERR_TRT_VIDEO_PROGRAM where this ffmpeg was built without the encoder; the signal's reason */
export async function demandEncoder(
  { ffmpeg, version }: Programs,
  encoder: string,
  signal?: AbortSignal,
): Promise<void> {
  if ((await encodersOf(ffmpeg, signal)).has(encoder)) return
  const message = `ffmpeg ${version} at ${ffmpeg} was built without the encoder ${encoder}`
  throw lacks(message, { program: 'ffmpeg', path: ffmpeg, version, encoder })
}

/** "5.1.9-0+deb12u1", "n7.1", "7:6.1"; of "N-118-gabcdef" and "git-2024…" libavutil tells. */
function isRecent(version: string, output: string): boolean {
  const numbers = /^(?:n|\d+:)?(\d+)\.(\d+)/.exec(version)
  if (numbers !== null) return isAtLeast(numbers, least.version)
  const libavutil = /^libavutil\s+(\d+)\.\s*(\d+)/m.exec(output)
  return libavutil !== null && isAtLeast(libavutil, least.libavutil)
}

function isAtLeast(
  [, major = '0', minor = '0']: readonly string[],
  [wantedMajor, wantedMinor]: readonly [number, number],
): boolean {
  return Number(major) > wantedMajor || (Number(major) === wantedMajor && Number(minor) >= wantedMinor)
}

function lacks(message: string, details: Readonly<Record<string, unknown>>): TensorRTError {
  return lacking('ERR_TRT_VIDEO_PROGRAM', message, { details })
}
