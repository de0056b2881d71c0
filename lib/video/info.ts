import { TensorRTError } from '../errors.js'

/** A sound of a video. */
export interface VideoAudio {
  /** ffmpeg's name of the codec, such as `aac`. */
  readonly codec: string
  /** How many channels. */
  readonly channels: number | undefined
  /** Samples a second. */
  readonly sampleRate: number | undefined
  /** Seconds. */
  readonly duration: number | undefined
  /** Such as `deu`. */
  readonly language: string | undefined
}

/** What the file says of its colours, by ffmpeg's names; undefined: it says nothing. */
export interface VideoColors {
  /** Such as `bt709`, `smpte170m`, `bt470bg`. */
  readonly space: string | undefined
  /** Such as `bt709`. */
  readonly primaries: string | undefined
  /** Such as `bt709`, `smpte2084`. */
  readonly transfer: string | undefined
}

/** What a video is, as far as its file tells: what it does not is undefined. */
export interface VideoInfo {
  /** ffmpeg's name of the format, such as `mov,mp4,m4a,3gp,3g2,mj2`. */
  readonly container: string
  /** ffmpeg's name of the codec, such as `h264`. */
  readonly codec: string
  /** In pixels, upright: as it is shown. */
  readonly width: number
  /** In pixels, upright. */
  readonly height: number
  /** By how many degrees the coded picture is turned clockwise to be upright. */
  readonly rotation: number
  /** Width and height of a pixel, upright; undefined: square. */
  readonly pixelAspect?: readonly [number, number] | undefined
  /** ffmpeg's name of the layout of pixels, such as `yuv420p10le`. */
  readonly pixelFormat: string
  /** Bits of a value, such as 8 or 10. */
  readonly bitDepth: number
  /** Frames a second: the lowest rate that has all times. */
  readonly frameRate: number | undefined
  /** Frames a second, on the average. */
  readonly averageFrameRate: number | undefined
  /** Seconds. */
  readonly duration: number | undefined
  /** When the first frame is shown, in seconds. */
  readonly start?: number | undefined
  /** How many frames are shown; only where they were counted. */
  readonly frames?: number | undefined
  /** The seconds of a tick, as a fraction. */
  readonly timeBase: readonly [number, number]
  /** What Y, U and V mean. */
  readonly matrix: 'bt601' | 'bt709' | 'bt2020' | undefined
  /** `limited`: Y of 16 to 235; `full`: 0 to 255. */
  readonly range: 'limited' | 'full' | undefined
  /** Which curve of high dynamic range: `pq` (HDR10, Dolby Vision) or `hlg`; undefined: none. */
  readonly hdr: 'pq' | 'hlg' | undefined
  /** What the file says of its colours. */
  readonly colors?: VideoColors | undefined
  /** Its sounds, in the file's order. */
  readonly audio: readonly VideoAudio[]
}

/** What ffprobe's JSON has; nothing of it is taken for granted. */
interface Stream {
  readonly codec_type?: string | undefined
  readonly codec_name?: string | undefined
  readonly width?: number | undefined
  readonly height?: number | undefined
  readonly pix_fmt?: string | undefined
  readonly bits_per_raw_sample?: string | undefined
  readonly sample_aspect_ratio?: string | undefined
  readonly r_frame_rate?: string | undefined
  readonly avg_frame_rate?: string | undefined
  readonly time_base?: string | undefined
  readonly start_time?: string | undefined
  readonly duration?: string | undefined
  readonly color_space?: string | undefined
  readonly color_primaries?: string | undefined
  readonly color_transfer?: string | undefined
  readonly color_range?: string | undefined
  readonly channels?: number | undefined
  readonly sample_rate?: string | undefined
  readonly disposition?: { readonly attached_pic?: number | undefined } | undefined
  readonly side_data_list?: readonly { readonly rotation?: number | undefined }[] | undefined
  readonly tags?: Readonly<Record<string, string>> | undefined
}

/** @throws TensorRTError ERR_TRT_VIDEO_DATA where nothing has pictures */
export function infoOf(json: string, name: string): VideoInfo {
  const { streams = [], format = {} } = parsed(json, name)
  const video = streams.find(({ codec_type, disposition }) => codec_type === 'video' && disposition?.attached_pic !== 1)
  if (video === undefined) throw withoutPictures(name, streams)
  const { width = 0, height = 0, pix_fmt = '', codec_name = 'unknown' } = video
  // a stream of which not one picture came has a header that says nothing
  if (width < 1 || height < 1 || pix_fmt === '')
    throw new TensorRTError(
      'ERR_TRT_VIDEO_DATA',
      `${name} has a stream of ${codec_name} without a picture that tells its size`,
    )
  const rotation = rotationOf(video)
  const isTurned = rotation === 90 || rotation === 270
  const aspect = pairOf(video.sample_aspect_ratio, ':')
  return {
    container: format.format_name ?? 'unknown',
    codec: codec_name,
    width: isTurned ? height : width,
    height: isTurned ? width : height,
    rotation,
    pixelAspect:
      aspect === undefined || aspect[0] === aspect[1] ? undefined : isTurned ? [aspect[1], aspect[0]] : aspect,
    pixelFormat: pix_fmt,
    bitDepth: bitDepthOf(video),
    frameRate: rateOf(video.r_frame_rate),
    averageFrameRate: rateOf(video.avg_frame_rate),
    duration: durationOf(video) ?? secondsOf(format.duration),
    start: secondsOf(video.start_time),
    timeBase: pairOf(video.time_base, '/') ?? [1, 1_000_000],
    ...colorsOf(video),
    audio: streams.filter(({ codec_type }) => codec_type === 'audio').map(audioOf),
  }
}

function parsed(
  json: string,
  name: string,
): {
  streams?: Stream[] | undefined
  format?: { format_name?: string | undefined; duration?: string | undefined } | undefined
} {
  try {
    return JSON.parse(json) as ReturnType<typeof parsed>
  } catch (cause) {
    throw new TensorRTError('ERR_TRT_VIDEO_DATA', `Cannot read ${name}: what ffprobe tells of it is no JSON`, { cause })
  }
}

function withoutPictures(name: string, streams: readonly Stream[]): TensorRTError {
  const kinds = streams.map(({ codec_type = 'unknown', codec_name = 'unknown' }) => `${codec_type} (${codec_name})`)
  const has = kinds.length === 0 ? 'no streams at all' : `no video among its streams: ${kinds.slice(0, 8).join(', ')}`
  return new TensorRTError('ERR_TRT_VIDEO_DATA', `${name} has ${has}`)
}

function audioOf({ codec_name = 'unknown', channels, sample_rate, tags, ...stream }: Stream): VideoAudio {
  const rate = Number(sample_rate)
  return {
    codec: codec_name,
    channels,
    sampleRate: rate > 0 ? rate : undefined,
    duration: durationOf(stream),
    language: tags?.['language'],
  }
}

/** ffprobe's is counter-clockwise, -180 to 180. */
function rotationOf({ side_data_list = [] }: Stream): number {
  const degrees = side_data_list.find(({ rotation }) => typeof rotation === 'number')?.rotation ?? 0
  return (((-Math.round(degrees) % 360) + 360) % 360) + 0
}

/** Of "yuv420p10le", "gray12le", "p010le" and "gbrap16be" the last number; else what the codec says. */
function bitDepthOf({ pix_fmt = '', bits_per_raw_sample }: Stream): number {
  const told = Number(/(9|1[0246])(?:le|be)$/.exec(pix_fmt)?.[1] ?? bits_per_raw_sample)
  return told > 0 && told <= 16 ? told : 8
}

const matrices: Readonly<Record<string, 'bt601' | 'bt709' | 'bt2020'>> = {
  smpte170m: 'bt601',
  bt470bg: 'bt601',
  bt709: 'bt709',
  bt2020nc: 'bt2020',
}
const transfers: Readonly<Record<string, 'pq' | 'hlg'>> = { smpte2084: 'pq', 'arib-std-b67': 'hlg' }
const ranges: Readonly<Record<string, 'limited' | 'full'>> = { tv: 'limited', pc: 'full' }

function colorsOf({ color_space, color_primaries, color_transfer, color_range, pix_fmt = '' }: Stream) {
  return {
    matrix: matrices[color_space ?? ''],
    range: ranges[color_range ?? ''] ?? (pix_fmt.startsWith('yuvj') ? 'full' : undefined),
    hdr: transfers[color_transfer ?? ''],
    colors: { space: color_space, primaries: color_primaries, transfer: color_transfer },
  }
}

function durationOf({ duration, tags }: Stream): number | undefined {
  return secondsOf(duration) ?? secondsOf(tags?.['DURATION'])
}

/** "2.48", or Matroska's "00:00:02.480000000". */
function secondsOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const seconds = text.split(':').reduce((sum, part) => sum * 60 + Number(part), 0)
  return Number.isFinite(seconds) ? seconds : undefined
}

function rateOf(text: string | undefined): number | undefined {
  const pair = pairOf(text, '/')
  return pair && pair[0] / pair[1]
}

/** Two numbers above 0. */
function pairOf(text: string | undefined, between: string): readonly [number, number] | undefined {
  const [a = 0, b = 0] = (text ?? '').split(between).map(Number)
  return a > 0 && b > 0 && Number.isFinite(a) && Number.isFinite(b) ? [a, b] : undefined
}
