/** How a codec is asked for. */
export interface Codec {
  /** ffmpeg's name of the encoder. */
  readonly encoder: string
  /** Whether sides have to be even, since a value of U and V is of two by two pixels. */
  readonly isEven: boolean
  /** The quality (CRF) that is taken, and the worst; nothing: it loses nothing. */
  readonly quality: { readonly usual: number; readonly worst: number } | undefined
  readonly presets: readonly string[] | undefined
  readonly arguments: readonly string[]
}

const presets = [
  'ultrafast',
  'superfast',
  'veryfast',
  'faster',
  'fast',
  'medium',
  'slow',
  'slower',
  'veryslow',
] as const

export const codecs = {
  h264: { encoder: 'libx264', isEven: true, quality: { usual: 23, worst: 51 }, presets, arguments: [] },
  // its own log goes past ffmpeg's levels
  hevc: {
    encoder: 'libx265',
    isEven: true,
    quality: { usual: 28, worst: 51 },
    presets,
    arguments: ['-x265-params', 'log-level=error'],
  },
  vp9: {
    encoder: 'libvpx-vp9',
    isEven: false,
    quality: { usual: 31, worst: 63 },
    presets: undefined,
    arguments: ['-b:v', '0', '-row-mt', '1', '-deadline', 'good', '-cpu-used', '4'],
  },
  av1: {
    encoder: 'libsvtav1',
    isEven: true,
    quality: { usual: 35, worst: 63 },
    presets: undefined,
    arguments: ['-preset', '8'],
  },
  ffv1: {
    encoder: 'ffv1',
    isEven: false,
    quality: undefined,
    presets: undefined,
    arguments: ['-level', '3', '-slices', '4'],
  },
} as const satisfies Record<VideoCodec, Codec>

/** What a video is encoded as. */
export type VideoCodec = 'h264' | 'hevc' | 'vp9' | 'av1' | 'ffv1'
export const codecNames = Object.keys(codecs) as readonly VideoCodec[]

/** ffmpeg's muxers, and the names of files that are theirs. */
export const containers = {
  mp4: { extensions: ['.mp4', '.m4v'], codecs: ['h264', 'hevc', 'vp9', 'av1'] },
  mov: { extensions: ['.mov'], codecs: ['h264', 'hevc'] },
  matroska: { extensions: ['.mkv'], codecs: codecNames },
  webm: { extensions: ['.webm'], codecs: ['vp9', 'av1'] },
} as const satisfies Record<
  VideoContainer,
  { readonly extensions: readonly string[]; readonly codecs: readonly VideoCodec[] }
>

/** The format of a file, by ffmpeg's name. */
export type VideoContainer = 'mp4' | 'mov' | 'matroska' | 'webm'
export const containerNames = Object.keys(containers) as readonly VideoContainer[]

/** "hvc1" is what players of Apple look for in their containers. */
export function tagOf(codec: VideoCodec, container: VideoContainer): string[] {
  return codec === 'hevc' && container !== 'matroska' ? ['-tag:v', 'hvc1'] : []
}
