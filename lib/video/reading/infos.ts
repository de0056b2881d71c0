import type { FedStream } from '../nut/fed.js'
import type { VideoInfo } from '../probe.js'
import { unprobedBase } from './arguments.js'
import { givenName, microseconds } from './given.js'
import type { GivenFrame } from './sources.js'

const unknown = {
  ...{ rotation: 0, bitDepth: 8, audio: [], hdr: undefined, pixelAspect: undefined },
  ...{ frameRate: undefined, averageFrameRate: undefined, duration: undefined, frames: undefined },
  colors: { space: undefined, primaries: undefined, transfer: undefined },
} as const

/** Of frames that were handed in: what the first one tells. */
export function infoOfFrame(first: GivenFrame | undefined): VideoInfo {
  const { format = 'i420', width = 0, height = 0, matrix, range } = first?.image ?? {}
  const timeBase = first?.timeBase ?? microseconds
  const container = givenName
  return {
    ...unknown,
    width,
    height,
    codec: 'rawvideo',
    pixelFormat: format,
    container,
    start: first?.pts,
    timeBase,
    matrix,
    range,
  }
}

/** Of what could not be probed: what its first frame tells, once ffmpeg has decoded it. */
export function unprobedInfo({ width, height }: FedStream): VideoInfo {
  const decoded = { codec: 'unknown', container: 'unknown', pixelFormat: 'yuv420p', timeBase: unprobedBase } as const
  return { ...unknown, ...decoded, width, height, start: undefined, matrix: undefined, range: 'limited' }
}
