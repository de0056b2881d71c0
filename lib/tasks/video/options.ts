import type { Writable } from 'node:stream'
import { checkedBoolean, checkedListener } from '../../base/checks.js'
import { checkedRows, namesOf, type Rows } from '../../base/option-table.js'
import { defined, readOptions, unaborted } from '../../base/options.js'
import { expected } from '../../errors.js'
import type { Mask } from '../../vision/index.js'
import type {
  OpenVideoOptions,
  VideoDecoder,
  VideoFrame,
  VideoSource,
  VideoSourceInput,
  WriteVideoOptions,
} from '../../video/index.js'
import { checkedReading } from '../../video/reading/options.js'
import { checkedWriting } from '../../video/writing/options.js'

/**
 * A video that a task goes through: what `openVideo` takes, or what it gives, which the call reads to its end and
 * closes.
 */
export type VideoInput = VideoSourceInput | VideoSource

/** A path (`.mp4`, `.m4v`, `.mov`, `.mkv`, `.webm`), or a Writable. */
export type VideoOutput = string | URL | Writable

/** How far a video is. */
export interface VideoProgress {
  /** Frames that are done. */
  readonly frames: number
  /**
   * How many there are, about: as many as the duration and the rate make that the file tells. Undefined where it does
   * not.
   */
  readonly of: number | undefined
  /** Frames a second, since the first one. */
  readonly fps: number
  /** Undefined where `of` is. */
  readonly secondsLeft: number | undefined
  /** What was found in these frames: regions that were hidden, or objects; of a mask 1 where anything of it is set. */
  readonly regions: number
}

/**
 * What all methods take that go through a video. With `start` or `end` the sounds of an output are cut, too, and its
 * times count from `start`.
 */
export interface VideoReadingOptions extends Pick<
  OpenVideoOptions,
  'start' | 'end' | 'hardware' | 'buffer' | 'ffmpeg'
> {
  /** Called after each frame. What it throws ends the call. */
  readonly onProgress?: ((progress: VideoProgress) => void) | undefined
  /** Ends the call with the signal's reason, once ffmpeg is gone. */
  readonly signal?: AbortSignal | undefined
}

/** What all methods take that write a video. */
export interface VideoWritingOptions extends Pick<
  WriteVideoOptions,
  'audio' | 'codec' | 'preset' | 'quality' | 'odd' | 'container' | 'overwrite'
> {
  /**
   * Whether the frames that were done become a whole file under its name where the call fails, is aborted, or (of a
   * loop) is left early; the call fails all the same. The sounds of a file end with those frames. False unless given:
   * then nothing stays.
   */
  readonly keepPartial?: boolean | undefined
}

/** Options of `FaceBlur.blurVideo`. */
export interface BlurVideoOptions extends VideoReadingOptions, VideoWritingOptions {}

/** Options of `Detector.detectVideo` and `Segmenter.segmentVideo`. */
export interface VideoLoopOptions
  extends VideoReadingOptions, VideoWritingOptions, Pick<OpenVideoOptions, 'every' | 'decode'> {
  /**
   * Where frames are written, with what was found drawn on them. Unless given nothing is drawn, and the options of
   * writing are refused; with it `every` and `decode` are.
   */
  readonly output?: VideoOutput | undefined
}

/** What `FaceBlur.blurVideo` did. */
export interface BlurredVideo {
  /** Frames that were written. */
  readonly frames: number
  /** Frames in which something was hidden. 0: the copy shows all that the video does. */
  readonly framesWithRegions: number
  /** What was hidden, of all frames together. */
  readonly regions: number
  /** Seconds that are shown. */
  readonly duration: number
  /** How many sounds were copied. */
  readonly sounds: number
  /** What decoded, and why it is not what `hardware` asked for, if so. */
  readonly decoder: VideoDecoder
}

/** What `Segmenter.segmentVideo` gives for a frame. */
export interface SegmentedFrame {
  /** Open until the loop goes on. */
  readonly frame: VideoFrame
  /** Of the frame's size. */
  readonly mask: Mask
}

/** Options that were checked. */
export interface VideoCall {
  readonly reading: OpenVideoOptions
  readonly isOpen: boolean
  readonly output: VideoOutput | undefined
  readonly writing: WriteVideoOptions
  readonly keepPartial: boolean
  /** Called when the output is complete. If the call fails, `keepPartial` completes it with the frames before that. */
  readonly kept?: (() => void) | undefined
  readonly tell: ((progress: VideoProgress) => void) | undefined
  readonly signal: AbortSignal | undefined
  /** What goes before the task's own options. */
  readonly asked?: Given | undefined
}

const reading = ['start', 'end', 'hardware', 'buffer'] as const
const sampling = ['every', 'decode'] as const
const writing = ['audio', 'codec', 'preset', 'quality', 'odd', 'container', 'overwrite'] as const
const both = ['ffmpeg', 'onProgress', 'signal'] as const

/** Of a call that always writes. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT; the signal's reason */
export function checkedWrite(options: unknown, output: unknown, isOpen: boolean, { owner, rows }: Owner): VideoCall {
  const given = readOptions(options, [...reading, ...writing, ...both, 'keepPartial', ...namesOf(rows)], owner)
  if (output === undefined) checkedWriting(output, {})
  return callOf(given, output, isOpen, rows)
}

/**
 * Of a call that writes where `output` is given. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT; the signal's reason
 */
export function checkedLoop(options: unknown, isOpen: boolean, { owner, rows }: Owner): VideoCall {
  const { output, ...given }: Given = readOptions(
    options,
    ['output', ...reading, ...sampling, ...writing, ...both, 'keepPartial', ...namesOf(rows)],
    owner,
  )
  const foreign = (output === undefined ? [...writing, 'keepPartial'] : sampling).find(
    (name) => given[name] !== undefined,
  )
  if (foreign === undefined) return callOf(given, output, isOpen, rows)
  const what = output === undefined ? 'nothing, since no output is written,' : 'nothing, since all frames are written,'
  throw expected(what, foreign, given[foreign])
}

type Given = Readonly<Record<string, unknown>>

/** Whose call it is, and which of its task's options it may have. */
interface Owner {
  readonly owner: string
  readonly rows: Rows
}

function callOf(given: Given, output: unknown, isOpen: boolean, rows: Rows): VideoCall {
  const signal = unaborted(given['signal'])
  const { ffmpeg, keepPartial = false } = given
  const read = { ...picked(given, [...reading, ...sampling]) }
  const asked = Object.keys(read)[0]
  if (isOpen && asked !== undefined) throw expected('nothing, since the video is open already,', asked, read[asked])
  const wanted = { ...picked(given, writing), ...(ffmpeg !== undefined && { ffmpeg }) }
  checkedReading({ ...read, ffmpeg })
  if (output !== undefined) checkedWriting(output, wanted)
  return {
    reading: { ...read, ffmpeg } as OpenVideoOptions,
    isOpen,
    output: output as VideoOutput | undefined,
    writing: wanted as WriteVideoOptions,
    keepPartial: checkedBoolean(keepPartial, 'keepPartial'),
    tell: checkedListener<(progress: VideoProgress) => void>(given['onProgress'], 'onProgress'),
    signal,
    asked: defined(checkedRows(given, rows)),
  }
}

function picked(given: Given, names: readonly string[]): Given {
  return Object.fromEntries(names.filter((name) => given[name] !== undefined).map((name) => [name, given[name]]))
}
