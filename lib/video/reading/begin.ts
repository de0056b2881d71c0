import { isUint8Array } from 'node:util/types'
import { onAbort } from '../../base/cancellation.js'
import { expected, TensorRTError } from '../../errors.js'
import type { FedStream } from '../nut/fed.js'
import { probeInput, probeVideo, type VideoInfo } from '../probe.js'
import { withBytes } from '../programs/bytes.js'
import { connectionOf, listens } from '../programs/connections.js'
import { findPrograms, type Programs } from '../programs/find.js'
import { deviceInput, type Input, isDevice, pipeInput } from '../programs/inputs.js'
import { runProgram } from '../programs/run.js'
import { quietly } from '../programs/start.js'
import { atOnce, type Decoding, unprobedBase } from './arguments.js'
import { DecodedFrames, type FrameStream } from './decoded.js'
import { Decoder } from './decoder.js'
import { FrameMaker } from './frame-maker.js'
import { GivenFrames, givenName, microseconds } from './given.js'
import { LiveFrames } from './live.js'
import type { Reading } from './options.js'
import type { GivenFrame, Opened } from './sources.js'

/** What decodes a video. */
export interface VideoDecoder {
  /**
   * `cuda`: ffmpeg was asked to decode on the GPU, and has one; what the GPU cannot decode it decodes on the processor,
   * all the same.
   */
  readonly hardware: 'none' | 'cuda'
  /** Why it is not the hardware that was asked for. */
  readonly reason: string | undefined
}

/** A video that is open. */
export interface Begun {
  readonly name: string
  readonly info: VideoInfo
  readonly decoder: VideoDecoder
  readonly live: boolean
  readonly frames: FrameStream
}

/** What ffmpeg reads. */
interface Source extends Pick<Decoding, 'input' | 'stdin' | 'more' | 'manner'> {
  /** What ffprobe looks at; undefined of what can be opened once. */
  readonly probed: string | Uint8Array | Input | undefined
  /** Whether there may be another connection. */
  readonly isConnection: boolean
  readonly listens: boolean
}

const plain = { stdin: undefined, more: [], probed: undefined, isConnection: false, listens: false } as const

/**
 * @throws TensorRTError ERR_TRT_VIDEO_PROGRAM, ERR_TRT_VIDEO_DATA, ERR_TRT_FILE, ERR_TRT_INVALID_ARGUMENT; the signal's
 * reason
 */
export async function beginReading(source: Opened, reading: Reading): Promise<Begun> {
  if (source.kind === 'frames') return ofFrames(source, reading)
  if (source.kind === 'input') return decoded(ofInput(source.input, reading), reading)
  if (reading.listen === true) throw expected('nothing of bytes', 'listen', true)
  if (source.kind === 'bytes') return ofBytes(source.bytes, reading)
  const input = pipeInput('the video of a stream')
  if (reading.live === true) {
    const stdin = withHead(source.first, source.pieces)
    return decoded({ ...plain, input, stdin, manner: 'live' }, reading)
  }
  const { head, pieces } = await headOf(source.first, source.pieces)
  const first = Buffer.concat(head)
  if (pieces === undefined) return ofBytes(first, reading)
  return decoded({ ...plain, input, stdin: withHead(first, pieces), manner: 'recorded', probed: first }, reading)
}

function ofInput(input: Input, reading: Reading): Source {
  const { live, listen } = reading
  if (isDevice(input.path)) {
    const manner = live === false ? 'recorded' : 'live'
    return { ...plain, input: deviceInput(input.path), manner, isConnection: true }
  }
  if (input.path !== undefined) {
    if (listen === true) throw expected('nothing of a file', 'listen', true)
    return { ...plain, input, manner: live === true ? 'paced' : 'recorded', probed: input.path }
  }
  const connection = connectionOf(input, reading)
  const source = {
    ...plain,
    input: connection,
    isConnection: true,
    manner: live === true ? 'live' : 'recorded',
  } as const
  if (listens(input.url, listen)) return { ...source, listens: true }
  const options = live === true ? [...atOnce, ...connection.options] : connection.options
  return { ...source, probed: { ...connection, options } }
}

function ofBytes(bytes: Uint8Array, reading: Reading): Promise<Begun> {
  const manner = reading.live === true ? 'paced' : 'recorded'
  return withBytes(bytes, ({ input, stdin, more }) =>
    decoded({ ...plain, input, stdin: stdin && withHead(stdin, undefined), more, manner, probed: bytes }, reading),
  )
}

async function decoded(source: Source, reading: Reading): Promise<Begun> {
  const { input, stdin, manner } = source
  const { signal, ffmpeg } = reading
  try {
    refuseParts(source, reading)
    const programs = await findPrograms({ ffmpeg, signal })
    const info = await probedInfo(source, programs, reading)
    refuseHdr(input.name, info)
    const decoder = await decoderFor(reading.hardware, programs.ffmpeg, signal)
    signal?.throwIfAborted()
    const onFull = reading.onFull ?? (manner === 'recorded' ? 'wait' : 'drop-oldest')
    const { hardware } = decoder
    const decoding = { ...source, info, reading, onFull, ffmpeg: programs.ffmpeg, hardware }
    const opened = await openedFrames(source, decoding)
    return { ...opened, name: input.name, decoder, live: manner !== 'recorded' }
  } catch (error) {
    await stdin?.return?.()
    throw error
  }
}

async function probedInfo(
  { probed }: Source,
  { ffprobe }: Programs,
  { signal, ffmpeg }: Reading,
): Promise<VideoInfo | undefined> {
  if (probed === undefined) return undefined
  if (typeof probed === 'string' || isUint8Array(probed)) return probeVideo(probed, { signal, ffmpeg })
  return probeInput(ffprobe, { input: probed, stdin: undefined, more: [] }, signal)
}

async function openedFrames(source: Source, decoding: Decoding): Promise<Pick<Begun, 'info' | 'frames'>> {
  const { input, reading, manner } = decoding
  const first = await Decoder.start(decoding)
  const info = manner !== 'live' && decoding.info !== undefined ? decoding.info : await begun(first, decoding)
  const maker = new FrameMaker(info, input.name, reading.decode)
  if (manner !== 'live') return { info, frames: new DecodedFrames(first, maker, reading.every) }
  const reconnect = source.isConnection ? reading.reconnect : undefined
  const { onGap } = reading
  return { info, frames: new LiveFrames({ decoding, reconnect, listens: source.listens, onGap }, first, maker) }
}

/**
 * Once the first frame is about to come. What was probed stays; else its header tells. @throws TensorRTError
 * ERR_TRT_VIDEO_DATA; the signal's reason
 */
async function begun(decoder: Decoder, { input, info, reading }: Decoding): Promise<VideoInfo> {
  const forget = onAbort(reading.signal, () => void decoder.close())
  try {
    const stream = await decoder.header()
    reading.signal?.throwIfAborted()
    if (stream === undefined)
      throw new TensorRTError('ERR_TRT_VIDEO_DATA', `${input.name} ended before its first frame`)
    return info ?? unprobedInfo(stream)
  } catch (error) {
    await decoder.close()
    throw error
  } finally {
    forget()
  }
}

/** A camera has neither beginning nor end. */
function refuseParts({ manner }: Source, reading: Reading): void {
  if (manner !== 'live') return
  for (const name of ['start', 'end'] as const)
    if (reading[name] !== undefined) throw expected('nothing of a live source', name, reading[name])
}

function refuseHdr(name: string, info: VideoInfo | undefined): void {
  if (info?.hdr === undefined) return
  const { hdr } = info
  const message = `${name} is of high dynamic range (${hdr}), which 8 bits cannot show as it is: convert it with ffmpeg's filters zscale and tonemap first`
  throw new TensorRTError('ERR_TRT_VIDEO_DATA', message, { details: { hdr } })
}

/** What only ffmpeg does. */
const ofDecoders = ['decode', 'scale', 'hardware', 'live', 'onFull', 'listen'] as const
const unasked = {
  decode: 'all',
  scale: undefined,
  hardware: 'none',
  live: undefined,
  onFull: undefined,
  listen: undefined,
} as const

function ofFrames({ first, frames }: Extract<Opened, { kind: 'frames' }>, reading: Reading): Begun {
  const asked = ofDecoders.find((name) => reading[name] !== unasked[name])
  if (asked !== undefined)
    throw expected('nothing, since frames that were handed in are not decoded,', asked, reading[asked])
  const stream = new GivenFrames(first, frames, reading)
  const decoder: VideoDecoder = { hardware: 'none', reason: undefined }
  return { name: givenName, info: infoOfFrame(first), decoder, live: false, frames: stream }
}

/**
 * What ffmpeg has of it, which it is asked by name: by itself it would go on without a word. @throws the signal's
 * reason
 */
async function decoderFor(
  hardware: 'none' | 'cuda',
  ffmpeg: string,
  signal: AbortSignal | undefined,
): Promise<VideoDecoder> {
  if (hardware === 'none') return { hardware, reason: undefined }
  const nothing = ['-f', 'lavfi', '-i', 'color=size=16x16', '-frames:v', '1', '-f', 'null', '-']
  const args = [...quietly, '-init_hw_device', hardware, ...nothing]
  const { exit, lines } = await runProgram(ffmpeg, args, { signal, mostBytes: 65_536 })
  if (exit.code === 0) return { hardware, reason: undefined }
  const said =
    lines.find((line) => /\[(error|fatal)\]/.test(line)) ?? lines[0] ?? `it ended with exit code ${exit.code}`
  return { hardware: 'none', reason: `ffmpeg has no ${hardware} here: ${said}` }
}

const unknown = {
  ...{ rotation: 0, bitDepth: 8, audio: [], hdr: undefined, pixelAspect: undefined },
  ...{ frameRate: undefined, averageFrameRate: undefined, duration: undefined, frames: undefined },
  colors: { space: undefined, primaries: undefined, transfer: undefined },
} as const

/** Of frames that were handed in: what the first one tells. */
function infoOfFrame(first: GivenFrame | undefined): VideoInfo {
  const { format = 'i420', width = 0, height = 0, matrix, range } = first?.image ?? {}
  const { timeBase = microseconds, pts: start } = first ?? {}
  const about = { codec: 'rawvideo', container: givenName, pixelFormat: format, timeBase } as const
  return { ...unknown, ...about, width, height, start, matrix, range }
}

/** Of what could not be probed: what its first frame tells, once ffmpeg has decoded it. */
function unprobedInfo({ width, height }: FedStream): VideoInfo {
  const decoded = { codec: 'unknown', container: 'unknown', pixelFormat: 'yuv420p', timeBase: unprobedBase } as const
  return { ...unknown, ...decoded, width, height, start: undefined, matrix: undefined, range: 'limited' }
}

/** What ffprobe reads at most, unless told otherwise, and the first that a demuxer wants. */
const headBytes = 8 * 2 ** 20

/**
 * The first pieces of a stream, as many as tell what it is, and the iterator of the others; undefined where there are
 * none.
 */
async function headOf(
  first: Uint8Array,
  pieces: AsyncIterator<Uint8Array>,
): Promise<{ readonly head: Uint8Array[]; readonly pieces: AsyncIterator<Uint8Array> | undefined }> {
  const head = [first]
  for (let bytes = first.length; bytes < headBytes;) {
    const next = await pieces.next()
    if (next.done === true) return { head, pieces: undefined }
    head.push(next.value)
    bytes += next.value.length
  }
  return { head, pieces }
}

/** All of them again. */
function withHead(head: Uint8Array, pieces: AsyncIterator<Uint8Array> | undefined): AsyncIterator<Uint8Array> {
  let isFirst = true
  return {
    next: async () => {
      if (isFirst) {
        isFirst = false
        return { value: head, done: false }
      }
      return pieces === undefined ? { value: undefined, done: true } : pieces.next()
    },
    return: async () => {
      await pieces?.return?.()
      return { value: undefined, done: true }
    },
  }
}
