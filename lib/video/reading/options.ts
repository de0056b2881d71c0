import { checkedBytes } from '../../building/options.js'
import { checkedObject } from '../../base/checks.js'
import {
  type Checked,
  checkedOptions,
  checkedRows,
  is,
  option,
  type OptionTable,
  signalOption,
} from '../../base/option-table.js'
import { longest, type Size } from '../../base/size.js'
import { expected } from '../../errors.js'
import { ffmpegOption } from '../programs/find.js'
import { checkedReconnect, type Reconnect, type ReconnectOptions } from './reconnect.js'

/** Something that the frames of a live source leave out, or pass over. */
export interface VideoGap {
  /**
   * `lost`: the connection is gone, and is made again; `back`: there are frames again; `jump`: the source's times went
   * back or far ahead, within a connection.
   */
  readonly kind: 'lost' | 'back' | 'jump'
  /**
   * Why: the source `ended`, ffmpeg `failed`, or the source `stalled`, which sent nothing for `reconnect.afterMs` while
   * somebody waited; `size`, where it is back with frames of another size; `times` of a jump.
   */
  readonly reason: 'ended' | 'failed' | 'stalled' | 'size' | 'times'
  /** The `pts` of the last frame before it; undefined: there was none. */
  readonly from: number | undefined
  /** The `pts` of the first frame after it; undefined where it is just lost. */
  readonly to: number | undefined
  /** How long it was, in seconds by this machine's clock: `to` less `from`. */
  readonly seconds: number | undefined
  /** How often the connection was made again until then. */
  readonly attempts: number
  /** What ffmpeg said, where it failed. */
  readonly error: Error | undefined
}

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

/** A hundred years: what ffmpeg's microseconds can hold, and no more than anybody means. */
const longestTime = 3.2e9

const table = {
  start: option(is.number(-longestTime, longestTime)),
  end: option(is.number(-longestTime, longestTime)),
  every: option(is.whole(1, 2 ** 31 - 1), 1),
  decode: option(is.choice('all', 'reference', 'key'), 'all'),
  scale: option(checkedScale),
  hardware: option(is.choice('none', 'cuda'), 'none'),
  buffer: option(checkedBytes, 64 * 2 ** 20),
  live: option(is.boolean),
  onFull: option(is.choice('drop-oldest', 'wait')),
  transport: option(is.choice('tcp', 'udp'), 'tcp'),
  listen: option(is.boolean),
  reconnect: option((reconnect) => reconnect),
  onGap: option(is.listener<(gap: VideoGap) => void>()),
  ffmpeg: ffmpegOption,
  signal: signalOption,
} satisfies OptionTable<OpenVideoOptions>

/** Checked. */
export type Reading = Omit<Checked<typeof table>, 'reconnect'> & { readonly reconnect: Reconnect | undefined }

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT; the signal's reason */
export function checkedReading(options: unknown): Reading {
  const checked = checkedOptions(options, table, 'openVideo')
  const { start, end, live, reconnect, onGap, signal } = checked
  if (start !== undefined && end !== undefined && end <= start)
    throw expected(`seconds above start, ${start},`, 'end', end)
  for (const [name, value] of Object.entries({ reconnect, onGap }))
    if (value !== undefined && live !== true) throw expected('nothing where live is not true', name, value)
  signal?.throwIfAborted()
  return { ...checked, reconnect: checkedReconnect(reconnect) }
}

/** The most pixels along a side of a frame, which a reader of NUT takes. */
const mostAlong = Math.min(longest, 2 ** 15)

const scaledSide = option(is.whole(1, mostAlong))
const scaleTable = { width: scaledSide, height: scaledSide } satisfies OptionTable<Partial<Size>>

function checkedScale(value: unknown): Checked<typeof scaleTable> {
  const what = '{ width, height }, or one of both,'
  const scale = checkedRows(checkedObject(value, 'scale', what) as Record<string, unknown>, scaleTable, 'scale.')
  if (scale.width === undefined && scale.height === undefined) throw expected(what, 'scale', value)
  return scale
}
