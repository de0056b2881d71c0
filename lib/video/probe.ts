import { isUint8Array } from 'node:util/types'
import { onFile, openFile } from '../base/files.js'
import { checkedOptions, is, option, type OptionTable, signalOption } from '../base/option-table.js'
import { infoOf, type VideoInfo } from './info.js'
import { type BytesInput, withBytes } from './programs/bytes.js'
import { failureOf } from './programs/failure.js'
import { ffmpegOption, findPrograms } from './programs/find.js'
import { checkedInput } from './programs/inputs.js'
import { readProgram, runProgram } from './programs/run.js'

export type { VideoAudio, VideoColors, VideoInfo } from './info.js'

/** What {@link probeVideo} opens: a path, a `file:` URL or one of a network, or the bytes of a file. */
export type ProbeSource = string | URL | Uint8Array

/** Options of {@link probeVideo}. */
export interface ProbeOptions {
  /** The program ffmpeg, or the folder that has it and ffprobe; else FFMPEG_PATH, else PATH. */
  readonly ffmpeg?: string | URL | undefined
  /** Whether `frames` is counted, for which all of the file is read, and nothing decoded. False unless given. */
  readonly count?: boolean | undefined
  /** Rejects the call with the signal's reason, and ends ffprobe. */
  readonly signal?: AbortSignal | undefined
}

const table = {
  ffmpeg: ffmpegOption,
  count: option(is.boolean, false),
  signal: signalOption,
} satisfies OptionTable<ProbeOptions>

/** What ffprobe may tell: that of a file with a hundred streams has 200 KiB. */
const mostBytes = 4 << 20

/**
 * What a video is: size, codec, rates, colours, sounds; by one run of ffprobe, which decodes next to nothing.
 *
 * @param source A path, a URL, or the bytes of a file, which are not to change meanwhile.
 * @example
 * ```ts
 * import { probeVideo } from 'node-tensorrt/video'
 *
 * const { width, height, codec, duration, audio } = await probeVideo('in.mp4')
 * console.log(`${codec}, ${width} x ${height}, ${duration} s, ${audio.length} sounds`)
 * ```
 * @throws TensorRTError ERR_TRT_FILE, ERR_TRT_VIDEO_DATA (no video, damaged, no pictures), ERR_TRT_VIDEO_PROGRAM,
 * ERR_TRT_INVALID_ARGUMENT; the signal's reason
 */
export async function probeVideo(source: ProbeSource, options?: ProbeOptions): Promise<VideoInfo> {
  const { ffmpeg, count, signal } = checkedOptions(options, table, 'probeVideo')
  signal?.throwIfAborted()
  const bytes = isUint8Array(source) ? source : undefined
  const input = bytes === undefined ? checkedInput(source) : undefined
  if (input?.path !== undefined) await checkReadable(input.path)
  const { ffprobe } = await findPrograms({ ffmpeg, signal })
  const ask = async (given: BytesInput): Promise<VideoInfo> => {
    const info = await probeInput(ffprobe, given, signal)
    return count ? { ...info, frames: await counted(ffprobe, given, signal) } : info
  }
  return input === undefined ? withBytes(bytes!, ask) : ask({ input, stdin: undefined, more: [] })
}

/**
 * ffprobe's own words for a file that is not there name no code. A pipe or a device is refused: it would have no frame
 * left.
 */
async function checkReadable(path: string): Promise<void> {
  await onFile('read', path, async () => (await openFile(path)).close())
}

const told = ['-hide_banner', '-loglevel', 'level+warning'] as const

/** What ffprobe says of an input. @throws TensorRTError ERR_TRT_VIDEO_DATA; the signal's reason */
export async function probeInput(
  ffprobe: string,
  { input, stdin, more }: BytesInput,
  signal: AbortSignal | undefined,
): Promise<VideoInfo> {
  const args = [...told, ...input.options, '-show_streams', '-show_format', '-of', 'json', '-i', input.url]
  const { exit, output, lines } = await runProgram(ffprobe, args, { input: stdin, more, signal, mostBytes })
  if (exit.code !== 0) throw failureOf(`Cannot read ${input.name}`, exit, lines, 'ffprobe')
  return infoOf(output, input.name)
}

/**
 * Pictures that are shown: not those before an edit list's beginning, which are decoded only since others need them.
 */
async function counted(
  ffprobe: string,
  { input, stdin, more }: BytesInput,
  signal: AbortSignal | undefined,
): Promise<number> {
  const lines = ['-select_streams', 'V:0', '-show_entries', 'packet=flags', '-of', 'compact=p=0:nk=1']
  const args = [...told, ...input.options, ...lines, '-i', input.url]
  let frames = 0
  let isCounting = false
  // a line for each packet, of its flags, and empty ones: "K_", "__", "_D"
  const ended = await readProgram(ffprobe, args, { input: stdin, more, signal }, (piece) => {
    for (const byte of piece) {
      if (byte === newline) {
        if (isCounting) frames++
        isCounting = false
      } else if (byte === discarded) isCounting = false
      else if (byte === keyFlag || byte === noFlag) isCounting ||= true
    }
  })
  if (ended.exit.code === 0) return frames
  throw failureOf(`Cannot count the frames of ${input.name}`, ended.exit, ended.lines, 'ffprobe')
}

const [newline, discarded, keyFlag, noFlag] = ['\n', 'D', 'K', '_'].map((text) => text.charCodeAt(0))
