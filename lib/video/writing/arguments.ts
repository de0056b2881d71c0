import type { VideoInfo } from '../info.js'
import { type Input, fileUrl, pipeInput } from '../programs/inputs.js'
import { quietly } from '../programs/start.js'
import { codecs, tagOf } from './codecs.js'
import type { Layout } from './layout.js'
import { evenSize, type Writing } from './options.js'
import type { TimeBase } from './times.js'
import { isUrl } from '../../base/kinds.js'

/** What the first frame and the source say. */
export interface Picture {
  readonly layout: Layout
  readonly matrix: 'bt601' | 'bt709' | 'bt2020' | undefined
  readonly range: 'limited' | 'full' | undefined
  readonly timeBase: TimeBase
}

interface Around {
  readonly info: VideoInfo | undefined
  readonly sounds: Input | undefined
  readonly output: string | undefined
}

/**
 * ffmpeg's command line: frames as NUT by its stdin, sounds from the source, one file or stdout. `output`: a path, or
 * nothing for stdout.
 */
export function writingArguments(writing: Writing, picture: Picture, { info, sounds, output }: Around): string[] {
  const { codec, container, preset, quality } = writing
  const { encoder, arguments: more } = codecs[codec]
  const frames = pipeInput('frames')
  const tags = tagsOf(picture, info)
  return [
    ...quietly,
    '-y', // the file under its temporary name is there, empty
    '-copyts', // times of frames and sounds as they are, so that the one keeps its distance from the other
    ...frames.options,
    ...['-f', 'nut', '-i', frames.url],
    ...(sounds === undefined ? [] : [...sounds.options, '-vn', '-sn', '-dn', '-i', sounds.url]),
    ...['-map', '0:v:0', ...(sounds === undefined ? [] : ['-map', '1:a', '-c:a', 'copy']), '-map_chapters', '-1'],
    ...['-vf', filtersOf(writing, picture, tags, info)],
    ...['-fps_mode', 'passthrough', '-enc_time_base', picture.timeBase.join('/')],
    ...['-c:v', encoder, '-pix_fmt', 'yuv420p', ...more],
    ...(preset === undefined ? [] : ['-preset', preset]),
    ...(quality === undefined ? [] : ['-crf', String(quality)]),
    ...encoderTags(tags),
    ...partOf(writing.like),
    ...tagOf(codec, container),
    ...muxing(container, output, picture.timeBase),
  ]
}

/** As options of the output they cut sounds, which are copied, at their packets, and move both by as much. */
function partOf(like: Writing['like']): string[] {
  if (typeof like !== 'object' || isUrl(like)) return []
  const { start, end } = like
  return [
    ...(start === undefined ? [] : ['-ss', start.toFixed(6)]),
    ...(end === undefined ? [] : ['-to', end.toFixed(6)]),
  ]
}

interface Tags {
  readonly colorspace: string | undefined
  readonly color_primaries: string | undefined
  readonly color_trc: string | undefined
  readonly range: 'tv' | 'pc' | undefined
}

/**
 * What the source says, and nothing where it says nothing; of frames without a source what they say themselves, and
 * BT.709 of RGB.
 */
function tagsOf({ layout, matrix, range }: Picture, info: VideoInfo | undefined): Tags {
  const isYuv = layout.format === 'i420' || layout.format === 'nv12'
  const source = info?.colors
  const meant = isYuv
    ? (matrix !== undefined && matrix !== info?.matrix && info?.matrix !== undefined) || info === undefined
    : info?.matrix === undefined
  const named = isYuv ? matrix : 'bt709'
  const extent = isYuv ? (range === 'full' || info === undefined ? range : info.range) : (info?.range ?? 'limited')
  return {
    colorspace: meant ? named && spaces[named] : known(source?.space),
    color_primaries: known(source?.primaries) ?? (info === undefined && !isYuv ? 'bt709' : undefined),
    color_trc: known(source?.transfer) ?? (info === undefined && !isYuv ? 'bt709' : undefined),
    range: extent && (extent === 'full' ? 'pc' : 'tv'),
  }
}

const spaces = { bt601: 'smpte170m', bt709: 'bt709', bt2020: 'bt2020nc' } as const

/** A name that goes into a list of filters. */
function known(name: string | undefined): string | undefined {
  return name !== undefined && /^[a-z0-9_-]+$/i.test(name) && !['unknown', 'unspecified', 'reserved'].includes(name)
    ? name
    : undefined
}

/** Tags of frames and of the encoder say the same, so that nothing is converted to make them agree. */
function encoderTags({ range, ...names }: Tags): string[] {
  const options = Object.entries({ ...names, color_range: range })
  return options.flatMap(([option, value]) => (value === undefined ? [] : [`-${option}`, value]))
}

function filtersOf(writing: Writing, { layout }: Picture, tags: Tags, info: VideoInfo | undefined): string {
  const { format, width, height, rowWidth } = layout
  const { range, ...names } = tags
  const parameters = Object.entries({ ...names, range }).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${value}`],
  )
  const even = evenSize(writing, width, height)
  const isPadded = even.width > width || even.height > height // in the pipe already
  const filters = [
    ...(rowWidth === width || isPadded ? [] : [cut(width, height)]),
    ...(format === 'i420' ? [] : [...(format === 'nv12' ? [] : [toYuv(tags)]), 'format=yuv420p']),
    ...(even.width < width || even.height < height ? [cut(even.width, even.height)] : []),
    ...(parameters.length === 0 ? [] : [`setparams=${parameters.join(':')}`]),
    ...(info?.pixelAspect === undefined ? [] : [`setsar=${info.pixelAspect.map(Number).join('/')}`]),
  ]
  return filters.length === 0 ? 'null' : filters.join(',')
}

const cut = (width: number, height: number): string => `crop=${width}:${height}:0:0:exact=1`

function toYuv({ colorspace, range = 'tv' }: Tags): string {
  const matrix = colorspace === 'bt709' ? 'bt709' : colorspace === 'bt2020nc' ? 'bt2020' : 'bt601'
  return `scale=out_color_matrix=${matrix}:out_range=${range}`
}

/**
 * A stream cannot be gone back in: MP4 in fragments, whose head waits for the first one since it tells by how much
 * frames are late.
 */
function muxing(container: Writing['container'], output: string | undefined, [, denominator]: TimeBase): string[] {
  const isMp4 = container === 'mp4' || container === 'mov'
  const scale = isMp4 && denominator >= 1000 ? ['-video_track_timescale', String(denominator)] : []
  const fragments = isMp4 && output === undefined ? ['-movflags', 'frag_keyframe+delay_moov+default_base_moof'] : []
  return [...scale, ...fragments, '-f', container, output === undefined ? 'pipe:1' : fileUrl(output)]
}
