/** What clips of every kind are made of, for ffmpeg. */
import { Random } from './random.js'

/**
 * What ffmpeg is told to make; with `of`, of another clip, which is the first input; `change` works on the bytes that
 * came out.
 */
export interface Recipe {
  readonly file: string
  readonly args: readonly string[]
  readonly of?: string
  readonly change?: (bytes: Buffer) => Buffer
}

const picture = (size = '160x120', seconds = 2): string[] => [
  '-f',
  'lavfi',
  '-i',
  `testsrc2=size=${size}:rate=25:duration=${seconds}`,
]
const sound = (frequency = 440, seconds = 2): string[] => [
  '-f',
  'lavfi',
  '-i',
  `sine=frequency=${frequency}:sample_rate=16000:duration=${seconds}`,
]
const x264 = ['-c:v', 'libx264', '-preset', 'ultrafast', '-threads', '1', '-g', '12', '-pix_fmt', 'yuv420p']
const yuv420 = ['-pix_fmt', 'yuv420p']
const short = picture('160x120', 0.8)
const tone = sound(440, 0.8)
const aac = ['-c:a', 'aac', '-b:a', '32k']

/** Frames of one matrix and range, converted and tagged. */
function coloured(matrix: 'bt601' | 'bt709', range: 'limited' | 'full'): Recipe {
  const [name, space] = matrix === 'bt601' ? ['bt601', 'smpte170m'] : ['bt709', 'bt709']
  const tags = [
    '-colorspace',
    space,
    '-color_primaries',
    space,
    '-color_trc',
    space,
    '-color_range',
    range === 'full' ? 'pc' : 'tv',
  ]
  const filter = `scale=out_color_matrix=${name}:out_range=${range},format=yuv420p`
  return { file: `${matrix}-${range}.mp4`, args: [...picture('160x120', 0.4), '-vf', filter, ...x264, ...tags] }
}

/** As a phone writes it: frames as the sensor gave them, and a matrix in the track's header. */
function rotated(degrees: 0 | 90 | 180 | 270): Recipe {
  const [width, height] = [160, 120]
  const matrix = {
    0: [1, 0, 0, 1, 0, 0],
    90: [0, 1, -1, 0, height, 0],
    180: [-1, 0, 0, -1, width, height],
    270: [0, -1, 1, 0, 0, width],
  }
  const [a = 1, b = 0, c = 0, d = 1, x = 0, y = 0] = matrix[degrees]
  const change = (bytes: Buffer): Buffer => {
    const at = bytes.indexOf('tkhd') + 44 // ISO/IEC 14496-12, 8.3.2, version 0
    for (const [i, value] of [a, b, 0, c, d, 0, x, y].entries()) bytes.writeInt32BE(value * 65_536, at + 4 * i)
    return bytes
  }
  return {
    file: `rotated-${degrees}.mov`,
    args: [...picture('160x120', 0.4), ...sound(440, 0.4), ...x264, ...aac],
    change,
  }
}

const damaged = (bytes: Buffer): Buffer => {
  const random = new Random(5)
  for (let i = Math.floor(bytes.length * 0.5); i < bytes.length * 0.6; i++) bytes[i] = random.below(256)
  return bytes
}

export const recipes = {
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
  'b-frames': {
    file: 'b-frames.mp4',
    args: [...picture(), ...sound(), ...x264, '-bf', '3', '-b_strategy', '0', ...aac],
  },
  'edit-list': { file: 'edit-list.mp4', of: 'b-frames', args: ['-c', 'copy'] },
  offset: { file: 'offset.mkv', args: ['-itsoffset', '0.48', ...picture(), ...sound(), ...x264, ...aac] },
  'offset-mp4': {
    file: 'offset.mp4',
    args: ['-itsoffset', '0.48', ...picture(), ...sound(), '-fps_mode', 'passthrough', ...x264, ...aac],
  },
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
  'no-frame': {
    file: 'no-frame.mp4',
    of: 'plain',
    args: ['-c', 'copy', '-an', '-frames:v', '0', '-movflags', '+empty_moov'],
  },
  hevc: {
    file: 'hevc.mp4',
    args: [
      ...short,
      ...tone,
      '-c:v',
      'libx265',
      '-preset',
      'ultrafast',
      '-x265-params',
      'log-level=none',
      ...yuv420,
      ...aac,
    ],
  },
  'hevc-ten-bit': {
    file: 'hevc-ten-bit.mkv',
    args: [
      ...short,
      '-c:v',
      'libx265',
      '-preset',
      'ultrafast',
      '-x265-params',
      'log-level=none',
      '-pix_fmt',
      'yuv420p10le',
    ],
  },
  vp8: { file: 'vp8.webm', args: [...short, '-c:v', 'libvpx', '-deadline', 'realtime', '-cpu-used', '8'] },
  vp9: {
    file: 'vp9.webm',
    args: [...short, ...tone, '-c:v', 'libvpx-vp9', '-deadline', 'realtime', '-cpu-used', '8', '-c:a', 'libopus'],
  },
  av1: { file: 'av1.mkv', args: [...short, '-c:v', 'libsvtav1', '-preset', '12'] },
  mpeg4: { file: 'mpeg4.avi', args: [...short, ...tone, '-c:v', 'mpeg4', '-c:a', 'mp3'] },
  'mpeg4-b-frames': { file: 'mpeg4-b-frames.avi', args: [...short, '-c:v', 'mpeg4', '-bf', '2'] },
  mjpeg: { file: 'mjpeg.mov', args: [...short, '-c:v', 'mjpeg', '-pix_fmt', 'yuvj420p'] },
  'mpeg2-transport': { file: 'mpeg2.ts', args: [...short, '-c:v', 'mpeg2video', '-bf', '2'] },
  'mpeg2-program': { file: 'mpeg2.mpg', args: [...short, ...tone, '-c:v', 'mpeg2video', '-bf', '2', '-c:a', 'mp2'] },
  prores: { file: 'prores.mov', args: [...short, '-c:v', 'prores_ks', '-profile:v', '0'] },
  yuv422: { file: 'yuv422.mkv', args: [...short, '-c:v', 'ffv1', '-pix_fmt', 'yuv422p'] },
  yuv444: { file: 'yuv444.mp4', args: [...short, '-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv444p'] },
  gray: { file: 'gray.mkv', args: [...short, '-c:v', 'ffv1', '-pix_fmt', 'gray'] },
  rgb: { file: 'rgb.mkv', args: [...short, '-c:v', 'ffv1', '-pix_fmt', 'bgr0'] },
  flash: { file: 'flash.flv', args: [...short, ...tone, '-c:v', 'flv1', '-ar', '44100', '-c:a', 'mp3'] },
  theora: { file: 'theora.ogv', args: [...short, '-c:v', 'libtheora'] },
  wmv: { file: 'wmv.wmv', args: [...short, '-c:v', 'wmv2'] },
  gif: { file: 'moving.gif', args: short },
  y4m: { file: 'plain.y4m', args: [...short, ...yuv420] },
  interlaced: {
    file: 'interlaced.mp4',
    args: [...short, '-c:v', 'libx264', '-flags', '+ildct+ilme', '-x264opts', 'tff=1', ...yuv420],
  },
  anamorphic: { file: 'anamorphic.mp4', args: [...short, '-vf', 'setsar=4/3', ...x264] },
  'one-frame': { file: 'one-frame.mp4', args: [...short, ...x264, '-frames:v', '1'] },
  'ntsc-rate': {
    file: 'ntsc-rate.mp4',
    args: ['-f', 'lavfi', '-i', 'testsrc2=size=160x120:rate=30000/1001:duration=0.8', ...x264, '-bf', '2'],
  },
  'high-rate': {
    file: 'high-rate.mkv',
    args: ['-f', 'lavfi', '-i', 'testsrc2=size=160x120:rate=120:duration=0.3', ...x264],
  },
  cover: {
    file: 'cover.mp4',
    args: [
      ...[
        ...short,
        '-f',
        'lavfi',
        '-i',
        'testsrc=size=64x64:duration=0.04:rate=25',
        '-map',
        '0',
        '-map',
        '1',
        '-c:v:0',
        'libx264',
      ],
      ...['-pix_fmt:v:0', 'yuv420p', '-c:v:1', 'mjpeg', '-pix_fmt:v:1', 'yuvj420p', '-disposition:v:1', 'attached_pic'],
    ],
  },
  bt2020: {
    file: 'bt2020.mp4',
    args: [
      ...short,
      ...x264,
      '-colorspace',
      'bt2020nc',
      '-color_primaries',
      'bt2020',
      '-color_trc',
      'bt2020-10',
      '-color_range',
      'tv',
    ],
  },
  fragments: { file: 'fragments.mp4', args: [...short, ...x264, '-bf', '2', '-movflags', 'frag_keyframe+empty_moov'] },
  'open-groups': {
    file: 'open-groups.mkv',
    args: [...short, '-c:v', 'libx264', '-bf', '3', '-x264opts', 'open-gop=1:keyint=10', ...yuv420],
  },
  late: { file: 'late.mkv', args: ['-itsoffset', '3600', ...short, ...x264] },
} as const satisfies Record<string, Recipe>

export type ClipName = keyof typeof recipes
