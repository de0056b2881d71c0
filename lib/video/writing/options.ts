import { extname } from 'node:path'
import { Writable } from 'node:stream'
import { checkedChoice, checkedNumber, checkedObject, choiceOf } from '../../base/checks.js'
import { type Checked, checkedOptions, is, option, type OptionTable, signalOption } from '../../base/option-table.js'
import type { Size } from '../../base/size.js'
import { checkedPath } from '../../base/source.js'
import { isUrl } from '../../base/kinds.js'
import { expected, TensorRTError } from '../../errors.js'
import type { VideoInfo } from '../info.js'
import { ffmpegOption } from '../programs/find.js'
import { type VideoCodec, codecNames, codecs, type VideoContainer, containerNames, containers } from './codecs.js'

/** What a video is written like. */
export interface VideoLike {
  /** Of `probeVideo` or `openVideo`. */
  readonly info: VideoInfo
  /** The path or URL of the file whose sounds are copied, where `source` does not say it. */
  readonly name?: string | undefined
  /** The path or URL of the file whose sounds are copied. */
  readonly source?: string | URL | undefined
  /**
   * Seconds of the source, where the frames are of a part of it: what is heard or shown before is left out, and times
   * count from there.
   */
  readonly start?: number | undefined
  /** Seconds of the source, where the frames are of a part of it: what is heard or shown then or later is left out. */
  readonly end?: number | undefined
}

/** Options of `writeVideo`. */
export interface WriteVideoOptions {
  /**
   * The video that the frames came from: its colours, the shape of its pixels and its rate are kept, and its sounds, if
   * it is a file. What `openVideo` gives, or a path or URL, which is probed.
   */
  readonly like?: VideoLike | string | URL | undefined
  /** In pixels, where the first frame is not to say it. */
  readonly width?: number | undefined
  /** In pixels, where the first frame is not to say it. */
  readonly height?: number | undefined
  /** Frames a second, for frames that have no times: each follows the one before. */
  readonly frameRate?: number | undefined
  /** `copy`: all sounds of `like`, packet for packet, which is so unless given; false: none. */
  readonly audio?: 'copy' | false | undefined
  /** `h264` unless given (`vp9` in WebM); `ffv1` loses nothing. */
  readonly codec?: VideoCodec | undefined
  /** How long h264 and hevc search for a smaller file: `ultrafast` to `veryslow`, `veryfast` unless given. */
  readonly preset?: string | undefined
  /** CRF: lower is better and larger. Unless given 23 of h264 (0 to 51), 28 of hevc, 31 of vp9 (0 to 63), 35 of av1. */
  readonly quality?: number | undefined
  /**
   * Of h264, hevc and av1, whose sides are even: what becomes of a side that is odd. `refuse` (unless given): an error;
   * `crop`: its last row or column goes; `pad`: it comes twice.
   */
  readonly odd?: 'refuse' | 'crop' | 'pad' | undefined
  /** Of a Writable `mp4` (in fragments, unless given), `matroska` or `webm`; of a file what its name says. */
  readonly container?: VideoContainer | undefined
  /** Whether a file that is there already is replaced, once the new one is whole; false unless given. */
  readonly overwrite?: boolean | undefined
  /** The program ffmpeg, or the folder that has it and ffprobe; else FFMPEG_PATH, else PATH. */
  readonly ffmpeg?: string | URL | undefined
  /** Aborts the writing, as `abort()` of the writer does; calls reject with its reason. */
  readonly signal?: AbortSignal | undefined
}

const side = option(is.whole(1, 16_384))

const table = {
  like: option(checkedLike),
  width: side,
  height: side,
  frameRate: option(is.number(0.001, 1000)),
  audio: option(checkedAudio, 'copy'),
  odd: option(is.choice('refuse', 'crop', 'pad'), 'refuse'),
  overwrite: option(is.boolean, false),
  ffmpeg: ffmpegOption,
  signal: signalOption,
  container: option(is.choice(...containerNames)),
  codec: option(is.choice(...codecNames)),
  preset: option((preset) => preset), // which codec it is says more of these two
  quality: option((quality) => quality),
} satisfies OptionTable<WriteVideoOptions>

interface Encoding {
  readonly container: VideoContainer
  readonly codec: VideoCodec
  readonly preset: string | undefined
  readonly quality: number | undefined
}

/** Options that were checked. */
export interface Writing extends Omit<Checked<typeof table>, keyof Encoding>, Encoding {
  readonly target: string | Writable
}

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT; the signal's reason */
export function checkedWriting(target: unknown, options: unknown): Writing {
  const checked = checkedOptions(options, table, 'writeVideo')
  const to = target instanceof Writable ? target : checkedPath(target, 'target')
  checked.signal?.throwIfAborted()
  return { ...checked, target: to, ...checkedEncoding(to, checked) }
}

function checkedAudio(audio: unknown, name: string): 'copy' | false {
  return audio !== false && checkedChoice(audio, name, ['copy'], "'copy' or false")
}

function checkedEncoding(target: string | Writable, given: Checked<typeof table>): Encoding {
  const { container = containerOf(target) } = given
  const known: readonly VideoCodec[] = containers[container].codecs
  const { codec = known[0]! } = given
  if (!known.includes(codec)) throw expected(`${choiceOf(known)} in ${container}`, 'codec', codec)
  const { presets, quality } = codecs[codec]
  if (given.preset !== undefined && presets === undefined)
    throw expected(`nothing, since ${codec} has no presets,`, 'preset', given.preset)
  if (given.quality !== undefined && quality === undefined)
    throw expected(`nothing, since ${codec} loses nothing,`, 'quality', given.quality)
  return {
    container,
    codec,
    preset: presets && checkedChoice(given.preset === undefined ? 'veryfast' : given.preset, 'preset', presets),
    quality:
      quality &&
      checkedNumber(given.quality === undefined ? quality.usual : given.quality, 'quality', 0, quality.worst),
  }
}

function containerOf(target: string | Writable): VideoContainer {
  if (typeof target !== 'string') return 'mp4'
  const extension = extname(target).toLowerCase()
  const found = containerNames.find((name) => (containers[name].extensions as readonly string[]).includes(extension))
  if (found !== undefined) return found
  const known = containerNames.flatMap((name) => containers[name].extensions)
  throw expected(`a name that ends in ${known.join(', ')}, or the option container,`, 'target', target)
}

function checkedLike(like: unknown): VideoLike | string | URL {
  if (typeof like === 'string' || isUrl(like)) return like
  const { info, name, source, start, end } = checkedObject(like, 'like', 'a video, a path or a URL') as VideoLike
  checkedObject(info, 'like.info')
  if (start !== undefined) checkedNumber(start, 'like.start')
  if (end !== undefined) checkedNumber(end, 'like.end')
  return { info, name, source, start, end }
}

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT where this codec cannot have the size, and `odd` is not to mend it */
export function evenSize({ codec, odd }: Pick<Writing, 'codec' | 'odd'>, width: number, height: number): Size {
  if (!codecs[codec].isEven || (width % 2 === 0 && height % 2 === 0)) return { width, height }
  const round = odd === 'crop' ? Math.floor : Math.ceil
  const even = { width: 2 * round(width / 2), height: 2 * round(height / 2) }
  if (odd !== 'refuse' && even.width > 0 && even.height > 0) return even
  const message = `Expected even sides, which ${codec} needs, for the frames but received ${width} x ${height}: give the option odd: 'crop' or 'pad', or codec: 'vp9' or 'ffv1'`
  throw new TensorRTError('ERR_TRT_INVALID_ARGUMENT', message, { details: { width, height } })
}
