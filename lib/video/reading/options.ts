import { checkedBytes } from '../../building/options.js'
import { checkedBoolean, checkedChoice, checkedNumber, checkedObject, checkedWhole } from '../../base/checks.js'
import { readOptions, unaborted } from '../../base/options.js'
import { longest, type Size } from '../../base/size.js'
import { expected } from '../../errors.js'
import type { VideoGap } from './gaps.js'
import { checkedReconnect, type Reconnect, type ReconnectOptions } from './reconnect.js'

/** The options of {@link openVideo}. */
export interface OpenVideoOptions {
  /**
   * Seconds, as `frame.pts` counts: the first frame is the first that is shown then or later. Default: the beginning.
   */
  readonly start?: number | undefined
  /** Seconds, as `frame.pts` counts: frames that are shown then or later are left out. Default: all. */
  readonly end?: number | undefined
  /** Of so many decoded frames the first is given; default: 1. */
  readonly every?: number | undefined
  /**
   * `all` (default); `reference`: without frames that no other needs; `key`: key frames only. What is left out is not
   * decoded.
   */
  readonly decode?: 'all' | 'reference' | 'key' | undefined
  /** Pixels that ffmpeg scales upright frames to; of one side alone the other follows. Default: as they are. */
  readonly scale?: Partial<Size> | undefined
  /**
   * What decodes: the processor (`none`, default), or a GPU. Where that cannot, the processor does, and
   * `video.decoder.reason` says why.
   */
  readonly hardware?: 'none' | 'cuda' | undefined
  /**
   * Bytes of decoded frames, or text such as `'64MiB'` (default): those that wait and those that were given and are
   * neither closed nor collected. Where there are as many, ffmpeg waits; who keeps all frames gets them one by one.
   */
  readonly buffer?: number | string | undefined
  /**
   * Whether it happens now: ffmpeg looks at less of it before the first frame, and holds none back; a connection that
   * is lost is made again, and the `pts` of frames rise over that. A file, and bytes, are read at their own speed,
   * once. Default: only devices (`/dev/video0`).
   */
  readonly live?: boolean | undefined
  /**
   * What becomes of frames that nobody takes: `drop-oldest` (default of what is live): one waits, the newest; `wait`
   * (default of all else): as many as `buffer` says, and then ffmpeg waits, and with it the source.
   */
  readonly onFull?: 'drop-oldest' | 'wait' | undefined
  /** How `rtsp:` URLs bring their packets; default: `tcp`, which loses none. */
  readonly transport?: 'tcp' | 'udp' | undefined
  /**
   * Whether this process waits for the source to connect, at the URL's port: `rtsp:`, `rtmp:`, `tcp:`, `http:` and
   * `srt:`; default: where the URL says so (`?listen=1`, `mode=listener`).
   */
  readonly listen?: boolean | undefined
  /**
   * When a live connection that ends, fails or stalls is made again; `false`: its end is the end. Of files, bytes and
   * streams it always is.
   */
  readonly reconnect?: false | ReconnectOptions | undefined
  /**
   * Called when a live connection is lost, when it is back, and when the times of a source jump. What it throws the
   * loop throws.
   */
  readonly onGap?: ((gap: VideoGap) => void) | undefined
  /** The program ffmpeg, or the folder that has it and ffprobe; default: `FFMPEG_PATH`, else `PATH`. */
  readonly ffmpeg?: string | URL | undefined
  /** Ends the video, also while frames are read: whoever waits for one gets the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

/** Checked. */
export interface Reading {
  readonly start: number | undefined
  readonly end: number | undefined
  readonly every: number
  readonly decode: 'all' | 'reference' | 'key'
  readonly scale: Partial<Size> | undefined
  readonly hardware: 'none' | 'cuda'
  readonly buffer: number
  readonly live: boolean | undefined
  readonly onFull: 'drop-oldest' | 'wait' | undefined
  readonly transport: 'tcp' | 'udp'
  readonly listen: boolean | undefined
  readonly reconnect: Reconnect | undefined
  readonly onGap: ((gap: VideoGap) => void) | undefined
  readonly ffmpeg: string | URL | undefined
  readonly signal: AbortSignal | undefined
}

const names = [
  ...(['start', 'end', 'every', 'decode', 'scale', 'hardware', 'buffer', 'ffmpeg', 'signal'] as const),
  ...(['live', 'onFull', 'transport', 'listen', 'reconnect', 'onGap'] as const),
] as const

/** A hundred years: what ffmpeg's microseconds can hold, and no more than anybody means. */
const longestTime = 3.2e9

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT; the signal's reason */
export function checkedReading(options: unknown): Reading {
  const given = readOptions(options, names, 'openVideo')
  const start = given.start === undefined ? undefined : checkedNumber(given.start, 'start', -longestTime, longestTime)
  const end = given.end === undefined ? undefined : checkedNumber(given.end, 'end', -longestTime, longestTime)
  if (start !== undefined && end !== undefined && end <= start)
    throw expected(`seconds above start, ${start},`, 'end', end)
  return {
    start,
    end,
    every: checkedWhole(given.every ?? 1, 'every', 1, 2 ** 31 - 1),
    decode: checkedChoice(given.decode ?? 'all', 'decode', ['all', 'reference', 'key']),
    scale: given.scale === undefined ? undefined : checkedScale(given.scale),
    hardware: checkedChoice(given.hardware ?? 'none', 'hardware', ['none', 'cuda']),
    buffer: checkedBytes(given.buffer ?? '64MiB', 'buffer'),
    ...checkedLive(given),
    ffmpeg: given.ffmpeg as string | URL | undefined, // findPrograms looks at it
    signal: unaborted(given.signal),
  }
}

type OfLive = 'live' | 'onFull' | 'transport' | 'listen' | 'reconnect' | 'onGap'

function checkedLive(given: Partial<Record<OfLive, unknown>>): Pick<Reading, OfLive> {
  const { live, onFull, transport = 'tcp', listen, reconnect, onGap } = given
  if (onGap !== undefined && typeof onGap !== 'function') throw expected('a function', 'onGap', onGap)
  for (const name of ['reconnect', 'onGap'] as const)
    if (given[name] !== undefined && live !== true) throw expected('nothing where live is not true', name, given[name])
  return {
    live: live === undefined ? undefined : checkedBoolean(live, 'live'),
    onFull: onFull === undefined ? undefined : checkedChoice(onFull, 'onFull', ['drop-oldest', 'wait']),
    transport: checkedChoice(transport, 'transport', ['tcp', 'udp']),
    listen: listen === undefined ? undefined : checkedBoolean(listen, 'listen'),
    reconnect: checkedReconnect(reconnect),
    onGap: onGap as Reading['onGap'],
  }
}

/** The most pixels along a side of a frame, which a reader of NUT takes. */
const mostAlong = Math.min(longest, 2 ** 15)

function checkedScale(value: unknown): Partial<Size> {
  const { width, height } = checkedObject(value, 'scale', '{ width, height }, or one of both,') as Partial<Size>
  if (width === undefined && height === undefined) throw expected('{ width, height }, or one of both,', 'scale', value)
  return {
    ...(width !== undefined && { width: checkedWhole(width, 'scale.width', 1, mostAlong) }),
    ...(height !== undefined && { height: checkedWhole(height, 'scale.height', 1, mostAlong) }),
  }
}
